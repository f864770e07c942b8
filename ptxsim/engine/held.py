"""A schedule on which one warp stands still for as long as the others have something to do: it then goes on with what it has seen before,
and meets what they have done since. The GPU promises no warp a turn at any time, so each such schedule is one that it may take."""

from __future__ import annotations

from dataclasses import dataclass

from ptxsim.machine.cta import Warp
from ptxsim.machine.records import RUNS
from ptxsim.machine.state import Machine


@dataclass(slots=True)
class Held:
    """The first warp that comes to a block is held before it. `from_last`: CTAs come in from the last one on; patience: warp instructions
    that others may take meanwhile, and turns: some only wait; until: the counts of both at which it goes on;
    again: whether the next warp that comes there is held after it, and so on; passed: the one that goes on.
    lead: turns that the first warp has alone at first, unless it can do no more before (has_led)."""

    block: int
    from_last: bool
    patience: int
    warp: Warp | None = None
    until: tuple[int, int] = 0, 0
    is_over: bool = False
    again: bool = False
    passed: Warp | None = None
    lead: int = 0
    leader: Warp | None = None
    has_led: bool = False

    def anew(self) -> Held:
        """The same schedule from its beginning."""
        return Held(self.block, self.from_last, self.patience, again=self.again, lead=self.lead)

    @property
    def is_awaited(self) -> bool:
        """Whether no warp has come there yet: turns are of one block then."""
        return self.warp is None and not self.is_over

    @property
    def is_holding(self) -> bool:
        return self.warp is not None and not self.is_over

    def holds(self, warp: Warp, machine: Machine) -> bool:
        """Whether a warp has no turn now."""
        if self.is_over:
            return False
        if machine.steps < self.lead and not self.has_led:
            self.leader = self.leader or warp
            if self.leader is not warp:
                return True
        if self.warp is None and any(
            split.block == self.block and split.op == 0 and split.wait == RUNS for split in warp.splits
        ):
            if self.passed is warp:
                return False
            self.warp = warp
            self.until = machine.warp_instructions + self.patience, machine.steps + self.patience
        elif self.passed is warp:
            self.passed = None
        if self.warp is not warp:
            return False
        self.is_over = machine.warp_instructions >= self.until[0] or machine.steps >= self.until[1]
        if self.is_over and self.again:
            self._look_for_another()
            return False
        return not self.is_over

    def _look_for_another(self) -> None:
        self.passed, self.warp, self.is_over = self.warp, None, False

    def let_go(self) -> bool:
        """Others can do no more: it goes on. False if there is none."""
        if self.lead and not self.has_led:
            self.has_led = True
            return True
        was_held = self.is_holding
        if was_held and self.again:
            self._look_for_another()
        self.is_over = self.is_over or (was_held and not self.again)
        return was_held
