"""One schedule on which a small launch is run again. Its kinds are subclasses, each beside the code that makes it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ptxsim.diagnostic import Finding
from ptxsim.engine.analysis.parted_blocks import parted
from ptxsim.engine.analysis.reordering import Exchange, exchanged
from ptxsim.engine.held import Held
from ptxsim.engine.program.operation import Program
from ptxsim.machine.event import Observer
from ptxsim.machine.state import Machine
from ptxsim.session.run import Run

POLLED = 8  # warp instructions in which CTAs only ask what others have done count as one


def work_of(run: Machine | Run) -> int:
    """What a run counts for, in warp instructions: less where CTAs wait for each other, however long they ask."""
    return run.warp_instructions - run.polled + run.polled // POLLED


@dataclass(slots=True)
class Schedule:
    """One other order of events, by its seed.

    held: the warp that stands still, or the accesses that come late; exchange: two accesses in the other order; observers: what listens;
    is_parted: blocks are cut where other warps may come in between; is_judged: whether findings are made of the run; took: what the run counts for,
    once it is over.
    """

    seed: int
    held: Held | None = None
    exchange: Exchange | None = None
    observers: tuple[Observer, ...] = ()
    is_parted: bool = False
    is_judged: bool = True
    took: int = 0

    def program(self, own: Program) -> Program:
        """What is run on it in place of the launch's own program."""
        return exchanged(own, self.exchange)[0] if self.exchange is not None else parted(own) if self.is_parted else own

    def counts(self, finding: Finding) -> bool:
        """Whether a finding says anything on it."""
        return True

    def count(self, run: Machine | Run) -> None:
        """Note what it has taken."""
        self.took = work_of(run)

    def is_so(self, again: Callable[[Schedule], object]) -> bool:
        """Whether what has been carried out is of this kind, and a GPU may do it. again: carries out another one."""
        return True

    def says(self, program: Program) -> str:
        """Which schedule that was."""
        return f"on another schedule (--seed {self.seed})"

    def told(self, program: Program, finding: Finding) -> Finding:
        """What is wrong on it, with what helps."""
        return finding
