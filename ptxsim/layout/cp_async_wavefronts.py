"""Wavefronts of cp.async.ca: what is read in L1 and written to shared memory in one go.

Measured on an H200 (l1tex__data_pipe_lsu_wavefronts_mem_shared, 525 patterns, tests/data/wavefronts.json.gz), and exact
for all of them:

* L1 looks up lines as many at a time as `tags` says.
* Of the lines found, the lanes of a phase (32 lanes of 4 bytes, 16 of 8, 8 of 16) are moved. A lane waits for every earlier
  one that is still to come and shares its bank, in L1 or in shared memory. Equal addresses are not merged.
* Lanes that write zeros read nothing: only shared memory makes them wait.
"""

from __future__ import annotations

from ptxsim.jit.body import Numbers
from ptxsim.layout.l1_tag_banks import tag_bank


def copy_wavefronts(to: Numbers, source: Numbers, writing: int, reading: int, width: int) -> tuple[int, int]:
    """(wavefronts, those without bank conflicts) of one cp.async.ca of `width` bytes: 4, 8 or 16.

    to, source: 32 addresses in shared and global memory. writing, reading: masks of the lanes that copy, and of those of
    them that read; the others write zeros.
    """
    words = width // 4
    size, banks = 32 // words, 32 // words
    wavefronts = ideal = 0
    waiting = writing
    while waiting:
        found = _found(source, waiting, reading)
        for first in range(0, 32, size):
            phase = found >> first & (1 << size) - 1
            wavefronts += _moved(to, source, phase, reading, first, size, width, banks)
            ideal += phase != 0
        waiting &= ~found
    return wavefronts, ideal


def _found(source: Numbers, waiting: int, reading: int) -> int:
    """The lanes whose lines are looked up together: of every tag bank the line of its first lane; and those of zeros."""
    lines = [-1, -1, -1, -1]
    found = waiting & ~reading
    for lane in range(32):
        if waiting & reading & 1 << lane:
            line = source[lane] // 128
            bank = tag_bank(line)
            if lines[bank] < 0:
                lines[bank] = line
            if lines[bank] == line:
                found |= 1 << lane
    return found


def _moved(
    to: Numbers, source: Numbers, waiting: int, reading: int, first: int, size: int, width: int, banks: int
) -> int:
    """Wavefronts of the lanes `first + i` whose bit i is set."""
    wavefronts = 0
    while waiting:
        inner = outer = left = 0
        for lane in range(first, first + size):
            if waiting >> (lane - first) & 1:
                target, origin = 1 << to[lane] // width % banks, 0
                if reading >> lane & 1:
                    origin = 1 << source[lane] // width % banks
                if target & inner or origin & outer:
                    left |= 1 << (lane - first)
                inner |= target
                outer |= origin
        waiting = left
        wavefronts += 1
    return wavefronts
