"""Whole CTAs in native code: the warps of a CTA take their turns there, until it ends or Python is needed.

No CTA or warp exists as a Python object meanwhile. When something comes up that only Python can do, the objects are made from the
native state, and the CTA goes on under engine.grid in the middle of its round.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np

from ptxsim.engine.compiled.run import threads
from ptxsim.engine.compiled.runtime import scheduler
from ptxsim.engine.compiled.runtime.abi import CONTEXT, WARP, aligned, header_of
from ptxsim.engine.grid import SPIN, Grid, Handed, cluster_at
from ptxsim.engine.program.operation import families
from ptxsim.instructions.barrier import wait_for
from ptxsim.lanes import mask_word, word_mask
from ptxsim.machine.barrier import Phase
from ptxsim.machine.cta import Cluster, Split, Warp
from ptxsim.machine.port import Port
from ptxsim.machine.special import value as special_value

if TYPE_CHECKING:
    from ptxsim.engine.compiled.run.engine import CompiledEngine

SLICE = 0.02  # seconds that native code should take before it comes back
VARYING = ("ctaid", "clusterid", "smid")  # special registers that differ between CTAs


class Alone:
    """Runs CTAs one after the other. Memory of warps and of shared memory is used again for the next CTA."""

    def __init__(self, engine: CompiledEngine):
        self.engine, self.machine = engine, engine.machine
        self.slice = 2000  # warp instructions between returns, adapted to SLICE
        self._make_template()
        self.warpgroups = None
        if engine.keeps_rules:
            from ptxsim.engine.compiled.run.side_exit import Warpgroups

            self.warpgroups = Warpgroups(engine, len(self.template))
        self.copies = None
        if "cp_async" in families(engine.program):
            from ptxsim.engine.compiled.run.side_exit import LaneCopies

            self.copies = LaneCopies(engine, len(self.template))
        self._make_room()

    def _make_template(self) -> None:
        """The blocks of the warps of a fresh CTA, as prepare leaves them."""
        cluster = cluster_at(self.machine, 0)
        cta = cluster.ctas[0]
        stride = self.engine.places.stride
        self.template = np.zeros((len(cta.warps), stride), np.uint8)
        self.shared_bytes, self.live = len(cta.shared), [mask_word(warp.live) for warp in cta.warps]
        self.fill = self.machine.shared_fill
        for row, warp in zip(self.template, cta.warps):
            self.engine.prepare(warp)
            row[:] = warp.registers.block
            header = header_of(row)
            header["live"] = header["split"][0]["mask"] = mask_word(warp.live)
            header["splits"] = 1
        names = self.engine.places.specials
        self.varying = {n: at for n, at in names.items() if n[1:].partition(".")[0] in VARYING}

    def _make_room(self) -> None:
        """Fresh memory: the last CTA's has been handed over, or there was none."""
        engine, (warps, stride) = self.engine, self.template.shape
        self.blocks = aligned(warps * stride).reshape(warps, stride)
        self.shared = aligned(self.shared_bytes)
        self.local = None
        for row in self.template:
            header_of(row)["shared"] = self.shared.ctypes.data
        if engine.program.local_bytes:
            self.local = np.zeros((warps, 32, self.machine.local_bytes), np.uint8)
            for row, part in zip(self.template, self.local):
                header_of(row)["local"] = part.ctypes.data
        engine.set_field("warps", self.blocks.ctypes.data)
        engine.set_field("warp_count", warps)
        engine.set_field("stride", stride)
        block = self.machine.block
        engine.set_field("threads", block[0] * block[1] * block[2])
        self._counters = engine.context[CONTEXT["arrived"] : CONTEXT["groups"]]

    def run_to_end(self, number: int, stop: Callable[[], bool]) -> bool:
        """Run one CTA; False if Python would be needed for it, or `stop()` wants no more."""
        self._begin(number)
        while True:
            status = self._enter_for(self.slice)
            if status == scheduler.ENDED:
                return True
            if status != scheduler.PAUSED or self.engine.field("rounds") > SPIN or stop():
                return False

    def _begin(self, number: int) -> None:
        """The state of CTA `number` before its first instruction."""
        machine = self.machine
        self.blocks[:] = self.template
        self.shared.fill(self.fill)
        if self.local is not None:
            self.local.fill(0)
        gx, gy, _ = machine.grid
        index = (number % gx, number // gx % gy, number // (gx * gy))
        self.blocks[:, WARP["cta"] : WARP["cta"] + 4].view("<u4")[:] = number
        if self.varying:
            cta = SimpleNamespace(index=index, linear=number, cluster=SimpleNamespace(index=index))
            for name, at in self.varying.items():
                value = special_value(name, SimpleNamespace(cta=cta), machine)
                self.blocks[:, at : at + value.nbytes] = value.view(np.uint8)
        self._counters.fill(0)
        if self.warpgroups is not None:
            self.warpgroups.begin()
        if self.copies is not None:
            self.copies.begin()
        self.engine.set_field("live_warps", len(self.live))
        self.engine.set_field("rounds", 0)

    def run(self, grid: Grid, number: int) -> tuple[int, Handed | None]:
        """Run CTAs from `number` on. Returns the number of the next one, and a CTA to go on with, if there is one.

        Raises engine.grid.Stopped where a limit is reached.
        """
        engine, machine = self.engine, self.machine
        workers = threads.Threads(engine, grid, number)
        while number < grid.total:
            if workers.wanted(number) and workers.run(number):
                return grid.total, None
            if machine.pending:
                return number, None
            self._begin(number)
            number += 1
            while True:
                status = self._enter(grid)
                if status in (scheduler.LEFT, scheduler.STUCK):
                    break
                grid.look_at_limits(self._where)
                if status == scheduler.ENDED:
                    break
                if engine.field("rounds") > SPIN:
                    if number < grid.total:
                        return number, (self._hand_over(number - 1), SPIN + 1, None)
                    engine.set_field("rounds", 0)
            if status == scheduler.ENDED:
                grid.done += 1
                continue
            rounds, cursor = engine.field("rounds"), engine.field("cursor")
            cluster = self._hand_over(number - 1)
            if status == scheduler.STUCK:
                return number, (cluster, rounds - 1, lambda: False)
            return number, (cluster, rounds, lambda c=cluster, i=cursor: self._finish_round(grid, c, i))
        return number, None

    def _where(self) -> list[int]:
        """The blocks that the warps of the CTA are in."""
        headers = map(header_of, self.blocks)
        return [int(split["block"]) for header in headers for split in header["split"][: int(header["splits"])]]

    def _enter(self, grid: Grid) -> int:
        most = grid.limits.max_steps
        left = self.slice if most is None else min(self.slice, most - self.machine.warp_instructions)
        return self._enter_for(left)

    def _enter_for(self, instructions: int) -> int:
        """Let native code run for about so many warp instructions."""
        engine, machine = self.engine, self.machine
        before, began = machine.warp_instructions, time.perf_counter()
        engine.set_field("end_count", before + instructions)
        engine.set_field("end_rounds", SPIN)
        status = engine.enter_cta()
        took, made = time.perf_counter() - began, machine.warp_instructions - before
        if status == scheduler.PAUSED and made:
            self.slice = int(min(max(made * SLICE / max(took, 1e-6), 1000), 5_000_000))
        return status

    # ---- going on in Python ----

    def _hand_over(self, number: int) -> Cluster:
        """CTA `number` as Python objects in the state that native code left; its memory is its own from now on."""
        engine = self.engine
        cluster = cluster_at(self.machine, number)
        cta = cluster.ctas[0]
        cta.shared = self.shared
        phases = engine.context[CONTEXT["phases"] : CONTEXT["groups"]].view("<u4").copy()
        waiting, gathered = [], []
        for warp, row in zip(cta.warps, self.blocks):
            registers = warp.registers = engine.registers(row)
            header = registers.header
            warp.live = word_mask(int(header["live"]))
            warp.turns, warp.spent, warp.lost = (int(header[name]) for name in ("turns", "spent", "lost"))
            warp.splits = [
                Split(int(s["block"]), word_mask(int(s["mask"])), steps=int(s["steps"]))
                for s in header["split"][: int(header["splits"])]
            ]
            if self.local is not None:
                warp.local = self.local[warp.index]
            if header["barrier"]:
                waiting.append((warp, int(header["barrier"]) - 1, int(header["phase"]), int(header["own_site"])))
        cta.threads_left = sum(int(warp.live.sum()) for warp in cta.warps)
        for warp, barrier, phase, site in waiting:
            over = phase != phases[barrier]
            if barrier >= scheduler.BARRIERS:
                warp.splits[0].op = len(engine.program.blocks[warp.splits[0].block])
                if not over:
                    gathered.append((warp, barrier - scheduler.BARRIERS, site))
                continue
            port = Port(self.machine, warp)
            port.mask, port.site = warp.live, site
            current = Phase(done=True) if over else cta.barriers[barrier].arrive(warp, warp.live, None, barrier)
            split = warp.splits[0]
            split.op = len(engine.program.blocks[split.block])
            split.wait = wait_for(port, barrier, current, lambda phase: None)
        if self.warpgroups is not None:
            self.warpgroups.hand_over(cta, gathered)
        if self.copies is not None:
            self.copies.hand_over(cta)
        self._make_room()
        return cluster

    def _finish_round(self, grid: Grid, cluster: Cluster, cursor: int) -> bool:
        """The rest of the turn of warp `cursor`, at an instruction that native code left, and the turns behind it."""
        warps = cluster.ctas[0].warps
        warp = warps[cursor]
        grid.guarded(warp, lambda: self._finish_turn(warp))
        for other in warps[cursor + 1 :]:
            if other.splits:
                grid.turn(other)
        return True

    def _finish_turn(self, warp: Warp) -> None:
        engine, header = self.engine, warp.registers.header
        split = warp.splits[int(header["chosen"])]
        left = int(header["left"])
        engine.go_on(warp, split)
        if left > 1:
            engine.run(warp, left - 1)
