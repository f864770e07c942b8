"""Atomics on shared memory that are loops around a compare-and-swap: which lanes try again, and what it costs.

Of ptxas 13.0's code for sm_90, measured on an H200 (tests/data/wavefronts.json.gz):

* SPIN: 32-bit floats and pairs of halves, and everything of 64 bits but exchange and compare-and-swap. A try loads the words
  of the lanes left and swaps those of the first lane in each bank, in phases of 32 lanes (16 of 64 bits), 2 wavefronts
  each. Of lanes on one word one wins.
* HALF: one half. The word is loaded once; every try swaps it for all lanes left, of which one a word wins.
* SWAP: compare-and-swap of 16 bits: a load and a swap of the word around it.

What a lane finds decides whether it writes at all (min, max) and whether the next one sees a change: here each does.
"""

from __future__ import annotations

from ptxsim.jit.body import Numbers

SPIN, HALF, SWAP = "spin", "half", "swap"


def tries(address: Numbers, mask: int, words: int, spins: bool, masks: Numbers) -> tuple[int, int]:
    """(tries, phases of swaps): fills `masks` with the lanes of each try. `words` of 4 bytes per lane; spins: not HALF."""
    count = phases = 0
    size = 32 // words
    while mask:
        masks[count] = mask
        count += 1
        left = mask
        for first in range(0, 32, size):
            phase = mask >> first & (1 << size) - 1
            if phase:
                phases += 1
            banks = 0
            for lane in range(first, first + size):
                if not phase >> (lane - first) & 1:
                    continue
                bank = 1 << address[lane] // (4 * words) % size
                if not (spins and banks & bank) and not _is_changed(address, mask & ~left, lane):
                    left &= ~(1 << lane)
                banks |= bank
        mask = left
    return count, phases


def _is_changed(address: Numbers, winners: int, lane: int) -> bool:
    """Whether a lane that has won wrote this lane's word."""
    changed = False
    for other in range(32):
        changed |= bool(winners >> other & 1) and address[other] // 4 == address[lane] // 4
    return changed
