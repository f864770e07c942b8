"""Runs in which a thread's strong accesses come in another order than the program's, as others may see them: whether that is so there, and what is said."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ptxsim.diagnostic import Finding, Label, beside
from ptxsim.engine.analysis.exchanges import Exchange
from ptxsim.engine.program.operation import Program
from ptxsim.lanes import word_mask
from ptxsim.machine.event import Event, Observer, Space


class Apart(Observer):
    """Whether the two accesses of every thread are of different places; and, where a fence of the CTA's scope lies between, whether of each CTA only
    one thread accesses these places."""

    events = frozenset({Event.LOAD, Event.STORE, Event.ATOMIC})
    spaces = frozenset({Space.GLOBAL})

    def __init__(self, of: Exchange):
        self.of = of
        self.are_apart = True
        # By thread: what it has accessed out of turn, and the end of that.
        self._later: dict[tuple[int, int, int], tuple[int, int]] = {}
        self._threads: dict[tuple[int, int], set[tuple[int, int]]] = {}  # by address and CTA
        self._places = set[int]()

    @property
    def is_legal(self) -> bool:
        """Whether a GPU may do what has been run."""
        shared = any(len(threads) > 1 for (address, _), threads in self._threads.items() if address in self._places)
        return self.are_apart and not (self.of.of_cta and shared)

    def consume(self, records: np.ndarray) -> None:
        first, later = self.of.sites
        for record in records[records["space"] == Space.GLOBAL]:
            site, width = int(record["site"]), int(record["width"])
            for lane in np.flatnonzero(word_mask(record["mask"])).tolist():
                address = int(record["addresses"][lane])
                thread = int(record["cta"]), int(record["warp"]), lane
                if self.of.of_cta:
                    self._threads.setdefault((address, thread[0]), set()).add(thread[1:])
                if site == later:
                    self._later[thread] = address, address + width
                if site in (first, later):
                    self._places.add(address)
                if site == first and thread in self._later:
                    start, end = self._later.pop(thread)
                    self.are_apart = self.are_apart and (address >= end or start >= address + width)


def says_exchanged(program: Program, of: Exchange) -> str:
    """Which two come the other way round."""
    first, later = (program.ops[site] for site in of.sites)
    return f"where others see {first.opcode} of line {first.line} after {later.opcode} of line {later.line}: nothing keeps the two in order"


def with_remedy(program: Program, of: Exchange, finding: Finding) -> Finding:
    """The same, with what puts the two in order."""
    first, later = (program.ops[site] for site in of.sites)
    is_look = first.accesses[0].writes and not later.accesses[0].writes
    fence = f"fence.{'sc' if is_look else 'acq_rel'}.gpu;"
    why = (
        "a store and a look at another place are in order by fence.sc alone"
        if is_look
        else "relaxed and volatile accesses to two places are in no order for others"
    )
    own = (Label.at(first, "this may come later"), Label.at(later, "than this"))
    labels = tuple(
        label
        for label in own
        if label.line != finding.line and label.line not in [each.line for each in finding.labels]
    )
    return replace(
        finding, labels=(*finding.labels, *labels), notes=(*finding.notes, why), fixes=(beside(later, "before", fence),),
        help=f"before line {later.line} put {fence} (in CUDA {'cuda::atomic_thread_fence(cuda::memory_order_seq_cst)' if is_look else '__threadfence()'})",
    )  # fmt: skip
