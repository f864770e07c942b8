"""A schedule on which a small launch is looked at again; each kind of them has a class of its own where it is made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ptxsim.diagnostic import Finding
from ptxsim.engine.analysis.exchanges import Exchange
from ptxsim.engine.held import Held
from ptxsim.engine.program.operation import Program
from ptxsim.machine.event import Observer


@dataclass(slots=True)
class Schedule:
    """Of a seed. held: who stands still on it, or what comes late; exchange: accesses that come the other way round; observers: who listens;
    is_judged: whether it is asked what is wrong on it; took: warp instructions, once it has been carried out."""

    seed: int
    held: Held | None = None
    exchange: Exchange | None = None
    observers: tuple[Observer, ...] = ()
    is_judged: bool = True
    took: int = 0

    def is_so(self, again: Callable[[Schedule], object]) -> bool:
        """Whether what has been carried out is of this kind, and a GPU may do it. again: carries out another one."""
        return True

    def says(self, program: Program) -> str:
        """Which schedule that was."""
        return f"on another schedule (--seed {self.seed})"

    def told(self, program: Program, finding: Finding) -> Finding:
        """What is wrong on it, with what helps."""
        return finding
