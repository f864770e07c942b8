"""Runs a grid: which CTAs are resident, which cluster goes next, what is a deadlock. One small policy for both engines."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from ptxsim.diagnostic import Finding
from ptxsim.engine.analysis.clocks import of_clocks
from ptxsim.engine.analysis.communication import ctas_tell, only_reads, warps_tell
from ptxsim.engine.clusters import cluster_at, cluster_index, ctas_of
from ptxsim.engine.deadlock import deadlock
from ptxsim.engine.livelock import Livelock
from ptxsim.engine.program.operation import Op, Program
from ptxsim.engine.turns import CtaRunner, Engine, Limits, Outcome, Resident, Stopped, Turns
from ptxsim.machine.cta import Cluster, Warp
from ptxsim.machine.draws import draw, shuffle
from ptxsim.machine.special import multiprocessors, resident_ctas
from ptxsim.machine.state import Machine

LOOK = 100  # rounds between looks for a livelock
MANY = 200  # clusters from which on each has only FIRST
FIRST = 8  # of a cluster that is alone, at first: in the interpreter rounds take milliseconds
REFUSED = 4  # one in so many is not cancelled that could be
BESIDE, JOINS = 8, 2  # clusters that run side by side with another seed; one time in so many one more of them begins
SPIN = 2000  # rounds of a slice at most, as long as there are CTAs that could come in
LONG = (
    8 * SPIN
)  # rounds for each that runs, in which none ends, until one more comes in: they may wait for it, in ways that are not known

Hook = Callable[[Warp, Engine], None]  # called with a warp before or after it runs


@dataclass(slots=True)
class Slice:
    """What a cluster has: so many rounds, `before` of which it had had others. `are_all_here`: none is still to come in."""

    cluster: Resident
    rounds: int
    before: int
    are_all_here: bool = False


class Grid:
    """Executes a whole launch with one engine. Where it stands is in its attributes alone: `resume` goes on from there."""

    def __init__(
        self, program: Program, machine: Machine, engine: Engine, limits: Limits, start: Hook | None = None,
        stop: Hook | None = None,
    ):  # fmt: skip
        self.program, self.machine, self.engine, self.limits = program, machine, engine, limits
        self.start, self.stop = start, stop
        self.seats: list[Resident] = []  # clusters that run
        self.runner: CtaRunner | None = None
        self.total = math.prod(machine.grid)
        clusters = self.total // math.prod(machine.cluster)
        self.room = max(1, resident_ctas(machine) // math.prod(machine.cluster))  # for clusters, on the GPU
        # The GPU promises no order of CTAs; a seed other than 0 tries another one.
        self.order: Sequence[int] = range(clusters)
        if machine.seed != 0:
            shuffle(machine.draws, order := [0] * clusters, 0, clusters)
            self.order = order
        elif limits.held is not None and limits.held.from_last:
            self.order = self.order[::-1]
        self.mixes = machine.seed != 0 and ctas_tell(program)
        self.done = self.next = 0  # CTAs; in `order`
        machine.cancel_cluster = self.cancel
        self.idle: list[Resident] = []  # those in seats that may not go on until others have done something
        self.queue: list[Resident] = []  # those that have their slices next
        self.fruitless = 0  # rounds that each in a seat may have had since one came in or ended
        self.slice: Slice | None = None  # that runs
        self.begun = self.shown = time.monotonic()
        self.livelock = Livelock(machine)
        self.rounds, self.next_look = 0, FIRST  # of all clusters, since no other comes in; at which to look for one

    @property
    def clusters(self) -> int:
        """How many are run."""
        return len(self.order)

    def take_only(self, ctas: Collection[int]) -> None:
        """Run no clusters but those with one of these CTAs."""
        self.order = [number for number in self.order if any(
            cta in ctas for _, cta in ctas_of(self.machine, cluster_index(self.machine, number))
        )]  # fmt: skip
        self.total = len(self.order) * math.prod(self.machine.cluster)

    def take_part(self, number: int, parts: int) -> None:
        """Run one of several parts of the clusters."""
        self.order = self.order[len(self.order) * number // parts : len(self.order) * (number + 1) // parts]
        self.total = len(self.order) * math.prod(self.machine.cluster)

    def run(self) -> None:
        """Run to the end. Raises Stopped where the GPU would stop, or NotModeled.

        A cluster runs until it has ended or can only wait for others. Then, from the youngest on, those have their slices that may
        go on because of what it has done; if there is none, or none has ended for a while, one more comes in, if the GPU has room for it.
        """
        self.runner = self._cta_runner()
        with self.engine.listening():
            self._run(self.runner)
        while self.machine.complete_next():
            pass

    def _run(self, runner: CtaRunner | None) -> None:
        while True:
            if (
                self.seats
                and not self._lets_in()
                and (self._are_all_here or (self.fruitless < LONG and len(self.idle) < len(self.seats)))
            ):
                self._slices(self._are_all_here)
            elif self.next == self.clusters or (
                not self.seats and runner is not None and runner.run_rest(self, self.next)
            ):
                break
            else:
                cluster = self._admit(self.order[self.next]) if runner is None else runner.admit(self, self.next)
                self.seats.append(cluster)
                self.next, self.fruitless = self.next + 1, 0
                is_alone = self.next == self.clusters and len(self.seats) == 1
                self._slice(self.seats[-1], 1 if self.mixes else self._look if is_alone else SPIN)

    @property
    def _are_all_here(self) -> bool:
        """Whether no other cluster comes in: there is none, or no room."""
        return self.next == self.clusters or len(self.seats) >= self.room

    @property
    def ahead(self) -> int:
        """As engine.turns.Launch says. The last one comes in by itself: it may be alone, and is looked at more often."""
        return 0 if self.mixes or len(self.seats) > 1 else max(0, self.clusters - self.next - 1)

    def went_on(self, count: int) -> None:
        """As engine.turns.Launch says."""
        self.next += count
        self.done += count * math.prod(self.machine.cluster)

    def _lets_in(self) -> bool:
        """Whether one more cluster comes in while others are at work, as on the GPU: with another seed, where they can tell."""
        return (
            self.mixes
            and self.next < self.clusters
            and len(self.seats) < BESIDE
            and draw(self.machine.draws, JOINS) == 0
        )

    def cancel(self) -> tuple[int, int, int] | None:
        """The cluster that would come next does not; the index of its first CTA. None if there is none, or, with a seed other than 0,
        as the GPU may always answer."""
        if self.next == self.clusters or (self.machine.seed and draw(self.machine.draws, REFUSED) == 0):
            return None
        number = self.order[self.next]
        self.next, self.done = self.next + 1, self.done + math.prod(self.machine.cluster)
        return next(ctas_of(self.machine, cluster_index(self.machine, number)))[0]

    def resume(self, rest: Callable[[], bool]) -> None:
        """Run to the end from within a round of the slice that runs; `rest` carries out what is left of that round."""
        current = self.slice
        assert current is not None and isinstance(current.cluster, Turns)
        left = current.rounds - (current.cluster.standing.rounds - current.before)
        self._finish_slice(current, current.cluster.run(left, self, rest))
        self._go_through(current.rounds, current.are_all_here)
        self.run()

    def _slices(self, are_all_here: bool) -> None:
        """A slice for every cluster that may go on, or for all if none knows that it may."""
        if len(self.idle) == len(self.seats):
            is_let_go = self.limits.held is not None and self.limits.held.let_go()
            if not is_let_go and all(seat.standing.is_stuck for seat in self.seats):
                raise Stopped(deadlock([seat.as_cluster() for seat in self.seats], self.program))
            self._wake()
        # With another seed those that run side by side are interleaved round by round.
        rounds = 1 if self.machine.mixes and len(self.seats) > 1 else self._look if are_all_here else SPIN
        self.queue = self.seats[::-1]
        self.fruitless += rounds
        self._go_through(rounds, are_all_here)

    def _go_through(self, rounds: int, are_all_here: bool) -> None:
        """Slices of those in the queue."""
        while self.queue:
            if rounds == 1 and self.runner is not None:
                self._pass_natively(self.runner, are_all_here)
            seat = self.queue.pop(0) if self.queue else None
            if seat is not None and seat.standing.may_go_on:
                self._slice(seat, rounds, are_all_here)
        if are_all_here:
            self._look_for_livelock()

    def _pass_natively(self, runner: CtaRunner, are_all_here: bool) -> None:
        """Slices of one round, up to a cluster in the queue with which Python has to go on."""
        at = len(self.seats) - len(self.queue)  # what is in no queue any more has come before it
        to, made = runner.slices(self, self.seats[::-1], at)
        del self.queue[: to - at]
        self.idle = [seat for seat in self.seats if not seat.standing.may_go_on]
        if are_all_here:
            self.rounds += made

    def _slice(self, seat: Resident, rounds: int, are_all_here: bool = False) -> None:
        """Let a cluster go on."""
        current = self.slice = Slice(seat, rounds, seat.standing.rounds, are_all_here)
        self._finish_slice(current, seat.run(rounds, self))

    def _finish_slice(self, current: Slice, outcome: Outcome) -> None:
        """Others may go on, if this one has done more than to poll or wait."""
        cluster, rounds, standing = current.cluster, current.rounds, current.cluster.standing
        had = standing.rounds - current.before
        if current.are_all_here:
            self.rounds += had
        if outcome is Outcome.ENDED:
            self.seats.remove(cluster)
            self.fruitless = 0
            self._finish(cluster)
            self.done += math.prod(self.machine.cluster)
        standing.may_go_on, standing.is_stuck = outcome is Outcome.PAUSED and rounds < SPIN, outcome is Outcome.STUCK
        if outcome in (Outcome.ENDED, Outcome.PAUSED) or (had > 1 and self._asks_the_others()):
            self._wake()
        if not (standing.may_go_on or outcome is Outcome.ENDED):
            self.idle.append(cluster)

    def _wake(self) -> None:
        """All may go on."""
        for seat in self.idle:
            seat.standing.may_go_on = True
        self.idle.clear()

    def _asks_the_others(self) -> bool:
        """Whether those that wait look for what one has done that waits now, too. At a barrier of the grid they would for each that
        comes in: until all are here they look when there are twice as many."""
        count = len(self.seats)
        if count >= self.room or count + self.done // math.prod(self.machine.cluster) == self.clusters:
            return True
        return not self.machine.grid_workspace and count & count - 1 == 0

    @property
    def _look(self) -> int:
        if self.mixes:  # rounds take long, and chance has to bring the same state about
            return FIRST
        if len(self.seats) > 1:
            return LOOK if len(self.seats) <= MANY else FIRST
        return min(max(FIRST, self.seats[0].standing.rounds), LOOK)

    def _look_for_livelock(self) -> None:
        """All clusters that have not ended are here: is all as it was before?"""
        if self.limits.held is not None and self.limits.held.is_holding:
            return  # it goes on when others have had their time
        if of_clocks(self.program) is None:
            return  # time alone may end it
        if self.seats and self.rounds >= self.next_look:
            self.next_look = self.rounds + self._look * len(self.seats)
            if self.livelock.repeats(lambda: chain.from_iterable(seat.state() for seat in self.seats)):
                blocks = list(chain.from_iterable(seat.blocks() for seat in self.seats))
                if self.machine.mixes or not warps_tell(self.program) or only_reads(self.program, blocks):
                    raise Stopped(self._full(self._endless(blocks)))
                self._mix()

    def _mix(self) -> None:
        """Give turns random lengths. With turns of one length warps may miss each other for ever where a GPU's would meet: a warp that holds a lock
        when its turn ends holds it then each time. A launch that goes on for ever even so hangs."""
        self.machine.mixes = self.mixes = True
        self.engine.mix()
        self.livelock.doubt()
        self.next_look = self.rounds + self._look * len(self.seats)

    def _cta_runner(self) -> CtaRunner | None:
        """What runs whole clusters, if the engine has it and nothing needs every warp."""
        needs_warps = self.start is not None or self.stop is not None or self.limits.held is not None
        return None if needs_warps else self.engine.cta_runner()

    def _admit(self, number: int) -> Turns:
        cluster = cluster_at(self.machine, number, warp_bytes=self.engine.warp_bytes)
        for warp in _warps(cluster):
            self.engine.prepare(warp)
            if self.start is not None:
                self.start(warp, self.engine)
        return Turns(self.engine, cluster, self.limits.held)

    def stop_all(self) -> None:
        """Call the stop hook for what is still resident, after the run ended early."""
        for seat in self.seats:
            self._finish(seat)

    def _finish(self, cluster: Resident) -> None:
        if self.stop is not None:
            for warp in _warps(cluster.as_cluster()):
                self.stop(warp, self.engine)

    def look_at_limits(self, where: Callable[[], Iterable[int]] = tuple) -> None:
        """Stop at a limit; show progress. `where` gives the blocks that warps are in, as far as that is known."""
        limits = self.limits
        reached = option = None
        if limits.max_steps is not None and self.machine.warp_instructions > limits.max_steps:
            reached, option = f"{limits.max_steps}", "--max-steps N, launch(max_steps=N)"
        elif limits.max_seconds is not None and time.monotonic() - self.begun > limits.max_seconds:
            reached, option = f"{limits.max_seconds:g} seconds", "--max-seconds N, launch(max_seconds=N)"
        if reached is not None:
            back = next(filter(None, (_back_edge(self.program, block) for block in where())), None)
            message = f"stopped after {self.machine.warp_instructions} warp instructions: the limit is {reached}"
            help = f"look for a loop that does not end, or raise the limit: {option}"
            found = Finding("limit-reached", message, help=help)
            if back is not None:
                op, first = back
                message += f"; warps are in the loop of lines {first} to {op.line}"
                found = Finding("limit-reached", message, op.line, op.column, len(op.opcode), help=help)
            raise Stopped(found)
        if limits.progress is not None and time.monotonic() - self.shown > 0.1:
            self.shown = time.monotonic()
            limits.progress(self.done, self.total)

    def _endless(self, blocks: Iterable[int]) -> Finding:
        """Say in which loops warps go round for ever."""
        loops = list(dict.fromkeys(filter(None, (_back_edge(self.program, block) for block in blocks))))
        op, first = loops[0] if loops else (None, 0)
        where = ", ".join(f"lines {line} to {op.line}" for op, line in loops)
        message = "warps go round for ever, and nothing changes any more" + (
            f": in the loop of {where}" if where else ""
        )
        help = (
            "look for what should end the loop: who would have to write what it reads, and is that thread still running? "
            "(a launch ends here before the host goes on, or another launch begins)"
        )
        if op is None:
            return Finding("deadlock", message, help=help)
        return Finding("deadlock", message, op.line, op.column, len(op.opcode), help=help)

    def _full(self, found: Finding) -> Finding:
        """A finding about CTAs that look for what others do, which may be those that have no room."""
        if self.next == self.clusters:
            return found
        target, ctas = self.machine.target, len(self.seats) * math.prod(self.machine.cluster)
        left = self.total - self.done - ctas
        room = f"no room for {left} of {self.total} CTAs: {target} with {multiprocessors(target)} SMs holds {ctas} of them at once"
        wanted = "CTAs that wait for each other all have to be there: launch no more than fit, and let each do the work of several"
        return replace(found, notes=(*found.notes, room, wanted))


def _warps(cluster: Cluster) -> Iterator[Warp]:
    for cta in cluster.ctas:
        yield from cta.warps


def _back_edge(program: Program, block: int) -> tuple[Op, int] | None:
    """The branch that closes the innermost loop around a block, and the line where the loop begins."""
    found: tuple[int, Op] | None = None
    for op in (op for later in program.blocks[block:] for op in later[-1:]):
        for target in op.targets:
            if target <= block and program.blocks[target] and (found is None or target > found[0]):
                found = target, op
    return None if found is None else (found[1], program.blocks[found[0]][0].line)
