"""Room for CTAs that run and for pages of global memory: taken by the scan itself as long as there is some. For bodies."""

from __future__ import annotations

from ptxsim.checks.order.clocks import first_row
from ptxsim.checks.order.log import drop
from ptxsim.checks.order.state import (
    AWAITED,
    CHANGED,
    COVERED,
    CTAS,
    END_WHOLE,
    FAR,
    FIRST_WHOLE,
    FREE,
    GRANULES,
    INITIALIZED,
    LINE_BITS,
    NONE,
    NOW,
    OVER,
    PAGE_BITS,
    PAGE_LINES,
    PAGES,
    SHIFT,
    THREADS,
    UNITS,
    WARPS,
    Order,
)
from ptxsim.jit.rows import fill
from ptxsim.lanes import LANES


def admit(o: Order, cta: int) -> int:
    """The place of a CTA whose first record comes up, its cluster in a slot from now on; NONE if all slots are in use.

    A slot is used again as soon as its threads have exited, so that what it remembers stays near the processor.
    """
    ctas = int(o.n[CTAS])
    cluster = int(o.home[cta]) // ctas
    if o.n[FREE] == 0:
        return NONE
    o.n[FREE] -= 1
    slot = int(o.free[o.n[FREE]])
    before = int(o.cluster[slot])
    begin(o, slot, cluster)
    for rank in range(ctas):
        if before != NONE:
            o.place[o.member[before * ctas + rank]] = OVER
        o.place[o.member[cluster * ctas + rank]] = slot * ctas + rank
    return int(o.place[cta])


def begin(o: Order, slot: int, cluster: int) -> None:
    """A cluster begins in a slot."""
    ctas, warps, threads, now = int(o.n[CTAS]), int(o.n[WARPS]), int(o.n[THREADS]), int(o.n[NOW])
    o.cluster[slot], o.heard_count[slot], o.map_count[slot] = cluster, 0, 0
    fill(o.relaxed[slot], 0, len(o.relaxed[slot]), 0)
    drop(o, slot)
    o.whole[slot, FIRST_WHOLE], o.whole[slot, END_WHOLE], o.whole[slot, CHANGED] = 0, 0, now
    o.start[slot] = -1 if o.n[INITIALIZED] else now
    for rank in range(ctas):
        o.threads[slot, rank] = threads
        for place in range(o.sent.shape[2]):
            o.sent[slot, rank, place]["bytes"], o.sent[slot, rank, place]["time"] = 0, 0
    for warp in range(ctas * warps):
        lanes = min(threads - warp % warps * LANES, LANES)
        o.live[slot, warp] = (1 << lanes) - 1
        o.uniform[slot, warp], o.pending[slot, warp] = 0, 0
        row = first_row(o, slot, warp)
        fill(o.clock[row], 0, int(o.n[UNITS]), now)
        if o.n[COVERED]:
            fill(o.clock[row], int(o.n[COVERED]), int(o.n[UNITS]) - 1, 0)
        if o.n[AWAITED]:
            o.clock[row, o.n[AWAITED]] = 0
        o.floor[row], o.own[row] = now, now
        for k in range(o.n[FAR]):
            o.far[row, k] = 0
    for unit in range(ctas * warps * LANES):
        o.row_of[slot, unit], o.fence_row[slot, unit], o.need[slot, unit] = 0, NONE, NONE
    fill(o.landing[slot], 0, LANES, int(o.n[UNITS]) - 1 << 1)
    fill(o.covered_at[slot], 0, len(o.covered_at[slot]), 0)
    fill(o.waits[slot], 0, len(o.waits[slot]), 0)
    for barrier in range(o.phase.shape[1]):
        o.phase[slot, barrier] = NONE


def end(o: Order, slot: int) -> None:
    """A thread has exited: the slot is free if it was the last one of the cluster."""
    for rank in range(o.n[CTAS]):
        if o.threads[slot, rank] != 0:
            return
    o.free[o.n[FREE]] = slot
    o.n[FREE] += 1


def page_entry(o: Order, page: int) -> int:
    """Where a page of global memory stands in the table of those that have lines, or would."""
    size = len(o.page_key)
    at = page & size - 1
    while o.page_key[at] != page and o.page_key[at] != NONE:
        at = at + 1 & size - 1
    return at


def place_page(o: Order, page: int) -> int:
    """The number of a page of global memory among those that have lines; NONE if there is no room for one more."""
    at = page_entry(o, page)
    if o.page_key[at] == NONE:
        if o.n[PAGES] == len(o.page_granules):
            return NONE
        o.page_key[at], o.page_at[at] = page, o.n[PAGES]
        o.n[PAGES] += 1
    return int(o.page_at[at])


def place_granules(o: Order, line: int) -> int:
    """The first granule of a line of global memory; NONE if there is no room for those of one more page."""
    page, size = line >> PAGE_LINES, 1 << PAGE_BITS - int(o.n[SHIFT])
    if o.page_granules[page] == NONE:
        if (o.n[GRANULES] + 1) * size > len(o.far_cells):
            return NONE
        o.page_granules[page] = o.n[GRANULES]
        o.n[GRANULES] += 1
    return int(o.page_granules[page]) * size + ((line & (1 << PAGE_LINES) - 1) << LINE_BITS - int(o.n[SHIFT]))


def far_line(o: Order, line: int) -> int:
    """Where a line of global memory is, NONE if there is no room for it."""
    page = place_page(o, line >> PAGE_LINES)
    return NONE if page == NONE else (page << PAGE_LINES) + (line & (1 << PAGE_LINES) - 1)
