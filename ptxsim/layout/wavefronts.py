"""What one access costs: wavefronts of shared memory, sectors and lookups of global memory. Bodies (`ptxsim.jit`).

The rules were measured on sm_90 and agree with every recorded counter (timing.md, "Shared-memory wavefronts" and "Global
memory"); those of loops and copies are in `atomic_loops` and `cp_async_wavefronts`.
"""

from __future__ import annotations

from enum import IntEnum

from ptxsim.jit.body import Array, Numbers, body
from ptxsim.jit.vectors import bounds, different, most_bits
from ptxsim.lanes import LANES
from ptxsim.layout.atomic_loops import tries
from ptxsim.layout.cp_async_wavefronts import copy_wavefronts
from ptxsim.layout.l1_tag_banks import TAG_BANKS, tag_bank

BANKS = 32
WORDS = 4 * LANES  # that a warp accesses at once at most
ROWS = 63  # as many as the bits of a number that has no sign


class AccessKind(IntEnum):
    """How an access to shared memory is counted."""

    LD = 0
    ST = 1
    LDMATRIX = 2
    STMATRIX = 3
    ATOM = 4
    RED = 5
    CAS = 6
    SPIN = 7  # atomics that are loops (`atomic_loops`)
    HALF = 8
    SWAP = 9
    COUNT = 10  # adds the constant 1, and the old value is not used
    COPY = 11  # cp.async.ca
    BYPASS = 12  # cp.async.cg, of which only zeros pass through the pipe


