"""The turns of the warps of a cluster, as Python gives them; engine.compiled.runtime.scheduler is the same in native code.

A round is a turn of every warp. A cluster has its slice of rounds until it has ended, nothing in it can go on, or all that goes on in
it is to ask again and again what other CTAs have written: then it is the others' turn (engine.grid).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import IntEnum
from itertools import chain
from typing import Protocol, TypeVar

import numpy as np

from ptxsim.diagnostic import Finding
from ptxsim.engine.analysis.clocks import of_clocks
from ptxsim.engine.analysis.communication import warps_tell
from ptxsim.engine.analysis.forward_progress import polls
from ptxsim.engine.held import Held
from ptxsim.engine.interpreter import fault_finding
from ptxsim.engine.livelock import state_of
from ptxsim.engine.program.operation import Op, Program
from ptxsim.jit.record import I32, I64, Record, record
from ptxsim.machine.barriers.mbarrier_end import look_over
from ptxsim.machine.barriers.mbarrier_state import NEVER
from ptxsim.machine.copies.lane_copies import land_copies
from ptxsim.machine.cta import Cluster, Cta, Register, Warp
from ptxsim.machine.draws import Draws, draw, shuffle
from ptxsim.machine.fault import Fault
from ptxsim.machine.records import AT_MBARRIERS, FIRST_BARRIER, RUNS
from ptxsim.machine.state import Machine
from ptxsim.machine.tensor_memory import cells as tensor_memory

TURN = 64  # blocks a warp executes before the next one gets its turn
LENGTHS = 6  # powers of two below that
ENOUGH = 2  # rounds one after the other in which a cluster only polls, until it is the others' turn


class Stopped(Exception):
    """The launch ends early; the finding says why."""

    def __init__(self, finding: Finding, exit_code: int = 1):
        super().__init__(finding.message)
        self.finding, self.exit_code = finding, exit_code


@dataclass(slots=True)
class Limits:
    """When to stop: warp instructions in all, seconds on the clock; `progress` gets the CTAs done, and all CTAs. `held`: a warp that is to
    stand still for a while."""

    max_steps: int | None = None
    progress: Callable[[int, int], None] | None = None
    max_seconds: float | None = None
    held: Held | None = None


class Outcome(IntEnum):
    """How a slice has ended: the cluster has, it has had its rounds, nothing can go on, or it polls."""

    ENDED = 8  # what native code returns otherwise is smaller (engine.compiled.runtime.abi)
    PAUSED = 9
    STUCK = 10
    POLLS = 11


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

    def listening(self) -> AbstractContextManager[None]:
        """A launch runs within."""

    def mix(self) -> None:
        """From now on turns have lengths by chance (machine.mixes)."""

    def cta_runner(self) -> CtaRunner | None:
        """What runs whole clusters by itself, or None if the engine has no such thing."""


class Launch(Protocol):
    """What is known of a launch that runs (engine.grid.Grid). `done`: CTAs."""

    limits: Limits
    total: int
    order: Sequence[int]  # numbers of clusters
    done: int

    @property
    def clusters(self) -> int: ...

    @property
    def ahead(self) -> int:
        """Clusters that may follow the one that runs as soon as it ends: no other waits for what it does."""

    def went_on(self, count: int) -> None:
        """The one that runs has ended, and those that followed it, so many in all; another one runs in its place."""

    def look_at_limits(self, where: Callable[[], Iterable[int]] = ...) -> None: ...


@record
class Standing(Record):
    """Where a cluster stands among those that run."""

    rounds: I64  # that it has had
    polled: I64  # of them, the last ones in which it has only polled
    may_go_on: I32  # whether others have done something since it only polled or waited
    is_stuck: I32  # whether it waited


class Resident(Protocol):
    """A cluster that runs."""

    standing: Standing

    def run(self, rounds: int, launch: Launch) -> Outcome:
        """Go on for up to so many rounds."""

    def blocks(self) -> Iterable[int]:
        """Those that its warps are in."""

    def state(self) -> Iterator[bytes | np.ndarray]:
        """What decides how it goes on (engine.livelock)."""

    def as_cluster(self) -> Cluster:
        """As Python objects, on the same records."""


class CtaRunner(Protocol):
    """Runs clusters, without Python objects for them."""

    def run_rest(self, launch: Launch, number: int) -> bool:
        """Run all clusters from `number` on, to their end; False, with nothing done, if it cannot, or would take longer so."""

    def admit(self, launch: Launch, at: int) -> Resident:
        """A cluster that begins, by its place in the launch's order."""

    def slices(self, launch: Launch, residents: Sequence[Resident], at: int) -> tuple[int, int]:
        """Slices of one round each for those that may go on, from a place on: up to which, and how many there were. Python goes on with
        the one that is there."""


