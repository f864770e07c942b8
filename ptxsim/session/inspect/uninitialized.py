"""Findings that only a repetition of the launch can settle: does a value that was never written reach the results?"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from functools import cached_property

import numpy as np

from ptxsim.checks.element_types import Accesses, takes_f32_alone
from ptxsim.checks.registers.unwritten import doubtful_accumulators, doubtful_reads
from ptxsim.diagnostic import DOUBTFUL, Finding
from ptxsim.engine.grid import Hook
from ptxsim.engine.program.operation import families
from ptxsim.engine.turns import Engine, Limits
from ptxsim.lanes import EVERY, LANES
from ptxsim.machine.cta import Warp
from ptxsim.machine.memory import Allocation, GlobalMemory
from ptxsim.machine.state import Machine
from ptxsim.session.launch import Launch
from ptxsim.types import ScalarType

LONGER = 4  # a repetition on other values may take so many times as long
ONE_BY_ONE = 8  # registers that are tried one by one
SHORT = (
    20_000  # warp instructions of a run that is repeated for accumulators, which most kernels leave unset on purpose
)
# Bytes of shared memory, where the first run has zeros: NaN or -1, and large numbers of either sign in all types, which minima, maxima and
# comparisons that drop a NaN take.
GARBAGE = (0xFF, 0x7B, 0xFB)


class Repetitions:
    """Repetitions of a launch from the memory as it was before the first pass; `start` prepares warps as it did then."""

    def __init__(self, launch: Launch, start: Hook | None):
        self.launch, self.start = launch, start

    @property
    def are_wanted(self) -> bool:
        """Whether the program or the arguments ask for one, as far as is known before the first pass. What a sample computes is not used, and its
        memory may be large: only where it has all checks."""
        if self.launch.may_be_sampled and self.launch.checks != "all":
            return False
        return bool(self._doubles or self._doubtful or self._accumulators or self._may_stray)

    @property
    def _may_stray(self) -> bool:
        """Whether there are shuffles, which may read from lanes that are not there."""
        return self.launch.checks != "none" and "shuffle" in families(self.launch.program)

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

    def settled(self, findings: list[Finding], before: GlobalMemory, first: Machine) -> list[Finding]:
        """The findings of the `first` pass with what repetitions add, and doubtful ones as errors or remarks."""
        findings = self._strays(findings, before, first)
        if self._doubtful:
            findings = findings + self._showing(self._doubtful, before, first)
        # Where registers are used before a product has written them, what they held before shows for that reason.
        is_sound = all(finding.level != "error" for finding in findings)
        if self._accumulators and is_sound and first.warp_instructions <= SHORT:
            findings = findings + self._showing(self._accumulators, before, first)[:1]
        if self._doubles:
            accesses = Accesses(self._doubles)
            self.launch.run_grid([accesses], memory=before.copy(), start=self.start)
            findings = findings + accesses.findings(self.launch.program)
        if any(finding.level == DOUBTFUL for finding in findings):
            is_seen = self._is_seen(before, first)
            findings = [_settled(finding, is_seen) if finding.level == DOUBTFUL else finding for finding in findings]
        return findings

    def _is_seen(self, before: GlobalMemory, first: Machine) -> bool:
        """Whether results depend on what shared memory holds before anything is stored there. Compilers load tails of tiles that were never
        written, and what other warps would have left if there were any (CUB's reductions of part of a CTA), and drop what they computed from them."""
        limits = _limits(first)
        others = (
            self.launch.run_grid(memory=before.copy(), start=self.start, limits=limits, shared_fill=fill)
            for fill in GARBAGE
        )
        return any(_differs(other, first) for other in others)

    def _strays(self, findings: list[Finding], before: GlobalMemory, first: Machine) -> list[Finding]:
        """Doubtful findings of shuffles as errors where what they read shows, else without them."""
        if not any(map(_is_stray, findings)):
            return findings
        other = self.launch.run_grid(memory=before.copy(), start=self.start, limits=_limits(first), garbage=EVERY)
        if not _differs(other, first):
            return [finding for finding in findings if not _is_stray(finding)]
        return [replace(finding, level="error") if _is_stray(finding) else finding for finding in findings]

    def _showing(self, doubtful: dict[int, Finding], before: GlobalMemory, first: Machine) -> list[Finding]:
        """The registers whose first value shows: a run in which they hold something else gives other results."""
        limits = _limits(first)

        def shows(slots: Collection[int]) -> bool:
            def fill(warp: Warp, engine: Engine) -> None:
                if self.start is not None:
                    self.start(warp, engine)
                for slot in slots:
                    engine.write_register(warp, slot, _ones(self.launch.program.slots[slot]))

            other = self.launch.run_grid(memory=before.copy(), start=fill, limits=limits)
            return _differs(other, first)

        showing = list(doubtful) if shows(list(doubtful)) else []
        if len(showing) > 1:
            showing = [slot for slot in showing[:ONE_BY_ONE] if shows([slot])] or showing
        return [doubtful[slot] for slot in showing]


def _limits(first: Machine) -> Limits:
    """How long a repetition may take: other values may be numbers of turns."""
    return Limits(LONGER * first.warp_instructions + 10_000)


def _differs(other: Machine, first: Machine) -> bool:
    """Whether a repetition has left something else in global memory, or has ended elsewhere or with another address."""
    return (
        first.stopped_at != other.stopped_at
        or _why_stopped(first) != _why_stopped(other)
        or not other.memory.equals(first.memory)
    )


def _why_stopped(machine: Machine) -> set[str]:
    """What is said of the end of a run that has not come to its own; where it was cut off is no part of that."""
    found = [
        each for each in machine.findings.values() if machine.stopped_at is not None and each.name != "limit-reached"
    ]
    return {finding.message for finding in found if finding.line == machine.stopped_at}


def _settled(finding: Finding, is_seen: bool) -> Finding:
    """A read of what nobody had written: an error where results show it, else a remark."""
    if is_seen:
        return replace(finding, level="error")
    unseen = "no result shows it: runs with other values there have left the same in global memory"
    return replace(finding, level="note", notes=(*finding.notes, unseen))


def _is_stray(finding: Finding) -> bool:
    """Whether a finding is of a shuffle that reads from a lane that is not there."""
    return finding.level == DOUBTFUL and finding.name == "member-mask"


def _ones(t: ScalarType) -> np.ndarray | list[np.ndarray]:
    """A register of that type with all bits set."""
    if t.kind == "predicate":
        return np.ones(LANES, bool)
    word = np.full(LANES, -1, f"i{min(t.bytes, 8)}").view(f"u{min(t.bytes, 8)}")
    return [word, word.copy()] if t.bits == 128 else word
