"""A schedule on which a small launch is looked at again; each kind of them has a class of its own where it is made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ptxsim.diagnostic import Finding
from ptxsim.engine.analysis.parted_blocks import parted
from ptxsim.engine.analysis.reordering import Exchange, exchanged
from ptxsim.engine.held import Held
from ptxsim.engine.program.operation import Program
from ptxsim.machine.event import Observer


@dataclass(slots=True)
class Schedule:
    """Of a seed. held: who stands still on it, or what comes late; exchange: accesses that come the other way round; observers: who listens;
    is_parted: warps meet between two accesses of one block, too; is_judged: whether it is asked what is wrong on it; took: warp instructions, once it has
    been carried out."""

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

    def is_so(self, again: Callable[[Schedule], object]) -> bool:
        """Whether what has been carried out is of this kind, and a GPU may do it. again: carries out another one."""
        return True

    def says(self, program: Program) -> str:
        """Which schedule that was."""
        return f"on another schedule (--seed {self.seed})"

    def told(self, program: Program, finding: Finding) -> Finding:
        """What is wrong on it, with what helps."""
        return finding
