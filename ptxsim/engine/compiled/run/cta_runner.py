"""Whole clusters in native code: their warps take their turns there, until they have ended or Python is needed.

No CTA or warp exists as a Python object meanwhile. When something comes up that only Python can do, the objects are made on the
same records, and engine.turns runs the cluster from the middle of its round on.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Protocol

import numpy as np

from ptxsim.engine import turns as turns_of_python
from ptxsim.engine.clusters import cluster_at, cluster_index, ctas_of
from ptxsim.engine.compiled.run import threads
from ptxsim.engine.compiled.run.context import NativeContext
from ptxsim.engine.compiled.runtime.abi import HEADER_BYTES, WARP
from ptxsim.engine.compiled.runtime.scheduler import LEFT
from ptxsim.engine.grid import SPIN
from ptxsim.engine.livelock import state_of
from ptxsim.engine.program.operation import families
from ptxsim.engine.turns import Launch, Outcome, Turns
from ptxsim.machine.cta import Cluster, Warp
from ptxsim.machine.lane_copies import ROOM, make_room
from ptxsim.machine.mbarrier_end import look_over
from ptxsim.machine.records import CtaRecord, MBarrierTable, WarpRecord, aligned, cta_record, mbarrier_table
from ptxsim.machine.special import value as special_value
from ptxsim.machine.state import Machine
from ptxsim.machine.warpgroup import WarpgroupRecord, warpgroups_of

SLICE = 0.02  # seconds that native code should take before it comes back
VARYING = ("ctaid", "clusterid", "smid")  # special registers that differ between CTAs


class Engine(turns_of_python.Engine, Protocol):
    """What whole CTAs ask of the engine that they belong to."""

    native: NativeContext
    jobs: int | None

    def resume(self, warp: Warp) -> None:
        """Finish the turn of a warp that native code has left in the middle."""

    def on_another_machine(self, machine: Machine) -> WholeCtas:
        """What runs whole CTAs of the same program, for a thread."""


class WholeCtas:
    """Runs clusters, of one CTA mostly. What those that have ended were made of is used again."""

    def __init__(self, engine: Engine):
        self.engine, self.native, self.machine = engine, engine.native, engine.machine
        self.slice = 2000  # warp instructions between returns, adapted to SLICE
        first = cluster_at(self.machine, 0, self.engine.warp_bytes)
        self.threads, warps = first.ctas[0].threads, [warp for cta in first.ctas for warp in cta.warps]
        for warp in warps:
            self.engine.prepare(warp)
        self.template = np.concatenate([cta.memory for cta in first.ctas])
        self._copies = [warp.copies for warp in warps]  # the template points there
        names = self.native.layout.specials
        self.varying = {n: at for n, at in names.items() if n[1:].partition(".")[0] in VARYING}
        self.room = ROOM if "cp_async" in families(engine.program) else 0  # copies of cp.async that a warp has room for
        self.entered: NativeCluster | None = None  # what the context points to
        self._spare: list[NativeCluster] = []
        self._threads: threads.Threads | None = None

    def admit(self, number: int) -> NativeCluster:
        """Cluster `number`, before its first instruction."""
        cluster = self._spare.pop() if self._spare else NativeCluster(self)
        cluster.begin(number)
        return cluster

    def give_back(self, cluster: NativeCluster) -> None:
        """A cluster has ended in native code."""
        self._spare.append(cluster)

    def run_rest(self, launch: Launch, number: int) -> bool:
        """Run all clusters from `number` on, on threads, if that pays."""
        if self._threads is None:
            self._threads = threads.Threads(
                self.native, self.engine.jobs, self.engine.on_another_machine, launch, number
            )
        return self._threads.wanted(number) and self._threads.run(number)

    def stays_in_order(self) -> None:
        """Python is needed for a cluster: it would be for others."""
        if self._threads is not None:
            self._threads.open = False

    def run_to_end(self, number: int, stop: Callable[[], bool]) -> bool:
        """Run one cluster; False if Python would be needed for it, or `stop()` wants no more."""
        cluster = self.admit(number)
        while True:
            status = cluster.enter_for(self.slice, SPIN)
            if status == Outcome.ENDED:
                self.give_back(cluster)
                return True
            if status != Outcome.PAUSED or cluster.rounds >= SPIN or stop():
                return False


class NativeCluster:
    """A cluster whose turns native code gives, an `engine.turns.Resident`, and the memory that its records are in.

    Once native code has to leave something to Python in it, it is handed over: to Python objects on the same records.
    """

    def __init__(self, runner: WholeCtas):
        self.runner, self.engine, self.native, self.machine = runner, runner.engine, runner.native, runner.machine
        cluster = cluster_at(self.machine, 0)
        count, size = len(cluster.ctas), len(runner.template) // len(cluster.ctas)
        self.number, self.rounds, self.polled, self.flying = 0, 0, 0, 0
        self.python: Turns | None = None
        self.memory = aligned(*runner.template.shape)
        self.shared = [cta.shared for cta in cluster.ctas]
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
        self.fresh = bytes(self.ctas)
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

    def begin(self, number: int) -> None:
        """The state of cluster `number` before its first instruction."""
        machine, runner = self.machine, self.runner
        self.number, self.rounds, self.polled, self.flying = number, 0, 0, 0
        ctypes.memmove(self.ctas[0].address, self.fresh, len(self.fresh))
        for cta in self.ctas:
            if cta.mbarriers:
                MBarrierTable.from_address(cta.mbarriers).used = 0
        self.memory[:] = self.template
        for shared in self.shared:
            shared.fill(machine.shared_fill)
        if self.local is not None:
            self.local.fill(0)
        cluster = SimpleNamespace(index=cluster_index(machine, number))
        for rows, (index, linear) in zip(np.split(self.memory, len(self.ctas)), ctas_of(machine, cluster.index)):
            rows[:, WARP["cta"] : WARP["cta"] + 4].view("<u4")[:] = linear
            if runner.varying:
                place = SimpleNamespace(index=index, linear=linear, cluster=cluster)
                for name, at in runner.varying.items():
                    value = special_value(name, SimpleNamespace(cta=place), machine)  # type: ignore[arg-type]  # a CTA's place is all that these ask for
                    rows[:, at : at + value.nbytes] = value.view(np.uint8)
        for groups in self.warpgroups:
            for group in groups:
                group.begin()
        runner.entered = None

    # ---- in native code ----

    def run(self, rounds: int, launch: Launch) -> Outcome:
        end = self.rounds + rounds
        while self.python is None:
            most = launch.limits.max_steps
            left = self.runner.slice if most is None else min(self.runner.slice, most - self.machine.warp_instructions)
            status = self.enter_for(left, end)
            if status == LEFT:
                cursor = self.native.record.cursor
                turns = self._hand_over()
                rest = partial(turns.finish_round, cursor, self.engine.resume)
                outcome = turns.run(end - turns.rounds, launch, rest)
                self.rounds = turns.rounds
                return outcome
            launch.look_at_limits(self.blocks)
            if status == Outcome.ENDED:
                for cta in self.ctas:
                    look_over(self.machine, cta)
                self.runner.give_back(self)
            if status != Outcome.PAUSED or self.rounds >= end:
                return Outcome(status)
        outcome = self.python.run(rounds, launch)
        self.rounds = self.python.rounds
        return outcome

    def enter_for(self, instructions: int, end: int) -> int:
        """Let native code run for about so many warp instructions, up to a number of rounds."""
        machine, runner, context = self.machine, self.runner, self.native.record
        if runner.entered is not self:
            runner.entered = self
            context.warps, (context.warp_count, context.stride) = self.memory.ctypes.data, self.memory.shape
            context.cursor, context.moved, context.rounds = 0, 0, self.rounds
            context.polled, context.flying = self.polled, self.flying
        before, began = machine.warp_instructions, time.perf_counter()
        context.end_count, context.end_rounds = before + instructions, end
        status = self.native.enter("rounds")
        self.rounds, self.polled, self.flying = context.rounds, context.polled, context.flying
        took, made = time.perf_counter() - began, machine.warp_instructions - before
        if status == Outcome.PAUSED and self.rounds < end and made:
            runner.slice = int(min(max(made * SLICE / max(took, 1e-6), 1000), 5_000_000))
        return status

    def blocks(self) -> Iterable[int]:
        if self.python is not None:
            return self.python.blocks()
        records = map(WarpRecord.of, self.memory)
        return [split.block for record in records for split in record.split[: record.splits]]

    def state(self) -> Iterator[bytes | np.ndarray]:
        if self.python is not None:
            yield from self.python.state()
            return
        yield from self.shared
        for row in self.memory:
            yield from state_of(WarpRecord.of(row), [row[HEADER_BYTES:]])
        if self.local is not None:
            yield self.local

    # ---- going on in Python ----

    def as_cluster(self) -> Cluster:
        return (self.python or self._hand_over()).cluster

    def _hand_over(self) -> Turns:
        """Python objects on the records as they are."""
        rows = np.split(self.memory, len(self.ctas))
        cluster = cluster_at(self.machine, self.number, begun=list(zip(self.ctas, rows)))
        for rank, cta in enumerate(cluster.ctas):
            cta.shared, cta.record.warpgroups = self.shared[rank], 0
            if self.mbarriers:
                cta.keep_mbarriers(self.mbarriers[rank])
            if self.warpgroups:
                from ptxsim.machine.async_product import go_on

                cta.warpgroups = self.warpgroups[rank]
                go_on(self.machine, cta)
        warps = [warp for cta in cluster.ctas for warp in cta.warps]
        for place, warp in enumerate(warps):
            warp.registers = self.native.registers(warp.memory)
            if self.local is not None:
                warp.local = self.local[place]
            if self.copies:
                warp.copies = self.copies[place]
        if self.runner.room and any(warp.record.copies.open == self.runner.room for warp in warps):
            self.runner.room *= 2
        self.runner.stays_in_order()
        self.python = Turns(self.engine, cluster, self.rounds, self.polled)
        self.runner.entered = None
        return self.python
