"""Programmatic dependent launch: two grids that may run side by side, and accesses of the first that the second may conflict with. For bodies.

Such a grid begins when each CTA of the one before has executed griddepcontrol.launch_dependents or has ended. What a CTA
knew at a release fence of the device before that comes before the next grid begins; all else is over, and known, only after its
griddepcontrol.wait. PTX ISA, "Parallel Synchronization and Communication Instructions: griddepcontrol".
"""

from __future__ import annotations

import numpy as np

from ptxsim.checks.order.cells import UNAWAITED, agree, row_for, tell
from ptxsim.checks.order.clocks import fence_row, lowest
from ptxsim.checks.order.edges.completions import know
from ptxsim.checks.order.memory.runs import LINE
from ptxsim.checks.order.sites import SCOPE
from ptxsim.checks.order.state import (
    AWAITED,
    AWAITS,
    BEGUN,
    CTAS,
    FAR,
    FAR_WAYS,
    HELD,
    HOLDS_WRITE,
    LINE_BITS,
    MORE_HELD,
    NONE,
    NOW,
    PAGE_BITS,
    PAGE_LINES,
    SHIFT,
    SIGNALS,
    THREADS,
    UNITS,
    UNSIGNALLED,
    WARPS,
    Order,
)
from ptxsim.jit.body import Array, body
from ptxsim.lanes import LANES
from ptxsim.machine.event import FLAG_ASYNC_PROXY, FLAG_READ, FLAG_UNCHANGED, LANE_SHIFT, Event, Scope

# Columns of Order.prior: bytes that a grid before has accessed, where it has written and read them (sites, plus one), and their bits.
FIRST, END, WROTE, READ, WROTE_BITS, READ_BITS, PRIOR = range(7)
GRID_SHIFT = 24  # from this bit on, in place of a site of this program: the number of the grid whose site it is


# ---- the grid before ----


def signal(o: Order, slot: int, rank: int, warp: int, lanes: int) -> None:
    """Lanes let dependents begin: of a CTA the first one counts, which may be any that has not seen another do so."""
    if len(o.signalled) == 0:
        return
    cta, rest = int(o.member[int(o.cluster[slot]) * int(o.n[CTAS]) + rank]), lanes
    o.n[SIGNALS] += 1
    while rest:
        lane = lowest(rest)
        rest &= rest - 1
        unit, known = warp * LANES + lane, 0
        if o.n[AWAITED] and not has_waited(o, slot, warp, lane):
            o.n[BEGUN] += 1
        if o.fence_row[slot, unit] != NONE and o.fence_scope[slot, unit] >= Scope.GPU:
            known = int(o.fence_time[slot, unit])
            row, first = fence_row(o, slot, warp) + int(o.fence_row[slot, unit]), rank * int(o.n[WARPS]) * LANES
            for other in range(first, first + int(o.n[THREADS])):
                if other != unit:
                    known = min(known, int(o.clock[row, other]))
        o.signalled[cta] = min(int(o.signalled[cta]), known)


