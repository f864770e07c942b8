"""Runs in which other threads see two strong accesses of a thread in the other order: whether a GPU may do that, and the findings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from ptxsim.diagnostic import Finding, Label, beside
from ptxsim.engine.analysis.reordering import Exchange
from ptxsim.engine.program.operation import Op, Program
from ptxsim.lanes import lane_numbers
from ptxsim.machine.event import Event, Observer, Space
from ptxsim.session.inspect.schedules.schedule import Schedule


class Apart(Observer):
    """Whether two exchanged accesses may be in the other order.

    They must be of different places in every thread; where a fence of the CTA's scope lies between them, only one thread of each CTA may
    access these places; and where the first one acquires, its thread must not be able to know who changed what the other one had read.
    """

    events = frozenset({Event.LOAD, Event.STORE, Event.ATOMIC, Event.CAS, Event.REDUCE})
    spaces = frozenset({Space.GLOBAL})

    def __init__(self, of: Exchange):
        self.of = of
        self.are_apart = True
        # By thread: what it has accessed out of turn, and the end of that.
        self._later: dict[tuple[int, int, int], tuple[int, int]] = {}
        self._threads: dict[tuple[int, int], set[tuple[int, int]]] = {}  # by address and CTA
        self._places = set[int]()
        self._told: dict[tuple[int, int, int], _Told] = {}  # by thread, while it is out of turn

    @property
    def is_legal(self) -> bool:
        """Whether a GPU may do what has been run."""
        shared = any(len(threads) > 1 for (address, _), threads in self._threads.items() if address in self._places)
        return self.are_apart and not (self.of.of_cta and shared)

    def consume(self, records: np.ndarray) -> None:
        first, later = self.of.sites
        for record in records[records["space"] == Space.GLOBAL]:
            site, width, event = int(record["site"]), int(record["width"]), int(record["event"])
            for lane in lane_numbers(int(record["mask"])):
                address = int(record["addresses"][lane])
                thread = int(record["cta"]), int(record["warp"]), lane
                for told in self._told.values():
                    told.note(thread[0], address, width, event)
                if self.of.of_cta:
                    self._threads.setdefault((address, thread[0]), set()).add(thread[1:])
                if site == later:
                    self._later[thread] = address, address + width
                    if self.of.acquires:
                        self._told[thread] = _Told(address, address + width)
                if site in (first, later):
                    self._places.add(address)
                if site == first and thread in self._later:
                    start, end = self._later.pop(thread)
                    knows = self.of.acquires and thread[0] in self._told.pop(thread).ctas
                    self.are_apart = self.are_apart and not knows and (address >= end or start >= address + width)


@dataclass(slots=True)
class _Told:
    """CTAs that may know that some bytes of global memory have changed, and addresses at which they may say so: more than do, since any access counts."""

    start: int
    end: int
    ctas: set[int] = field(default_factory=set)
    places: set[int] = field(default_factory=set)

    def note(self, cta: int, address: int, width: int, event: int) -> None:
        """A thread of a CTA accesses memory."""
        is_write = event != Event.LOAD
        if (is_write and address < self.end and self.start < address + width) or (
            address in self.places and event != Event.STORE
        ):
            self.ctas.add(cta)
        if is_write and cta in self.ctas:
            self.places.add(address)


@dataclass(slots=True)
class Exchanged(Schedule):
    """Two accesses come the other way round on it."""

    def is_so(self, again: Callable[[Schedule], object]) -> bool:
        assert self.exchange is not None and self.held is not None
        apart = Apart(self.exchange)
        again(replace(self, held=self.held.anew(), observers=(apart,), is_judged=False))
        return apart.is_legal

    def says(self, program: Program) -> str:
        first, later = self._ops(program)
        return f"where others see {first.opcode} of line {first.line} after {later.opcode} of line {later.line}: nothing keeps the two in order"

    def told(self, program: Program, finding: Finding) -> Finding:
        assert self.exchange is not None
        return with_remedy(program, self.exchange, finding)

    def _ops(self, program: Program) -> tuple[Op, Op]:
        assert self.exchange is not None
        first, later = self.exchange.sites
        return program.ops[first], program.ops[later]


def with_remedy(program: Program, of: Exchange, finding: Finding) -> Finding:
    """The same, with what puts the two in order."""
    first, later = (program.ops[site] for site in of.sites)
    is_look = (first.accesses[0].writes or of.acquires) and not later.accesses[0].writes
    fence = f"fence.{'sc' if is_look else 'acq_rel'}.gpu;"
    why = (
        f"{'a load' if not first.accesses[0].writes else 'a store'} and a look at another place are in order{' for all others' if of.acquires else ''} by fence.sc alone"
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
