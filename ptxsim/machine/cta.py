"""CTAs, clusters, warps and the splits a warp falls into when its lanes diverge."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, Protocol

import numpy as np

from ptxsim.lanes import LANES, lanes_of, mask_word
from ptxsim.machine.barriers.cluster import describe_cluster
from ptxsim.machine.barriers.cta import NamedBarriers
from ptxsim.machine.barriers.mbarrier_state import describe_wait, open_lanes, watched
from ptxsim.machine.fault import Converge, Wait
from ptxsim.machine.memory import RANK_SHIFT
from ptxsim.machine.pages import reserve
from ptxsim.machine.records import (
    AT_MBARRIERS,
    BARRIERS,
    CLUSTER,
    CONVERGES,
    FIRST_BARRIER,
    IN_PYTHON,
    RUNS,
    CtaRecord,
    MBarrierRecord,
    MBarrierTable,
    Split,
    WarpRecord,
    aligned,
    cta_record,
    mbarrier_table,
)
from ptxsim.machine.shared_names import Variables, shared_name
from ptxsim.machine.units import Units
from ptxsim.machine.warpgroup import WarpgroupRecord, describe, warpgroups_of

STACK = WarpRecord.offsets()["stack"]
DYNAMIC_STACK = 1 << 14  # bytes a lane has for alloca, in kernels that use it


Register = np.ndarray | list[np.ndarray]  # by lane: unsigned words, bool for predicates, a list of two for 128 bits


@dataclass(slots=True, eq=False)
class Frame:
    """A call: where it returns to, and the call that it was made in; the function that is called, the one that calls, and what they pass
    (engine.program.operation). saved, pointer: what comes back with the lanes, registers by slot and where memory of alloca begins.
    """

    number: int
    return_block: int
    caller: Frame | None
    callee: Any
    code: Any
    site: Any
    saved: dict[int, Register] = field(default_factory=dict)
    pointer: np.ndarray | None = None


class Registers(Protocol):
    """The registers of a warp by slot."""

    def __len__(self) -> int: ...

    def __getitem__(self, slot: int, /) -> Any: ...

    def __setitem__(self, slot: int, value: Any, /) -> None: ...


@cache
def _thread_ids(warp: int, x: int, y: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """%tid of the lanes of a warp in CTAs so wide and high."""
    linear = warp * LANES + np.arange(LANES, dtype=np.uint32)
    found = linear % x, linear // x % y, linear // (x * y)
    for each in found:  # all CTAs have the same ones
        each.flags.writeable = False
    return found


class Warp:
    """32 lanes. `record` has their splits; `memory` is the record and what an engine keeps after it."""

    cta: Cta
    index: int

    def __init__(self, cta: Cta, index: int, memory: np.ndarray):
        self.cta, self.index, self.memory = cta, index, memory
        self.record = WarpRecord.of(memory)
        self.waits: dict[int, Wait] = {}  # by the ticket of the split
        self.stays = False  # whether all its lanes but those of one split wait for these, which were where they are a turn ago, too
        self.calls: dict[
            int, Frame
        ] = {}  # that splits are in, by number; the engine knows all that there may be, where they are few
        self._numbers = itertools.count(1)  # of waits and calls
        self.registers: Registers = []
        self.local: np.ndarray | None = None  # uint8 (LANES, bytes), made when first used
        self.units = Units()
        self.allocated: np.ndarray | None = None  # local address of what alloca gave last, by lane
        self.in_flight: dict[int, int] = {}  # register slots the tensor core owns, and the line that gave them away
        self.copies: np.ndarray | None = None  # memory that the record's copies are in (machine.copies.lane_copies)
        self.stack = memory[STACK : STACK + 8 * LANES].view(np.uint64)  # base of the current local frame
        self.tid = _thread_ids(index, *cta.block_shape[:2])

    def begin(self, lanes: int) -> None:
        """The first `lanes` lanes stand together at the start of the kernel."""
        record = self.record
        record.cta, record.index, record.splits = self.cta.linear, self.index, 1
        record.live = record.split[0].mask = (1 << lanes) - 1

    @property
    def live(self) -> np.ndarray:
        """The lanes that have not exited."""
        return lanes_of(self.record.live)

    @property
    def splits(self) -> list[Split]:
        return list(self.record.split[: self.record.splits])

    def waits_for(self, split: Split) -> Wait | Converge | None:
        """What a split waits for."""
        if split.wait in (RUNS, IN_PYTHON):
            return self.waits[split.ticket] if split.wait == IN_PYTHON else None
        if split.wait == CONVERGES:
            return Converge(lanes_of(split.lanes))
        if split.wait == AT_MBARRIERS:
            record, names = self.record, self.cta.cluster.variables
            first = next(
                (f"the mbarrier {shared_name(names, each.called)}" for each in watched(record, split)), "nothing"
            )
            return Wait(first, lambda: not open_lanes(record, split.lanes), lambda: describe_wait(record, split, names))
        number, phase, cta = split.wait - FIRST_BARRIER, split.ticket, self.cta
        if number == CLUSTER:
            return Wait("the cluster barrier", lambda: cta.barriers.phase(number) != phase, cta.cluster.describe)
        what = f"barrier {number}" if number < BARRIERS else "the other warps of the warpgroup"
        return Wait(what, lambda: cta.barriers.phase(number) != phase, lambda: cta.describe(number))

    def mbarriers(self, split: Split) -> list[tuple[MBarrierRecord, int]]:
        """The mbarriers that a split waits at, and how many lanes do; none where it waits for something else."""
        if split.wait != AT_MBARRIERS:
            return []
        waiting = open_lanes(self.record, split.lanes)
        count = Counter(self.record.watched[lane] for lane in range(LANES) if waiting >> lane & 1)
        return [(MBarrierRecord.from_address(place), lanes) for place, lanes in count.items()]

    def wait(self, split: Split, what: Wait | Converge) -> None:
        """Let a split wait for lanes, or for something that Python knows."""
        if isinstance(what, Converge):
            split.wait, split.lanes = CONVERGES, mask_word(what.lanes)
        else:
            split.wait, split.ticket = IN_PYTHON, self.next_number()
            self.waits[split.ticket] = what

    @property
    def converges(self) -> bool:
        """Whether some of its lanes wait for others."""
        return any(split.wait == CONVERGES for split in self.splits)

    def next_number(self) -> int:
        """A number for a wait or a call."""
        return next(self._numbers)

    def forget_calls(self, caller: Frame | None) -> None:
        """Keep only the calls that splits are in; one of them, that lanes have come back to, is `caller`."""
        known = self.calls if caller is None else {**self.calls, caller.number: caller}
        self.calls = {split.call: known[split.call] for split in self.splits if split.call}

    @property
    def done(self) -> bool:
        return self.record.splits == 0

    def stack_pointer(self, end: int) -> np.ndarray:
        """Where what alloca gave begins in the local memory of each lane, which ends at `end`."""
        return np.full(LANES, end, np.uint64) if self.allocated is None else self.allocated


class Cta:
    """One CTA: shared memory as bytes, barriers, warps.

    `warp_bytes`: how much memory an engine wants for a warp, 0: no more than its record. `begun`: the record and the warps' memory, (warps, bytes), of a CTA
    that runs already.
    """

    index: tuple[int, int, int]
    linear: int
    block_shape: tuple[int, int, int]
    shared_bytes: int
    cluster: Cluster
    record: CtaRecord

    def __init__(
        self, index: tuple[int, int, int], linear: int, block: tuple[int, int, int], shared_bytes: int, cluster: Cluster,
        shared_fill: int = 0, warp_bytes: int = 0, begun: tuple[CtaRecord, np.ndarray] | None = None,
    ):  # fmt: skip
        self.index, self.linear, self.block_shape = index, linear, block
        self.cluster = cluster
        self.shared = cluster.room(shared_bytes)
        self.shared.fill(shared_fill)
        self.shared_bytes = shared_bytes
        self.threads = block[0] * block[1] * block[2]
        count = -(-self.threads // LANES)
        before = [cta.record for cta in cluster.ctas]
        self.record, self.memory = begun or (
            cta_record(self.threads, before),
            aligned(count, warp_bytes or WarpRecord.dtype.itemsize),
        )
        self.barriers = NamedBarriers(self.record)
        self.warps = [Warp(self, w, row) for w, row in enumerate(self.memory)]
        if begun is None:
            for warp in self.warps:
                warp.begin(min(LANES, self.threads - warp.index * LANES))
                warp.record.owner = self.record.address
        self.units = Units()
        self.knows_of_no_more = False  # a thread has looked at an answer that no cluster is left to cancel
        self._mbarriers: np.ndarray | None = None

    @property
    def mbarriers(self) -> MBarrierTable:
        """The mbarriers of its shared memory; there is room for them when they are first asked for."""
        if self._mbarriers is None:
            self.keep_mbarriers(mbarrier_table(self.shared))
        return MBarrierTable.from_address(self.record.mbarriers)

    def keep_mbarriers(self, memory: np.ndarray) -> None:
        """`memory` is the table of mbarriers from now on."""
        self._mbarriers, self.record.mbarriers = memory, memory.ctypes.data

    def describe(self, barrier: int) -> str:
        """Who has come to a barrier and who is missing, for a deadlock report."""
        if barrier >= BARRIERS:
            return describe(self.warpgroups[barrier - BARRIERS])
        return self.barriers.describe(barrier, [warp.record for warp in self.warps])

    @cached_property
    def warpgroups(self) -> Sequence[WarpgroupRecord]:
        """Its warpgroups, the last of which may lack warps; made when there are products."""
        return warpgroups_of([warp.record for warp in self.warps])

    @property
    def is_multiplying(self) -> bool:
        """Whether a product of a warpgroup is in flight."""
        return any(group.completed != group.issued for group in self.__dict__.get("warpgroups", ()))

    @property
    def rank(self) -> int:
        """Index within the cluster."""
        return self.cluster.ctas.index(self)

    @property
    def done(self) -> bool:
        return all(warp.done for warp in self.warps)


@dataclass(slots=True)
class Cluster:
    """CTAs that run together and reach each other's shared memory. `variables` are those of that memory."""

    index: tuple[int, int, int]
    shape: tuple[int, int, int]
    variables: Variables = field(default_factory=dict)
    ctas: list[Cta] = field(default_factory=list)
    units: Units = field(default_factory=Units)
    memory: np.ndarray | None = None  # shared memory of several CTAs, at distances of 1 << RANK_SHIFT

    @property
    def size(self) -> int:
        """How many CTAs it has."""
        x, y, z = self.shape
        return x * y * z

    def room(self, size: int, rank: int | None = None) -> np.ndarray:
        """Shared memory of the CTA of a rank, or of its next one."""
        size = -(-size // 16) * 16
        if self.size == 1:
            return aligned(size)
        if self.memory is None:
            self.memory = reserve(self.size << RANK_SHIFT)
        start = (len(self.ctas) if rank is None else rank) << RANK_SHIFT
        return self.memory[start : start + size]

    def describe(self) -> str:
        """Who is missing at its barrier, for a deadlock report."""
        return describe_cluster([(cta.record, warp.record) for cta in self.ctas for warp in cta.warps])
