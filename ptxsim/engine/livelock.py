"""Launches that go round for ever: the machine comes back to a state that it has been in.

With seed 0 the machine is deterministic: once everything that decides what happens next is as it was, it will be again. With other
seeds it is asked to come back OFTEN. Programs that read a clock never do.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable

import numpy as np

from ptxsim.machine.records import WarpRecord
from ptxsim.machine.state import Machine

OFTEN = 16
MUCH = 1 << 26  # bytes of global memory from which on it takes so many times as long until one is


class Livelock:
    """Looks at the state of a machine now and then, and keeps one that is ever further away (Brent's way to find cycles)."""

    def __init__(self, machine: Machine):
        self.machine, self.looks, self.next = machine, 0, 1 + machine.memory.allocated // MUCH
        self.kept: int | None = None
        self.memory, self.times = 0, 0  # global memory then, and how often it was so since

    def repeats(self, state: Callable[[], Iterable[bytes | np.ndarray]]) -> bool:
        """Whether the machine has been in this state: of the warps that run (`state_of`) and what they own, and of global memory."""
        self.looks += 1
        if self.machine.pending:
            return False
        found = _sum(state())
        if found == self.kept and self._global() == self.memory:
            self.times += 1
            return self.machine.seed == 0 or self.times == OFTEN
        if self.looks >= self.next:
            self.kept, self.memory, self.next, self.times = found, self._global(), 2 * self.looks, 0
        return False

    def _global(self) -> int:
        memory = self.machine.memory
        return _sum(memory.view(allocation) for allocation in memory.allocations)


def _sum(parts: Iterable[bytes | np.ndarray]) -> int:
    found = 0
    for part in parts:
        found = zlib.crc32(part.tobytes() if isinstance(part, np.ndarray) else part, found)
    return found


def state_of(warp: WarpRecord, registers: Iterable[np.ndarray]) -> Iterable[bytes | np.ndarray]:
    """What decides how a warp goes on, but for memory: where its splits are, their patience, its registers."""
    splits = [(split.block, split.op, split.mask, split.wait, split.depth) for split in warp.split[: warp.splits]]
    yield repr((splits, warp.spent, warp.lost)).encode()
    yield from registers
