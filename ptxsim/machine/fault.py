"""How an effect says that the launch must stop, or that lanes must wait."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ptxsim.diagnostic import Case


class Fault(Exception):
    """The GPU would stop here. `name` and `case` are a finding's; the engine adds line, CTA and warp."""

    def __init__(
        self, name: str, message: str, lane: int | None = None, help: str | None = None, case: Case | None = None
    ):
        super().__init__(message)
        self.name, self.message, self.lane, self.help, self.case = name, message, lane, help, case


@dataclass(slots=True)
class Wait:
    """Returned by an effect in place of results: the lanes resume when `ready()` is true.

    `what` says what is waited for ("barrier 0"); `describe` gives the line for a deadlock report. `result`, if given, is
    called when the wait is over and gives the values of the destinations.
    """

    what: str
    ready: Callable[[], bool]
    describe: Callable[[], str]
    result: Callable[[], object] | None = None


@dataclass(slots=True)
class AtBarrier:
    """Returned by an effect in place of results: the lanes go on when a phase of one of the CTA's barriers is over, and get what they have
    voted on."""

    number: int
    phase: int


@dataclass(slots=True)
class AtMBarriers:
    """Returned by an effect in place of results: these lanes (a word) go on when the phases that they watch are complete, or
    after a time; the destination is a predicate that says which."""

    lanes: int


@dataclass(slots=True)
class Converge:
    """Returned by an effect that needs all of `lanes` at the same instruction and not all are here: try again later."""

    lanes: np.ndarray


KEEP = object()  # returned by an effect whose destinations stay as they are


def first_lane(mask: np.ndarray) -> int:
    """The lowest set lane of a mask."""
    return int(np.argmax(mask))


def distinct(values: np.ndarray) -> list[int]:
    """The different integers of a lane value, in order. (np.unique is slower for 32 lanes, and imports much.)"""
    return sorted(set(values.tolist()))
