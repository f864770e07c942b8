"""Races between CTAs in global memory: two of them touch the same bytes, one writes, and nothing orders the two.

CTAs of a launch run in any order, so it does not matter which access came first. A CTA that has synchronised through
global memory (an atomic, a strong load, a cluster barrier) is trusted from then on. A store of what is there already
is harmless, unless another CTA stores a different value later.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ptxsim.diagnostic import Finding, Label
from ptxsim.engine.program.operation import Program
from ptxsim.lanes import word_mask
from ptxsim.machine.event import FLAG_STRONG, FLAG_UNCHANGED, Event, Observer, Space

PAGE_BITS = 16
NO_CTA = -1


class _Page:
    """For 2^16 words (or bytes): the first CTA that wrote and the first that read each, and with which instruction."""

    def __init__(self, unit: int, number: int) -> None:
        self.unit, self.number = unit, number
        size = 1 << PAGE_BITS
        self.writer, self.write_site = np.full(size, NO_CTA, np.int32), np.zeros(size, np.int32)
        self.reader, self.read_site = np.full(size, NO_CTA, np.int32), np.zeros(size, np.int32)
        # The first that stored what was there already, and which record of the run that was.
        self.same, self.same_site = np.full(size, NO_CTA, np.int32), np.zeros(size, np.int32)
        self.same_at = np.zeros(size, np.int64)

    def address(self, cell: int) -> int:
        return ((self.number << PAGE_BITS) + cell) * self.unit


Touch = Callable[
    [_Page, np.ndarray, np.ndarray, np.ndarray, np.ndarray], None
]  # page, cells, CTAs, sites, record numbers


class GlobalChecker(Observer):
    """Finds words of global memory that several CTAs touch without order."""

    events = frozenset({Event.LOAD, Event.STORE, Event.ATOMIC, Event.CAS, Event.REDUCE, Event.LEAVE})

    def __init__(self) -> None:
        self.pages: dict[tuple[int, int], _Page] = {}
        self.synchronised: set[int] = set()
        self.seen = 0  # records
        self.problems: dict[tuple[int, int], tuple[int, int, int, int]] = {}  # sites -> address, CTA, other CTA, count

    def consume(self, records: np.ndarray) -> None:
        trusted = self._trusted(records)
        plain = (
            (records["space"] == Space.GLOBAL)
            & ((records["event"] == Event.LOAD) | (records["event"] == Event.STORE))
            & (records["flags"] & FLAG_STRONG == 0)
            & ~trusted
        )
        number = self.seen + np.arange(len(records))
        self.seen += len(records)
        unchanged = records["flags"] & FLAG_UNCHANGED != 0
        for width in np.unique(records["width"][plain]):
            here = plain & (records["width"] == width)
            store = here & (records["event"] == Event.STORE)
            for touch, chosen in (
                (self._keep, store & unchanged), (self._write, store & ~unchanged),
                (self._read, here & (records["event"] == Event.LOAD)),
            ):  # fmt: skip
                if chosen.any():
                    self._touch(records[chosen], number[chosen], int(width), touch)

    def _trusted(self, records: np.ndarray) -> np.ndarray:
        """Records of CTAs that have synchronised before, in or before this batch."""
        event = records["event"]
        strong = (records["space"] == Space.GLOBAL) & (
            ((event == Event.LOAD) & (records["flags"] & FLAG_STRONG != 0))
            | (event == Event.ATOMIC) | (event == Event.CAS) | (event == Event.REDUCE)
        )  # fmt: skip
        cluster = (event == Event.LEAVE) & (records["addresses"][:, 0] >= 16)
        trusted = (
            np.isin(records["cta"], list(self.synchronised)) if self.synchronised else np.zeros(len(records), bool)
        )
        for cta in np.unique(records["cta"][strong | cluster]):
            first = int(np.argmax((strong | cluster) & (records["cta"] == cta)))
            trusted[first:] |= records["cta"][first:] == cta
            self.synchronised.add(int(cta))
        return trusted

    def _touch(self, records: np.ndarray, number: np.ndarray, width: int, touch: Touch) -> None:
        """Give the cells that records of one width touch to `touch`, page by page."""
        unit = 4 if width >= 4 else 1  # bytes per cell; narrow accesses are kept by byte
        count = width // unit
        active = word_mask(records["mask"])
        cells = (records["addresses"] // np.uint64(unit)).astype(np.int64)[active]
        lanes = active.sum(axis=1)
        cells = (cells[:, None] + np.arange(count)).ravel()
        cta, site, at = (np.repeat(of, lanes * count) for of in (records["cta"], records["site"], number))
        for page_number in np.unique(cells >> PAGE_BITS):
            page = self._page(unit, int(page_number))
            here = cells >> PAGE_BITS == page_number
            touch(page, cells[here] & ((1 << PAGE_BITS) - 1), cta[here], site[here], at[here])

    def _page(self, unit: int, number: int) -> _Page:
        if (unit, number) not in self.pages:
            self.pages[unit, number] = _Page(unit, number)
        return self.pages[unit, number]

    def _keep(self, page: _Page, cells: np.ndarray, cta: np.ndarray, site: np.ndarray, at: np.ndarray) -> None:
        """Stores of what is there already: the first is kept (of an index given twice, numpy keeps the last)."""
        fresh = np.flatnonzero(page.same[cells] == NO_CTA)[::-1]
        page.same[cells[fresh]], page.same_site[cells[fresh]] = cta[fresh], site[fresh]
        page.same_at[cells[fresh]] = at[fresh]

    def _write(self, page: _Page, cells: np.ndarray, cta: np.ndarray, site: np.ndarray, at: np.ndarray) -> None:
        fresh = page.writer[cells] == NO_CTA
        page.writer[cells[fresh]], page.write_site[cells[fresh]] = cta[fresh], site[fresh]
        self._compare(page, cells, cta, site, page.writer, page.write_site)
        self._compare(page, cells, cta, site, page.reader, page.read_site)
        self._compare(page, cells, cta, site, page.same, page.same_site, page.same_at[cells] < at)

    def _read(self, page: _Page, cells: np.ndarray, cta: np.ndarray, site: np.ndarray, at: np.ndarray) -> None:
        fresh = page.reader[cells] == NO_CTA
        page.reader[cells[fresh]], page.read_site[cells[fresh]] = cta[fresh], site[fresh]
        self._compare(page, cells, cta, site, page.writer, page.write_site)

    def _compare(
        self, page: _Page, cells: np.ndarray, cta: np.ndarray, site: np.ndarray, other_cta: np.ndarray, other_site: np.ndarray,
        may_race: np.ndarray | bool = True,
    ) -> None:  # fmt: skip
        wrong = (other_cta[cells] != NO_CTA) & (other_cta[cells] != cta) & may_race
        for i in np.flatnonzero(wrong)[:64]:
            cell = int(cells[i])
            key = (int(site[i]), int(other_site[cell]))
            address = page.address(cell)
            known = self.problems.get(key, (address, int(cta[i]), int(other_cta[cell]), 0))
            self.problems[key] = (*known[:3], known[3] + 1)

    def findings(self, program: Program) -> list[Finding]:
        """One finding for each pair of instructions."""
        found = []
        for (site, other), (address, cta, other_cta, count) in self.problems.items():
            op, before = program.ops[site], program.ops[other]
            verb = "writes" if any(a.writes and a.space != "shared" for a in before.accesses) else "reads"
            found.append(
                Finding(
                    "race-global",
                    f"{op.opcode} of CTA {cta} touches global address {address:#x}, which CTA {other_cta} {verb} too",
                    op.line,
                    op.column,
                    len(op.opcode),
                    count=count,
                    labels=(Label(before.line, f"CTA {other_cta} {verb} it here", before.column, len(before.opcode)),),
                    notes=("CTAs run in any order, and nothing orders these two",),
                    help="give each CTA its own part, use atomics, or synchronise through a flag with release and acquire",
                )  # fmt: skip
            )
        return found
