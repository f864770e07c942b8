"""Races between CTAs in global memory: two of them touch the same bytes, one writes, and nothing orders the two.

CTAs of a launch run in any order, so it does not matter which access came first. A CTA that has synchronised through
global memory (an atomic, a strong load, a cluster barrier) is trusted from then on.
"""

from __future__ import annotations

import numpy as np

from ptxsim.diagnostic import Finding, Label
from ptxsim.engine.program import Program
from ptxsim.machine.event import FLAG_STRONG, FLAG_UNCHANGED, Event, Observer, Space

PAGE_BITS = 16
NOBODY = -1


class _Page:
    """For 2^16 words (or bytes): the first CTA that wrote and the first that read each, and with which instruction."""

    def __init__(self) -> None:
        size = 1 << PAGE_BITS
        self.writer, self.write_site = np.full(size, NOBODY, np.int32), np.zeros(size, np.int32)
        self.reader, self.read_site = np.full(size, NOBODY, np.int32), np.zeros(size, np.int32)


class GlobalChecker(Observer):
    """Finds words of global memory that several CTAs touch without order."""

    events = frozenset({Event.LOAD, Event.STORE, Event.ATOMIC, Event.CAS, Event.REDUCE, Event.LEAVE})

    def __init__(self) -> None:
        self.pages: dict[tuple[int, int], _Page] = {}
        self.synchronised: set[int] = set()
        self.problems: dict[tuple[int, int], tuple[int, int, int, int]] = {}  # sites -> address, CTA, other CTA, count

    def consume(self, records: np.ndarray) -> None:
        trusted = self._trusted(records)
        plain = (
            (records["space"] == Space.GLOBAL)
            & ((records["event"] == Event.LOAD) | (records["event"] == Event.STORE))
            & (records["flags"] & (FLAG_STRONG | FLAG_UNCHANGED) == 0)
            & ~trusted
        )
        for width in np.unique(records["width"][plain]):
            for event in (Event.STORE, Event.LOAD):
                chosen = records[plain & (records["width"] == width) & (records["event"] == event)]
                if len(chosen):
                    self._touch(chosen, int(width), event == Event.STORE)

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

    def _touch(self, records: np.ndarray, width: int, write: bool) -> None:
        unit = 4 if width >= 4 else 1  # bytes told apart; narrow accesses are kept by byte
        count = width // unit
        active = (records["mask"][:, None] >> np.arange(32, dtype=np.uint32)) & 1 == 1
        cells = (records["addresses"] // np.uint64(unit)).astype(np.int64)[active]
        cta = np.repeat(records["cta"], active.sum(axis=1))
        site = np.repeat(records["site"], active.sum(axis=1))
        cells = (cells[:, None] + np.arange(count)).ravel()
        cta, site = np.repeat(cta, count), np.repeat(site, count)
        for number in np.unique(cells >> PAGE_BITS):
            page = self.pages.setdefault((unit, int(number)), _Page())
            here = cells >> PAGE_BITS == number
            self._compare(page, cells[here] & ((1 << PAGE_BITS) - 1), cta[here], site[here], write, unit, int(number))

    def _compare(self, page: _Page, cells, cta, site, write: bool, unit: int, number: int) -> None:
        if write:
            fresh = page.writer[cells] == NOBODY
            page.writer[cells[fresh]], page.write_site[cells[fresh]] = cta[fresh], site[fresh]
        else:
            fresh = page.reader[cells] == NOBODY
            page.reader[cells[fresh]], page.read_site[cells[fresh]] = cta[fresh], site[fresh]
        wrong = (page.writer[cells] != NOBODY) & (page.writer[cells] != cta)
        self._note(cells, cta, site, page.writer, page.write_site, wrong, unit, number)
        if write:
            wrong = (page.reader[cells] != NOBODY) & (page.reader[cells] != cta)
            self._note(cells, cta, site, page.reader, page.read_site, wrong, unit, number)

    def _note(self, cells, cta, site, other_cta, other_site, wrong, unit: int, number: int) -> None:
        for i in np.flatnonzero(wrong)[:64]:
            cell = int(cells[i])
            key = (int(site[i]), int(other_site[cell]))
            address = ((number << PAGE_BITS) + cell) * unit
            known = self.problems.get(key, (address, int(cta[i]), int(other_cta[cell]), 0))
            self.problems[key] = (*known[:3], known[3] + 1)

    def findings(self, program: Program) -> list[Finding]:
        """One finding for each pair of instructions."""
        found = []
        for (site, other), (address, cta, other_cta, count) in self.problems.items():
            op, before = program.ops[site], program.ops[other]
            verb = "writes" if before.opcode.startswith("st") else "reads"
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
