"""Listens to a launch and finds its races: slots for clusters, pages and rows for the scan."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

import numpy as np

from ptxsim.checks.cluster_shared import Homes
from ptxsim.checks.order import state
from ptxsim.checks.order.findings import Problem, findings_of
from ptxsim.checks.order.scan import FIELDS, KINDS, scan
from ptxsim.checks.order.sites import COVERS, UPDATES_GLOBAL, UPDATES_SHARED
from ptxsim.checks.order.state import MARGIN, MOST_FAR, NONE, OWN_ROWS, PAGE_BITS, Order
from ptxsim.diagnostic import Finding
from ptxsim.engine.program.operation import Program
from ptxsim.jit.body import Array
from ptxsim.lanes import LANES, word_mask
from ptxsim.machine.event import Event, Observer, Space

ACCESSES = frozenset(event for event in Event if event <= Event.ASYNC_WAIT)


AHEAD = 16  # CTAs that get a slot before their records come up


class OrderChecker(Observer):
    """Finds bytes that threads touch without order, and reads of shared memory that nothing has written.

    bits: of the program's sites; threads, shared_bytes: of a CTA; initialized: whether shared memory was filled before the launch; homes: knows the clusters.
    """

    events = ACCESSES | {
        Event.ARRIVE, Event.LEAVE, Event.FENCE, Event.MBARRIER_ARRIVE, Event.MBARRIER_WAIT, Event.SYNC_WARP, Event.EXIT,
    }  # fmt: skip

    def __init__(
        self, bits: tuple[int, ...], threads: int, shared_bytes: int, homes: Homes, *, initialized: bool = False
    ):
        self.threads, self.homes, self.initialized = threads, homes, initialized
        strong = any(b & UPDATES_SHARED for b in bits), any(b & UPDATES_GLOBAL for b in bits)
        (gx, gy, gz), (cx, cy, cz) = homes.grid, homes.cluster
        self.ctas, self.warps = cx * cy * cz, -(-threads // LANES)
        self.order = state.begin(
            bits, self.ctas, self.warps, gx * gy * gz, shared_bytes, strong=strong, covers=any(b & COVERS for b in bits)
        )
        self.slots: dict[int, int] = {}  # by cluster
        self.free = list(range(len(self.order.cluster) - 1, -1, -1))
        self.problems: dict[Problem, tuple[int, tuple[int, ...]]] = {}

    def consume(self, records: np.ndarray) -> None:
        self.go_over(records, scan.form(len(records)))

    def go_over(self, records: np.ndarray, body: Callable[[Array, int, Order, Array], int]) -> None:
        """Let a form of the scan go over records, with room made where it stops."""
        if (records["width"] & 3).any() and self.order.n[state.SHIFT]:
            self._refine(records)
        at, found = 0, np.empty((KINDS * len(records) + KINDS, FIELDS), np.int64)
        while True:
            at = body(records, at, self.order, found)
            if at == len(records):
                break
            self._make_room(records[at:])
        problems, self.order.n[state.COUNT] = found[: self.order.n[state.COUNT]], 0
        for row in problems.tolist():
            key = row[0], row[1], row[2]
            times, first = self.problems.get(key, (0, tuple(row)))
            self.problems[key] = times + 1, first

    def findings(self, program: Program) -> list[Finding]:
        """One finding for each pair of instructions."""
        return findings_of(program, self.problems, self.warps, self.homes.cta)

    # ---- room ----

    def _make_room(self, records: np.ndarray) -> None:
        """For the first of some records, which the scan has stopped at."""
        o, record = self.order, records[0]
        if o.place[record["cta"]] == NONE:
            ahead = records["cta"][o.place[records["cta"]] == NONE]
            for number, cta in enumerate(list(dict.fromkeys(ahead.tolist()))[:AHEAD]):
                if number == 0 or self.free:
                    self._admit(cta)
        elif o.n[state.KEPT] + MARGIN > len(o.kept):
            self._keep_more()
        elif o.n[state.FAR] + MARGIN > len(o.known) and 1 < len(o.known) < MOST_FAR:
            self._know_more()
        else:
            self._add_pages(record)

    def _admit(self, cta: int) -> None:
        """A CTA runs: a slot for its cluster."""
        rank = self.homes.rank(cta) if self.ctas > 1 else 0
        cluster = self.homes.number(cta)
        if cluster not in self.slots:
            self.slots[cluster] = self._slot()
            self._begin(self.slots[cluster], cluster)
        self.order.place[cta] = self.slots[cluster] * self.ctas + rank

    def _slot(self) -> int:
        """A slot that no cluster has, or one that has ended; twice as many if all are in use."""
        o = self.order
        if self.free:
            return self.free.pop()
        for cluster, slot in self.slots.items():
            if not o.threads[slot].any():
                del self.slots[cluster]
                o.place[[self.homes.cta(cluster * self.ctas + rank) for rank in range(self.ctas)]] = state.OVER
                return slot
        slots = len(o.cluster)
        self.order = o._replace(
            **{name: _twice(getattr(o, name)) for name in (
                "cluster", "start", "threads", "live", "uniform", "row_of", "clock", "floor", "far", "fence_row", "fence_time",
                "fence_scope", "need", "phase", "come", "cells", "reads", "updates",
            )}
        )  # fmt: skip
        self.free = list(range(2 * slots - 1, slots, -1))
        return slots

    def _begin(self, slot: int, cluster: int) -> None:
        """A cluster begins in a slot."""
        o, all_warps = self.order, self.ctas * self.warps
        now, rows = int(o.n[state.NOW]), int(o.n[state.ROWS])
        o.cluster[slot], o.start[slot] = cluster, -1 if self.initialized else now
        o.threads[slot] = self.threads
        lanes = np.minimum(self.threads - LANES * np.arange(self.warps), LANES)
        o.live[slot] = np.tile((1 << lanes) - 1, self.ctas)
        o.uniform[slot] = o.row_of[slot] = 0
        first = slice(slot * rows, slot * rows + all_warps * OWN_ROWS, OWN_ROWS)
        o.clock[first], o.floor[first], o.far[first] = now, now, 0
        if o.n[state.COVERED]:
            o.clock[first, o.n[state.COVERED] : -1] = 0
        o.fence_row[slot] = o.need[slot] = o.phase[slot] = NONE

    def _keep_more(self) -> None:
        o = self.order
        kept = np.zeros((2 * len(o.kept), o.kept.shape[1]), np.int32)
        kept[: len(o.kept)] = o.kept
        kept_far = np.zeros((2 * len(o.kept), o.kept_far.shape[1]), np.int32)
        kept_far[: len(o.kept)] = o.kept_far
        entries = np.zeros(2 * len(o.entries), state.ENTRY)
        for entry in o.entries[o.entries["key"] != 0]:
            place = state.hashed(int(entry["key"]), int(entry["owner"])) % len(entries)
            while entries[place]["key"] != 0:
                place = (place + 1) % len(entries)
            entries[place] = entry
        self.order = o._replace(kept=kept, kept_far=kept_far, entries=entries)

    def _know_more(self) -> None:
        o = self.order
        more = {name: np.zeros((len(getattr(o, name)), 2 * len(o.known)), np.int32) for name in ("far", "kept_far")}
        for name, array in more.items():
            array[:, : len(o.known)] = getattr(o, name)
        self.order = o._replace(known=_twice(o.known), **more)

    def _add_pages(self, record: np.void) -> None:
        """Pages of global memory for what a record touches."""
        o = self.order
        assert record["space"] == Space.GLOBAL
        shift = int(o.n[state.SHIFT]) + PAGE_BITS
        at = record["addresses"][word_mask(int(record["mask"]))].astype(np.int64)
        wanted = {*(at >> shift).tolist(), *((at + int(record["width"]) - 1) >> shift).tolist()} - set(
            o.page_key.tolist()
        )
        used, size = int(o.n[state.PAGES]), 1 << PAGE_BITS
        while (used + len(wanted)) * size > len(self.order.far_cells):
            o = self.order
            self.order = o._replace(
                **{name: _twice(getattr(o, name)) for name in ("far_cells", "far_reads", "far_updates")}
            )
        if 2 * (used + len(wanted)) > len(o.page_key):
            old = self.order
            keys = np.full(4 * (used + len(wanted)), NONE, np.int64)
            self.order = old._replace(page_key=keys, page_at=np.zeros(len(keys), np.int32))
            for key, place in zip(old.page_key.tolist(), old.page_at.tolist()):
                if key != NONE:
                    self._place_page(key, place)
        for page, place in zip(sorted(wanted), count(used)):
            self._place_page(page, place)
        self.order.n[state.PAGES] = used + len(wanted)

    def _place_page(self, page: int, place: int) -> None:
        o = self.order
        at = page % len(o.page_key)
        while o.page_key[at] != NONE:
            at = (at + 1) % len(o.page_key)
        o.page_key[at], o.page_at[at] = page, place

    def _refine(self, records: np.ndarray) -> None:
        """Smaller granules, for accesses of less than 4 bytes."""
        o = self.order
        narrow = np.isin(records["event"], [int(event) for event in ACCESSES]) & (records["width"] > 0)
        wanted = 0 if (records["width"][narrow] & 1).any() else 1 if (records["width"][narrow] & 3).any() else 2
        finer = int(o.n[state.SHIFT]) - wanted
        if finer <= 0:
            return
        by = 1 << finer
        fine = {name: np.repeat(getattr(o, name), by, axis=0) for name in ("cells", "reads", "updates")}
        o.n[state.SHIFT] = wanted
        o.n[state.CELLS] *= by
        pages = int(o.n[state.PAGES])
        far = {name: np.repeat(getattr(o, name)[: pages << PAGE_BITS], by, axis=0) for name in ("far_cells", "far_reads", "far_updates")}  # fmt: skip
        for name, array in far.items():
            if not len(array):
                far[name] = getattr(o, name)
        keys = [key for key in o.page_key.tolist() if key != NONE]
        places = {key: place for key, place in zip(o.page_key.tolist(), o.page_at.tolist()) if key != NONE}
        table = np.full(4 * max(16, by * len(keys)), NONE, np.int64)
        self.order = o._replace(**fine, **far, page_key=table, page_at=np.zeros(len(table), np.int32))
        for key in keys:
            for part in range(by):
                self._place_page(key * by + part, places[key] * by + part)
        self.order.n[state.PAGES] = pages * by


def _twice(array: np.ndarray) -> np.ndarray:
    """An array of twice as many rows, zero after its own."""
    found = np.zeros((2 * len(array), *array.shape[1:]), array.dtype)
    if array.ndim == 2 and array.dtype == np.int32:  # most rows of clocks have never been touched, and take no memory
        used = array.any(axis=1)
        found[: len(array)][used] = array[used]
    else:
        found[: len(array)] = array
    return found
