"""The tensor core of a CTA: products, copies and shifts on tensor memory, which it does one after the other, and commits.

They complete later than they are issued (machine.asynchronous); a commit makes an mbarrier hear of all that its thread has issued
before. PTX ISA, "TensorCore 5th Generation Instructions: Memory Consistency Model".
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from ptxsim.machine.asynchronous import cluster_addresses, delay, snapshot
from ptxsim.machine.barriers import mbarrier
from ptxsim.machine.cta import Cta
from ptxsim.machine.event import (
    FLAG_ASYNC_PROXY,
    FLAG_CORE,
    FLAG_ISSUED,
    FLAG_LANDED,
    FLAG_READ,
    LANE_SHIFT,
    Event,
    Space,
    TensorUse,
)
from ptxsim.machine.fault import Fault, first_lane
from ptxsim.machine.memory import RANK_SHIFT
from ptxsim.machine.port import Port
from ptxsim.machine.records import MBarrierRecord
from ptxsim.machine.tensor_memory.order import MOVES, Moves, Use, check, tell
from ptxsim.machine.tile import Tile

Work = Callable[[], None]


class Load(NamedTuple):
    """How much work something is, of each of its CTAs. Of a product: rows and columns of D, bytes of a row of A, whether A comes from
    shared memory, multiplications and additions. bytes: that are read from shared memory. ctas: whose tensor cores do it."""

    bytes: int
    ctas: int
    rows: int = 0
    columns: int = 0
    row_bytes: int = 0
    a_is_shared: bool = False
    operations: int = 0


NO_LOAD = Load(0, 1)


class TensorCore:
    """The operations of a CTA that are not complete, in the order of issue."""

    def __init__(self) -> None:
        self.issued = self.completed = 0
        self._queue: deque[tuple[Port, Work, Sequence[Use]]] = deque()

    def issue(self, m: Port, work: Work, uses: Sequence[Use] = (), load: Load = NO_LOAD) -> None:
        """Something is to be done, after all that was issued before; `uses`: of tensor memory; `load`: how much it is."""
        how = TensorUse.CORE
        for cta in m.cta.cluster.ctas:
            how |= check(m, uses, cta.units.of(Moves).all(), f"{MOVES}, and a barrier")
        tell(m, uses, how)
        if load is not NO_LOAD:
            m.emit(Event.TENSOR_WORK, addresses=[*map(int, load)])
        self._queue.append((m, work, uses))
        self.issued += 1
        m.machine.schedule(partial(self.complete, self.issued), delay(m.machine))

    def complete(self, count: int) -> None:
        """Do what is before number `count` and is not done."""
        while self.completed < count:
            m, work, _ = self._queue.popleft()
            self.completed += 1
            try:
                work()
            except Fault as fault:
                m.report(fault.name, fault.message, fault.lane, fault.help)

    def uses(self) -> Iterator[Use]:
        """Of tensor memory, by what is not complete."""
        for _, _, uses in self._queue:
            yield from uses


def core_of(cta: Cta) -> TensorCore:
    return cta.units.of(TensorCore)


def in_flight(m: Port) -> Iterator[Use]:
    """What the tensor cores of the cluster have not completed."""
    for cta in m.cta.cluster.ctas:
        yield from core_of(cta).uses()


class Arrivals:
    """Commits of a cluster that have not arrived yet, by the mbarrier."""

    def __init__(self) -> None:
        self.begun: Counter[int] = Counter()


class Reads:
    """Tiles of shared memory that the tensor core reads until a commit shows that it has: by whom, of which CTA."""

    def __init__(self) -> None:
        self.open: list[tuple[Port, Cta, Tile]] = []


def read_tiles(m: Port, tiles: Sequence[Tile], ctas: Sequence[Cta]) -> None:
    """Tell observers that tiles of CTAs will be read."""
    if m.machine.stream is None:
        return
    for cta in ctas:
        for tile in tiles:
            _tell(m, cta, tile, Event.ASYNC_READ, 0)
            _tell(m, cta, tile, Event.ASYNC_ISSUE, FLAG_READ)
            m.cta.units.of(Reads).open.append((m, cta, tile))


def _tell(m: Port, cta: Cta, tile: Tile, event: Event, flags: int) -> None:
    stream, flags = m.machine.stream, flags | FLAG_ASYNC_PROXY | first_lane(m.mask) << LANE_SHIFT
    if stream is not None:
        width, addresses = tile.blocks()
        stream.emit_all(
            m.site, m.cta.linear, m.warp.index, event, Space.SHARED, width, flags, addresses + (cta.rank << RANK_SHIFT)
        )  # fmt: skip


def commit(m: Port, space: str | None, a: np.ndarray, mask: np.ndarray | None = None) -> None:
    """One arrival on an mbarrier when all that was issued before is done; with a `mask` on those at the same place in
    the CTAs of the cluster whose bits are set."""
    kept, core, reads = snapshot(m), core_of(m.cta), m.cta.units.of(Reads)
    covered, reads.open = reads.open, []
    addresses = [a] if mask is None else list(_same_places(m, a, mask))
    arrivals = [(lane, barrier) for each in addresses for lane, barrier in mbarrier.each(m, space, each)]
    phases, begun = np.zeros(32, np.uint64), m.cta.cluster.ctas[0].units.of(Arrivals).begun
    for lane, barrier in arrivals:
        phases[lane] = barrier.record.phase + _phases_ahead(barrier.record, begun[barrier.record.word])
        begun[barrier.record.word] += 1

    def say(flag: int) -> None:
        for each in addresses:
            for _, memory, offsets, lanes in mbarrier.places(kept, space, each):
                named = cluster_addresses(kept, memory, offsets) | mbarrier.odd_phase(phases)
                kept.emit(Event.MBARRIER_ARRIVE, Space.SHARED, 8, flag, lanes, named)

    def arrive() -> None:
        for port, cta, tile in covered:
            _tell(port, cta, tile, Event.ASYNC_WAIT, FLAG_READ)
        say(FLAG_LANDED | FLAG_CORE)
        for _, barrier in arrivals:
            begun[barrier.record.word] -= 1
            barrier.check_intact()
            barrier.arrive(1, mbarrier.who(kept))

    say(FLAG_ISSUED | FLAG_CORE)
    core.issue(kept, arrive)


def _phases_ahead(record: MBarrierRecord, begun: int) -> int:
    """How many phases after its present one an mbarrier will be in when so many arrivals have come."""
    return 0 if begun < record.pending else 1 + (begun - record.pending) // max(record.expected, 1)


def _same_places(m: Port, a: np.ndarray, mask: np.ndarray) -> Iterator[np.ndarray]:
    """Addresses in the cluster's shared memory, for every CTA of a mask."""
    chosen, offset = int(mask[first_lane(m.mask)]), a & np.uint64((1 << RANK_SHIFT) - 1)
    size = len(m.cta.cluster.ctas)
    if chosen >> size:
        raise Fault(
            "member-mask",
            f"the CTA mask {chosen:#06x} names CTAs that a cluster of {size} does not have",
            first_lane(m.mask),
        )
    for rank in range(size):
        if chosen >> rank & 1:
            yield offset + np.uint64(rank << RANK_SHIFT)
