"""Shared-memory wavefronts, bank by bank, and the sectors of global accesses.

There are 32 banks of 4 bytes. The rules were measured on sm_90 and agree with every recorded counter
(timing.md, "Shared-memory wavefronts" and "Global memory").
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ptxsim.diagnostic import problem
from ptxsim.given import a_number, a_text
from ptxsim.lanes import LANES, word_mask
from ptxsim.layout.wavefronts import AccessKind, costs, global_costs, lanes_at_once, words_per_lane

_error = partial(problem, "illegal-form")

KINDS = tuple(kind.name.lower() for kind in AccessKind)
MATRIX_KINDS = ("ldmatrix", "stmatrix")
LOOP_KINDS = ("spin", "half", "swap")
ATOMIC_KINDS = ("atom", "red", "cas", *LOOP_KINDS)
LOOP_STEPS = 20  # what an access that is a loop takes in steps of others
WIDTHS = (1, 2, 4, 8, 16)


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
    """Checked arguments: addresses int64 (n, 32), active lanes bool (n, 32), words per lane."""

    kind: AccessKind
    address: np.ndarray
    active: np.ndarray
    words: int
    single: bool

    def masks(self) -> np.ndarray:
        """The active lanes as words (n,)."""
        return np.ascontiguousarray(np.packbits(self.active, axis=1, bitorder="little")).view("<u4")[:, 0]

    def phase_lanes(self, row: int) -> int:
        """How many lanes of an access are served at a time."""
        return lanes_at_once(self.kind, self.address[row], int(self.masks()[row]), self.words)


def shared_wavefronts(
    addresses: ArrayLike, width: int = 16, kind: str = "ld", mask: ArrayLike | None = None, matrices: int | None = None
) -> np.ndarray | int:
    """Wavefronts of shared-memory instructions: an int for addresses (32,), an int array (n,) for (n, 32).

    addresses: bytes. width: bytes a lane accesses (1, 2, 4, 8, 16; not used for matrices). kind: one of KINDS; spin, half
    and swap are atomics that are loops (`atomic_loops`), count adds the constant 1 where the old value is not used, copy is
    cp.async.ca from neighbouring elements, bypass cp.async.cg, which costs none. mask: active lanes as a 32-bit integer,
    n of them, or booleans shaped as the addresses; all if None. matrices: 1, 2 or 4 for ldmatrix and stmatrix, whose
    addresses may then be 8, 16 or 32 wide; without it, every active lane gives a row. Raises PtxError for a width or kind
    that does not exist.
    """
    return analyze(addresses, width, kind, mask, matrices).wavefronts


def analyze(
    addresses: ArrayLike, width: int = 16, kind: str = "ld", mask: ArrayLike | None = None, matrices: int | None = None
) -> Wavefronts:
    """Wavefronts, conflicts, ideal wavefronts and pipe cycles; arguments as for `shared_wavefronts`."""
    access = prepare(addresses, width, kind, mask, matrices)
    width = 0 if kind in MATRIX_KINDS else a_number("the width", width)  # rows of matrices have their own
    found = np.zeros((len(access.address), 4), np.int64)
    steps = len(found) * (LOOP_STEPS if kind in (*LOOP_KINDS, "copy") else 1)
    costs.form(steps)(access.kind, access.address, access.masks(), width, found)
    return Wavefronts(*(found[0].tolist() if access.single else found.T))


def prepare(addresses: ArrayLike, width: int, kind: str, mask: ArrayLike | None, matrices: int | None) -> Accesses:
    """The arguments of `analyze`, checked and in one shape. Raises PtxError."""
    if a_text("the access kind", kind) not in KINDS:
        raise _error(f"no access kind {kind!r}", f"kinds: {', '.join(KINDS)}")
    width = a_number("the width", width)
    if kind not in MATRIX_KINDS and width not in WIDTHS:
        raise _error(f"no access of {width} bytes per lane", "widths: 1, 2, 4, 8, 16")
    if matrices is not None and a_number("matrices", matrices) not in (1, 2, 4):
        raise _error(f"no {kind} of {matrices} matrices", "there are 1, 2 and 4")
    try:
        address = np.asarray(addresses, dtype=np.int64)
        masks = np.asarray(0xFFFFFFFF if mask is None else mask)
        assert masks.dtype.kind in "iub" and address.ndim in (1, 2) and (masks.ndim or masks.dtype != bool)
    except (TypeError, ValueError, OverflowError, AssertionError):
        help = "addresses are whole numbers, (32,) or (n, 32), a mask is a word or booleans of that shape"
        raise _error("these are no addresses of a warp, or no mask of its lanes", help) from None
    single = address.ndim == 1
    address = np.atleast_2d(address)
    lanes = address.shape[-1]
    if lanes != LANES and not (kind in MATRIX_KINDS and lanes in (8, 16)):
        raise _error(f"{lanes} addresses for a warp", "a warp has 32 lanes")
    if lanes < LANES:
        address = np.pad(address, ((0, 0), (0, LANES - lanes)))
    if masks.dtype != bool:
        masks = word_mask(masks)
    if masks.shape[-1] < LANES:
        masks = np.pad(masks, [(0, 0)] * (masks.ndim - 1) + [(0, LANES - masks.shape[-1])])
    active = np.broadcast_to(masks, address.shape).astype(bool)
    active &= np.arange(LANES) < min(lanes, 8 * (matrices or 4) if kind in MATRIX_KINDS else LANES)
    code = AccessKind[kind.upper()]
    return Accesses(code, address, active, words_per_lane(code, width), single)


class GlobalAccess(NamedTuple):
    """Per instruction: distinct 32-byte sectors, distinct 128-byte lines, and SM cycles of a load that hits in L1.

    lookups: how often L1 looks for lines, the profiler's l1tex__t_output_wavefronts.
    """

    sectors: np.ndarray | int
    lines: np.ndarray | int
    lookups: np.ndarray | int
    cycles: np.ndarray | int


def global_access(
    addresses: ArrayLike, width: int = 4, mask: ArrayLike | None = None, atomic: bool = False
) -> GlobalAccess:
    """Sectors and lines of global accesses, ints for addresses (32,), arrays (n,) for (n, 32).

    Accesses are aligned to their width. Lanes of an atomic on one word do not merge. Raises PtxError.
    """
    access, width = prepare(addresses, width, "st", mask, None), a_number("the width", width)
    found = np.zeros((len(access.address), 4), np.int64)
    global_costs.form(len(found))(access.address, access.masks(), width, bool(atomic), found)
    return GlobalAccess(*(found[0].tolist() if access.single else found.T))
