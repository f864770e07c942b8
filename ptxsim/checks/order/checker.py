"""Listens to a launch and finds its races: slots for clusters, pages and rows for the scan."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Self

import numpy as np

from ptxsim.checks.cluster_shared import Homes
from ptxsim.checks.order import state
from ptxsim.checks.order.apart import meet
from ptxsim.checks.order.cells import AHEAD, FREED, LEFT, UNFENCED, UNLIKE, UNMET
from ptxsim.checks.order.entries import settle
from ptxsim.checks.order.findings import Problem, findings_of
from ptxsim.checks.order.scan import FIELDS, KINDS, scan
from ptxsim.checks.order.sites import COVERS, UPDATES_GLOBAL, UPDATES_SHARED
from ptxsim.checks.order.state import MARGIN, MOST_FAR, NONE, PAGE_BITS, Order
from ptxsim.diagnostic import Finding
from ptxsim.engine.program.operation import Program
from ptxsim.jit.body import Array
from ptxsim.lanes import LANES
from ptxsim.machine.event import Event, Observer, Space
from ptxsim.machine.shared_names import Variables, shared_name, shared_variable

ACCESSES = frozenset(event for event in Event if event <= Event.ASYNC_WAIT)
SPACES = frozenset({Space.SHARED, Space.GLOBAL})
ROWS_AT_ONCE = 1 << 12  # that are looked at for whether anything has touched them


class OrderChecker(Observer):
    """Finds bytes that threads touch without order, and reads of shared memory that nothing has written.

    bits: of the program's sites; threads, shared_bytes: of a CTA; initialized: whether shared memory was filled before the launch;
    variables: of shared memory; homes: knows the clusters; reserved: first bytes of shared memory that are the system's, whose code
    (tiles of several warps in cooperative_groups) counts on more of the machine than the memory model says; left: (first, end) of
    global memory that the launch leaves as it is, where reads are in order with everything.
    """

    events = ACCESSES | {
        Event.ARRIVE, Event.LEAVE, Event.FENCE, Event.MBARRIER_ARRIVE, Event.MBARRIER_WAIT, Event.SYNC_WARP, Event.EXIT,
        Event.WGMMA_WAIT, Event.TENSOR_USE, Event.TENSOR_FREE, Event.TENSOR_FENCE,
    }  # fmt: skip
    spaces = SPACES
    selects = True

    def __init__(
        self, bits: tuple[int, ...], threads: int, shared_bytes: int, homes: Homes, *, initialized: bool = False,
        variables: Variables | None = None, reserved: int = 0, cooperative: bool = False, left: np.ndarray | None = None,
    ):  # fmt: skip
        self.variables, self.reserved = variables or {}, reserved
        self.homes = homes
        strong = any(b & UPDATES_SHARED for b in bits), any(b & UPDATES_GLOBAL for b in bits)
        self.warps = -(-threads // LANES)
        self.order = state.begin(
            bits, homes.numbers(), homes.size, threads, shared_bytes, strong=strong, covers=any(b & COVERS for b in bits),
            initialized=initialized, cooperative=cooperative, left=left,
        )  # fmt: skip
        self._another = partial(
            OrderChecker, bits, threads, shared_bytes, homes, initialized=initialized, variables=variables, reserved=reserved,
            cooperative=cooperative, left=left,
        )  # fmt: skip
        self.problems: dict[Problem, tuple[int, tuple[int, ...]]] = {}
        self.found = np.empty((0, FIELDS), np.int64)  # by the scan, in the records that it goes over

    def consume(self, records: np.ndarray) -> None:
        self.go_over(records, scan.form(len(records)))

    def go_over(self, records: np.ndarray, body: Callable[[Array, int, Order, Array], int]) -> None:
        """Let a form of the scan go over records, with room made where it stops."""
        if self.order.n[state.SHIFT]:
            self._refine(records)
        if len(self.found) < KINDS * len(records):
            self.found = np.empty((KINDS * len(records), FIELDS), np.int64)
        at = 0
        while True:
            at = body(records, at, self.order, self.found)
            if at == len(records):
                break
            self._make_room(records[at])
        problems, self.order.n[state.COUNT] = self.found[: self.order.n[state.COUNT]], 0
        for row in problems.tolist():
            if not row[8] and row[3] < self.reserved and row[0] not in (UNMET, UNLIKE, FREED, UNFENCED, LEFT, AHEAD):
                continue
            key = row[0], row[1], row[2]
            times, first = self.problems.get(key, (0, tuple(row)))
            self.problems[key] = times + 1, first

    def beside(self) -> OrderChecker | None:
        return None if self.problems else self._another()

    def take(self, others: Sequence[Self]) -> bool:
        all_of_them = [self, *others]
        if any(each.problems or each.has_strayed for each in others):
            return False
        return not any(meet.form(1)(a.order, b.order) for i, a in enumerate(all_of_them) for b in all_of_them[:i])

    @property
    def has_strayed(self) -> bool:
        """Whether something has been written that was to be left as it is: reads of it are not known."""
        return bool(self.order.n[state.STRAYED])

    def findings(self, program: Program) -> list[Finding]:
        """One finding for each pair of instructions."""
        return findings_of(
            program, self.problems, self.warps, self.homes.cta, lambda address: shared_name(self.variables, address),
            lambda address: shared_variable(self.variables, address),
        )  # fmt: skip

    # ---- room ----

    def _make_room(self, record: np.void) -> None:
        """For a record that the scan has stopped at."""
        o = self.order
        if o.place[record["cta"]] == NONE and not o.n[state.FREE]:
            self._add_slots()
        elif o.n[state.KEPT] + MARGIN > len(o.kept):
            self._keep_more()
        elif o.n[state.FAR] + MARGIN > len(o.known) and 1 < len(o.known) < MOST_FAR:
            self._know_more()
        else:
            self._add_pages()

    def _add_slots(self) -> None:
        """Twice as many: all are in use."""
        o = self.order
        slots = len(o.cluster)
        self.order = o._replace(
            free=np.arange(2 * slots - 1, -1, -1, dtype=np.int32), cluster=np.append(o.cluster, np.full(slots, NONE, np.int32)),
            **{name: _twice(getattr(o, name)) for name in (
                "start", "threads", "live", "uniform", "row_of", "clock", "floor", "own", "far", "fence_row", "fence_time",
                "fence_scope", "landing", "over", "waits", "landed", "landed_by", "covered_at", "need", "phase", "passing", "come", "came", "pending",
                "cells", "reads", "updates", "lines", "warps", "tensors", "sent", "relaxed",
            )},
        )  # fmt: skip
        self.order.n[state.FREE] = slots

    def _keep_more(self) -> None:
        o = self.order
        kept = np.zeros((2 * len(o.kept), o.kept.shape[1]), np.int32)
        kept[: len(o.kept)] = o.kept
        kept_far = np.zeros((2 * len(o.kept), o.kept_far.shape[1]), np.int32)
        kept_far[: len(o.kept)] = o.kept_far
        entries = np.zeros(2 * len(o.entries), state.ENTRY)
        settle.form(len(o.entries))(o.entries, entries)
        self.order = o._replace(kept=kept, kept_far=kept_far, entries=entries)

    def _know_more(self) -> None:
        o = self.order
        rows = (1 + int(np.flatnonzero(o.cluster != NONE).max(initial=-1))) * int(o.n[state.ROWS])
        more = {}
        for name, used in (("far", rows), ("kept_far", int(o.n[state.KEPT]))):  # no others have been touched
            array = getattr(o, name)
            more[name] = state.zeros((len(array), 2 * len(o.known)), np.int32)
            more[name][:used, : len(o.known)] = array[:used]
        self.order = o._replace(known=_twice(o.known), **more)

    def _add_pages(self) -> None:
        """Room for four times as many pages of global memory, or for the granules of as many."""
        o = self.order
        pages = int(o.n[state.PAGES])
        if pages < len(o.page_granules):
            used = int(o.n[state.GRANULES]) << PAGE_BITS - int(o.n[state.SHIFT])
            names = ("far_cells", "far_reads", "far_updates")
            self.order = o._replace(**{name: _longer(getattr(o, name), 4, used) for name in names})
            return
        granules = np.append(o.page_granules, np.full(3 * pages, NONE, np.int32))
        keys, at = np.full(8 * pages, NONE, np.int64), np.zeros(8 * pages, np.int32)
        for key, place in zip(o.page_key.tolist(), o.page_at.tolist()):
            if key != NONE:
                entry = key % len(keys)
                while keys[entry] != NONE:
                    entry = (entry + 1) % len(keys)
                keys[entry], at[entry] = key, place
        more = {name: _longer(getattr(o, name), 4) for name in ("far_lines", "far_ways")}
        self.order = o._replace(page_granules=granules, page_key=keys, page_at=at, **more)

    def _refine(self, records: np.ndarray) -> None:
        """Smaller granules, for accesses of less than 4 bytes."""
        o = self.order
        width = records["width"]
        if not (width & 3).any():
            return
        width = width[(records["event"] <= Event.ASYNC_WAIT) & np.isin(records["space"], list(SPACES))]
        wanted = 0 if (width & 1).any() else 1 if (width & 3).any() else 2
        finer = int(o.n[state.SHIFT]) - wanted
        if finer <= 0:
            return
        used = int(o.n[state.GRANULES]) << PAGE_BITS - int(o.n[state.SHIFT])
        o.n[state.SHIFT] = wanted
        o.n[state.CELLS] <<= finer
        fine = {name: _finer(getattr(o, name), 1 << finer) for name in ("cells", "reads", "updates")}
        for name in ("far_cells", "far_reads", "far_updates"):
            fine[name] = _finer(getattr(o, name), 1 << finer, used)
        self.order = o._replace(**fine)


def _finer(array: np.ndarray, by: int, used: int | None = None) -> np.ndarray:
    """Each row so many times; what has not been touched stays so, and costs no memory. used: rows beyond it have not."""
    more = state.zeros((len(array) * by, *array.shape[1:]), array.dtype)
    for first in range(0, len(array[:used]) if array.size else 0, ROWS_AT_ONCE):
        rows = array[:used][first : first + ROWS_AT_ONCE]
        if rows.view(np.bool_).any():
            more[first * by : (first + len(rows)) * by] = np.repeat(rows, by, axis=0)
    return more


def _longer(array: np.ndarray, times: int, used: int | None = None) -> np.ndarray:
    """An array of more rows, of which the first are its own."""
    found = state.zeros((max(times * len(array), 1 << PAGE_BITS), *array.shape[1:]), array.dtype)
    found[: len(array)][:used] = array[:used]
    return found


def _twice(array: np.ndarray) -> np.ndarray:
    """An array of twice as many rows, zero after its own."""
    found = state.zeros((2 * len(array), *array.shape[1:]), array.dtype)
    if array.ndim == 2 and array.dtype == np.int32:  # most rows of clocks have never been touched, and take no memory
        used = array.any(axis=1)
        found[: len(array)][used] = array[used]
    else:
        found[: len(array)] = array
    return found
