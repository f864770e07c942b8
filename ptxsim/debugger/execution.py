"""A launch that can be stopped before every instruction, and run to any earlier one again.

The interpreter runs in a thread of its own and waits inside its watch; all warps stand still then. Runs are deterministic, so an
instruction has a number, its position. Going back puts the latest snapshot before the wanted position back and runs on from there;
where there is none, a fresh launch.
"""

from __future__ import annotations

import threading
from array import array
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ptxsim.debugger.snapshot import Snapshot, Unknown
from ptxsim.diagnostic import Finding
from ptxsim.engine.program.operation import Op, Program
from ptxsim.engine.turns import Engine, Turns
from ptxsim.machine.cta import Cluster, Warp
from ptxsim.machine.state import Machine
from ptxsim.numerics.host import with_ieee
from ptxsim.session.launch import Launch

NOWHERE = 1 << 62  # a position that is not reached
INTERVAL = (
    4000  # instructions between two snapshots at first; the interpreter executes so many in a fraction of a second
)
MOST_BYTES = 1 << 30  # of all snapshots: beyond, every second one is forgotten, and the interval is twice as long


class Abandoned(BaseException):
    """Ends a run that is no longer wanted."""


@dataclass(frozen=True, slots=True)
class Stop:
    """Where all warps stand: before `op`, which `warp` is about to execute for the lanes of `mask`."""

    position: int
    op: Op
    warp: Warp
    mask: np.ndarray


Until = Callable[[Stop], bool]


@dataclass(frozen=True, slots=True)
class Kept:
    """A snapshot, of before the instruction that has the position after this one, and of what the pass itself remembers.

    `warp` has its turn then; `moved`: whether another one of the round did. `engine` is that of the pass.
    """

    position: int
    snapshot: Snapshot
    launch: Launch
    engine: Engine
    turns: Turns
    warp: Warp
    moved: bool
    clusters: dict[int, Cluster]


class Execution:
    """The current run of a launch. `here` is None before the first instruction and after the last."""

    def __init__(self, make: Callable[[], Launch]):
        self.make = make
        self.here: Stop | None = None
        self.is_over = False
        self.findings: list[Finding] = []
        self.trace: array[int] = array("q")  # for every position from 1: warp << 32 | site
        self.interrupted = False
        self.kept: list[Kept] = []  # by position, of the current launch
        self.interval = INTERVAL
        self.unknown = ""  # why there are no snapshots
        self._run: _Run | None = None
        self._begin()

    def _begin(self) -> None:
        if self._run is not None:
            self._run.abandon()
        self.kept.clear()
        self.launch = self.make()
        self.here, self.is_over, self.findings = None, False, []
        self._run = _Run(self.launch)

    def _rewind(self, kept: Kept) -> None:
        """Put everything back as it was."""
        if self._run is not None:
            self._run.end()
        kept.snapshot.restore()
        self.here, self.is_over, self.findings = None, False, []
        self._run = _Run(kept.launch, kept)

    def keep(self, kept: Kept) -> None:
        """Remember a snapshot; forget others where they are too large together."""
        self.kept.append(kept)
        while sum(each.snapshot.bytes for each in self.kept) > MOST_BYTES and len(self.kept) > 1:
            del self.kept[1::2]
            self.interval *= 2

    @property
    def program(self) -> Program:
        return self.launch.program

    @property
    def position(self) -> int:
        """How many instructions have begun, the one that comes next included; past the end the last one."""
        return self._run.position if self._run is not None else 0

    @property
    def machine(self) -> Machine | None:
        return self._run.machine if self._run is not None else None

    @property
    def clusters(self) -> list[Cluster]:
        """Clusters that have begun, in that order."""
        return list(self._run.clusters.values()) if self._run is not None else []

    def advance(self, until: Until | None = None, at: int = NOWHERE) -> Stop | None:
        """Run until a position, or until `until` holds before an instruction; None at the end of the launch."""
        run = self._run
        assert run is not None
        if self.is_over:
            return None
        self.interrupted = False
        self.here = run.advance(until, at, self)
        self.findings = run.findings
        self.is_over = self.here is None
        return self.here

    def go_to(self, position: int) -> Stop | None:
        """Stand before the instruction of a position, earlier or later."""
        position = max(1, position)
        if position < self.position or self.is_over:
            earlier = [kept for kept in self.kept if kept.position < position]
            if earlier:
                self._rewind(earlier[-1])
            else:
                self._begin()
        elif position == self.position and self.here is not None:
            return self.here
        return self.advance(at=position)

    def back(self, wanted: Callable[[int, int], bool]) -> int:
        """The latest position before this one whose warp and site are wanted, 0 if there is none."""
        end = self.position if self.here is not None else self.position + 1
        for position in range(end - 1, 0, -1):
            entry = self.trace[position - 1]
            if wanted(entry >> 32, entry & 0xFFFFFFFF):
                return position
        return 0

    def close(self) -> None:
        """End the run."""
        if self._run is not None:
            self._run.abandon()
            self._run = None


def number_of(warp: Warp) -> int:
    """A number for a warp of the grid."""
    return warp.cta.linear << 6 | warp.index