class Turns:
    """A cluster whose turns Python gives, a `Resident`."""

    def __init__(self, engine: Engine, cluster: Cluster, held: Held | None = None, standing: Standing | None = None):
        self.engine, self.machine, self.cluster, self.held = engine, engine.machine, cluster, held
        self.warps = [warp for cta in cluster.ctas for warp in cta.warps]
        self.standing = standing or Standing(may_go_on=1)
        self.polls = polls(engine.program)
        self.may_mix = warps_tell(engine.program)
        self.order: list[Warp] = []  # of the turns of the CTA that runs, in this round
        self.length = TURN  # of the turn that runs, in blocks

    def run(self, rounds: int, launch: Launch, rest: Callable[[], bool] | None = None) -> Outcome:
        """As `Resident` says. `rest`: carries out what is left of a round that has begun, and returns whether any warp moved."""
        for _ in range(rounds):
            if rest is None:
                self.machine.round_began = self.machine.warp_instructions
            moved = self._round() if rest is None else rest()
            rest = None
            self.standing.rounds += 1
            launch.look_at_limits(self.blocks)
            if all(warp.done for warp in self.warps):
                self._end()
                return Outcome.ENDED
            if not moved and not self._let_time_pass():
                return Outcome.STUCK
            if self._only_polls():
                self.standing.polled += 1
                self.machine.polled += self.machine.warp_instructions - self.machine.round_began
            else:
                self.standing.polled = 0
            if self.standing.polled >= ENOUGH:
                return Outcome.POLLS
        return Outcome.PAUSED

    def blocks(self) -> Iterable[int]:
        return [split.block for warp in self.warps for split in warp.splits]

    def as_cluster(self) -> Cluster:
        return self.cluster

    def _end(self) -> None:
        if self.machine.copies is not None:
            self.machine.copies.end(self.warps)
        for cta in self.cluster.ctas:
            look_over(self.machine, cta.record)
            tensor_memory.look_over(self.machine, cta)

    def _round(self) -> bool:
        """One turn for every warp; whether any moved."""
        moved = False
        for cta in self.cluster.ctas:
            self.order = self._order(cta)
            for warp in self.order:
                if not warp.done and self._turn(warp):
                    moved = True
        return moved

    def _order(self, cta: Cta) -> list[Warp]:
        if not self.machine.mixes or len(cta.warps) == 1:
            return cta.warps
        shuffle(self.machine.draws, order := [0] * len(cta.warps), 0, len(cta.warps))
        return [cta.warps[number] for number in order]

    def finish_round(self, warp: Warp, resume: Callable[[Warp], object]) -> bool:
        """What is left of a round: of a warp's turn, the turns of those of its CTA after it in `order`, and of the CTAs after that."""
        self._guarded(warp, resume)
        later = (other for cta in self.cluster.ctas[warp.cta.rank + 1 :] for other in self._order(cta))
        for other in chain(self.order[self.order.index(warp) + 1 :], later):
            if not other.done:
                self._turn(other)
        return True

    def _turn(self, warp: Warp) -> bool:
        """Let a warp execute some blocks; whether it could."""
        machine, copies, held = self.machine, warp.record.copies, self.held
        if held is not None and held.holds(warp, machine):
            return False
        machine.steps += 1
        machine.complete_due()
        if 0 < copies.next_due <= machine.steps:
            land_copies(machine.stream, warp.record, machine.steps)
        self.length = some_blocks(self.machine.draws) if self.machine.mixes and self.may_mix else TURN
        if held is not None and held.is_awaited:
            self.length = 1
        return self._guarded(warp, lambda warp: self.engine.run(warp, self.length))

    def _guarded(self, warp: Warp, action: Callable[[Warp], T]) -> T:
        """Do something for a warp; a fault ends the launch."""
        try:
            return action(warp)
        except Fault as fault:
            assert self.engine.current is not None
            raise Stopped(fault_finding(fault, self.engine.current, warp)) from fault

    def _let_time_pass(self) -> bool:
        """Nothing can go on: the earliest asynchronous work completes, or a wait times out; False if there is neither."""
        waiting = (split for warp in self.warps for split in warp.splits if split.wait == AT_MBARRIERS)
        due = min((split.due for split in waiting), default=NEVER)
        if self.machine.complete_next(due):
            return True
        if due == NEVER:
            return False
        self.machine.steps = max(self.machine.steps, due)
        return True

    def _only_polls(self) -> bool:
        """Whether all that does not wait polls, and something does, if only at a barrier on its way around."""
        held = self.held.warp if self.held is not None and self.held.is_holding else None
        splits = [split for warp in self.warps if warp is not held for split in warp.splits]
        running = [self.polls[split.block] for split in splits if split.wait == RUNS]
        return all(running) if running else any(self.polls[s.block] for s in splits if s.wait >= FIRST_BARRIER)

    def state(self) -> Iterator[bytes | np.ndarray]:
        slots = sorted({*range(len(self.engine.program.slots))}.difference(of_clocks(self.engine.program) or ()))
        for cta in self.cluster.ctas:
            yield cta.shared
            for warp in cta.warps:
                yield from state_of(warp.record, words(self.engine.read_register(warp, slot) for slot in slots))
                if warp.local is not None:
                    yield warp.local
        yield from self.frames()

    def frames(self) -> Iterator[bytes | np.ndarray]:
        """Of its state, what the functions hold that have called others."""
        for cta in self.cluster.ctas:
            for warp in cta.warps:
                for split in warp.splits:
                    frame = warp.calls.get(split.call)
                    while frame is not None:
                        yield str(frame.return_block).encode()
                        yield from words(frame.saved.values())  # as engine.control saves them
                        frame = frame.caller


def some_blocks(draws: Draws) -> int:
    """Blocks of a turn where warps can tell: another seed may let others see every step."""
    least = 1 << draw(draws, LENGTHS)
    return least + draw(draws, least)


def words(registers: Iterable[Register | None]) -> Iterator[np.ndarray]:
    """What registers hold."""
    for register in registers:
        if register is not None:
            yield from register if isinstance(register, list) else (register,)
