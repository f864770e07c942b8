"""What the scan for races remembers: arrays, and how they begin and grow."""

from __future__ import annotations

import math
from functools import lru_cache, reduce
from mmap import PAGESIZE
from operator import or_
from typing import NamedTuple

import numpy as np

from ptxsim.checks.order.sites import (
    BY_PROXY,
    COVERS,
    CP_ASYNC,
    ENDS,
    INITIALIZES,
    LATER,
    SCOPE,
    STRONG,
    TAKEN,
    TENSORS,
    UNORDERED,
    UPDATES_GLOBAL,
    UPDATES_SHARED,
    WARPGROUP,
    size_of,
)
from ptxsim.jit.body import Array, record
from ptxsim.jit.filling import LINE_BITS as LINE_BITS
from ptxsim.lanes import LANES
from ptxsim.machine.event import RECORD, Scope
from ptxsim.machine.pages import Spare

# Of `n`.
(
    NOW, CTAS, WARPS, UNITS, SHIFT, CELLS, CLUSTERS, GRID, WAYS, FAR, KEPT, PAGES, ROWS, COUNT, COVERED, EDGES, THREADS, FREE,
    INITIALIZED, LINES, LOGGED, LOG_SLOT, PLAIN, GRANULES, AGREED, COPYING, COPIED, INITS, PRODUCTS, AGREED_IN_SHARED, PASSES, COVER_SCOPE,
    TENSOR, LOG_FROM, STRAYED, AWAITED, AWAITS, SIGNALS, BEGUN, HEARS, LOGGED_APART, NOTED, UNASKED, WHOLE_LINES, ENDED, CROSSING, NUMBERS,
) = range(47)  # fmt: skip
# NOW: the record; CTAS, WARPS: of a cluster, of a CTA; UNITS: columns of a clock; SHIFT, CELLS: of a granule's bytes, granules of
# a CTA's shared memory; CLUSTERS: of the grid; GRID: CTAs; WAYS: places for accesses per granule; FAR: clusters that others know
# of; KEPT, PAGES: in use; ROWS: of clocks per slot; COUNT: problems found; COVERED: the first column of a clock's second half, 0
# where there is none (see edges.cover); EDGES: fences so far, and addresses at which something has been released. THREADS: of a CTA; FREE: slots; INITIALIZED: whether
# shared memory was filled before the launch. LINES: of a CTA's shared memory; LOGGED, LOG_SLOT, LOG_FROM: reads in the log, whose, and since
# when all reads of lanes are there; NOTED: how many of the first have been noted at their lines.
# PLAIN: every access is judged granule by granule, for tests. GRANULES: pages of global memory that have some.
# COPIED: the first of the columns of what copies have written that complete on mbarriers, COMPLETIONS for each CTA; then comes that
# of what such copies have not written yet, which no thread ever knows. INITS: the first of the columns, one for each CTA, of its mbarriers that
# fence.mbarrier_init has published; PRODUCTS: the first of those of what products of warpgroups have read. The last column is that of all other copies. COPYING: whether there are accesses of the async proxy to global memory. AGREED: any two strong accesses of the program are, each in the scope of the other; AGREED_IN_SHARED: in shared memory. PASSES: all
# fences of the device stand in one order, COVER_SCOPE is the narrowest scope of these, so that what a thread has read counts for fences of those that it meets (see barriers.pass_on).
# TENSOR: the first of the columns of what warps have done with tensor memory (see tensors), 0 where the program has none.
# STRAYED: how often what was to be left as it is (Order.left) has been written all the same.
# AWAITED: the column that says whether a thread has waited for the grids before, 0 where none may still run; AWAITS, SIGNALS: how often
# griddepcontrol.wait and .launch_dependents have been executed, BEGUN: the latter by threads that know of no wait (see dependents).
# WHOLE_LINES: there are asynchronous copies, so that lines of shared memory say for their granules who wrote them (see by_line).
# UNASKED: nothing of the program asks when global memory was last written by a store that left it as it was: such a store is like a read.
# ENDED: the program ends mbarriers, so that who uses them is remembered as who reads them.
# CROSSING: whether there are copies that may go to the shared memory of another CTA (see remote_copies).
# HEARS: whether it is kept what flags say that release nothing (see hearsay).

