"""What only a second run can tell: whether a value that nobody wrote shows in the results, and what touches an array."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ptxsim.checks.element_types import Accesses, takes_f32_alone
from ptxsim.checks.registers import doubtful_accumulators, doubtful_reads
from ptxsim.diagnostic import DOUBTFUL, Finding
from ptxsim.engine.grid import Limits
from ptxsim.lanes import LANES
from ptxsim.machine.cta import Warp
from ptxsim.machine.memory import Allocation
from ptxsim.machine.state import Machine
from ptxsim.types import ScalarType

if TYPE_CHECKING:
    from ptxsim.session.launch import Launch

LONGER = 4  # a run on other garbage may take so many times as long
ONE_BY_ONE = 8  # registers that are tried one by one
SHORT = (
    20_000  # warp instructions of a run that is repeated for accumulators, which most kernels leave unset on purpose
)
GARBAGE = 0xFF  # of bytes, where the first run has zeros


class Again:
    """Second runs of a launch, from the memory as it was before the first; `start` prepares warps as it did then."""

    def __init__(self, launch: Launch, start: Callable[[Warp, Any], None] | None):
        self.launch, self.start = launch, start

    @property
    def is_wanted(self) -> bool:
        """Whether the program or the arguments ask for one, as far as is known before the first run."""
        return bool(self._doubles or self._doubtful or self._accumulators)

    @cached_property
    def _doubles(self) -> dict[str, Allocation]:
        """Arguments that are arrays of float64, where the kernel loads or stores f32 and no f64."""
        arrays = self.launch.arguments.buffers
        found = {name: place for name, (array, place) in arrays.items() if array.dtype == np.float64 and place.size}
        return found if found and self.launch.checks != "none" and takes_f32_alone(self.launch.program) else {}

    @cached_property
    def _doubtful(self) -> dict[int, Finding]:
        """Registers that may be read before they are written; those of a snippet are its caller's affair."""
        launch = self.launch
        return doubtful_reads(launch.program) if launch.checks != "none" and launch.given is None else {}

    @cached_property
    def _accumulators(self) -> dict[int, Finding]:
        launch = self.launch
        return doubtful_accumulators(launch.program) if launch.checks != "none" and launch.given is None else {}

    def settled(self, findings: list[Finding], before: np.ndarray | None, first: Machine) -> list[Finding]:
        """The findings of the `first` run with what second runs add, and doubtful ones as errors or warnings."""
        after, limits = self.launch.memory.bytes, self.launch.limits
        self.launch.limits = Limits(LONGER * first.warp_instructions + 10_000)
        if self._doubtful:
            findings = findings + self._showing(self._doubtful, before, after, first)
        # Where registers are used before wgmma has written them, what they held before shows for that reason.
        is_sound = all(finding.level != "error" for finding in findings)
        if self._accumulators and is_sound and first.warp_instructions <= SHORT:
            findings = findings + self._showing(self._accumulators, before, after, first)[:1]
        self.launch.limits = limits
        if self._doubles:
            accesses = Accesses(self._doubles)
            self._run(before, [accesses], self.start)
            findings = findings + accesses.findings(self.launch.program)
        if any(finding.level == DOUBTFUL for finding in findings):
            # Compilers read tails of tiles that nobody wrote and drop what they computed from them; that is a warning.
            self._run(before, [], self.start, GARBAGE)
            level = "warning" if np.array_equal(self.launch.memory.bytes, after) else "error"
            findings = [replace(f, level=level) if f.level == DOUBTFUL else f for f in findings]
        self.launch.memory.bytes = after
        return findings

    def _run(self, before: np.ndarray, observers: list, start: Callable | None, shared_fill: int = 0) -> Machine:
        self.launch.memory.bytes = before.copy()
        return self.launch._run(observers, start, None, shared_fill)

    def _showing(
        self, doubtful: dict[int, Finding], before: np.ndarray, after: np.ndarray, first: Machine
    ) -> list[Finding]:
        """The registers whose first value shows: a run in which they hold something else gives other results."""

        def shows(slots: Collection[int]) -> bool:
            def fill(warp: Warp, engine: Any) -> None:
                if self.start is not None:
                    self.start(warp, engine)
                for slot in slots:
                    engine.write_register(warp, slot, _ones(self.launch.program.slots[slot]))

            other = self._run(before, [], fill)
            stopped = [machine.extra.get("stopped at") for machine in (first, other)]
            return stopped[0] != stopped[1] or not np.array_equal(self.launch.memory.bytes, after)

        showing = list(doubtful) if shows(doubtful) else []
        if len(showing) > 1:
            showing = [slot for slot in showing[:ONE_BY_ONE] if shows([slot])] or showing
        return [doubtful[slot] for slot in showing]


def _ones(t: ScalarType) -> Any:
    """A register of that type with all bits set."""
    if t.kind == "predicate":
        return np.ones(LANES, bool)
    word = np.full(LANES, -1, f"i{min(t.bytes, 8)}").view(f"u{min(t.bytes, 8)}")
    return [word, word.copy()] if t.bits == 128 else word
