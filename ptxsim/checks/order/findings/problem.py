"""What the scan has found, as findings are made of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

from ptxsim.checks.findings.causes import by_cause, note_of_others
from ptxsim.checks.in_flight import Prior
from ptxsim.diagnostic import Finding
from ptxsim.engine.program.operation import Op, Program
from ptxsim.machine.event import Observer


class First(NamedTuple):
    """Where a problem was met first: a row that cells.tell writes."""

    what: int
    site: int
    other: int
    address: int  # or the number of a barrier, or a column of tensor memory
    cta: int  # in the order of clusters
    warp: int  # of the CTA
    lane: int
    them: int  # the warp at the other site, of all CTAs in the order of clusters (global memory) or of the cluster
    is_global: int


@dataclass
class Problem:
    """What goes wrong between two instructions (cells), how often, and where first."""

    what: int
    site: int
    other: int
    first: First
    count: int = 0

    @property
    def key(self) -> tuple[int, int, int]:
        return self.what, self.site, self.other

    @property
    def sites(self) -> frozenset[int]:
        return frozenset((self.site, self.other))


@dataclass(frozen=True)
class Place:
    """The launch that problems are of.

    warps: of a CTA; cta_of: the linear index of a CTA by its number in the order of clusters; named: an address of shared memory as text;
    variable: the variable at an address; prior: the grids that may still run; repeat: runs the launch again for an observer, None where it
    cannot be repeated.
    """

    program: Program
    warps: int
    cta_of: Callable[[int], int]
    named: Callable[[int], str]
    variable: Callable[[int], str]
    prior: Prior
    repeat: Callable[[Observer], None] | None = None

    def ops(self, problem: Problem) -> tuple[Op, Op]:
        return self.program.ops[problem.site], self.program.ops[problem.other]


Teller = Callable[[Place, Problem], Finding]


def together(place: Place, problems: Iterable[Problem], tell: Teller, *, pairs: bool = True) -> list[Finding]:
    """One finding for all problems of one cause, which says what else has it; pairs: of two instructions each."""
    by_key = {problem.key: problem for problem in problems}
    found = []
    for keys in by_cause(place.program, by_key):
        finding = tell(place, replace(by_key[keys[0]], count=sum(by_key[key].count for key in keys)))
        others = keys if pairs else [(*key[:2], keys[0][1]) for key in keys]
        found.append(replace(finding, notes=(*finding.notes, *note_of_others(place.program, others))))
    return found
