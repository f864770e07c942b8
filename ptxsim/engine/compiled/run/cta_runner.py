"""Whole clusters in native code: their warps take their turns there, until they have ended or Python is needed.

No CTA or warp exists as a Python object until something comes up that only Python can do: then objects are made on the same records.
Where native code has to leave, engine.turns runs the cluster from the middle of its round on, until it is at the end of a round in
which nothing waits or is in flight that only Python knows.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Protocol

import numpy as np

from ptxsim.engine import turns as turns_of_python
from ptxsim.engine.clusters import cluster_at, cluster_index
from ptxsim.engine.compiled.run import threads
from ptxsim.engine.compiled.run.context import NativeContext
from ptxsim.engine.compiled.runtime.abi import HEADER_BYTES
from ptxsim.engine.compiled.runtime.clusters import PLACES, Clusters, begin
from ptxsim.engine.compiled.runtime.scheduler import LEFT
from ptxsim.engine.grid import SPIN
from ptxsim.engine.interpreter import fault_finding
from ptxsim.engine.livelock import state_of
from ptxsim.engine.program.call_paths import calls_of
from ptxsim.engine.program.operation import families
from ptxsim.engine.turns import Launch, Outcome, Stopped, Turns
from ptxsim.machine import tensor_memory
from ptxsim.machine.cta import Cluster, Cta, Warp
from ptxsim.machine.fault import Fault
from ptxsim.machine.lane_copies import ROOM, make_room
from ptxsim.machine.mbarrier_end import look_over
from ptxsim.machine.records import IN_PYTHON, CtaRecord, WarpRecord, aligned, cta_record, mbarrier_table
from ptxsim.machine.special import multiprocessors
from ptxsim.machine.state import Machine
from ptxsim.machine.warpgroup import WarpgroupRecord, warpgroups_of

SLICE = 0.02  # as `WholeCtas.pace`, where threads are not to be thought about


class Engine(turns_of_python.Engine, Protocol):
    """What whole CTAs ask of the engine that they belong to."""

    native: NativeContext
    jobs: int | None
    who: Callable[[], Warp | None]

    def resume(self, warp: Warp) -> None:
        """Finish the turn of a warp that native code has left in the middle."""

    def on_another_machine(self, machine: Machine) -> WholeCtas:
        """What runs whole CTAs of the same program, for a thread."""


class WholeCtas:
    """Runs clusters, of one CTA mostly. What those that have ended were made of is used again. `alone`: not in one of several threads."""

    def __init__(self, engine: Engine, alone: bool = True):
        self.alone = alone
        self.engine, self.native, self.machine = engine, engine.native, engine.machine
        self.slice = 2000  # warp instructions between returns, adapted to SLICE
        first = cluster_at(self.machine, 0, self.engine.warp_bytes)
        self.threads, warps = first.ctas[0].threads, [warp for cta in first.ctas for warp in cta.warps]
        for warp in warps:
            self.engine.prepare(warp)
        self.template = np.concatenate([cta.memory for cta in first.ctas])
        self._copies = [warp.copies for warp in warps]  # the template points there
        self.numbers = np.zeros(0, np.int64)  # of the clusters, in the order in which they run
        self.room = ROOM if "cp_async" in families(engine.program) else 0  # copies of cp.async that a warp has room for
        self.order = np.zeros(len(warps), np.int64)
        self.order_at = self.order.ctypes.data
        self.entered: NativeCluster | None = None  # what the context points to
        self._spare: list[NativeCluster] = []
        self._threads: threads.Threads | None = None

    def admit(self, launch: Launch, at: int) -> NativeCluster:
        """The cluster at a place of the launch's order, before its first instruction."""
        if not len(self.numbers):
            self.numbers = np.array(launch.order, np.int64)
        return self._at(at)

    def _at(self, place: int) -> NativeCluster:
        cluster = self._spare.pop() if self._spare else NativeCluster(self)
        cluster.begin(self.numbers, place)
        return cluster

    def give_back(self, cluster: NativeCluster) -> None:
        """A cluster has ended."""
        if cluster.room == self.room:
            self._spare.append(cluster)

    def run_rest(self, launch: Launch, number: int) -> bool:
        """Run all clusters from `number` on, on threads, if that pays."""
        if self._threads is None:
            self._threads = threads.Threads(
                self.native, self.engine.jobs, self.engine.on_another_machine, launch, number
            )
        return self._threads.wanted(number) and self._threads.run(number)

    @property
    def pace(self) -> float:
        """Seconds that native code should take before it comes back."""
        return threads.LOOK if self._may_leave_order else SLICE

    def ahead(self, launch: Launch) -> int:
        """Clusters that may follow the one that runs at once. None does when those that have run can show whether the others are worth
        threads."""
        alone = self._may_leave_order and (launch.done == 0 or (self._threads is not None and self._threads.is_due))
        return 0 if alone else launch.ahead

    @property
    def _may_leave_order(self) -> bool:
        return self._threads is not None and self._threads.open

    def stays_in_order(self) -> None:
        """Python is needed for a cluster: it would be for others."""
        if self._threads is not None:
            self._threads.open = False

    def run_to_end(self, numbers: Sequence[int], stop: Callable[[int], bool]) -> bool:
        """Run clusters; False if Python would be needed for one, or `stop()` wants no more. It is asked again and again, with how many
        have ended."""
        self.numbers, ended = np.array(numbers, np.int64), 0
        while ended < len(numbers):
            cluster = self._at(ended)
            status: int = Outcome.PAUSED
            while status == Outcome.PAUSED:
                if stop(cluster.at):
                    return False
                status = cluster.enter_for(self.slice, SPIN, len(numbers))
                if status == Outcome.PAUSED and cluster.rounds >= SPIN:
                    return False
            if status != Outcome.ENDED:
                return False
            cluster.look_over()
            if self.machine.findings:
                return False
            ended = cluster.at + 1
            self.give_back(cluster)
        return not stop(ended)


