"""Whole CTAs in native code: the warps of a CTA take their turns there, until it ends or Python is needed.

No CTA or warp exists as a Python object meanwhile. When something comes up that only Python can do, the objects are made on the
same records, and engine.grid runs the CTA from the middle of its round on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Protocol

import numpy as np

from ptxsim.engine import grid as grids
from ptxsim.engine.compiled.run import threads
from ptxsim.engine.compiled.run.context import NativeContext
from ptxsim.engine.compiled.runtime import scheduler
from ptxsim.engine.compiled.runtime.abi import WARP
from ptxsim.engine.grid import SPIN, Grid, Handed, cluster_at
from ptxsim.engine.program.operation import families
from ptxsim.machine.cta import Cluster, Warp
from ptxsim.machine.lane_copies import ROOM, make_room
from ptxsim.machine.records import MBarrierTable, WarpRecord, aligned, cta_record, mbarrier_table
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
    """Runs CTAs one after the other. Memory of warps and of shared memory is used again for the next CTA."""

    def __init__(self, engine: Engine):
        self.engine, self.native, self.machine = engine, engine.native, engine.machine
        self.slice = 2000  # warp instructions between returns, adapted to SLICE
        self._make_template()
        self.room = ROOM if "cp_async" in families(engine.program) else 0  # copies of cp.async that a warp has room for
        self._make_memory()

    def _make_template(self) -> None:
        """The memory of the warps of a fresh CTA, as prepare leaves it."""
        cta = cluster_at(self.machine, 0, warp_bytes=self.engine.warp_bytes).ctas[0]
        for warp in cta.warps:
            self.engine.prepare(warp)
        self.template, self.threads = cta.memory, cta.threads
        self.copies = [warp.copies for warp in cta.warps]
        self.shared_bytes, self.fill = len(cta.shared), self.machine.shared_fill
        names = self.native.layout.specials
        self.varying = {n: at for n, at in names.items() if n[1:].partition(".")[0] in VARYING}

    def _make_memory(self) -> None:
        """Fresh memory: the last CTA's has been handed over, or there was none."""
        warps, stride = self.template.shape
        self.memory = aligned(warps, stride)
        self.shared = aligned(self.shared_bytes)
        self.local = None
        for row in self.template:
            WarpRecord.of(row).shared = self.shared.ctypes.data
        if self.native.program.local_bytes:
            self.local = np.zeros((warps, 32, self.machine.local_bytes), np.uint8)
            for row, part in zip(self.template, self.local):
                WarpRecord.of(row).local = part.ctypes.data
        self.mbarriers = mbarrier_table(self.shared) if "mbarrier" in families(self.engine.program) else None
        context = self.native.record
        context.warps, context.warp_count, context.stride = self.memory.ctypes.data, warps, stride
        self.warpgroups: Sequence[WarpgroupRecord] = ()
        if self.native.keeps_rules:
            self.warpgroups = warpgroups_of([WarpRecord.of(row) for row in self.memory])

    def run_to_end(self, number: int, stop: Callable[[], bool]) -> bool:
        """Run one CTA; False if Python would be needed for it, or `stop()` wants no more."""
        self._begin(number)
        while True:
            status = self._enter_for(self.slice)
            if status == scheduler.ENDED:
                return True
            if status != scheduler.PAUSED or self.native.record.rounds > SPIN or stop():
                return False

    def _begin(self, number: int) -> None:
        """The state of CTA `number` before its first instruction."""
        machine, context = self.machine, self.native.record
        self.cta = cta_record(self.threads)
        if self.mbarriers is not None:
            self.cta.mbarriers = self.mbarriers.ctypes.data
            MBarrierTable.from_address(self.cta.mbarriers).used = 0
        context.cta, context.rounds, context.cursor, context.moved = self.cta.address, 0, 0, 0
        self.memory[:] = self.template
        self.shared.fill(self.fill)
        if self.local is not None:
            self.local.fill(0)
        gx, gy, _ = machine.grid
        index = (number % gx, number // gx % gy, number // (gx * gy))
        self.memory[:, WARP["cta"] : WARP["cta"] + 4].view("<u4")[:] = number
        if self.varying:
            cta = SimpleNamespace(index=index, linear=number, cluster=SimpleNamespace(index=index))
            for name, at in self.varying.items():
                value = special_value(name, SimpleNamespace(cta=cta), machine)  # type: ignore[arg-type]  # a CTA's place is all that these ask for
                self.memory[:, at : at + value.nbytes] = value.view(np.uint8)
        for group in self.warpgroups:
            group.begin()
        context.warpgroups, context.flying = self.warpgroups[0].address if self.warpgroups else 0, 0

    def run(self, grid: Grid, number: int) -> tuple[int, Handed | None]:
        """Run CTAs from `number` on. Returns the number of the next one, and a CTA to go on with, if there is one.

        Raises engine.grid.Stopped where a limit is reached.
        """
        engine = self.engine
        workers = threads.Threads(self.native, engine.jobs, engine.on_another_machine, grid, number)
        while number < grid.total:
            if workers.wanted(number) and workers.run(number):
                return grid.total, None
            self._begin(number)
            number += 1
            while True:
                status = self._enter(grid)
                if status in (scheduler.LEFT, scheduler.STUCK):
                    break
                grid.look_at_limits(self._where)
                if status == scheduler.ENDED:
                    break
                if self.native.record.rounds > SPIN:
                    if number < grid.total:
                        return number, (self._hand_over(number - 1), SPIN + 1, None)
                    self.native.record.rounds = 0
            if status == scheduler.ENDED:
                grid.done += 1
                continue
            rounds, cursor = self.native.record.rounds, self.native.record.cursor
            cluster = self._hand_over(number - 1)
            if status == scheduler.STUCK:
                return number, (cluster, rounds - 1, lambda: False)
            return number, (cluster, rounds, lambda c=cluster, i=cursor: self._finish_round(grid, c, i))
        return number, None

    def _where(self) -> list[int]:
        """The blocks that the warps of the CTA are in."""
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
        self.native.record.end_count, self.native.record.end_rounds = before + instructions, SPIN
        status = self.native.enter("rounds")
        took, made = time.perf_counter() - began, machine.warp_instructions - before
        if status == scheduler.PAUSED and made:
            self.slice = int(min(max(made * SLICE / max(took, 1e-6), 1000), 5_000_000))
        return status

    # ---- going on in Python ----

    def _hand_over(self, number: int) -> Cluster:
        """CTA `number` as a Python object on the records as they are; its memory is its own from now on."""
        cluster = cluster_at(self.machine, number, begun=(self.cta, self.memory))
        cta = cluster.ctas[0]
        cta.shared = self.shared
        if self.mbarriers is not None:
            cta.keep_mbarriers(self.mbarriers)
        for warp in cta.warps:
            warp.registers = self.native.registers(warp.memory)
            if self.local is not None:
                warp.local = self.local[warp.index]
            warp.copies = self.copies[warp.index]
        if self.warpgroups:
            from ptxsim.machine.async_product import go_on

            cta.warpgroups, self.native.record.warpgroups = self.warpgroups, 0
            go_on(self.machine, cta)
        if self.room:
            if any(warp.record.copies.open == self.room for warp in cta.warps):
                self.room *= 2
            fresh = (WarpRecord.of(row).copies for row in self.template)
            self.copies = [make_room(copies, self.room, self.machine.memory) for copies in fresh]
        self._make_memory()
        return cluster

    def _finish_round(self, grid: Grid, cluster: Cluster, cursor: int) -> bool:
        """The rest of the turn of warp `cursor`, from the instruction on where native code returned, and the turns of the warps after it."""
        warps = cluster.ctas[0].warps
        warp = warps[cursor]
        grid.guarded(warp, lambda: self.engine.resume(warp))
        for other in warps[cursor + 1 :]:
            if not other.done:
                grid.turn(other)
        return True
