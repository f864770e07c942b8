"""The sixteen named barriers of a CTA. PTX ISA, "Parallel Synchronization and Communication Instructions: bar"."""

from __future__ import annotations

from dataclasses import dataclass, field

from ptxsim.machine.fault import Fault


@dataclass(slots=True)
class NamedBarrier:
    """`arrived` threads of `expected` in phase number `phase`; `votes` collects the predicates of barrier.red."""

    arrived: int = 0
    expected: int | None = None
    phase: int = 0
    votes: list[tuple[int, int]] = field(default_factory=list)  # (lanes that voted, lanes with true) of this phase
    results: dict[int, tuple[int, int]] = field(default_factory=dict)  # by phase: (threads, threads with true)
    waiting: list[str] = field(default_factory=list)

    def arrive(self, threads: int, expected: int, who: str, number: int, votes: tuple[int, int] | None = None) -> int:
        """Count threads in; returns the phase they belong to. The phase ends when `expected` have come."""
        if self.expected is not None and expected != self.expected:
            raise Fault(
                "barrier-count",
                f"barrier {number} is used with {expected} threads while others wait for {self.expected}",
                help="all bar instructions of one phase must name the same thread count",
            )
        self.expected = expected
        self.arrived += threads
        self.waiting.append(who)
        if votes:
            self.votes.append(votes)
        phase = self.phase
        if self.arrived >= self.expected:
            if self.arrived > self.expected:
                raise Fault(
                    "barrier-count", f"barrier {number}: {self.arrived} threads arrived, {self.expected} expected"
                )
            self._complete()
        return phase

    def _complete(self) -> None:
        self.results[self.phase] = (sum(v[0] for v in self.votes), sum(v[1] for v in self.votes))
        self.results.pop(self.phase - 2, None)
        self.phase += 1
        self.arrived, self.expected = 0, None
        self.votes, self.waiting = [], []

    def lower_expectation(self, threads_left: int) -> None:
        """Threads have exited: a barrier that waits for the whole CTA waits for those that are left."""
        if self.expected is not None and 0 < self.arrived >= threads_left:
            self._complete()