def cost(
    kind: int, address: Numbers, mask: int, width: int, source: Numbers, reading: int
) -> tuple[int, int, int, int]:
    """(wavefronts, bank conflicts, wavefronts without conflicts, cycles of the pipe) of one access to shared memory.

    address: of 32 lanes. mask: those that are active. width: bytes a lane accesses. Of copies, source: the 32 addresses in
    global memory; reading: the lanes that read there, while the others write zeros.
    """
    if kind == AccessKind.COPY:
        wavefronts, ideal = copy_wavefronts(address, source, mask, reading, width)
        wavefronts, ideal = max(1, wavefronts), max(1, ideal)
        return wavefronts, wavefronts - ideal, ideal, wavefronts
    words = words_per_lane(kind, width)
    if AccessKind.SPIN <= kind <= AccessKind.SWAP:
        return loop_cost(kind, address, mask, words)
    if kind == AccessKind.BYPASS:
        mask &= ~reading
    lanes = lanes_at_once(kind, address, mask, words)
    wavefronts, ideal = served(
        address, mask, words, lanes, kind not in (AccessKind.ATOM, AccessKind.RED, AccessKind.CAS)
    )
    if kind != AccessKind.BYPASS:
        wavefronts, ideal = max(1, wavefronts), max(1, ideal)
    conflicts, cycles = wavefronts - ideal, wavefronts
    if kind == AccessKind.LD:  # registers come back at 128 bytes a cycle; of pairs, half of them
        cycles = max(wavefronts, words * (LANES // words) // lanes)
    elif kind == AccessKind.CAS:
        wavefronts, ideal, cycles = 2 * wavefronts, 2 * ideal, 2 * wavefronts
    return wavefronts, conflicts, ideal, cycles


def words_per_lane(kind: int, width: int) -> int:
    """How many words of 4 bytes a lane accesses; a row of a matrix has 4."""
    if kind in (AccessKind.LDMATRIX, AccessKind.STMATRIX):
        return 4
    return 1 if kind == AccessKind.COUNT else max(1, width // 4)


def lanes_at_once(kind: int, address: Numbers, mask: int, words: int) -> int:
    """How many lanes are served in a phase: of a load twice as many where lanes agree in pairs."""
    paired = kind == AccessKind.LD and words > 1 and (is_paired(address, mask, 1) or is_paired(address, mask, 2))
    return LANES // words * (2 if paired else 1)


def is_paired(address: Numbers, mask: int, step: int) -> bool:
    """Whether every active lane agrees with lane ^ step, or that one is inactive."""
    for lane in range(LANES):
        if mask >> lane & 1 and mask >> (lane ^ step) & 1 and address[lane] != address[lane ^ step]:
            return False
    return True


def served(address: Numbers, mask: int, words: int, lanes: int, merges: bool) -> tuple[int, int]:
    """(wavefronts, phases with an active lane) of accesses of `words` of 4 bytes, `lanes` at a time.

    merges: lanes on one word cost one wavefront together.
    """
    wavefronts, phases = 0, 0
    for first in range(0, LANES, lanes):
        low, high = bounds(address, (mask >> first & (1 << lanes) - 1) << first)
        if high < 0:
            continue
        phases += 1
        low, high = low >> 2, (high >> 2) + words - 1
        if not merges:
            wavefronts += most_lanes(address, mask, words, first, lanes)
        elif high - low < BANKS:  # different words, different banks
            wavefronts += 1
        elif high // BANKS - low // BANKS < ROWS:
            wavefronts += most_rows(address, mask, words, first, lanes, low // BANKS)
        else:
            wavefronts += fullest_bank(address, mask, words, first, lanes)
    return wavefronts, phases


def most_lanes(address: Numbers, mask: int, words: int, first: int, lanes: int) -> int:
    """How many words the bank with most of them has to serve in a phase, where lanes on one word do not merge."""
    count, most = [0] * BANKS, 0
    for lane in range(first, first + lanes):
        if mask >> lane & 1:
            start = address[lane] // 4
            for word in range(start, start + words):
                count[word % BANKS] += 1
    for bank in range(BANKS):
        most = max(most, count[bank])
    return most


def most_rows(address: Numbers, mask: int, words: int, first: int, lanes: int, lowest: int) -> int:
    """The same, where they merge, of words that lie in ROWS rows of all banks from a lowest one on."""
    rows = [0] * BANKS
    for lane in range(first, first + lanes):
        if mask >> lane & 1:
            start = address[lane] // 4
            for word in range(start, start + words):
                rows[word % BANKS] |= 1 << word // BANKS - lowest
    return most_bits(rows)


def fullest_bank(address: Numbers, mask: int, words: int, first: int, lanes: int) -> int:
    """The same, of words anywhere."""
    # A chain of distinct words per bank: heads[bank] is its first entry, next_one[entry] the next; 0 ends it.
    heads, length = [0] * BANKS, [0] * BANKS
    word_of, next_one = [0] * (WORDS + 1), [0] * (WORDS + 1)
    most, entries = 0, 0
    for lane in range(first, first + lanes):
        if not mask >> lane & 1:
            continue
        start = address[lane] // 4
        for word in range(start, start + words):
            bank = word % BANKS
            entry = heads[bank]
            while entry != 0 and word_of[entry] != word:
                entry = next_one[entry]
            if entry == 0:
                entries += 1
                word_of[entries], next_one[entries] = word, heads[bank]
                heads[bank] = entries
                length[bank] += 1
                most = max(most, length[bank])
    return most


def loop_cost(kind: int, address: Numbers, mask: int, words: int) -> tuple[int, int, int, int]:
    """The same as `cost`, of an atomic that is a loop around a compare-and-swap."""
    masks = [0] * LANES
    spins = kind == AccessKind.SPIN
    count, phases = tries(address, mask, words, spins, masks)
    if kind == AccessKind.SWAP:
        count = min(count, 1)
    wavefronts, conflicts, ideal = 0, 0, 0
    for turn in range(count):
        if spins or turn == 0:
            loads, least = served(
                address, masks[turn], words, lanes_at_once(AccessKind.LD, address, masks[turn], words), True
            )
            wavefronts += loads
            conflicts += loads - least
            if turn == 0:
                ideal += least
        swaps, least = served(address, masks[turn], words, LANES // words, False)
        if turn == 0:
            ideal += 2 * least
        if not spins:
            wavefronts += 2 * swaps
            conflicts += swaps - least
    if spins:
        wavefronts += 2 * phases
    return max(1, wavefronts), conflicts, max(1, ideal), max(1, wavefronts)


def sectors_and_lines(address: Numbers, mask: int, atomic: bool) -> tuple[int, int]:
    """Different sectors of 32 and lines of 128 bytes of an access to global memory. Lanes of an atomic on one word do not merge."""
    spare = mask.bit_count() - different(address, mask, 2) if atomic else 0
    return different(address, mask, 5) + spare, different(address, mask, 7) + spare


def lookups(address: Numbers, mask: int) -> int:
    """How often L1 looks for lines: the most that any tag bank has to look up."""
    if different(address, mask, 7) < 2:
        return 1
    most = 1
    for bank in range(TAG_BANKS):
        here = 0
        for lane in range(LANES):
            if mask >> lane & 1 and tag_bank(address[lane] >> 7) == bank:
                here |= 1 << lane
        most = max(most, different(address, here, 7))
    return most


@body(enough=300)
def costs(kind: int, address: Array, masks: Array, width: int, found: Array) -> None:
    """The `cost` of n accesses, address int64 (n, 32) and masks (n,), into int64 (n, 4). Copies are from neighbouring elements."""
    neighbours, lanes = [0] * LANES, [0] * LANES
    for lane in range(LANES):
        neighbours[lane] = width * lane
    for row in range(len(masks)):
        mask = int(masks[row])
        for lane in range(LANES):
            lanes[lane] = int(address[row, lane])
        wavefronts, conflicts, ideal, cycles = cost(kind, lanes, mask, width, neighbours, mask)
        found[row, 0], found[row, 1], found[row, 2], found[row, 3] = wavefronts, conflicts, ideal, cycles


@body(enough=300)
def global_costs(address: Array, masks: Array, width: int, atomic: bool, found: Array) -> None:
    """(sectors, lines, lookups, cycles) of n accesses to global memory, address int64 (n, 32) and masks (n,), into (n, 4)."""
    lanes = [0] * LANES
    for row in range(len(masks)):
        mask = int(masks[row])
        for lane in range(LANES):
            lanes[lane] = int(address[row, lane])
        sectors, lines = sectors_and_lines(lanes, mask, atomic)
        looked = lookups(lanes, mask)
        banked, _ = served(lanes, mask, max(1, width // 4), LANES, True)
        found[row, 0], found[row, 1], found[row, 2], found[row, 3] = sectors, lines, looked, max(banked, looked)