FIRST_WHOLE, END_WHOLE, CHANGED = range(3)  # of Order.whole
ALWAYS = 2**31 - 1  # of CHANGED: there are copies to shared memory
BARRIERS = 16
RING = 16  # products of a warpgroup whose ends are remembered
TENSOR_CELLS = 4096  # of the tensor memory of a CTA: 512 columns, 8 groups of rows
COMPLETIONS = 16  # columns for the mbarriers of a CTA, which share them if there are more
OWN_ROWS = LANES + 1  # of a warp, of which its lanes share some
UNSIGNALLED = 2**31 - 1  # in place of a time: no thread of the CTA has let other grids begin
NONE, OVER = -1, -2  # OVER: in place of a slot, of CTAs that have ended
PAGE_LINES = 7  # bits of the number of a line in a page of global memory
PAGE_BITS = LINE_BITS + PAGE_LINES
HOLDS_READS, HOLDS_WRITE = 1, 2  # of a line of global memory that says what has been done to it, and not its granules
HEARD = 256  # flags that threads of a cluster have seen of late
MAPS = 64  # tensor maps that warps of a cluster have acquired of late
LOG = 2048  # reads of shared memory in the log
NEAR_WAYS, FAR_WAYS = 2, 2  # places for accesses from other CTAs of a cluster; per granule of global memory
MARGIN = 80  # free places with which a record can be worked off
SLOTS, ROOM = 40, 1 << 28  # ROOM: bytes of the clocks of all slots, at first
LARGE = 1 << 16  # bytes from which on an array costs memory only where it is touched
BY_SLOT = (
    "start", "threads", "live", "uniform", "row_of", "clock", "floor", "own", "far", "fence_row", "fence_time", "fence_scope",
    "landing", "over", "waits", "landed", "landed_by", "covered_at", "need", "phase", "passing", "come", "came", "pending", "cells",
    "reads", "updates", "lines", "warps", "tensors", "sent", "relaxed", "whole",
    "heard", "heard_count", "heard_clock", "heard_far", "maps", "map_count", "fenced",
)  # fmt: skip
HELD, MORE_HELD = 2, 2  # how many accesses such a line holds, and how many more writes
BY_LINE, BY_GRANULE = (
    ("far_lines", "far_ways", "far_more"),
    ("far_cells", "far_reads", "far_updates"),
)  # of global memory
PAGES_AT_FIRST, GRANULES_AT_FIRST = 2048, 2048  # pages of global memory, and those with granules
MOST_FAR = 2048  # clusters that others may know of
UNTOLD = -3  # in place of a column: the cluster has handed on what it did when there was no room left, so that no access may be blamed

