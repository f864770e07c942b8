"""Launches that never end: the machine comes back to a state that it has been in.

With seed 0 the machine is deterministic: once everything that decides what happens next is as it was, it will be again. Where the lengths
of turns are random it must have come back OFTEN. What clocks decide is left out where it is only how long threads sleep (analysis.clocks);
where it may be more, time alone may end a loop, and nobody looks.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable

import numpy as np

from ptxsim.machine.records import WarpRecord
from ptxsim.machine.state import Machine

OFTEN = 16
DOUBTS = 64  # looks in which those that have missed each other may meet
LAST = 16  # of them, in which each part of the state comes back
MUCH = 1 << 26  # bytes of global memory from which on it takes so many times as long until one is


class Livelock:
    """Looks at the state of a machine now and then, and keeps one that is ever further away (Brent's way to find cycles). Global memory,
    which may be large, is looked at only where all else is as it was."""

    def __init__(self, machine: Machine):
        self.machine, self.looks, self.next = machine, 0, 1 + machine.memory.allocated // MUCH
        self.kept: int | None = None
        # Global memory when the machine was last as it is kept, but for that; how often all has been so again since.
        self.memory: int | None = None
        self.times = 0
        # How many more looks it takes to be sure; what each part of the state has been since it is doubted; which parts have come back
        # to that in the last looks.
        self.doubts = 0
        self.seen = set[tuple[int, int]]()
        self.again = set[int]()

    def repeats(self, state: Callable[[], Iterable[bytes | np.ndarray]]) -> bool:
        """Whether the machine has been in this state: of the warps that run (`state_of`) and what they own, and of global memory."""
        self.looks += 1
        if self.machine.pending:
            return False
        if self.doubts:
            return self._is_sure([*map(_sum_of, state())])
        found = _sum(state())
        if found == self.kept:
            before, self.memory = self.memory, self._global()
            self.times = self.times + 1 if self.memory == before else 0
            return self.times == (OFTEN if self.machine.mixes else 1)
        if self.looks >= self.next:
            self.kept, self.memory, self.next, self.times = found, None, 2 * self.looks, 0
        return False

    def doubt(self) -> None:
        """Turns have random lengths from now on: if global memory is the same at some looks even so, and each part of the state comes back to what
        it was, nothing will change. What counts on in registers or shared memory does not come back."""
        self.doubts, self.memory = DOUBTS, self._global()
        self.seen.clear()
        self.again.clear()

    def _is_sure(self, parts: list[int]) -> bool:
        """By one more look."""
        if self._global() != self.memory:
            self.looks, self.next, self.kept, self.memory, self.times, self.doubts = 0, 1, None, None, 0, 0
            return False
        found = {*enumerate(parts)}
        self.again.update(place for place, _ in found & self.seen)
        self.seen |= found
        self.doubts -= 1
        is_sure = not self.doubts and len(self.again) == len(parts)
        self.doubts = self.doubts or LAST
        if self.doubts == LAST:
            self.again.clear()
        return is_sure

    def _global(self) -> int:
        memory = self.machine.memory
        return _sum(memory.view(allocation) for allocation in memory.allocations)


def _sum(parts: Iterable[bytes | np.ndarray]) -> int:
    found = 0
    for part in parts:
        found = _sum_of(part, found)
    return found


def _sum_of(part: bytes | np.ndarray, before: int = 0) -> int:
    return zlib.crc32(part.tobytes() if isinstance(part, np.ndarray) else part, before)


def state_of(warp: WarpRecord, registers: Iterable[np.ndarray]) -> Iterable[bytes | np.ndarray]:
    """What decides how a warp goes on, but for memory: where its splits are, their patience, its registers."""
    splits = [(split.block, split.op, split.mask, split.wait, split.depth) for split in warp.split[: warp.splits]]
    yield repr((splits, warp.spent, warp.lost)).encode()
    yield from registers
