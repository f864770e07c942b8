"""The tensor core of a CTA: products, copies and shifts on tensor memory, which it does one after the other, and commits.

They complete later than they are issued (machine.asynchronous); a commit makes an mbarrier hear of all that its thread has issued
before. PTX ISA, "TensorCore 5th Generation Instructions: Memory Consistency Model".
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial

import numpy as np

from ptxsim.machine import mbarrier
from ptxsim.machine.asynchronous import cluster_addresses, delay, snapshot
from ptxsim.machine.cta import Cta
from ptxsim.machine.event import FLAG_ASYNC_PROXY, FLAG_READ, Event, Space
from ptxsim.machine.fault import Fault
from ptxsim.machine.memory import RANK_SHIFT
from ptxsim.machine.port import Port
from ptxsim.machine.tile import CHUNK, Tile

Work = Callable[[], None]


class TensorCore:
    """The operations of a CTA that are not complete, in the order of issue."""

    def __init__(self) -> None:
        self.issued = self.completed = 0
        self._queue: deque[tuple[Port, Work]] = deque()

    def issue(self, m: Port, work: Work) -> None:
        """Something is to be done, after all that was issued before."""
        self._queue.append((m, work))
        self.issued += 1
        m.machine.schedule(partial(self.complete, self.issued), delay(m.machine))

    def complete(self, count: int) -> None:
        """Do what is before number `count` and is not done."""
        while self.completed < count:
            m, work = self._queue.popleft()
            self.completed += 1
            try:
                work()
            except Fault as fault:
                m.report(fault.name, fault.message, fault.lane, fault.help)


def core_of(cta: Cta) -> TensorCore:
    return cta.units.of(TensorCore)


class Reads:
    """Tiles of shared memory that the tensor core reads until a commit shows that it has."""

    def __init__(self) -> None:
        self.open: list[tuple[Port, Tile]] = []


def read_tiles(m: Port, tiles: list[Tile]) -> None:
    """Tell observers that tiles will be read."""
    if m.machine.stream is None:
        return
    for tile in tiles:
        _tell(m, tile, Event.ASYNC_READ, 0)
        _tell(m, tile, Event.ASYNC_ISSUE, FLAG_READ)
        m.cta.units.of(Reads).open.append((m, tile))


def _tell(m: Port, tile: Tile, event: Event, flags: int) -> None:
    chunks = tile.chunks() + (m.cta.rank << RANK_SHIFT)
    for i in range(0, len(chunks), 32):
        part = chunks[i : i + 32]
        m.emit(event, Space.SHARED, CHUNK, flags | FLAG_ASYNC_PROXY, np.arange(32) < len(part), part)


def commit(m: Port, space: str | None, a: np.ndarray) -> None:
    """tcgen05.commit: one arrival on an mbarrier when all that was issued before is done."""
    kept, core, reads = snapshot(m), core_of(m.cta), m.cta.units.of(Reads)
    covered, reads.open = reads.open, []
    found = [barrier for _, barrier in mbarrier.each(m, space, a)]

    def arrive() -> None:
        for port, tile in covered:
            _tell(port, tile, Event.ASYNC_WAIT, FLAG_READ)
        for barrier in found:
            barrier.check_intact()
            barrier.arrive(1, mbarrier.who(kept))
        for _, memory, offsets, mask in mbarrier.places(kept, space, a):
            named = cluster_addresses(kept, memory, offsets)
            kept.emit(Event.MBARRIER_ARRIVE, Space.SHARED, 8, FLAG_ASYNC_PROXY, mask, named)

    core.issue(kept, arrive)
