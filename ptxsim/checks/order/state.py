"""What the scan for races remembers: arrays, and how they begin and grow."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ptxsim.jit.body import Array, record
from ptxsim.lanes import LANES

# Of `n`.
(NOW, CTAS, WARPS, UNITS, SHIFT, CELLS, CLUSTERS, GRID, WAYS, FAR, KEPT, PAGES, ROWS, COUNT, COVERED, EDGES, NUMBERS) = (
    range(17)
)  # fmt: skip
# NOW: the record; CTAS, WARPS: of a cluster, of a CTA; UNITS: columns of a clock; SHIFT, CELLS: of a granule's bytes, granules of
# a CTA's shared memory; CLUSTERS: of the grid; GRID: CTAs; WAYS: places for accesses per granule; FAR: clusters that others know
# of; KEPT, PAGES: in use; ROWS: of clocks per slot; COUNT: problems found; COVERED: the first column of a clock's second half, 0
# where there is none (see edges.cover); EDGES: fences so far, and addresses at which something has been released.

BARRIERS = 16
OWN_ROWS = LANES + 1  # of a warp, of which its lanes share some
NONE, OVER = -1, -2  # OVER: in place of a slot, of CTAs that have ended
PAGE_BITS = 12  # granules of a page of global memory
NEAR_WAYS, FAR_WAYS = 2, 2  # places for accesses from other CTAs of a cluster; per granule of global memory
MARGIN = 80  # free places with which a record can be worked off
SLOTS, PAGES_AT_FIRST, ROOM = 40, 64, 1 << 28  # ROOM: bytes of the clocks of all slots, at first
MOST_FAR = 2048  # clusters that others may know of

# A granule: who wrote last (a column of the clock, in global memory after those of all clusters before), when, and where; when it
# was last written in any way, read, and written strongly.
CELL = record(("writer", "i4"), ("written", "i4"), ("site", "i4"), ("last", "i4"), ("read", "i4"), ("update", "i4"))
# Lanes of a warp that have accessed a granule, none: one of the lanes.
ACCESS = record(("warp", "i4"), ("time", "i4"), ("lanes", "u4"), ("site", "i4"))
# What has been released at an address: for whom, when a chain of writes that hand it on was last continued, by threads of which
# cluster (home) and by which CTA; its row, and a snapshot of that.
ENTRY = record(
    ("key", "i8"), ("owner", "i4"), ("time", "i4"), ("home", "i4"), ("cta", "i4"), ("row", "i4"), ("snap", "i4")
)  # fmt: skip


class Order(NamedTuple):
    """All of it. A slot is a cluster that runs, a unit one of its threads; the last column of a clock is the async proxy."""

    n: Array
    sites: Array
    place: Array  # by CTA: slot * CTAS + rank, NONE before it runs, OVER later
    cluster: Array  # by slot
    start: Array
    threads: Array  # by slot and rank: live ones
    live: Array  # by slot and warp
    uniform: Array  # the row that all live lanes share, or NONE
    row_of: Array  # by slot and unit
    clock: Array  # rows of slots: of warps, of their fences, of what waits for a fence, of barriers
    floor: Array  # by row: what all threads of the cluster had done by then is known
    far: Array  # by row: snapshots of other clusters, 0 for none
    fence_row: Array  # by slot and unit: that of its last fence, or NONE
    fence_time: Array
    fence_scope: Array
    need: Array  # the scope that a fence must have for what waits for it, or NONE
    phase: Array  # by slot and barrier
    come: Array  # threads that have come to a barrier and wait there
    cells: Array  # by slot, rank and granule
    reads: Array
    updates: Array
    page_key: Array  # of global memory, by hash
    page_at: Array
    far_cells: Array
    far_reads: Array
    far_updates: Array
    entries: Array
    kept: Array  # rows of entries, and snapshots
    kept_far: Array
    column: Array  # by cluster: among those that others know of
    known: Array  # by column: the cluster
    before: Array  # of the lanes of a record: when the granule was last written before


def barrier_rows(ctas: int) -> int:
    return 2 * BARRIERS * ctas + 2


def begin(
    sites: tuple[int, ...], ctas: int, warps: int, grid: int, shared_bytes: int, *, strong: tuple[bool, bool], covers: bool
) -> Order:  # fmt: skip
    """Before a launch. ctas: of a cluster; warps: of a CTA; strong: whether there are strong writes to shared and global memory;
    covers: whether there are fences that stand in one order."""
    all_warps = ctas * warps
    threads = all_warps * LANES
    units = (2 if covers else 1) * threads + 1
    ways = warps + (NEAR_WAYS if ctas > 1 else 0)
    rows = all_warps * (2 * OWN_ROWS + LANES) + barrier_rows(ctas)
    clusters, cells = grid // ctas, -(-shared_bytes // 4)
    columns = 128 if clusters > 1 else 1
    n = np.zeros(NUMBERS, np.int64)
    n[[CTAS, WARPS, UNITS, SHIFT, CELLS]] = ctas, warps, units, 2, cells
    n[COVERED] = threads * covers
    n[[CLUSTERS, GRID, WAYS, ROWS, KEPT]] = clusters, grid, ways, rows, 1
    # Memory that is not used costs nothing: room for what runs side by side, and for some pages.
    slots = max(1, min(SLOTS, clusters, ROOM // (rows * units * 4)))
    granules, many = slots * ctas * cells, PAGES_AT_FIRST << PAGE_BITS
    return Order(
        n, np.array(sites, np.int32), np.full(grid, NONE, np.int32), np.full(slots, NONE, np.int32), np.zeros(slots, np.int32),
        np.zeros((slots, ctas), np.int32), np.zeros((slots, all_warps), np.int64), np.zeros((slots, all_warps), np.int32),
        np.zeros((slots, threads), np.int32), np.zeros((slots * rows, units), np.int32), np.zeros(slots * rows, np.int32),
        np.zeros((slots * rows, columns), np.int32), np.zeros((slots, threads), np.int32), np.zeros((slots, threads), np.int32),
        np.zeros((slots, threads), np.int32), np.zeros((slots, threads), np.int32),
        np.zeros((slots, barrier_rows(ctas)), np.int64), np.zeros((slots, barrier_rows(ctas)), np.int32),
        np.zeros(granules, CELL), np.zeros((granules, ways), ACCESS), np.zeros((granules, ways if strong[0] else 0), ACCESS),
        np.full(64, NONE, np.int64), np.zeros(64, np.int32), np.zeros(many, CELL), np.zeros((many, FAR_WAYS), ACCESS),
        np.zeros((many, FAR_WAYS if strong[1] else 0), ACCESS), np.zeros(4 * MARGIN, ENTRY), np.zeros((4 * MARGIN, units), np.int32),
        np.zeros((4 * MARGIN, columns), np.int32), np.full(clusters, NONE, np.int32), np.zeros(columns, np.int32),
        np.zeros(LANES, np.int32),
    )  # fmt: skip


def hashed(key: int, owner: int) -> int:
    """Where an entry is looked for first, in a table without end."""
    return ((key ^ key >> 21) & 0xFFFFFFFF) * 31 + owner
