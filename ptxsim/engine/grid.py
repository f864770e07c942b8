"""Runs a grid: which CTAs are resident, which warp goes next, what is a deadlock. One small policy for both engines."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np

from ptxsim.diagnostic import Finding
from ptxsim.engine import convergence
from ptxsim.engine.interpreter import fault_finding
from ptxsim.engine.livelock import Livelock, state_of
from ptxsim.engine.program.operation import Op, Program
from ptxsim.machine import tensor_memory
from ptxsim.machine.cta import Cluster, Cta, Register, Warp
from ptxsim.machine.fault import Fault, Wait
from ptxsim.machine.mbarrier_end import look_over
from ptxsim.machine.mbarrier_state import NEVER
from ptxsim.machine.records import AT_MBARRIERS, CtaRecord
from ptxsim.machine.state import Machine

TURN = 64  # blocks a warp executes before the next one gets its turn
LOOK = 100  # rounds between looks for a livelock
SPIN = 2000  # rounds without any warp ending or waiting before more CTAs are brought in


class Stopped(Exception):
    """The launch ends early; the finding says why."""

    def __init__(self, finding: Finding, exit_code: int = 1):
        super().__init__(finding.message)
        self.finding, self.exit_code = finding, exit_code


@dataclass(slots=True)
class Limits:
    """When to stop: warp instructions in all; `progress` gets the CTAs done, and all CTAs."""

    max_steps: int | None = None
    progress: Callable[[int, int], None] | None = None


def cluster_index(machine: Machine, number: int) -> tuple[int, int, int]:
    """Where the cluster of a number in launch order is. Clusters count x first, then y, then z."""
    nx, ny = (size // per for size, per in zip(machine.grid[:2], machine.cluster))
    return number % nx, number // nx % ny, number // (nx * ny)


def ctas_of(machine: Machine, index: tuple[int, int, int]) -> Iterator[tuple[tuple[int, int, int], int]]:
    """Where the CTAs of a cluster are, and their numbers in the grid."""
    gx, gy, _ = machine.grid
    for place in itertools.product(*(range(i * n, i * n + n) for i, n in zip(index[::-1], machine.cluster[::-1]))):
        z, y, x = place
        yield (x, y, z), x + gx * (y + gy * z)


def cluster_at(
    machine: Machine, number: int, warp_bytes: int = 0, begun: Sequence[tuple[CtaRecord, np.ndarray]] = ()
) -> Cluster:
    """The cluster of a number in launch order. `begun`: what its CTAs are made of if they run already (machine.cta.Cta)."""
    cluster = Cluster(cluster_index(machine, number), machine.cluster)
    for rank, (place, linear) in enumerate(ctas_of(machine, cluster.index)):
        cluster.ctas.append(
            Cta(
                place, linear, machine.block, machine.shared_bytes, cluster, machine.shared_fill, warp_bytes,
                begun[rank] if begun else None,
            )
        )  # fmt: skip
    return cluster


T = TypeVar("T")


class Engine(Protocol):
    """Executes warps of one program on one machine."""

    name: str
    warp_bytes: int  # what it wants for a warp: its record, and the rest for itself
    program: Program
    machine: Machine

    @property
    def current(self) -> Op | None:
        """What executes now, for faults."""

    def prepare(self, warp: Warp) -> None:
        """Give a new warp its registers."""

    def read_register(self, warp: Warp, slot: int) -> Register:
        """The raw bits of a register."""

    def write_register(self, warp: Warp, slot: int, value: Register) -> None: ...

    def run(self, warp: Warp, turns: int) -> bool:
        """Execute up to `turns` blocks of a warp; True if anything was executed."""

    def cta_runner(self) -> CtaRunner | None:
        """What runs whole clusters by itself, or None if the engine has no such thing."""


class CtaRunner(Protocol):
    """Runs clusters one after the other, without Python objects for them."""

    def run(self, grid: Grid, number: int) -> tuple[int, Handed | None]:
        """Run clusters from `number` on. Returns the number of the next one, and one to resume here. Raises Stopped."""


Hook = Callable[[Warp, Engine], None]  # called with a warp before or after it runs
# What a runner hands over: a cluster, the rounds it has had, and the rest of the round it is in (returns whether
# any warp moved), or None between rounds.
Handed = tuple[Cluster, int, Callable[[], bool] | None]


class Grid:
    """Executes a whole launch with one engine."""

    def __init__(
        self, program: Program, machine: Machine, engine: Engine, limits: Limits, start: Hook | None = None,
        stop: Hook | None = None,
    ):  # fmt: skip
        self.program, self.machine, self.engine, self.limits = program, machine, engine, limits
        self.start, self.stop = start, stop
        self.resident: list[Cluster] = []
        self.total = math.prod(machine.grid)
        clusters = self.total // math.prod(machine.cluster)
        # The GPU promises no order of CTAs; a seed other than 0 tries another one.
        self.order: Sequence[int] = (
            range(clusters) if machine.seed == 0 else machine.random.permutation(clusters).tolist()
        )
        self.done = 0
        self.shown = time.monotonic()
        self.livelock = Livelock(machine)

    @property
    def clusters(self) -> int:
        """How many are run."""
        return len(self.order)

    def take_only(self, every: int, sms: int) -> None:
        """Run no clusters but those with a CTA on each Nth of the SMs, to which CTAs go in turn."""
        self.order = [number for number in self.order if any(
            cta % sms % every == 0 for _, cta in ctas_of(self.machine, cluster_index(self.machine, number))
        )]  # fmt: skip
        self.total = len(self.order) * math.prod(self.machine.cluster)

    def run(self) -> None:
        """Run to the end. Raises Stopped where the GPU would stop, or NotModeled."""
        machine, resident = self.machine, self.resident
        number, order, clusters = 0, self.order, self.clusters
        runner = self._cta_runner()
        if machine.grid_workspace:  # barriers of the grid: every CTA is there from the beginning
            resident.extend(map(self._admit, order))
            number = clusters
        while True:
            rounds, rest = 0, None
            if not resident and runner is not None:
                number, handed = runner.run(self, number)
                if handed is not None:
                    cluster, rounds, rest = handed
                    resident.append(cluster)
            if not resident:
                if number == clusters:
                    break
                resident.append(self._admit(order[number]))
                number += 1
            if rounds > SPIN or not self._round_until_end(resident, rounds, rest):
                if number < clusters:  # a CTA spins on what another one must do
                    resident.append(self._admit(order[number]))
                    number += 1
        while machine.complete_next():
            pass

    def _cta_runner(self) -> CtaRunner | None:
        """What runs whole clusters, if the engine has it and no hook or seed needs every turn."""
        is_plain = self.start is None and self.stop is None and self.machine.seed == 0
        return self.engine.cta_runner() if is_plain else None

    def _admit(self, number: int) -> Cluster:
        cluster = cluster_at(self.machine, number, warp_bytes=self.engine.warp_bytes)
        for cta in cluster.ctas:
            for warp in cta.warps:
                self.engine.prepare(warp)
                if self.start is not None:
                    self.start(warp, self.engine)
        return cluster

    def stop_all(self) -> None:
        """Call the stop hook for what is still resident, after the run ended early."""
        for cluster in self.resident:
            self._finish(cluster)

    def _finish(self, cluster: Cluster) -> None:
        if self.stop is not None:
            for cta in cluster.ctas:
                for warp in cta.warps:
                    self.stop(warp, self.engine)

    def _round_until_end(
        self, resident: list[Cluster], rounds: int = 0, rest: Callable[[], bool] | None = None
    ) -> bool:
        """Turns for all warps until a cluster ends (True) or the residents only spin (False).

        `rounds` have been had before; `rest`, if given, carries out what is left of the one that has begun.
        """
        while True:
            moved = rest() if rest is not None else self._round(resident)
            rest = None
            self.look_at_limits(lambda: [split.block for warp in _warps(resident) for split in warp.splits])
            ended = [c for c in resident if all(cta.done for cta in c.ctas)]
            if ended:
                for cluster in ended:
                    resident.remove(cluster)
                    if self.machine.copies is not None:
                        self.machine.copies.end(_warps([cluster]))
                    for cta in cluster.ctas:
                        look_over(self.machine, cta.record)
                        tensor_memory.look_over(self.machine, cta)
                    self._finish(cluster)
                    self.done += len(cluster.ctas)
                return True
            if not moved and not self._let_time_pass(resident):
                if not self._all_are(resident):
                    return False
                raise Stopped(self._deadlock(resident))
            rounds += 1
            if rounds % LOOK == 0 and self._all_are(resident) and self.livelock.repeats(lambda: self._state(resident)):
                raise Stopped(self.endless(split.block for warp in _warps(resident) for split in warp.splits))
            if rounds > SPIN:
                return False

    def _all_are(self, resident: list[Cluster]) -> bool:
        """Whether no CTA is left that could come in."""
        return len(resident) * len(resident[0].ctas) + self.done == self.total

    def _round(self, resident: list[Cluster]) -> bool:
        """One turn for every warp; whether any moved."""
        moved = False
        for cluster in resident:
            for cta in cluster.ctas:
                for warp in self._order(cta):
                    if not warp.done and self.turn(warp):
                        moved = True
        return moved

    def _let_time_pass(self, resident: list[Cluster]) -> bool:
        """Nothing can go on: the earliest asynchronous work completes, or a wait times out; False if there is neither."""
        waiting = (split for warp in _warps(resident) for split in warp.splits if split.wait == AT_MBARRIERS)
        due = min((split.due for split in waiting), default=NEVER)
        if self.machine.complete_next(due):
            return True
        if due == NEVER:
            return False
        self.machine.steps = max(self.machine.steps, due)
        return True

    def _order(self, cta: Cta) -> list[Warp]:
        if self.machine.seed == 0 or len(cta.warps) == 1:
            return cta.warps
        return [cta.warps[i] for i in self.machine.random.permutation(len(cta.warps))]

    def turn(self, warp: Warp) -> bool:
        """Let a warp execute some blocks; whether it could."""
        self.machine.steps += 1
        self.machine.complete_due()
        return self.guarded(warp, lambda: self.engine.run(warp, TURN))

    def guarded(self, warp: Warp, action: Callable[[], T]) -> T:
        """Do something for a warp; a fault ends the launch."""
        try:
            return action()
        except Fault as fault:
            assert self.engine.current is not None
            raise Stopped(fault_finding(fault, self.engine.current, warp)) from fault

    def look_at_limits(self, where: Callable[[], Iterable[int]] = tuple) -> None:
        """Stop at max_steps; show progress. `where` gives the blocks that warps are in, as far as that is known."""
        limits = self.limits
        if limits.max_steps is not None and self.machine.warp_instructions > limits.max_steps:
            back = next(filter(None, (_back_edge(self.program, block) for block in where())), None)
            message = (
                f"stopped after {self.machine.warp_instructions} warp instructions: the limit is {limits.max_steps}"
            )
            help = "look for a loop that does not end, or raise the limit: --max-steps N, launch(max_steps=N)"
            found = Finding("limit-reached", message, help=help)
            if back is not None:
                op, first = back
                message += f"; warps are in the loop of lines {first} to {op.line}"
                found = Finding("limit-reached", message, op.line, op.column, len(op.opcode), help=help)
            raise Stopped(found)
        if limits.progress is not None and time.monotonic() - self.shown > 0.1:
            self.shown = time.monotonic()
            limits.progress(self.done, self.total)

    def _state(self, resident: list[Cluster]) -> Iterator[bytes | np.ndarray]:
        """What decides how clusters go on (engine.livelock)."""
        slots = range(len(self.program.slots))
        for cta in (cta for cluster in resident for cta in cluster.ctas):
            yield cta.shared
            for warp in cta.warps:
                yield from state_of(warp.record, _words(self.engine.read_register(warp, slot) for slot in slots))
                if warp.local is not None:
                    yield warp.local
                for split in warp.splits:
                    frame = warp.calls.get(split.call)
                    while frame is not None:
                        yield str(frame.return_block).encode()
                        yield from _words(frame.registers[0].values())  # as engine.control saves them
                        frame = frame.caller

    def endless(self, blocks: Iterable[int]) -> Finding:
        """Say in which loops warps go round for ever."""
        loops = list(dict.fromkeys(filter(None, (_back_edge(self.program, block) for block in blocks))))
        op, first = loops[0] if loops else (None, 0)
        where = ", ".join(f"lines {line} to {op.line}" for op, line in loops)
        message = "warps go round for ever, and nothing changes any more" + (
            f": in the loop of {where}" if where else ""
        )
        help = "look for what should end the loop: who would have to write what it reads, and is that thread still running?"
        if op is None:
            return Finding("deadlock", message, help=help)
        return Finding("deadlock", message, op.line, op.column, len(op.opcode), help=help)

    def _deadlock(self, resident: list[Cluster]) -> Finding:
        """Say who waits for what."""
        notes, line, first = [], 0, None
        for cluster in resident:
            for cta in cluster.ctas:
                for warp in cta.warps:
                    found = convergence.stuck(warp, self.program)
                    if found:
                        return fault_finding(found[1], found[0], warp)
                    for split in warp.splits:
                        wait = warp.waits_for(split)
                        if isinstance(wait, Wait):
                            at = convergence.line_of(warp, split, self.program)
                            notes.append(f"CTA {cta.index} warp {warp.index}, line {at}: {wait.describe()}")
                            if first is None:
                                line, first = at, (wait.what, cta.index, warp.index)
        what, cta_index, warp_index = first or ("nothing", (0, 0, 0), 0)
        shown = notes[:16] + ([f"and {len(notes) - 16} more"] if len(notes) > 16 else [])
        return Finding(
            "deadlock", f"every running warp waits: the first one for {what}", line,
            notes=tuple(shown), cta=cta_index, warp=warp_index,
            help="see the list: no thread is left that could bring what they wait for",
        )  # fmt: skip


def _warps(clusters: Iterable[Cluster]) -> Iterator[Warp]:
    for cluster in clusters:
        for cta in cluster.ctas:
            yield from cta.warps


def _words(registers: Iterable[Register | None]) -> Iterator[np.ndarray]:
    """What registers hold."""
    for register in registers:
        if register is not None:
            yield from register if isinstance(register, list) else (register,)


def _back_edge(program: Program, block: int) -> tuple[Op, int] | None:
    """The branch that closes the innermost loop around a block, and the line where the loop begins."""
    found: tuple[int, Op] | None = None
    for op in (op for later in program.blocks[block:] for op in later[-1:]):
        for target in op.targets:
            if target <= block and program.blocks[target] and (found is None or target > found[0]):
                found = target, op
    return None if found is None else (found[1], program.blocks[found[0]][0].line)