def is_over(o: Order, warp: int, time: int) -> bool:
    """Whether what a warp of the grid did at a time comes before the next grid begins."""
    known = int(o.signalled[o.member[warp // int(o.n[WARPS])]]) if len(o.signalled) else UNSIGNALLED
    return known != UNSIGNALLED and time <= known


def note_sites(o: Order, place: int, page: int, line: int, wrote: Array, read: Array) -> None:
    """The sites, plus one, that have written and read each byte of a line, of accesses that may conflict with the next grid's: by its
    granules, and by the accesses that the line holds itself."""
    shift, at, units = int(o.n[SHIFT]), (place << PAGE_LINES) + line, int(o.n[UNITS])
    granules, start = int(o.page_granules[place]), (page << PAGE_BITS) + (line << LINE_BITS)
    warps, threads = int(o.n[CTAS] * o.n[WARPS]), int(o.n[CTAS] * o.n[WARPS]) * LANES
    for byte in range(LINE):
        wrote[byte], read[byte] = 0, 0
    if granules != NONE:
        granules = (granules << PAGE_BITS - shift) + (line << LINE_BITS - shift)
        for byte in range(LINE):
            cell = granules + (byte >> shift)
            one = o.far_cells[cell]
            for way in range(FAR_WAYS):
                reads = o.far_reads[cell, way]
                if reads["time"] != 0 and not is_over(o, int(reads["warp"]), int(reads["time"])):
                    read[byte] = reads["site"] + 1
                if one["update"] != 0:
                    update = o.far_updates[cell, way]
                    if update["time"] != 0 and not is_over(o, int(update["warp"]), int(update["time"])):
                        wrote[byte] = update["site"] + 1
            if one["written"] != 0:
                column = int(one["writer"]) % units
                by_copy = column >= threads
                warp = int(one["writer"]) // units * warps + column // LANES
                if by_copy or not is_over(o, warp, int(one["written"])):
                    wrote[byte] = one["site"] + 1
    held = int(o.far_lines[at]["held"])
    more = MORE_HELD if held == HOLDS_WRITE else 0
    for way in range(HELD + more if held else 0):
        access = o.far_ways[at, way] if way < HELD else o.far_more[at, way - HELD]
        lanes = (
            int(access["lanes"])
            if access["time"] != 0 and not is_over(o, int(access["warp"]), int(access["time"]))
            else 0
        )
        while lanes:
            first = int(access["start"]) + lowest(lanes) * int(access["step"]) - start
            lanes &= lanes - 1
            for byte in range(max(first, 0), min(first + int(access["width"]), LINE)):
                if held == HOLDS_WRITE:
                    wrote[byte] = access["site"] + 1
                else:
                    read[byte] = access["site"] + 1


@body(enough=1)
def left_by(o: Order, entry: int, found: Array) -> int:
    """What the next grid may meet in a page of global memory, an entry of the table of pages: rows as of Order.prior, and how many."""
    wrote, read, count, page = np.zeros(LINE, np.int32), np.zeros(LINE, np.int32), 0, int(o.page_key[entry])
    for line in range(1 << PAGE_LINES):
        one = o.far_lines[(int(o.page_at[entry]) << PAGE_LINES) + line]
        if one["written"] + one["read"] == 0 and one["held"] == 0:
            continue
        note_sites(o, int(o.page_at[entry]), page, line, wrote, read)
        start = (page << PAGE_BITS) + (line << LINE_BITS)
        for byte in range(LINE):
            if wrote[byte] == 0 and read[byte] == 0:
                continue
            last = found[max(count - 1, 0)]
            is_next = count != 0 and last[END] == start + byte
            if is_next and last[WROTE] == wrote[byte] and last[READ] == read[byte]:
                last[END] += 1
                continue
            row = found[count]
            row[FIRST], row[END], row[WROTE], row[READ] = (
                start + byte, start + byte + 1, wrote[byte], read[byte],
            )  # fmt: skip
            count += 1
    return count


# ---- the grid after ----


def wait(o: Order, slot: int, warp: int, lanes: int) -> None:
    """Lanes have waited for the grids before."""
    o.n[AWAITS] += 1
    if o.n[AWAITED]:
        know(o, slot, warp, lanes, int(o.n[AWAITED]), int(o.n[NOW]))


def has_waited(o: Order, slot: int, warp: int, lane: int) -> bool:
    """Whether a lane knows of a thread that has waited for the grids before."""
    row, column = row_for(o, slot, warp, lane), int(o.n[AWAITED])
    found = bool(o.clock[row, column] != 0)
    for k in range(o.n[FAR]):
        found = found or bool(o.far[row, k] != 0 and o.kept[o.far[row, k], column] != 0)
    return found


def meet_prior(o: Order, slot: int, warp: int, record: Array, event: int, found: Array) -> None:
    """An access to global memory: whether a grid before, which may still run, has accessed the same, and one of them writes."""
    flags, mask, width, site = int(record["flags"]), int(record["mask"]), int(record["width"]), int(record["site"])
    addresses, writes, reads = record["addresses"], False, False
    if event == Event.LOAD or event == Event.LDMATRIX or event == Event.ASYNC_READ:
        reads = True
    elif event == Event.ASYNC_ISSUE or event == Event.ASYNC_WRITE:
        reads = flags & FLAG_READ != 0
        writes = not reads
    elif event != Event.ASYNC_WAIT:
        writes = True
    if (not writes and not reads) or flags & FLAG_UNCHANGED:
        return
    copier = flags >> LANE_SHIFT if flags & FLAG_ASYNC_PROXY else NONE
    is_uniform, waited, last = o.uniform[slot, warp] != NONE, False, NONE
    for lane in range(LANES):
        if not mask >> lane & 1:
            continue
        if last == NONE or not (is_uniform or copier != NONE):
            waited, last = has_waited(o, slot, warp, lane if copier == NONE else copier), lane
        for grid in range(len(o.grids)):
            if waited and o.grids[grid, 2] == 0:
                continue
            address = int(addresses[lane])
            at = first_after(o.prior, int(o.grids[grid, 0]), int(o.grids[grid, 1]), address)
            while at < o.grids[grid, 1] and o.prior[at, FIRST] < address + width:
                other = meets(o.prior[at], int(o.sites[site]), writes)
                if other != 0:
                    place = max(address, int(o.prior[at, FIRST]))
                    tell(
                        o, found, UNAWAITED, site, grid << GRID_SHIFT | other - 1, place, slot, warp, lane, waited, True
                    )
                    return
                at += 1


def meets(prior: Array, bits: int, writes: bool) -> int:
    """The site, plus one, at which a grid before has accessed bytes of which this one's access may not meet it; 0 for none."""
    if prior[WROTE] != 0 and not are_strong_anywhere(bits, int(prior[WROTE_BITS])):
        return int(prior[WROTE])
    if writes and prior[READ] != 0 and not are_strong_anywhere(bits, int(prior[READ_BITS])):
        return int(prior[READ])
    return 0


def are_strong_anywhere(one: int, other: int) -> bool:
    """Whether two accesses of threads of the device are strong, each in the scope of the other."""
    return agree(one, other) and (one >> SCOPE & 3) >= Scope.GPU and (other >> SCOPE & 3) >= Scope.GPU


def first_after(prior: Array, first: int, end: int, address: int) -> int:
    """The first of some rows that ends after an address."""
    while first < end:
        middle = first + end >> 1
        if prior[middle, END] > address:
            end = middle
        else:
            first = middle + 1
    return first
