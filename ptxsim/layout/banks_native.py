"""The loop of `banks` compiled by numba, for many instructions at once. Import it only where it is needed."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def wavefronts_of(address, active, words, phase_lanes, merges, chain, word_of):
    """(wavefronts, active phases) of one instruction: address int64 (32,), active bool (32,).

    `chain` int64 (96,) and `word_of` int64 (64,) are scratch. `merges` is False for atomics.
    """
    wavefronts = 0
    phases = 0
    for first in range(0, 32, phase_lanes):
        # A chain of distinct words per bank: chain[64 + bank] is its head, chain[entry] the next; 0 ends it.
        chain[64:] = 0
        worst = 0
        entries = 0
        length = np.zeros(32, dtype=np.int64)
        for lane in range(first, first + phase_lanes):
            if not active[lane]:
                continue
            start = address[lane] // 4
            for word in range(start, start + words):
                bank = word % 32
                seen = False
                if merges:
                    entry = chain[64 + bank]
                    while entry != 0 and not seen:
                        seen = word_of[entry - 1] == word
                        entry = chain[entry - 1]
                if not seen:
                    word_of[entries] = word
                    chain[entries] = chain[64 + bank]
                    entries += 1
                    chain[64 + bank] = entries
                    length[bank] += 1
                    worst = max(worst, length[bank])
        wavefronts += worst
        phases += worst > 0
    return wavefronts, phases


@njit(cache=True, nogil=True)
def count(address, active, words, phase_lanes, merges):
    """As `banks._count`: address int64 (n, 32), active bool (n, 32), phase_lanes (n,)."""
    wavefronts = np.empty(len(address), dtype=np.int64)
    phases = np.empty(len(address), dtype=np.int64)
    chain = np.empty(96, dtype=np.int64)
    word_of = np.empty(64, dtype=np.int64)
    for row in range(len(address)):
        wavefronts[row], phases[row] = wavefronts_of(
            address[row], active[row], words, phase_lanes[row], merges, chain, word_of
        )
    return wavefronts, phases
