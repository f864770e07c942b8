"""Listens to a launch and finds its races: slots for clusters, pages and rows for the scan."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import partial
from typing import Self

import numpy as np

from ptxsim.checks.cluster_shared import Homes
from ptxsim.checks.in_flight import Grid, Left, Prior
from ptxsim.checks.order import state
from ptxsim.checks.order.cells import AHEAD, FREED, LEFT, UNAWAITED, UNFENCED, UNLIKE, UNMET
from ptxsim.checks.order.edges.entries import settle
from ptxsim.checks.order.findings.naming import findings_of
from ptxsim.checks.order.findings.problem import First, Place, Problem
from ptxsim.checks.order.memory.dependents import PRIOR, READ, READ_BITS, WROTE, WROTE_BITS, left_by
from ptxsim.checks.order.scan import FIELDS, KINDS, scan
from ptxsim.checks.order.sites import COVERS, UPDATES_GLOBAL, UPDATES_SHARED
from ptxsim.checks.order.state import MARGIN, MOST_FAR, NONE, Order
from ptxsim.checks.order.threads import meet
from ptxsim.diagnostic import Finding
from ptxsim.engine.program.operation import Program
from ptxsim.jit.body import Array
from ptxsim.jit.native import PreparedCall, prepared
from ptxsim.lanes import LANES
from ptxsim.machine.event import ACCESSES, Event, Observer, Space
from ptxsim.machine.pages import move
from ptxsim.machine.shared_names import Variables, shared_name, shared_variable
from ptxsim.source import Source

SPACES = frozenset({Space.SHARED, Space.GLOBAL})
WITHOUT_ADDRESS = frozenset({UNMET, UNLIKE, FREED, UNFENCED, LEFT, AHEAD, UNAWAITED})
BYTES_AT_ONCE = 1 << 16  # that are looked at for whether anything has touched them


class OrderChecker(Observer):
    """Finds bytes that threads touch without order, and reads of shared memory that nothing has written.

    bits: of the program's sites; threads, shared_bytes: of a CTA; initialized: whether shared memory was filled before the launch;
    variables: of shared memory; homes: knows the clusters; reserved: first bytes of shared memory that are the system's, whose code
    (tiles of several warps in cooperative_groups) counts on more of the machine than the memory model says; left: (first, end) of
    global memory that the launch leaves as it is, where reads are in order with everything; prior: the grids that may still run, of a launch
    in a stream; begins_others: whether it may let others begin.
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
        prior: Prior | None = None, begins_others: bool = False, repeat: Callable[[Observer], None] | None = None,
    ):  # fmt: skip
        self.prior, self.repeat = prior, repeat
        self.is_of_stream = begins_others or (prior is not None and prior.at_start != ())  # and is to hear all
        begun = prior.at_start if prior is not None else ()
        grids = np.zeros((len(begun), 3), np.int64)
        for number, grid in enumerate(begun):
            first = int(grids[number - 1, 1]) if number else 0
            grids[number] = first, first + len(grid.rows), prior is not None and grid in prior.after_wait
        self.variables, self.reserved = variables or {}, reserved
        self.homes = homes
        some = state.of_any(bits)
        self.warps = -(-threads // LANES)
        self.order = state.begin(
            bits, homes.numbers(), homes.size, threads, shared_bytes, strong=(some & UPDATES_SHARED != 0, some & UPDATES_GLOBAL != 0), covers=some & COVERS != 0,
            initialized=initialized, cooperative=cooperative, left=left, signals=begins_others, grids=grids,
            prior=np.concatenate([grid.rows for grid in begun]) if begun else None,
        )  # fmt: skip
        self._another = partial(
            OrderChecker, bits, threads, shared_bytes, homes, initialized=initialized, variables=variables, reserved=reserved,
            cooperative=cooperative, left=left, prior=prior, begins_others=begins_others,
        )  # fmt: skip
        self.problems: dict[tuple[int, int, int], Problem] = {}  # by what goes wrong, and the two sites
        self.found = np.empty((0, FIELDS), np.int64)  # by the scan, in the records that it goes over
        self._consumer: PreparedCall | None = None

    def consume(self, records: np.ndarray) -> None:
        self.go_over(records, scan.form(len(records)))

    def go_over(self, records: np.ndarray, body: Callable[[Array, int, Order, Array], int]) -> None:
        """Let a form of the scan go over records, with room made where it stops."""
        self._have_room(len(records))
        at = 0
        while True:
            at = body(records, at, self.order, self.found)
            if at == len(records):
                break
            self._make_room(records[at])
        problems, self.order.n[state.COUNT] = self.found[: self.order.n[state.COUNT]], 0
        for first in map(First._make, problems.tolist()):
            if not first.is_global and first.address < self.reserved and first.what not in WITHOUT_ADDRESS:
                continue
            self.problems.setdefault(first[:3], Problem(*first[:3], first)).count += 1
        if self._consumer is not None:
            self._consumer.fill((self._ring, 0, self.order, self.found))  # some may be others

    def consumer(self, records: np.ndarray) -> PreparedCall | None:
        if self._consumer is None:
            self._have_room(len(records))
            self._ring, self._consumer = records, prepared(scan.form(0), (records, 0, self.order, self.found))
            if self._consumer is not None:
                self._consumer.noted = self.order.n[state.COUNT :].ctypes.data
        return self._consumer

    def _have_room(self, count: int) -> None:
        """For problems of so many records."""
        if len(self.found) < KINDS * count:
            self.found = np.empty((KINDS * count, FIELDS), np.int64)

    def beside(self) -> OrderChecker | None:
        return None if self.problems or self.is_of_stream else self._another()

    def take(self, others: Sequence[Self]) -> bool:
        all_of_them = [self, *others]
        if any(each.problems or each.has_strayed for each in others):
            return False
        return not any(meet.form(1)(a.order, b.order) for i, a in enumerate(all_of_them) for b in all_of_them[:i])

    @property
    def has_strayed(self) -> bool:
        """Whether something has been written that was to be left as it is: reads of it are not known."""
        return bool(self.order.n[state.STRAYED])

    def leaves(self, kernel: str, program: Program, source: Source) -> Left | None:
        """What the launch means for others in its stream; None where it is in none."""
        if self.prior is None:
            return None
        o, parts = self.order, [np.zeros((0, PRIOR), np.int64)]
        found = np.zeros((1 << state.PAGE_BITS, PRIOR), np.int64)
        for entry in np.flatnonzero(o.page_key != NONE).tolist() if o.n[state.SIGNALS] else ():
            parts.append(found[: left_by.form(1 << state.PAGE_BITS)(o, entry, found)].copy())
        rows = np.concatenate(parts)
        for what, bits in ((WROTE, WROTE_BITS), (READ, READ_BITS)):
            rows[:, bits] = o.sites[rows[:, what] - 1]
        rows = rows[np.argsort(rows[:, 0])]
        digest = hashlib.blake2b(rows.tobytes(), digest_size=16).digest()
        grid = Grid(kernel, digest, program, source, rows) if o.n[state.SIGNALS] else None
        return Left(grid, bool(o.n[state.AWAITS]), bool(o.n[state.BEGUN]))

    def findings(self, program: Program) -> list[Finding]:
        """One finding for each pair of instructions."""
        named, variable = partial(shared_name, self.variables), partial(shared_variable, self.variables)
        place = Place(program, self.warps, self.homes.cta, named, variable, self.prior or Prior(), self.repeat)
        return findings_of(place, self.problems.values())

    def release(self) -> None:
        """Nobody asks any more."""
        state.give_back(self.order)

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
        elif int(record["width"]) & (1 << int(o.n[state.SHIFT])) - 1:
            self._refine(int(record["width"]))
        else:
            self._add_pages()

    def _add_slots(self) -> None:
        """Twice as many: all are in use."""
        o = self.order
        slots = len(o.cluster)
        self.order = o._replace(
            free=np.arange(2 * slots - 1, -1, -1, dtype=np.int32), cluster=np.append(o.cluster, np.full(slots, NONE, np.int32)),
            **self._more(state.BY_SLOT, 2),
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
        rows = state.rows_in_use(o, "far", state.slots_in_use(o))
        more = {}
        in_use = {
            "far": rows,
            "kept_far": int(o.n[state.KEPT]),
            "heard_far": len(o.heard_far),
        }  # no others have been touched
        for name, used in in_use.items():
            array = getattr(o, name)
            more[name] = state.zeros((len(array), 2 * len(o.known)), np.int32)
            _copy(array, more[name][:, : len(o.known)], used)
        self.order = o._replace(**self._more(["known"], 2), **more)

    def _add_pages(self) -> None:
        """Room for four times as many pages of global memory, or for the granules of as many."""
        o = self.order
        pages = int(o.n[state.PAGES])
        if pages < len(o.page_granules):
            self.order = o._replace(**self._more(state.BY_GRANULE, 4))
            return
        granules = np.append(o.page_granules, np.full(3 * pages, NONE, np.int32))
        keys, at = np.full(8 * pages, NONE, np.int64), np.zeros(8 * pages, np.int32)
        for key, place in zip(o.page_key.tolist(), o.page_at.tolist()):
            if key != NONE:
                entry = key % len(keys)
                while keys[entry] != NONE:
                    entry = (entry + 1) % len(keys)
                keys[entry], at[entry] = key, place
        more = self._more(state.BY_LINE, 4)
        self.order = o._replace(page_granules=granules, page_key=keys, page_at=at, **more)

    def _refine(self, width: int) -> None:
        """Smaller granules, for accesses of less than 4 bytes."""
        o = self.order
        wanted = 0 if width & 1 else 1
        finer = int(o.n[state.SHIFT]) - wanted
        fine = self._more(("cells", "reads", "updates", *state.BY_GRANULE), 1 << finer, repeat=True)
        o.n[state.SHIFT] = wanted
        o.n[state.CELLS] <<= finer
        self.order = o._replace(**fine)

    def _more(self, names: Sequence[str], times: int, repeat: bool = False) -> dict[str, np.ndarray]:
        """Arrays of more rows, see `_longer`."""
        o, slots = self.order, state.slots_in_use(self.order)
        return {name: _longer(getattr(o, name), times, state.rows_in_use(o, name, slots), repeat) for name in names}


def _longer(array: np.ndarray, times: int, used: int, repeat: bool = False) -> np.ndarray:
    """An array of so many times as many rows, of which the first are its own, or each is repeated; rows from `used` on have not been
    touched."""
    found = state.zeros((times * len(array), *array.shape[1:]), array.dtype)
    if repeat or array.nbytes < state.LARGE or not move(array, found):
        _copy(array, found, used, times if repeat else 1)
    return found


def _copy(array: np.ndarray, target: np.ndarray, used: int, by: int = 1) -> None:
    """Copy the first rows to where zeros are, each so many times. What has not been touched stays so, and costs no memory."""
    many = max(1, BYTES_AT_ONCE * len(array) // max(1, array.nbytes))
    for first in range(0, used if array.size else 0, many):
        rows = array[first : min(first + many, used)]
        if rows.view(np.bool_).any():
            target[first * by : (first + len(rows)) * by] = np.repeat(rows, by, axis=0) if by > 1 else rows
