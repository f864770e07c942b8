"""The sixteen named barriers of a CTA. PTX ISA, "Parallel Synchronization and Communication Instructions: bar, barrier".

A phase ends when the expected number of threads has come; a warp whose live lanes have all come counts as 32. Where all of
the CTA is expected, it is enough that every lane that has not exited has come.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from ptxsim.lanes import LANES
from ptxsim.machine.fault import Fault

NO_LANES = np.zeros(LANES, bool)


class Arriving(Protocol):
    """A warp, as far as barriers are concerned."""

    @property
    def index(self) -> int: ...

    @property
    def live(self) -> np.ndarray: ...

    @property
    def cta(self) -> Threads: ...


class Threads(Protocol):
    """A CTA, as far as barriers are concerned."""

    @property
    def threads(self) -> int: ...

    @property
    def warps(self) -> Sequence[Arriving]: ...


@dataclass(slots=True)
class Phase:
    """One use of a barrier: threads that have arrived and that are expected, and the votes of barrier.red."""

    number: int = 0
    arrived: int = 0
    expected: int = 0
    lanes: dict[Arriving, np.ndarray] = field(default_factory=dict)
    voted: int = 0
    true: int = 0
    done: bool = False


class NamedBarrier:
    """One barrier: `phase` is the one that arrivals belong to now."""

    def __init__(self) -> None:
        self.phase = Phase()

    def arrive(
        self, warp: Arriving, mask: np.ndarray, expected: int | None, number: int, votes: np.ndarray | None = None
    ) -> Phase:
        """Lanes of a warp come; returns the phase they belong to, which may be over by then.

        `expected` threads end the phase, None all of the CTA; `votes` are the lanes' predicates. Raises Fault barrier-count.
        """
        phase, all_threads = self.phase, _rounded(warp.cta.threads)
        if expected is None:
            expected = all_threads
        self._check(expected, warp.cta.threads, number)
        if phase.arrived and expected != phase.expected:
            raise Fault(
                "barrier-count",
                f"barrier {number} is used with {expected} threads while others wait for {phase.expected}",
                help="all bar instructions of one phase must name the same thread count",
            )
        phase.expected = expected
        together = phase.lanes[warp] = mask | phase.lanes.get(warp, False)
        phase.arrived += int(mask.sum())
        if not (warp.live & ~together).any():
            phase.arrived += LANES - int(warp.live.sum())
        if votes is not None:
            phase.voted += int(mask.sum())
            phase.true += int((votes & mask).sum())
        if phase.arrived > expected:
            raise Fault("barrier-count", f"barrier {number}: {phase.arrived} threads came, {expected} were expected")
        if phase.arrived == expected:
            self._complete()
        else:
            self.lanes_left(warp.cta)
        return phase

    def lanes_left(self, cta: Threads) -> None:
        """End a phase of the whole CTA if every lane that has not exited has come: to be asked when lanes exit."""
        phase = self.phase
        if phase.arrived and phase.expected == _rounded(cta.threads) and not self._missing(cta.warps):
            self._complete()

    def _missing(self, warps: Iterable[Arriving]) -> list[int]:
        """Warps with live lanes that have not come."""
        return [warp.index for warp in warps if (warp.live & ~self.phase.lanes.get(warp, NO_LANES)).any()]

    def _check(self, expected: int, threads: int, number: int) -> None:
        if expected % LANES:
            raise Fault(
                "barrier-count", f"barrier {number} names {expected} threads, which is no multiple of the warp size 32",
                help="a barrier counts whole warps",
            )  # fmt: skip
        if expected > _rounded(threads):
            raise Fault(
                "barrier-count", f"barrier {number} waits for {expected} threads, the CTA has {threads}",
                help="the barrier would wait forever",
            )  # fmt: skip

    def _complete(self) -> None:
        self.phase.done = True
        self.phase = Phase(self.phase.number + 1)

    def describe(self, number: int, cta: Threads) -> str:
        """Who has come and who is missing, for a deadlock report."""
        phase = self.phase
        come = ", ".join(map(str, sorted(warp.index for warp in phase.lanes)))
        text = f"barrier {number}: {phase.arrived} of {phase.expected} threads have come (warps {come})"
        missing = self._missing(cta.warps)
        if missing and phase.expected == _rounded(cta.threads):
            text += f", warps {', '.join(map(str, missing))} have not"
        return text


def _rounded(threads: int) -> int:
    return -(-threads // LANES) * LANES