# A granule: who wrote last (a column of the clock, in global memory after those of all clusters before), when, and where; when it
# was last written in any way, and strongly, and by which thread that was; the latter of an mbarrier: when fence.mbarrier_init has
# published that it was initialised; where a copy is in flight: the thread that has begun it.
CELL = record(("writer", "i4"), ("written", "i4"), ("site", "i4"), ("last", "i4"), ("update", "i4"), ("updater", "i4"))
# A line of 128 bytes: when any of its granules was last written, read, and written by a copy of the async proxy. full: the cluster,
# plus one, in whose time all have been written; low: the column of the copies that have landed there in the time of the cluster before
# `high`, NONE if there are several; source: the cluster, plus one, in whose time copies that complete on mbarriers have read there of which `held` says nothing;
# updated: when it was last updated strongly. In shared memory `read` is the latest of: when warps have read it (Order.warps), when
# the two that are `held` have (first, second; see held), and others. In global memory full is how often it has been read, low and
# high are the clusters that stand for its readers (see far.see_reader), and others is when it was last written otherwise than by
# strong updates that are in each other's scope.
# wrote: when one record wrote all of its granules, who have not been told (see by_line), 0 if there is none: the granule of byte b has
# been by the thread or column `writer` ^ b >> `bits`, at `site`.
LINE = record(
    ("written", "i4"), ("read", "i4"), ("landed", "i4"), ("updated", "i4"), ("full", "i4"), ("low", "i4"), ("high", "i4"),
    ("held", "i4"), ("others", "i4"), ("first", "i4"), ("second", "i4"), ("source", "i4"),
    ("wrote", "i4"), ("writer", "i4"), ("site", "i4"), ("bits", "i4"),
)  # fmt: skip
# An access that a line of global memory holds: a warp of the grid, when, where, and the lanes next to each other that access `width`
# bytes each, in steps from the address that lane 0 has or would have.
WAY = record(
    ("warp", "i4"), ("time", "i4"), ("site", "i4"), ("lanes", "u4"), ("start", "i8"), ("step", "i4"), ("width", "i4")
)
# Of a thread: when it last executed a proxy fence for global memory, or for shared memory, and the one before; when it last waited for others, and up
# to when its last fence covers what those have written.
PUBLISHED = record(("fenced", "i4"), ("before", "i4"), ("synced", "i4"), ("covers", "i4"))
# Lanes of a warp that have accessed a granule, none: one of the lanes.
ACCESS = record(("warp", "i4"), ("time", "i4"), ("lanes", "u4"), ("site", "i4"))
# Of a read in the log: when it was, and what its warp knew of itself; together: `lanes` of the warp read it all, or none that is
# known; else each lane reads for itself. again: a later one of the log says the same. late: it has not been noted at its lines.
# copier: the column of the copy that has read it, 0 if a warp has.
LOGGED_READ = record(
    ("time", "i4"),
    ("own", "i4"),
    ("lanes", "u4"),
    ("together", "i4"),
    ("again", "i4"),
    ("late", "i4"),
    ("copier", "i4"),
)
# Of some cells of tensor memory: which warp last used them, when, with which lanes, where, and whether by the tensor core.
USE = record(("warp", "i4"), ("time", "i4"), ("lanes", "u4"), ("site", "i4"), ("core", "i4"))
# Of copies out of the shared memory of a CTA that complete on mbarriers: bytes that they have yet to read, when the last was over, where.
SENT = record(("bytes", "i8"), ("time", "i4"), ("site", "i4"))
# A flag that a thread has seen: which thread, when and where, the key of what is said there, and when that was.
SEEN = record(("unit", "i4"), ("time", "i4"), ("site", "i4"), ("key", "i8"), ("said", "i4"))
# A tensor map (the number of its line) that lanes of a warp have acquired: when first, and when last.
ACQUIRED = record(("line", "i8"), ("warp", "i4"), ("time", "i4"), ("lanes", "u4"), ("latest", "i4"))
# What has been released at an address: for whom, when a chain of writes that hand it on was last continued, by threads of which
# cluster (home) and by which CTA; its row, and a snapshot of that; mixed: threads of several clusters have released there;
# by: the one thread that has released there, NONE if there are several.
ENTRY = record(
    ("key", "i8"), ("owner", "i4"), ("time", "i4"), ("home", "i4"), ("cta", "i4"), ("row", "i4"), ("snap", "i4"),
    ("mixed", "i4"), ("by", "i4"),
)  # fmt: skip


