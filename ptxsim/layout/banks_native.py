"""The loops of `banks` compiled by numba, for many instructions at once. Import it only where it is needed."""

from __future__ import annotations

import numpy as np
from numba import njit
from numba.extending import register_jitable

from ptxsim.layout import atomic_loops, cp_async_wavefronts, l1_tag_banks


def compiled(function):
    """The function jitted, kept on disk where numba finds a place to write."""
    try:
        return njit(cache=True, nogil=True)(function)
    except RuntimeError:
        return njit(nogil=True)(function)


for helper in (l1_tag_banks.tag_bank, cp_async_wavefronts._found, cp_async_wavefronts._moved, atomic_loops._is_changed):
    register_jitable(helper)
copy_wavefronts = compiled(cp_async_wavefronts.copy_wavefronts)
tries = compiled(atomic_loops.tries)


@compiled
def wavefronts_of(address, active, full, words, phase_lanes, merges, chain, word_of, length):
    """(wavefronts, active phases) of one instruction: address int64 (32,), active bool (32,), `full` if all are.

    `chain` int64 (544,), `word_of` int64 (512,) and `length` int64 (32,) are scratch. `merges` is False for atomics.
    """
    wavefronts = 0
    phases = 0
    for first in range(0, 32, phase_lanes):
        low, high = np.int64(1) << 62, np.int64(-1)
        if full:  # without a branch, for vector instructions
            for lane in range(first, first + phase_lanes):
                low, high = min(low, address[lane]), max(high, address[lane])
        else:
            for lane in range(first, first + phase_lanes):
                if active[lane]:
                    low, high = min(low, address[lane]), max(high, address[lane])
            if high < 0:
                continue
        phases += 1
        if merges and (high >> 2) + words - (low >> 2) <= 32:  # different words, different banks
            wavefronts += 1
            continue
        # A chain of distinct words per bank: chain[512 + bank] is its head, chain[entry - 1] the next; 0 ends it.
        chain[512:] = 0
        length[:] = 0
        worst = 0
        entries = 0
        for lane in range(first, first + phase_lanes):
            if not active[lane]:
                continue
            start = address[lane] // 4
            for word in range(start, start + words):
                bank = word % 32
                seen = False
                if merges:
                    entry = chain[512 + bank]
                    while entry != 0 and not seen:
                        seen = word_of[entry - 1] == word
                        entry = chain[entry - 1]
                if not seen:
                    word_of[entries] = word
                    chain[entries] = chain[512 + bank]
                    entries += 1
                    chain[512 + bank] = entries
                    length[bank] += 1
                    worst = max(worst, length[bank])
        wavefronts += worst
    return wavefronts, phases


@compiled
def count(address, active, words, phase_lanes, merges):
    """As `banks._count`: address int64 (n, 32), active bool (n, 32), phase_lanes (n,)."""
    wavefronts = np.empty(len(address), dtype=np.int64)
    phases = np.empty(len(address), dtype=np.int64)
    chain, word_of, length = np.empty(544, np.int64), np.empty(512, np.int64), np.empty(32, np.int64)
    for row in range(len(address)):
        wavefronts[row], phases[row] = wavefronts_of(
            address[row], active[row], active[row].all(), words, phase_lanes[row], merges, chain, word_of, length
        )
    return wavefronts, phases


@compiled
def distinct_of(address, active, shift, seen):
    """How many different values of address >> shift the active lanes have; `seen` int64 (32,) is scratch."""
    total = 0
    for lane in range(32):
        if not active[lane]:
            continue
        value = address[lane] >> shift
        known = False
        # Backwards: neighbours are the likeliest to agree.
        for entry in range(total - 1, -1, -1):
            if seen[entry] == value:
                known = True
                break
        if not known:
            seen[total] = value
            total += 1
    return total


@compiled
def distinct(address, active, shift):
    """As `banks._distinct`: address int64 (n, 32), active bool (n, 32)."""
    found = np.empty(len(address), dtype=np.int64)
    seen = np.empty(32, dtype=np.int64)
    for row in range(len(address)):
        found[row] = distinct_of(address[row], active[row], shift, seen)
    return found


@compiled
def is_paired(address, active, step):
    """Whether every active lane agrees with lane ^ step, or that one is inactive."""
    for lane in range(32):
        if active[lane] and active[lane ^ step] and address[lane] != address[lane ^ step]:
            return False
    return True


@compiled
def loop_of(address, mask, words, spins, once, chain, word_of, length):
    """(wavefronts, conflicts, ideal) of an atomic that is a loop, as `banks._loop`; scratch as for `wavefronts_of`."""
    masks = np.zeros(32, np.int64)
    active = np.empty(32, np.bool_)
    count, phases = tries(address, mask, words, spins, masks)
    if once:
        count = 1
    wavefronts, conflicts, ideal = 0, 0, 0
    for turn in range(count):
        full = masks[turn] == (np.int64(1) << 32) - 1
        for lane in range(32):
            active[lane] = masks[turn] >> lane & 1 != 0
        if spins or turn == 0:
            size = 32 // words
            if words > 1 and (is_paired(address, active, 1) or is_paired(address, active, 2)):
                size *= 2
            loads, least = wavefronts_of(address, active, full, words, size, True, chain, word_of, length)
            wavefronts += loads
            conflicts += loads - least
            if turn == 0:
                ideal += least
        swaps, least = wavefronts_of(address, active, full, words, 32 // words, False, chain, word_of, length)
        if turn == 0:
            ideal += 2 * least
        if not spins:
            wavefronts += 2 * swaps
            conflicts += swaps - least
    if spins:
        wavefronts += 2 * phases
    return wavefronts, conflicts, ideal
