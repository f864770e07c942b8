"""Whole clusters in native code: their warps take their turns there, until they have ended or Python is needed.

No CTA or warp exists as a Python object meanwhile. When something comes up that only Python can do, the objects are made on the
same records, and engine.grid runs the cluster from the middle of its round on.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Protocol

import numpy as np

from ptxsim.engine import grid as grids
from ptxsim.engine.compiled.run import threads
from ptxsim.engine.compiled.run.context import NativeContext
from ptxsim.engine.compiled.runtime import scheduler
from ptxsim.engine.compiled.runtime.abi import HEADER_BYTES, WARP
from ptxsim.engine.grid import LOOK, SPIN, Grid, Handed, Stopped, cluster_at, cluster_index, ctas_of
from ptxsim.engine.livelock import state_of
from ptxsim.engine.program.operation import families
from ptxsim.machine.cta import Cluster, Warp
from ptxsim.machine.lane_copies import ROOM, make_room
from ptxsim.machine.mbarrier_end import look_over
from ptxsim.machine.records import CtaRecord, MBarrierTable, WarpRecord, aligned, cta_record, mbarrier_table
from ptxsim.machine.special import value as special_value
from ptxsim.machine.state import Machine
from ptxsim.machine.warpgroup import WarpgroupRecord, warpgroups_of

SLICE = 0.02  # seconds that native code should take before it comes back
VARYING = ("ctaid", "clusterid", "smid")  # special registers that differ between CTAs


class Engine(grids.Engine, Protocol):
    """What whole CTAs ask of the engine that they belong to."""

    native: NativeContext
    jobs: int | None

    def resume(self, warp: Warp) -> None:
        """Finish the turn of a warp that native code has left in the middle."""

    def on_another_machine(self, machine: Machine) -> WholeCtas:
        """What runs whole CTAs of the same program, for a thread."""


class WholeCtas:
    """Runs clusters one after the other, of one CTA mostly. Memory of warps and of shared memory is used again for the next."""

    def __init__(self, engine: Engine):
        self.engine, self.native, self.machine = engine, engine.native, engine.machine
        self.slice = 2000  # warp instructions between returns, adapted to SLICE
        first = cluster_at(self.machine, 0, self.engine.warp_bytes)
        self.threads, self.warps = first.ctas[0].threads, [warp for cta in first.ctas for warp in cta.warps]
        for warp in self.warps:
            self.engine.prepare(warp)
        self.copies = [warp.copies for warp in self.warps]
        self.template = np.concatenate([cta.memory for cta in first.ctas])
        names = self.native.layout.specials
        self.varying = {n: at for n, at in names.items() if n[1:].partition(".")[0] in VARYING}
        self.room = ROOM if "cp_async" in families(engine.program) else 0  # copies of cp.async that a warp has room for
        self._make_memory(first)

    def _make_memory(self, cluster: Cluster) -> None:
        """Fresh memory, the shared one of a cluster that nobody else uses. The template gets to know it."""
        count, size = len(cluster.ctas), len(self.warps) // len(cluster.ctas)
        self.memory = aligned(*self.template.shape)
        self.shared = [cta.shared for cta in cluster.ctas]
        self.ctas: ctypes.Array[CtaRecord] = (CtaRecord * count)()
        self.local = None
        if self.native.program.local_bytes:
            self.local = np.zeros((len(self.warps), 32, self.machine.local_bytes), np.uint8)
        self.mbarriers: list[np.ndarray] = []
        self.warpgroups: list[Sequence[WarpgroupRecord]] = []
        for rank, (made, shared) in enumerate(zip(self.ctas, self.shared)):
            cta_record(self.threads, self.ctas[:rank], made)
            if "mbarrier" in families(self.engine.program):
                self.mbarriers.append(mbarrier_table(shared))
                made.mbarriers = self.mbarriers[-1].ctypes.data
            if self.native.keeps_rules:
                rows = self.memory[rank * size : (rank + 1) * size]
                self.warpgroups.append(warpgroups_of([WarpRecord.of(row) for row in rows]))
                made.warpgroups = self.warpgroups[-1][0].address
        for number, row in enumerate(self.template):
            record, rank = WarpRecord.of(row), number // size
            record.shared, record.owner = self.shared[rank].ctypes.data, self.ctas[rank].address
            record.cluster = self.shared[0].ctypes.data
            if self.local is not None:
                record.local = self.local[number].ctypes.data
        self.fresh = bytes(self.ctas)
        context = self.native.record
        context.warps, (context.warp_count, context.stride) = self.memory.ctypes.data, self.template.shape

    def run_to_end(self, number: int, stop: Callable[[], bool]) -> bool:
        """Run one cluster; False if Python would be needed for it, or `stop()` wants no more."""
        self._begin(number)
        while True:
            status = self._enter_for(self.slice)
            if status == scheduler.ENDED:
                return True
            if status != scheduler.PAUSED or self.native.record.rounds > SPIN or stop():
                return False

    def _begin(self, number: int) -> None:
        """The state of cluster `number` before its first instruction."""
        machine, context = self.machine, self.native.record
        ctypes.memmove(self.ctas[0].address, self.fresh, len(self.fresh))
        for cta in self.ctas:
            if cta.mbarriers:
                MBarrierTable.from_address(cta.mbarriers).used = 0
        context.rounds, context.cursor, context.moved, context.flying = 0, 0, 0, 0
        self.memory[:] = self.template
        for shared in self.shared:
            shared.fill(machine.shared_fill)
        if self.local is not None:
            self.local.fill(0)
        cluster = SimpleNamespace(index=cluster_index(machine, number))
        for rows, (index, linear) in zip(np.split(self.memory, len(self.ctas)), ctas_of(machine, cluster.index)):
            rows[:, WARP["cta"] : WARP["cta"] + 4].view("<u4")[:] = linear
            if self.varying:
                place = SimpleNamespace(index=index, linear=linear, cluster=cluster)
                for name, at in self.varying.items():
                    value = special_value(name, SimpleNamespace(cta=place), machine)  # type: ignore[arg-type]  # a CTA's place is all that these ask for
                    rows[:, at : at + value.nbytes] = value.view(np.uint8)
        for groups in self.warpgroups:
            for group in groups:
                group.begin()

    def run(self, grid: Grid, number: int) -> tuple[int, Handed | None]:
        """Run clusters from `number` on. Returns the number of the next one, and one to go on with, if there is one.

        Raises engine.grid.Stopped where a limit is reached.
        """
        engine = self.engine
        workers = threads.Threads(self.native, engine.jobs, engine.on_another_machine, grid, number)
        while number < grid.clusters:
            if workers.wanted(number) and workers.run(number):
                return grid.clusters, None
            self._begin(grid.order[number])
            number += 1
            while True:
                status = self._enter(grid)
                if status in (scheduler.LEFT, scheduler.STUCK):
                    break
                grid.look_at_limits(self._where)
                if status == scheduler.ENDED:
                    break
                if self.native.record.rounds > SPIN:
                    if number < grid.clusters:
                        return number, (self._hand_over(grid.order[number - 1]), SPIN + 1, None)
                    self.native.record.rounds = 0
                elif (
                    number == grid.clusters
                    and self.native.record.rounds % LOOK == 0
                    and grid.livelock.repeats(self._state)
                ):
                    raise Stopped(grid.endless(self._where()))
            if status == scheduler.ENDED:
                for cta in self.ctas:
                    look_over(self.machine, cta)
                grid.done += len(self.ctas)
                continue
            rounds, cursor = self.native.record.rounds, self.native.record.cursor
            cluster = self._hand_over(grid.order[number - 1])
            if status == scheduler.STUCK:
                return number, (cluster, rounds - 1, lambda: False)
            return number, (cluster, rounds, lambda c=cluster, i=cursor: self._finish_round(grid, c, i))
        return number, None

    def _state(self) -> Iterator[bytes | np.ndarray]:
        """What decides how the warps go on (engine.livelock)."""
        yield from self.shared
        for row in self.memory:
            yield from state_of(WarpRecord.of(row), [row[HEADER_BYTES:]])
        if self.local is not None:
            yield self.local

    def _where(self) -> list[int]:
        """The blocks that the warps are in."""
        records = map(WarpRecord.of, self.memory)
        return [split.block for record in records for split in record.split[: record.splits]]

    def _enter(self, grid: Grid) -> int:
        most = grid.limits.max_steps
        left = self.slice if most is None else min(self.slice, most - self.machine.warp_instructions)
        return self._enter_for(left)

    def _enter_for(self, instructions: int) -> int:
        """Let native code run for about so many warp instructions."""
        machine = self.machine
        before, began = machine.warp_instructions, time.perf_counter()
        rounds = self.native.record.rounds
        self.native.record.end_count = before + instructions
        self.native.record.end_rounds = min(SPIN, rounds - rounds % LOOK + LOOK - 1)
        status = self.native.enter("rounds")
        took, made = time.perf_counter() - began, machine.warp_instructions - before
        if status == scheduler.PAUSED and made:
            self.slice = int(min(max(made * SLICE / max(took, 1e-6), 1000), 5_000_000))
        return status

    # ---- going on in Python ----

    def _hand_over(self, number: int) -> Cluster:
        """Cluster `number` as a Python object on the records as they are; its memory is its own from now on."""
        rows = np.split(self.memory, len(self.ctas))
        cluster = cluster_at(self.machine, number, begun=list(zip(self.ctas, rows)))
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
            warp.copies = self.copies[place]
        if self.room:
            if any(warp.record.copies.open == self.room for warp in warps):
                self.room *= 2
            fresh = (WarpRecord.of(row).copies for row in self.template)
            self.copies = [make_room(copies, self.room, self.machine.memory) for copies in fresh]
        self._make_memory(cluster_at(self.machine, 0))
        return cluster

    def _finish_round(self, grid: Grid, cluster: Cluster, cursor: int) -> bool:
        """The rest of the turn of warp `cursor`, from the instruction on where native code returned, and the turns of the warps after it."""
        warps = [warp for cta in cluster.ctas for warp in cta.warps]
        warp = warps[cursor]
        grid.guarded(warp, lambda: self.engine.resume(warp))
        for other in warps[cursor + 1 :]:
            if not other.done:
                grid.turn(other)
        return True