class NativeCluster:
    """A cluster whose turns native code gives, an `engine.turns.Resident`, and the memory that its records are in.

    When it ends the next one may follow in the same memory before native code comes back: then this is that one.
    `python`: the objects on the same records, once there are some; `is_left`: they give the turns.
    """

    def __init__(self, runner: WholeCtas):
        self.runner, self.engine, self.native, self.machine = runner, runner.engine, runner.native, runner.machine
        cluster = Cluster(cluster_index(self.machine, 0), self.machine.cluster, self.machine.shared_variables)
        count, size = cluster.size, len(runner.template) // cluster.size
        self.at, self.rounds, self.polled, self.flying = 0, 0, 0, 0  # `at`: the place in runner.numbers
        self.launch: Launch | None = None
        self.room = runner.room
        self.python: Turns | None = None
        self.is_left = False
        self.memory = aligned(*runner.template.shape)
        self.memory_at = self.memory.ctypes.data
        self.shared = [cluster.room(self.machine.shared_bytes, rank) for rank in range(count)]
        self.ctas: ctypes.Array[CtaRecord] = (CtaRecord * count)()
        self.local = None
        if self.native.program.local_bytes:
            self.local = np.zeros((len(self.memory), 32, self.machine.local_bytes), np.uint8)
        self.mbarriers: list[np.ndarray] = []
        self.warpgroups: list[Sequence[WarpgroupRecord]] = []
        for rank, (made, shared) in enumerate(zip(self.ctas, self.shared)):
            cta_record(runner.threads, self.ctas[:rank], made)
            if "mbarrier" in families(self.engine.program):
                self.mbarriers.append(mbarrier_table(shared))
                made.mbarriers = self.mbarriers[-1].ctypes.data
            if self.native.keeps_rules:
                rows = self.memory[rank * size : (rank + 1) * size]
                self.warpgroups.append(warpgroups_of([WarpRecord.of(row) for row in rows]))
                made.warpgroups = self.warpgroups[-1][0].address
        self.fresh = np.frombuffer(bytes(self.ctas), np.uint8)  # what the records of CTAs hold at first
        self.template = runner.template.copy()
        self.copies: list[np.ndarray] = []
        for number, row in enumerate(self.template):
            record, rank = WarpRecord.of(row), number // size
            record.shared, record.owner = self.shared[rank].ctypes.data, self.ctas[rank].address
            record.cluster = self.shared[0].ctypes.data
            if self.local is not None:
                record.local = self.local[number].ctypes.data
            if runner.room:
                self.copies.append(make_room(record.copies, runner.room, self.machine.memory))
        self.clusters = self._clusters()

    def _clusters(self) -> Clusters:
        """What native code makes a cluster of."""
        machine, made = self.machine, Clusters()
        made.looks = machine.checks == "all"
        made.grid[:], made.cluster[:] = machine.grid, machine.cluster
        made.multiprocessors = multiprocessors(machine.target)
        made.template, made.ctas = self.template.ctypes.data, self.ctas[0].address
        made.fresh, made.cta_bytes = self.fresh.ctypes.data, len(self.fresh)
        made.shared_bytes, made.fill = len(self.shared[0]), machine.shared_fill
        if self.local is not None:
            made.local, made.local_bytes = self.local.ctypes.data, self.local.nbytes
        for number, name in enumerate(PLACES):
            made.places[number] = self.native.layout.specials.get(f"%{name}", 0)
        return made

    def begin(self, numbers: np.ndarray, place: int) -> None:
        """Be the cluster whose number is in that place."""
        self.at, self.rounds, self.polled, self.flying = place, 0, 0, 0
        self.clusters.numbers, self.clusters.at, self.clusters.has_begun = numbers.ctypes.data, place, 0
        self.python, self.is_left = None, False
        self.runner.entered = None

    # ---- in native code ----

    def run(self, rounds: int, launch: Launch) -> Outcome:
        self.launch, end, outcome = launch, self.rounds + rounds, Outcome.PAUSED
        if self.native.puts_off and not self.clusters.has_begun:
            self._begin_in_python()
        while outcome == Outcome.PAUSED and self.rounds < end:
            outcome = self._round_of_python(launch) if self.is_left else self._rounds(end, launch)
        if outcome == Outcome.ENDED and (
            self.python is None or not self.machine.pending
        ):  # work in flight knows its memory
            self.runner.give_back(self)
        return outcome

    def _begin_in_python(self) -> None:
        """The interpreter executes what comes first."""
        self._point_here()
        begin(self.native.record, self.clusters)
        self.native.waits = True
        self._hand_over()

    def _rounds(self, end: int, launch: Launch) -> Outcome:
        """Go on natively, up to round `end`."""
        most = launch.limits.max_steps
        left = self.runner.slice if most is None else min(self.runner.slice, most - self.machine.warp_instructions)
        try:
            status = self.enter_for(left, end, self._last(end, launch))
        except Fault as fault:  # of an operation that native code has left to the interpreter
            assert self.engine.current is not None
            raise Stopped(fault_finding(fault, self.engine.current, self._warp())) from fault
        if status == LEFT:
            turns, warp = self._hand_over(), self._warp()
            turns.order = self._order(warp.cta)
            return self._round_of_python(launch, partial(turns.finish_round, warp, self.engine.resume))
        launch.look_at_limits(self.blocks)
        if status == Outcome.ENDED:
            self.look_over()
            for each in self.python.cluster.ctas if self.python is not None else ():
                tensor_memory.look_over(self.machine, each)
        return Outcome(status)

    def _last(self, end: int, launch: Launch) -> int:
        """Before which place clusters may follow this one. Each has rounds up to the same one, which is all that one may have only if
        this one has begun with the slice."""
        return self.at + 1 + self.runner.ahead(launch) if end == SPIN and self.python is None else 0

    def _order(self, cta: Cta) -> list[Warp]:
        """The warps of the CTA that runs, in the order of their turns in this round."""
        if self.machine.seed == 0 or len(cta.warps) == 1:
            return cta.warps
        first = cta.rank * len(cta.warps)
        return [self._objects().warps[n] for n in self.runner.order[first : first + len(cta.warps)]]

    def look_over(self) -> None:
        """The cluster has ended."""
        for cta in self.ctas:
            look_over(self.machine, cta)

    def _warp(self) -> Warp:
        """The one whose turn it is."""
        return self._objects().warps[self.native.record.turn]

    def enter_for(self, instructions: int, end: int, last: int) -> int:
        """Let native code run for about so many warp instructions, up to a number of rounds; and where a cluster ends go on with the
        next one, up to before a `last` place."""
        machine, runner, context = self.machine, self.runner, self.native.record
        if runner.entered is not self:
            self._point_here()
        self.clusters.end = last
        self.engine.who = self._warp if runner.alone else lambda: None
        before, began = machine.warp_instructions, time.perf_counter()
        context.end_count, context.end_rounds = before + instructions, end
        try:
            status = self.native.enter("clusters")
        finally:
            went_on = self._catch_up()
        self.rounds, self.polled, self.flying = context.rounds, context.polled, context.flying
        took, made = time.perf_counter() - began, machine.warp_instructions - before
        if (status == Outcome.PAUSED and self.rounds < end) or (went_on and status == Outcome.ENDED):
            runner.slice = int(min(max(made * runner.pace / max(took, 1e-6), 1000), 5_000_000))
        return status

    def _point_here(self) -> None:
        """The context is that of this cluster."""
        runner, context = self.runner, self.native.record
        runner.entered = self
        context.warps, (context.warp_count, context.stride) = self.memory_at, self.memory.shape
        context.order, context.cta_warps = runner.order_at, len(self.memory) // len(self.ctas)
        context.cursor, context.moved, context.rounds = 0, 0, self.rounds
        context.polled, context.flying = self.polled, self.flying
        context.clusters = self.clusters.address

    def _catch_up(self) -> int:
        """How many clusters have ended in native code, which has gone on with the next ones."""
        went_on = self.clusters.at - self.at
        self.at += went_on
        if went_on and self.launch is not None:
            self.launch.went_on(went_on)
        return went_on

    def blocks(self) -> Iterable[int]:
        if self.python is not None:
            return self.python.blocks()
        records = map(WarpRecord.of, self.memory)
        return [split.block for record in records for split in record.split[: record.splits]]

    def state(self) -> Iterator[bytes | np.ndarray]:
        yield from self.shared
        for row in self.memory:
            yield from state_of(WarpRecord.of(row), [row[HEADER_BYTES:]])
        if self.local is not None:
            yield self.local
        if self.python is not None:
            yield from self.python.frames()

    # ---- going on in Python ----

    def as_cluster(self) -> Cluster:
        return self._objects().cluster

    def _round_of_python(self, launch: Launch, rest: Callable[[], bool] | None = None) -> Outcome:
        """One round, or the rest of it."""
        turns = self._objects()
        outcome = turns.run(1, launch, rest)
        self.rounds, self.polled = turns.rounds, turns.polled
        if outcome != Outcome.ENDED and self._may_go_back():
            self.is_left, self.flying = False, 0
            for cta, groups in zip(self.ctas, self.warpgroups):
                cta.warpgroups = groups[0].address
        return outcome

    def _may_go_back(self) -> bool:
        """Whether native code knows of all that warps wait for, or that lanes wait only for others that stay where they spin, and no
        product is in flight."""
        turns = self._objects()
        if self.native.puts_off or any((warp.waits and not warp.stays) or warp.in_flight for warp in turns.warps):
            return False
        if any(cta.is_multiplying for cta in turns.cluster.ctas):
            return False
        splits = (split for warp in turns.warps for split in warp.splits if split.wait != IN_PYTHON)
        return all(split.op in (0, len(self.native.program.blocks[split.block])) for split in splits)

    def _hand_over(self) -> Turns:
        """Python gives the turns from here on."""
        turns = self._objects()
        turns.rounds, turns.polled, self.is_left = self.rounds, self.polled, True
        if self.runner.room and any(warp.record.copies.open == self.runner.room for warp in turns.warps):
            self.runner.room *= 2
        for cta in turns.cluster.ctas if self.warpgroups else ():
            from ptxsim.machine.async_product import go_on

            cta.record.warpgroups = 0
            go_on(self.machine, cta)
        self.runner.entered = None
        return turns

    def _objects(self) -> Turns:
        """Python objects on the records as they are."""
        if self.python is not None:
            return self.python
        self._catch_up()
        self.clusters.end = 0  # the next one begins without these objects
        rows = np.split(self.memory, len(self.ctas))
        number = int(self.runner.numbers[self.at])
        cluster = cluster_at(self.machine, number, begun=list(zip(self.ctas, rows)))
        for rank, cta in enumerate(cluster.ctas):
            cta.shared = self.shared[rank]
            if self.mbarriers:
                cta.keep_mbarriers(self.mbarriers[rank])
            if self.warpgroups:
                cta.warpgroups = self.warpgroups[rank]
        warps = [warp for cta in cluster.ctas for warp in cta.warps]
        for place, warp in enumerate(warps):
            warp.registers = self.native.registers(warp.memory)
            warp.calls = calls_of(self.native.program)
            if self.local is not None:
                warp.local = self.local[place]
            if self.copies:
                warp.copies = self.copies[place]
        if not self.native.waits:
            self.runner.stays_in_order()
        self.python = Turns(self.engine, cluster)
        return self.python