class _Run:
    """One pass, in its thread; a watch of the interpreter."""

    def __init__(self, launch: Launch, kept: Kept | None = None):
        """kept: what has been put back, to go on from."""
        self.launch, self.kept = launch, kept
        self.position = kept.position if kept is not None else 0
        self.machine: Machine | None = kept.engine.machine if kept is not None else None
        self.clusters: dict[int, Cluster] = dict(kept.clusters) if kept is not None else {}
        self._round: tuple[int, int] | None = None  # the cluster and its round that `_moved` is about
        self._moved = False
        self.findings: list[Finding] = []
        self.failure: BaseException | None = None
        self._goal, self._until = 0, None  # type: tuple[int, Until | None]
        self._owner: Execution | None = None
        self._found: Stop | None = None
        self._is_wanted = True
        self._resume, self._stopped = threading.Semaphore(0), threading.Semaphore(0)
        self._thread = threading.Thread(target=self._whole, daemon=True)
        self._is_begun = self._is_over = False

    # ---- the side of the debugger ----

    def advance(self, until: Until | None, at: int, owner: Execution) -> Stop | None:
        self._goal, self._until, self._owner = at, until, owner
        self._found = None
        if not self._is_begun:
            self._is_begun = True
            self._thread.start()
        else:
            self._resume.release()
        is_there = False
        while not is_there:
            try:
                is_there = self._stopped.acquire(timeout=0.1)
            except KeyboardInterrupt:
                owner.interrupted = True
        if self.failure is not None:
            raise self.failure
        return self._found

    def end(self) -> None:
        """Do not go on; the launch may, with another pass."""
        self._is_wanted = False
        if self._is_begun and not self._is_over:
            self._resume.release()
            self._thread.join()

    def abandon(self) -> None:
        self.end()
        self.launch.release()

    # ---- the side of the interpreter ----

    def _whole(self) -> None:
        try:
            self._execute()
        except Abandoned:
            pass
        except BaseException as failure:  # shown in the debugger's own thread
            self.failure = failure
        self._is_over = True
        self._found = None
        self._stopped.release()

    @with_ieee
    def _execute(self) -> None:
        if self.kept is None:
            machine = self.launch.run_grid(start=self._start, watch=self)
        else:
            self._listen(self.kept.engine)
            machine = self.launch.resume_grid(self._rest)
        self.findings = [finding.of(self.launch.code.source) for finding in machine.findings.values()]

    def _start(self, warp: Warp, engine: Engine) -> None:
        if self.machine is None:
            self.machine = engine.machine
            self._listen(engine)
        self.clusters.setdefault(id(warp.cta.cluster), warp.cta.cluster)

    def _listen(self, engine: Engine) -> None:
        """Be asked before every turn of a warp."""
        take_turn = type(engine).run

        def run(warp: Warp, turns: int) -> bool:
            self._before_turn(engine, warp)
            moved = take_turn(engine, warp, turns)
            self._moved |= moved
            return moved

        engine.watch, engine.run = self, run  # type: ignore[attr-defined,method-assign]  # the interpreter, this one alone
        grid = self.launch.running
        if grid is not None:
            grid.start = self._start

    def _before_turn(self, engine: Engine, warp: Warp) -> None:
        """Keep a snapshot, if the last one is long ago."""
        owner, grid = self._owner, self.launch.running
        assert owner is not None
        if grid is None or grid.slice is None or not isinstance(grid.slice.cluster, Turns):
            return
        turns = grid.slice.cluster
        if self._round != (id(turns), turns.standing.rounds):
            self._round, self._moved = (id(turns), turns.standing.rounds), False
        last = owner.kept[-1].position if owner.kept else 0
        if (
            self.position < last + owner.interval or owner.unknown or engine.machine.seed
        ):  # which draws the order within a round
            return
        try:
            snapshot = Snapshot([grid, engine], (_Run,))
        except Unknown as reason:
            owner.unknown = str(reason)
            return
        owner.keep(Kept(self.position, snapshot, self.launch, engine, turns, warp, self._moved, dict(self.clusters)))

    def _rest(self) -> bool:
        """What was left of the round; whether any warp moved in it."""
        kept = self.kept
        assert kept is not None
        turns = kept.turns
        self._round, self._moved = (id(turns), turns.standing.rounds), kept.moved
        turns.finish_round(kept.warp, lambda warp: kept.engine.run(warp, turns.length))
        return self._moved

    def before(self, op: Op, warp: Warp, mask: np.ndarray) -> None:
        """The interpreter is about to execute an operation."""
        self.position += 1
        owner = self._owner
        assert owner is not None
        if len(owner.trace) < self.position:
            owner.trace.append(number_of(warp) << 32 | op.site)
        if not self._is_wanted:
            raise Abandoned
        if self._until is None and self.position < self._goal and not owner.interrupted:
            return
        stop = Stop(self.position, op, warp, mask)
        if self.position >= self._goal or owner.interrupted or (self._until is not None and self._until(stop)):
            assert self.machine is not None
            self.findings = [finding.of(self.launch.code.source) for finding in self.machine.findings.values()]
            self._found = stop
            self._stopped.release()
            self._resume.acquire()
            if not self._is_wanted:
                raise Abandoned

    def after(self, op: Op, warp: Warp, mask: np.ndarray) -> None:
        """The operation is over."""
