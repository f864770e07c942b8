"""Shared-memory wavefronts, bank by bank, and the sectors of global accesses.

There are 32 banks of 4 bytes. The rules were measured on sm_90 and agree with every recorded counter
(timing.md, "Shared-memory wavefronts" and "Global memory").
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import numpy as np

from ptxsim.diagnostic import Finding, PtxError
from ptxsim.lanes import LANES, word_mask
from ptxsim.layout.atomic_loops import HALF, SPIN, SWAP, tries
from ptxsim.layout.cp_async_wavefronts import copy_wavefronts
from ptxsim.layout.l1_tag_banks import TAG_BANKS, tag_bank

BANKS = 32
MATRIX_KINDS = ("ldmatrix", "stmatrix")
LOOP_KINDS = (SPIN, HALF, SWAP)
ATOMIC_KINDS = ("atom", "red", "cas", *LOOP_KINDS)
KINDS = ("ld", "st", *MATRIX_KINDS, *ATOMIC_KINDS, "count", "copy", "bypass")
WIDTHS = (1, 2, 4, 8, 16)
# From this many rows on, loading numba and the native loop pays (0.7 s against 5 to 20 us a row).
_NATIVE_ROWS = 16_384
_NATIVE = "ptxsim.layout.banks_native"


class Wavefronts(NamedTuple):
    """Per instruction: int arrays of one shape, or ints for a single one.

    wavefronts: as the profiler counts them. conflicts: the profiler's bank-conflict counter. ideal: what the same
    lanes would cost without conflicts. cycles: of the SM's shared pipe, which also returns one register (128 bytes)
    per cycle to loads.
    """

    wavefronts: np.ndarray | int
    conflicts: np.ndarray | int
    ideal: np.ndarray | int
    cycles: np.ndarray | int


class Accesses(NamedTuple):
    """Checked arguments: addresses int64 (n, 32), active lanes bool (n, 32), words per lane, lanes per phase (n,)."""

    address: np.ndarray
    active: np.ndarray
    words: int
    phase_lanes: np.ndarray
    single: bool


def shared_wavefronts(addresses, width: int = 16, kind: str = "ld", mask=None, matrices: int | None = None):
    """Wavefronts of shared-memory instructions: an int for addresses (32,), an int array (n,) for (n, 32).

    addresses: bytes. width: bytes a lane accesses (1, 2, 4, 8, 16; not used for matrices). kind: one of KINDS; spin, half
    and swap are atomics that are loops (`atomic_loops`), count adds the constant 1 where nobody wants the old value, copy is
    cp.async.ca from neighbouring elements, bypass cp.async.cg, which costs none. mask: active lanes as a 32-bit integer,
    n of them, or booleans shaped as the addresses; all if None. matrices: 1, 2 or 4 for ldmatrix and stmatrix, whose
    addresses may then be 8, 16 or 32 wide; without it, every active lane gives a row. Raises PtxError for a width or kind
    that does not exist.
    """
    return analyze(addresses, width, kind, mask, matrices).wavefronts


def analyze(addresses, width: int = 16, kind: str = "ld", mask=None, matrices: int | None = None) -> Wavefronts:
    """Wavefronts, conflicts, ideal wavefronts and pipe cycles; arguments as for `shared_wavefronts`."""
    access = prepare(addresses, width, kind, mask, matrices)
    own = _ROW_BY_ROW.get(kind)
    if own is not None:
        rows = zip(access.address.tolist(), _masks(access.active), strict=True)
        found = Wavefronts(*np.array([own(row, lanes, width, kind) for row, lanes in rows], np.int64).reshape(-1, 4).T)
        return Wavefronts(*(int(column[0]) for column in found)) if access.single else found
    count, _ = _loops(len(access.address))
    merges = kind not in ATOMIC_KINDS
    wavefronts, phases = count(access.address, access.active, access.words, access.phase_lanes, merges)
    wavefronts, phases = np.maximum(1, wavefronts), np.maximum(1, phases)
    conflicts, cycles = wavefronts - phases, wavefronts
    if kind == "ld":
        # Under the pair rule half the registers come back.
        usual = LANES // access.words
        cycles = np.maximum(wavefronts, access.words * usual // access.phase_lanes)
    elif kind == "cas":
        wavefronts, phases, cycles = 2 * wavefronts, 2 * phases, 2 * wavefronts
    found = Wavefronts(wavefronts, conflicts, phases, cycles)
    return Wavefronts(*(int(column[0]) for column in found)) if access.single else found


def _loop(address: list[int], mask: int, width: int, kind: str) -> tuple[int, int, int, int]:
    """What an atomic that is a loop costs: the fields of Wavefronts."""
    if not mask:
        return 1, 0, 1, 1
    masks = [0] * LANES
    count, phases = tries(address, mask, max(1, width // 4), kind == SPIN, masks)
    count = 1 if kind == SWAP else count
    loads = analyze([address] * (count if kind == SPIN else 1), width, "ld", masks[: count if kind == SPIN else 1])
    swaps = analyze([address] * count, width, "cas", masks[:count])
    ideal = int(loads.ideal[0] + swaps.ideal[0])
    wavefronts, conflicts = int(loads.wavefronts.sum()), int(loads.conflicts.sum())
    if kind == SPIN:
        wavefronts += 2 * phases
    else:
        wavefronts, conflicts = wavefronts + int(swaps.wavefronts.sum()), conflicts + int(swaps.conflicts.sum())
    return wavefronts, conflicts, ideal, wavefronts


def _neighbours(address: list[int], mask: int, width: int, kind: str) -> tuple[int, int, int, int]:
    """What a cp.async.ca costs whose source makes nobody wait."""
    wavefronts, ideal = copy_wavefronts(address, [width * lane for lane in range(LANES)], mask, mask, width)
    return max(1, wavefronts), wavefronts - ideal, max(1, ideal), max(1, wavefronts)


def _bypass(address: list[int], mask: int, width: int, kind: str) -> tuple[int, int, int, int]:
    """What does not pass through the load-store pipe."""
    return 0, 0, 0, 0


_ROW_BY_ROW = {**dict.fromkeys(LOOP_KINDS, _loop), "copy": _neighbours, "bypass": _bypass}


def _masks(active: np.ndarray) -> list[int]:
    """bool (n, 32) as n integers."""
    return (active.astype(np.int64) << np.arange(LANES)).sum(axis=1).tolist()


def prepare(addresses, width: int, kind: str, mask, matrices: int | None) -> Accesses:
    """The arguments of `analyze`, checked and in one shape. Raises PtxError."""
    if kind not in KINDS:
        raise _error(f"no access kind {kind!r}", f"kinds: {', '.join(KINDS)}")
    if kind not in MATRIX_KINDS and width not in WIDTHS:
        raise _error(f"no access of {width} bytes per lane", "widths: 1, 2, 4, 8, 16")
    if matrices not in (None, 1, 2, 4):
        raise _error(f"no {kind} of {matrices} matrices", "there are 1, 2 and 4")
    address = np.asarray(addresses, dtype=np.int64)
    single = address.ndim == 1
    address = np.atleast_2d(address)
    lanes = address.shape[-1]
    if lanes != LANES and not (kind in MATRIX_KINDS and lanes in (8, 16)):
        raise _error(f"{lanes} addresses for a warp", "a warp has 32 lanes")
    if lanes < LANES:
        address = np.pad(address, ((0, 0), (0, LANES - lanes)))
    masks = np.asarray(0xFFFFFFFF if mask is None else mask)
    if masks.dtype != bool:
        masks = word_mask(masks)
    if masks.shape[-1] < LANES:
        masks = np.pad(masks, [(0, 0)] * (masks.ndim - 1) + [(0, LANES - masks.shape[-1])])
    active = np.broadcast_to(masks, address.shape).astype(bool)
    active &= np.arange(LANES) < min(lanes, 8 * (matrices or 4) if kind in MATRIX_KINDS else LANES)
    if kind in MATRIX_KINDS:
        return Accesses(address, active, 4, np.full(len(address), 8), single)
    words = 1 if kind == "count" else max(1, width // 4)
    phase_lanes = np.full(len(address), LANES // words)
    if kind == "ld" and words > 1:
        phase_lanes[_paired(address, active)] *= 2
    return Accesses(address, active, words, phase_lanes, single)


def _paired(address: np.ndarray, active: np.ndarray) -> np.ndarray:
    """Rows in which every active lane T agrees with lane T ^ 1, or every one with T ^ 2, or has an inactive partner."""
    lane = np.arange(LANES)
    agree = [((address == address[:, lane ^ step]) | ~active | ~active[:, lane ^ step]).all(axis=1) for step in (1, 2)]
    return agree[0] | agree[1]


def _count(address, active, words, phase_lanes, merges):
    """(wavefronts, active phases) of every row in numpy; `merges`: lanes on one word cost one wavefront together."""
    wavefronts, phases = (np.zeros(len(address), dtype=np.int64) for _ in range(2))
    word = np.where(active[..., None], (address // 4)[..., None] + np.arange(words), -1)
    for size in np.unique(phase_lanes):
        rows = np.flatnonzero(phase_lanes == size)
        for first in range(0, LANES, size):
            part = np.sort(word[rows, first : first + size].reshape(len(rows), -1), axis=1)
            counted = part >= 0
            if merges:
                counted[:, 1:] &= part[:, 1:] != part[:, :-1]
            slot = np.arange(len(rows))[:, None] * BANKS + part % BANKS
            per_bank = np.bincount(slot[counted], minlength=len(rows) * BANKS).reshape(-1, BANKS)
            wavefronts[rows] += per_bank.max(axis=1)
            phases[rows] += counted.any(axis=1)
    return wavefronts, phases


class GlobalAccess(NamedTuple):
    """Per instruction: distinct 32-byte sectors, distinct 128-byte lines, and SM cycles of a load that hits in L1.

    lookups: how often L1 looks for lines, the profiler's l1tex__t_output_wavefronts.
    """

    sectors: np.ndarray | int
    lines: np.ndarray | int
    lookups: np.ndarray | int
    cycles: np.ndarray | int


def global_access(addresses, width: int = 4, mask=None, atomic: bool = False) -> GlobalAccess:
    """Sectors and lines of global accesses, ints for addresses (32,), arrays (n,) for (n, 32).

    Accesses are aligned to their width. Lanes of an atomic on one word do not merge. Raises PtxError.
    """
    access = prepare(addresses, width, "st", mask, None)
    address, active = access.address, access.active
    count, distinct = _loops(len(address))
    sectors, lines = distinct(address, active, 5), distinct(address, active, 7)
    if atomic:
        spare = active.sum(axis=1) - distinct(address, active, 2)
        sectors, lines = sectors + spare, lines + spare
    whole_warp = np.full(len(address), LANES)
    banked, _ = count(address, active, access.words, whole_warp, True)
    lookups = np.maximum(1, _lookups(address, active, distinct))
    found = GlobalAccess(sectors, lines, lookups, np.maximum(banked, lookups))
    return GlobalAccess(*(int(column[0]) for column in found)) if access.single else found


def _lookups(address: np.ndarray, active: np.ndarray, distinct) -> np.ndarray:
    """The most lines that any tag bank has to look up, of each row."""
    bank = tag_bank(address >> 7)
    return np.max([distinct(address, active & (bank == one), 7) for one in range(TAG_BANKS)], axis=0)


def _loops(rows: int):
    """`_count` and `_distinct`, or what numba made of them where there are many rows."""
    if rows >= (64 if _NATIVE in sys.modules else _NATIVE_ROWS):
        from ptxsim.layout.banks_native import count, distinct

        return count, distinct
    return _count, _distinct


def _distinct(address: np.ndarray, active: np.ndarray, shift: int) -> np.ndarray:
    """How many different values of address >> shift the active lanes of each row have."""
    ordered = np.sort(np.where(active, address >> shift, -1), axis=1)
    new = ordered >= 0
    new[:, 1:] &= ordered[:, 1:] != ordered[:, :-1]
    return new.sum(axis=1)


def _error(message: str, help: str | None = None) -> PtxError:
    return PtxError(Finding("illegal-form", message, help=help))
