"""A schedule on which one warp stands still for as long as others have something to do: who has decided by what was there before then
meets what they have done since. The GPU promises no warp its turn at any time, so each such schedule is one of those that it may take.
"""

from __future__ import annotations

from dataclasses import dataclass

from ptxsim.machine.cta import Warp
from ptxsim.machine.records import RUNS
from ptxsim.machine.state import Machine


@dataclass(slots=True)
class Held:
    """The first warp that comes to a block is held before it. `from_last`: CTAs come in from the last one on; patience: warp instructions
    that others may take meanwhile, and turns: some only wait; until: the counts of both at which it goes on;
    took: of warp instructions so far."""

    block: int
    from_last: bool
    patience: int
    warp: Warp | None = None
    until: tuple[int, int] = 0, 0
    is_over: bool = False
    took: int = 0

    @property
    def is_awaited(self) -> bool:
        """Whether no warp has come there yet: turns are of one block then."""
        return self.warp is None and not self.is_over

    @property
    def is_holding(self) -> bool:
        return self.warp is not None and not self.is_over

    def holds(self, warp: Warp, machine: Machine) -> bool:
        """Whether a warp has no turn now."""
        self.took = machine.warp_instructions
        if self.is_over:
            return False
        if self.warp is None and any(
            split.block == self.block and split.op == 0 and split.wait == RUNS for split in warp.splits
        ):
            self.warp = warp
            self.until = machine.warp_instructions + self.patience, machine.steps + self.patience
        if self.warp is not warp:
            return False
        self.is_over = machine.warp_instructions >= self.until[0] or machine.steps >= self.until[1]
        return not self.is_over

    def let_go(self) -> bool:
        """Others can do no more: it goes on. False if there is none."""
        was_held = self.is_holding
        self.is_over = self.is_over or was_held
        return was_held