class Arrays(NamedTuple):
    """All of it. A slot is a cluster that runs, a unit one of its threads; the last column of a clock is the async proxy."""

    n: Array
    sites: Array
    home: Array  # by CTA: the number of its cluster * CTAS + rank
    member: Array  # the other way round
    place: Array  # by CTA: slot * CTAS + rank, NONE before it runs, OVER later
    free: Array  # slots, the one to take next last
    cluster: Array  # by slot
    start: Array
    threads: Array  # by slot and rank: live ones
    live: Array  # by slot and warp
    uniform: Array  # the row that all live lanes share, or NONE
    row_of: Array  # by slot and unit
    clock: Array  # rows of slots: of warps, of their fences, of what waits for a fence, of barriers
    floor: Array  # by row: what all threads of the cluster had done by then is known
    own: Array  # what its warp had done by then is known
    far: Array  # by row: snapshots of other clusters, 0 for none
    fence_row: Array  # by slot and unit: that of its last fence, or NONE
    fence_time: Array
    fence_scope: Array
    landing: Array  # by slot and lane: the column of the copy that lands, and the parity of the phase
    over: Array  # by slot, column of products and their number modulo RING: when a warp has first waited for them
    waits: Array  # by slot and column of products: how many those waits have covered
    landed: Array  # by slot, parity of a phase and COPIED column: when a copy has last completed in it
    landed_by: (
        Array  # by slot and COPIED column: the mbarrier on which all of these complete, NONE if there are several
    )
    sent: Array  # by slot, rank and COPIED column; the last counts the bytes that are not over (see departures)
    # By slot and rank: when a thread last came to the cluster's barrier with .relaxed, before the CTA left it; then, at all; then by warp: the last
    # phase, plus one, in which some of its lanes have.
    relaxed: Array
    covered_at: Array  # its last fence that stands in one order with others
    need: Array  # the scope that a fence must have for what waits for it, or NONE
    phase: Array  # by slot and barrier
    passing: Array  # the scope, plus one, that a fence must have for what threads have read that have come, 0 if they have read nothing
    come: Array  # threads that have come to a barrier and wait there
    came: Array  # by slot and barrier: where threads last came to it
    pending: Array  # by slot and warp: the barrier, plus one, whose row lacks what the warp knows of threads (see barriers.put_off)
    cells: Array  # by slot, rank and granule
    reads: Array
    updates: Array
    lines: Array  # by slot, rank and line
    warps: Array  # the same: when each warp, or those that share its place modulo LANES, last wrote there; then read, then updated
    whole: Array  # by slot: lines of shared memory, from the first to before the second all known to be full, and when anything was last done there but to read
    tensors: Array  # by slot, rank, cell of tensor memory, and: the last write, then the last read of each warp of the cluster
    log: Array  # reads of shared memory that have not been noted yet (see lines)
    log_note: Array
    log_last: Array  # by hash of what a product has read: its last place in the log
    page_key: Array  # of global memory, by hash
    page_at: Array
    far_cells: Array
    far_reads: Array
    far_updates: Array
    far_lines: Array
    far_ways: Array  # by line: what it holds
    far_more: Array  # by line: what it holds besides, of writes
    page_granules: Array  # by page: where its granules are, NONE if it has none
    entries: Array
    kept: Array  # rows of entries, and snapshots
    kept_far: Array
    column: Array  # by cluster: among those that others know of
    known: Array  # by column: the cluster
    before: Array  # of the lanes of a record: when the granule was last written before
    left: Array  # (first, end) of global memory that the launch leaves as it is
    signalled: Array  # by CTA: up to when what its threads have done comes before the next grid begins (see dependents)
    prior: Array  # what grids before, which may still run, have accessed (see dependents): by address, one grid after the other
    grids: Array  # of each of them: its first row there, the one after its last, whether it may still run after a wait
    heard: Array  # by slot: flags that its threads have seen (see hearsay)
    heard_count: Array  # by slot: how many
    heard_clock: Array  # by slot and flag: what its writers knew and had done; then what the reader may know by a fence
    heard_far: Array
    maps: Array  # by slot: tensor maps that its threads have acquired (see maps)
    map_count: Array  # by slot: how many
    published: Array  # by thread of the grid, as granules of global memory name it, if COPYING
    fenced: Array  # the same of shared memory, by slot and unit, if CROSSING


class Order(Arrays):
    """The same, which keeps how it is passed to native code (jit.native)."""

    def __reduce__(self) -> tuple[type[Order], tuple[Array, ...]]:
        return Order, tuple(self)  # copies are passed differently


def barrier_rows(ctas: int) -> int:
    """Rows of barriers in a slot, and as many of what is passed on there (one more: by bar.warp.sync)."""
    return 2 * BARRIERS * ctas + 2


