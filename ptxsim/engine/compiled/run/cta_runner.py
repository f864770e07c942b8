"""Whole clusters in native code: their warps take their turns there, until they have ended or Python is needed.

No CTA or warp exists as a Python object until something comes up that only Python can do: then objects are made on the same records.
Where native code has to leave, engine.turns runs the cluster from the middle of its round on, until it is at the end of a round in
which nothing waits or is in flight that only Python knows.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Protocol, cast

import numpy as np

from ptxsim.engine import turns as turns_of_python
from ptxsim.engine.clusters import cluster_at
from ptxsim.engine.compiled.run import threads
from ptxsim.engine.compiled.run.cluster_memory import ClusterMemory
from ptxsim.engine.compiled.run.context import NativeContext
from ptxsim.engine.compiled.run.first_warps import first_warps
from ptxsim.engine.compiled.run.tables import lasting
from ptxsim.engine.compiled.runtime.clusters import ASKED, begin, point_at
from ptxsim.engine.compiled.runtime.scheduler import LEFT
from ptxsim.engine.convergence import ahead
from ptxsim.engine.grid import SPIN
from ptxsim.engine.interpreter import fault_finding
from ptxsim.engine.livelock import state_of
from ptxsim.engine.program.call_paths import calls_of
from ptxsim.engine.program.operation import families
from ptxsim.engine.turns import Launch, Outcome, Resident, Stopped, Turns
from ptxsim.machine.barriers.mbarrier_end import look_over
from ptxsim.machine.copies.lane_copies import ROOM
from ptxsim.machine.cta import Cluster, Cta, Warp
from ptxsim.machine.fault import Fault
from ptxsim.machine.records import CONVERGES, WarpRecord
from ptxsim.machine.state import Machine
from ptxsim.machine.tensor_memory import cells as tensor_memory
from ptxsim.machine.warpgroup import ProductRecord

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
        self.threads = math.prod(self.machine.block)
        self.template, self._copies = first_warps(engine)
        self.numbers = np.zeros(0, np.int64)  # of the clusters, in the order in which they run
        self.room = ROOM if "cp_async" in families(engine.program) else 0  # copies of cp.async that a warp has room for
        self.order = np.zeros(len(self.template), np.int64)
        self.native.record.order, self.native.record.stride = self.order.ctypes.data, self.template.shape[1]
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

    def slices(self, launch: Launch, residents: Sequence[Resident], at: int) -> tuple[int, int]:
        """As engine.turns.CtaRunner says."""
        if self.native.puts_off:
            return at, 0
        context, clusters = self.native.record, cast(Sequence[NativeCluster], residents)
        seats = np.array([cluster.clusters_at for cluster in clusters], np.int64)
        context.seats, context.seat_count, context.seat, context.made = seats.ctypes.data, len(seats), at, 0
        self.entered = None
        self.engine.who = lambda: clusters[context.seat].warp()
        before, began = self.machine.warp_instructions, time.perf_counter()
        context.end_count = before + self.share(launch)
        try:
            status = self.native.enter("slices")
        except Fault as fault:
            raise clusters[context.seat].stopped(fault) from fault
        if status != LEFT:
            if context.count > context.end_count:
                self.adapt(self.machine.warp_instructions - before, time.perf_counter() - began)
            launch.look_at_limits(clusters[context.seat - 1].blocks)
        return context.seat, context.made

    def share(self, launch: Launch) -> int:
        """Warp instructions until native code should come back."""
        most = launch.limits.max_steps
        return self.slice if most is None else min(self.slice, most - self.machine.warp_instructions)

    def adapt(self, made: int, seconds: float) -> None:
        """So many warp instructions took so long."""
        self.slice = int(min(max(made * self.pace / max(seconds, 1e-6), 1000), 5_000_000))

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
                if status == Outcome.PAUSED and cluster.standing.rounds >= SPIN:
                    return False
            if status != Outcome.ENDED:
                return False
            cluster.look_over()
            if self.machine.findings:
                return False
            ended = cluster.at + 1
            self.give_back(cluster)
        return not stop(ended)


class NativeCluster(ClusterMemory):
    """A cluster whose turns native code gives, an `engine.turns.Resident`, and the memory that its records are in.

    When it ends the next one may follow in the same memory before native code comes back: then this is that one.
    `python`: the objects on the same records, once there are some.
    """

    def __init__(self, runner: WholeCtas):
        super().__init__(runner.native, runner.template, runner.threads, runner.room)
        self.runner, self.engine = runner, runner.engine
        self.at = 0  # the place in runner.numbers
        self.launch: Launch | None = None
        self.python: Turns | None = None

    def begin(self, numbers: np.ndarray, place: int) -> None:
        """Be the cluster whose number is in that place."""
        self.at, self.python = place, None
        self.clusters.numbers, self.clusters.at, self.clusters.has_begun = numbers.ctypes.data, place, 0
        self.clusters.flying = self.clusters.is_left = self.clusters.status = 0
        self.standing.rounds = self.standing.polled = self.standing.is_stuck = 0
        self.standing.may_go_on = 1
        self.runner.entered = None

    # ---- in native code ----

    def run(self, rounds: int, launch: Launch) -> Outcome:
        self.launch, end, outcome = launch, self.standing.rounds + rounds, Outcome.PAUSED
        if self.native.puts_off and not self.clusters.has_begun:
            self._begin_in_python()
        while outcome == Outcome.PAUSED and self.standing.rounds < end:
            outcome = self._round_of_python(launch) if self.clusters.is_left else self._rounds(end, launch)
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
        status, self.clusters.status = self.clusters.status, 0
        try:
            status = status or self.enter_for(self.runner.share(launch), end, self._last(end, launch))
        except Fault as fault:
            raise self.stopped(fault) from fault
        if status == LEFT:
            turns, warp = self._hand_over(), self.warp()
            turns.order = self._order(warp.cta)
            return self._round_of_python(launch, partial(turns.finish_round, warp, self.engine.resume))
        launch.look_at_limits(self.blocks)
        if status == Outcome.ENDED:
            self.look_over()
            for each in self.python.cluster.ctas if self.python is not None else ():
                tensor_memory.look_over(self.machine, each)
        return Outcome(status)

    def stopped(self, fault: Fault) -> Stopped:
        """The launch ends with a fault, of an operation that native code has left to the interpreter."""
        assert self.engine.current is not None
        return Stopped(fault_finding(fault, self.engine.current, self.warp()))

    def _last(self, end: int, launch: Launch) -> int:
        """Before which place clusters may follow this one. Each has rounds up to the same one, which is all that one may have only if
        this one has begun with the slice."""
        return self.at + 1 + self.runner.ahead(launch) if end == SPIN and self.python is None else 0

    def _order(self, cta: Cta) -> list[Warp]:
        """The warps of the CTA that runs, in the order of their turns in this round."""
        if not self.machine.mixes or len(cta.warps) == 1:
            return cta.warps
        first = cta.rank * len(cta.warps)
        return [self._objects().warps[n] for n in self.runner.order[first : first + len(cta.warps)]]

    def look_over(self) -> None:
        """The cluster has ended."""
        for cta in self.ctas:
            look_over(self.machine, cta)
        for place, offset in enumerate(sorted(self.machine.asked)[:ASKED]):
            self.clusters.asked[place], self.clusters.asked_count = offset, place + 1

    def warp(self) -> Warp:
        """The one whose turn it is."""
        return self._objects().warps[self.native.record.turn]

    def enter_for(self, instructions: int, end: int, last: int) -> int:
        """Let native code run for about so many warp instructions, up to a number of rounds; and where a cluster ends go on with the
        next one, up to before a `last` place."""
        machine, runner, context = self.machine, self.runner, self.native.record
        if runner.entered is not self:
            self._point_here()
        self.clusters.end = last
        self.engine.who = self.warp if runner.alone else lambda: None
        before, began = machine.warp_instructions, time.perf_counter()
        context.end_count, context.end_rounds = before + instructions, end
        try:
            status = self.native.enter("clusters")
        finally:
            self._catch_up()
        standing = self.standing
        standing.rounds, standing.polled, self.clusters.flying = context.rounds, context.polled, context.flying
        if context.count > context.end_count:
            runner.adapt(machine.warp_instructions - before, time.perf_counter() - began)
        return status

    def _point_here(self) -> None:
        """The context is that of this cluster."""
        self.runner.entered = self
        point_at(self.native.record, self.clusters)

    def _catch_up(self) -> None:
        """Be the cluster with which native code has gone on after others have ended."""
        went_on = self.clusters.at - self.at
        self.at += went_on
        if went_on and self.launch is not None:
            self.launch.went_on(went_on)

    def blocks(self) -> Iterable[int]:
        if self.python is not None:
            return self.python.blocks()
        records = map(WarpRecord.of, self.memory)
        return [split.block for record in records for split in record.split[: record.splits]]

    def state(self) -> Iterator[bytes | np.ndarray]:
        yield from self.shared
        for row in self.memory:
            yield from state_of(WarpRecord.of(row), map(row.__getitem__, lasting(self.engine.program)))
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
        if outcome != Outcome.ENDED and self._may_go_back():
            self.clusters.is_left, self.clusters.flying = 0, len(self._products())
            for warp in turns.warps:
                blocks = None if warp.stays or not warp.converges else ahead(warp, self.native.program)
                warp.record.ahead = 0 if blocks is None else blocks.ctypes.data
            for cta, groups in zip(self.ctas, self.warpgroups):
                cta.warpgroups = groups[0].address
        return outcome

    def _may_go_back(self) -> bool:
        """Whether native code knows of all that warps wait for, or that lanes wait only for others that stay where they spin, or are on
        their way, and can compute the products in flight."""
        turns, program = self._objects(), self.native.program
        if self.native.puts_off or any(warp.in_flight or warp.waits for warp in turns.warps):
            return False
        if any(warp.converges and not warp.stays and ahead(warp, program) is None for warp in turns.warps):
            return False
        if not all(map(self.native.prepares, self._products())):
            return False
        splits = (split for warp in turns.warps for split in warp.splits if split.wait != CONVERGES)
        return all(split.op in (0, len(self.native.program.blocks[split.block])) for split in splits)

    def _products(self) -> list[ProductRecord]:
        """Those of warpgroups in flight."""
        if not self.warpgroups:
            return []
        from ptxsim.machine.async_product import in_flight

        return [product for cta in self._objects().cluster.ctas for product in in_flight(cta)]

    def _hand_over(self) -> Turns:
        """Python gives the turns from here on."""
        turns = self._objects()
        self.clusters.is_left = 1
        for warp in turns.warps:
            warp.record.ahead = 0
        if self.runner.room and any(warp.record.copies.open == self.runner.room for warp in turns.warps):
            self.runner.room *= 2
        if self.warpgroups:
            from ptxsim.machine.async_product import go_on
        for cta in turns.cluster.ctas if self.warpgroups else ():
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
        self.python = Turns(self.engine, cluster, standing=self.standing)
        return self.python