def begin(
    sites: tuple[int, ...], home: np.ndarray, ctas: int, block: int, shared_bytes: int, *, strong: tuple[bool, bool],
    covers: bool, initialized: bool, cooperative: bool = False, left: np.ndarray | None = None, signals: bool = False,
    prior: np.ndarray | None = None, grids: np.ndarray | None = None,
) -> Order:  # fmt: skip
    """Before a launch. home: of each CTA, see Order; ctas: of a cluster; block: threads of a CTA; strong: whether there are strong writes to shared and global memory;
    covers: whether there are fences that stand in one order; cooperative: whether all CTAs are there at once, and may know of each other; signals: whether it is kept what CTAs know when they let other grids
    begin; left, prior, grids: see Order."""
    grid, warps = len(home), -(-block // LANES)
    all_warps = ctas * warps
    threads = all_warps * LANES
    some = of_any(sites)
    completions = (COMPLETIONS * ctas + 1) * (some & LATER != 0)
    groups = warps // 4 * ctas * (some & WARPGROUP != 0)
    tensors = all_warps * (some & TENSORS != 0)
    awaits = grids is not None and len(grids) > 0
    units = (2 if covers else 1) * threads + awaits + 2 * tensors + completions + ctas + groups + 1
    ways = warps + (NEAR_WAYS if ctas > 1 else 0)
    rows = all_warps * (2 * OWN_ROWS + LANES) + 2 * barrier_rows(ctas) + 1
    clusters, lines = grid // ctas, -(-shared_bytes >> LINE_BITS)
    cells = lines << LINE_BITS - 2
    columns = min(clusters, MOST_FAR) if cooperative else 128 if clusters > 1 else 1
    n = np.zeros(NUMBERS, np.int64)
    n[[CTAS, WARPS, UNITS, SHIFT, CELLS]] = ctas, warps, units, 2, cells
    n[COVERED] = threads * covers
    n[HEARS] = n[EDGES] = some & TAKEN != 0
    heard = HEARD * int(n[HEARS])
    n[AWAITED] = (2 if covers else 1) * threads if awaits else 0
    n[PASSES] = covers and not some & UNORDERED
    n[COVER_SCOPE] = min((bits >> SCOPE & 3 for bits in sites if bits & COVERS), default=Scope.SYS)
    n[PRODUCTS] = units - 1 - groups
    n[INITS] = n[PRODUCTS] - ctas
    n[COPIED] = n[INITS] - completions
    n[TENSOR] = n[COPIED] - 2 * tensors if tensors else 0
    n[AGREED] = _agree(sites, UPDATES_SHARED, Scope.GPU)
    n[AGREED_IN_SHARED] = _agree(sites, UPDATES_GLOBAL, Scope.CLUSTER if ctas > 1 else Scope.CTA)
    n[COPYING] = some & BY_PROXY != 0
    n[CROSSING] = ctas > 1 and some & LATER != 0
    n[WHOLE_LINES] = some & (LATER | CP_ASYNC | WARPGROUP) != 0
    n[ENDED] = any(bits & INITIALIZES and bits & ENDS for bits in sites)
    n[UNASKED] = not some & (BY_PROXY | STRONG)
    n[[THREADS, INITIALIZED, LINES]] = block, initialized, lines
    n[[CLUSTERS, GRID, WAYS, ROWS, KEPT]] = clusters, grid, ways, rows, 1
    # Memory that is not used costs nothing: room for what runs side by side, and for some pages.
    slots = clusters if cooperative else max(1, min(SLOTS, clusters, ROOM // (rows * units * 4)))
    n[FREE] = slots
    granules, many = slots * ctas * cells, GRANULES_AT_FIRST << PAGE_BITS - 2
    far_lines = PAGES_AT_FIRST << PAGE_LINES
    return Order(
        n, np.array(sites, np.int32), home, np.argsort(home).astype(np.int32), np.full(grid, NONE, np.int32),
        np.arange(slots - 1, -1, -1, dtype=np.int32), np.full(slots, NONE, np.int32), zeros(slots, np.int32),
        zeros((slots, ctas), np.int32), zeros((slots, all_warps), np.int64), zeros((slots, all_warps), np.int32),
        zeros((slots, threads), np.int32), zeros((slots * rows, units), np.int32), zeros(slots * rows, np.int32),
        zeros(slots * rows, np.int32), zeros((slots * rows, columns), np.int32), zeros((slots, threads), np.int32), zeros((slots, threads), np.int32),
        zeros((slots, threads), np.int32), zeros((slots, LANES), np.int32), zeros((slots, groups, RING), np.int32), zeros((slots, groups), np.int32),
        zeros((slots, 2, completions), np.int32), zeros((slots, completions), np.int64), zeros((slots, ctas, completions), SENT), zeros((slots, ctas + 1 + all_warps), np.int32),
        zeros((slots, threads if covers else 0), np.int32), zeros((slots, threads), np.int32), zeros((slots, barrier_rows(ctas)), np.int64), zeros((slots, barrier_rows(ctas)), np.int32), zeros((slots, barrier_rows(ctas)), np.int32), zeros((slots, barrier_rows(ctas)), np.int32),
        zeros((slots, all_warps), np.int32),
        zeros(granules, CELL), zeros((granules, ways), ACCESS), zeros((granules, ways if strong[0] else 0), ACCESS),
        zeros(slots * ctas * lines, LINE), zeros((slots * ctas * lines, 3 * LANES), np.int32), zeros((slots, 3), np.int32), zeros((slots * ctas * TENSOR_CELLS if tensors else 0, 1 + all_warps), USE), zeros(LOG, RECORD), zeros(LOG, LOGGED_READ), zeros(LOG, np.int32),
        np.full(2 * PAGES_AT_FIRST, NONE, np.int64), zeros(2 * PAGES_AT_FIRST, np.int32), zeros(many, CELL), zeros((many, FAR_WAYS), ACCESS),
        zeros((many, FAR_WAYS if strong[1] else 0), ACCESS), zeros(far_lines, LINE), zeros((far_lines, HELD), WAY), zeros((far_lines, MORE_HELD), WAY),
        np.full(PAGES_AT_FIRST, NONE, np.int32), zeros(4 * MARGIN, ENTRY), zeros((4 * MARGIN, units), np.int32),
        zeros((4 * MARGIN, columns), np.int32), np.full(clusters, NONE, np.int32), zeros(columns, np.int32),
        zeros(LANES, np.int32), np.zeros((0, 2), np.int64) if left is None else left,
        np.full(grid if signals else 0, UNSIGNALLED, np.int32), np.zeros((0, 6), np.int64) if prior is None else prior, np.zeros((0, 3), np.int64) if grids is None else grids,
        zeros((slots, heard), SEEN), zeros(slots, np.int32), zeros((slots * 2 * heard, units), np.int32), zeros((slots * 2 * heard, columns), np.int32),
        zeros((slots, MAPS), ACQUIRED), zeros(slots, np.int32),
        zeros(clusters * units if n[COPYING] else 1, PUBLISHED), zeros((slots, threads if n[CROSSING] else 0), PUBLISHED),
    )  # fmt: skip


_spare = Spare()


@lru_cache(maxsize=64)
def of_any(sites: tuple[int, ...]) -> int:
    """The bits that any of some sites has."""
    return reduce(or_, sites, 0)


@lru_cache(maxsize=64)
def _agree(sites: tuple[int, ...], elsewhere: int, scope: Scope) -> bool:
    """Whether all strong accesses but those that only update memory elsewhere have a scope, or a wider one, and are of one size."""
    updates = UPDATES_SHARED | UPDATES_GLOBAL
    here = [bits for bits in sites if bits & STRONG and bits & updates != elsewhere]
    return len({size_of(bits) for bits in here} - {0}) <= 1 and all(bits >> SCOPE & 3 >= scope for bits in here)


def zeros(shape: tuple[int, ...] | int, dtype: np.typing.DTypeLike) -> np.ndarray:
    """An array that costs memory, and the time to clear it, only where it is touched."""
    size = math.prod((shape,) if isinstance(shape, int) else shape) * np.dtype(dtype).itemsize
    if size < LARGE:
        return np.zeros(shape, dtype)
    return _spare.take(size).view(dtype).reshape(shape)


def slots_in_use(o: Order) -> int:
    """How many slots have held a cluster: the first ones."""
    return 1 + int((o.cluster != NONE).nonzero()[0].max(initial=-1))


def rows_in_use(o: Order, name: str, slots: int) -> int:
    """How many of the rows of an array may have been touched, with so many slots in use: the first ones."""
    array = getattr(o, name)
    if name in BY_SLOT:
        return len(array) // len(o.cluster) * slots
    if name in BY_LINE:
        return int(o.n[PAGES]) << PAGE_LINES
    if name in BY_GRANULE:
        return int(o.n[GRANULES]) << PAGE_BITS - int(o.n[SHIFT])
    return len(array)


def give_back(o: Order) -> None:
    """Memory of what nobody looks at any more: the next launch may have it."""
    slots = slots_in_use(o)
    _spare.put(
        (array.reshape(-1).view(np.uint8), rows_in_use(o, name, slots) * array.nbytes // len(array))
        for name, array in zip(o._fields, o)
        if array.nbytes >= LARGE and array.ctypes.data % PAGESIZE == 0
    )


def hashed(key: int, owner: int) -> int:
    """Where an entry is looked for first, in a table without end."""
    mixed = ((key ^ key >> 21) & 0xFFFFFFFF) * 31 + owner & 0xFFFFFFFF
    mixed = (
        mixed ^ mixed >> 16
    ) * 0x45D9F3B & 0xFFFFFFFF  # neighbours lie apart: else they would stand in each other's way
    return mixed ^ mixed >> 16
