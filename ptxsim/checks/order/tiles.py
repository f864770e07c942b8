"""What asynchronous operations do to their CTA's own shared memory, as far as its lines show that to be in order. For bodies.

Products read tiles, bulk copies and cp.async write them, many granules a lane. `lines` judges them as it does other accesses, with
the same verdict as granule by granule (`accesses`):

* A product begins to read: the lines say whether its warp knows who wrote them. It is remembered when a wait shows it to be over.
* What has been read until a wait goes to the log of reads.
* A copy begins to write: nothing may have been done to its lines that its lane does not know. Products of one or two warpgroups
  that have read them are known by the columns of these: consumers arrive at an mbarrier when they have waited for them.
* What a lane's cp.async has written is the lane's, after a wait, if nobody else has been there since.
"""

from __future__ import annotations

from ptxsim.checks.order.cells import ANY, NOBODY, in_flight, products_of, row_for
from ptxsim.checks.order.clocks import first_row, lowest
from ptxsim.checks.order.lines import (
    OWNER,
    UNKNOWN,
    fill,
    first_cell,
    first_line,
    is_written,
    keep_in_log,
    knows_copies,
    make_room,
    note_landing,
    settle,
    take_cells,
    take_lines,
    touch_line,
)
from ptxsim.checks.order.sites import LATER, STRONG, TOGETHER, WARPGROUP
from ptxsim.checks.order.state import LINE_BITS, LINES, NONE, NOW, PLAIN, PRODUCTS, SHIFT, Order
from ptxsim.jit.body import Array
from ptxsim.jit.vectors import blocks_of
from ptxsim.lanes import LANES
from ptxsim.machine.event import FLAG_ASYNC_PROXY, FLAG_READ, LANE_SHIFT, Event

HALF_BITS, HALF = 16, 0xFFFF  # of `held`, for each of two warpgroups: its number in the cluster, plus one


def is_tile_in_order(o: Order, slot: int, rank: int, warp: int, record: Array, event: int, bits: int) -> bool:
    """Whether its lines show an asynchronous operation on shared memory to be in order; it has been remembered then."""
    if event < Event.ASYNC_READ or o.n[PLAIN] or bits & STRONG:
        return False
    flags = int(record["flags"])
    if not flags & FLAG_ASYNC_PROXY:
        if o.uniform[slot, warp] == NONE or bits & (LATER | TOGETHER):
            return False
        if event == Event.ASYNC_ISSUE:
            return take_over(o, slot, rank, warp, record)
        return event == Event.ASYNC_WAIT and give_to_lanes(o, slot, rank, warp, record)
    if event == Event.ASYNC_READ:
        return bits & WARPGROUP != 0 and fetch(o, slot, rank, warp, record)
    if event == Event.ASYNC_WAIT:
        return flags & FLAG_READ == 0 or (not bits & LATER and end_reads(o, slot, rank, warp, record, bits))
    if event == Event.ASYNC_ISSUE:
        return flags & FLAG_READ != 0 or begin_copy(o, slot, rank, warp, record, flags >> LANE_SHIFT)
    return False


def fetch(o: Order, slot: int, rank: int, warp: int, record: Array) -> bool:
    """A product begins to read."""
    row = row_for(o, slot, warp, ANY)
    start, floor, own = int(o.start[slot]), int(o.floor[row]), int(o.own[row])
    rest, base, low, is_full = int(record["mask"]), first_line(o, slot, rank), rank << OWNER, True
    end, whole = low + int(o.n[LINES]), int(o.cluster[slot]) + 1
    while rest:
        first, lines, part = blocks_of(record["addresses"], rest, int(record["width"]), LINE_BITS)
        rest &= ~part
        while lines:
            number = first + lowest(lines)
            lines &= lines - 1
            if number < low or number >= end:
                return False
            one = o.lines[base + number]
            time = int(one["written"])
            if one["landed"] > start and not knows_copies(o, slot, row, one):
                return False
            if time > floor and (one["warp"] != warp or time > own):
                return False
            if one["full"] != whole:
                is_full = is_full and fill(o, slot, base + number)
    return is_full or is_written(o, slot, rank, record)


def end_reads(o: Order, slot: int, rank: int, warp: int, record: Array, bits: int) -> bool:
    """A wait shows what has been read until then: the log remembers it, as no lane's."""
    rest, base, low, now = int(record["mask"]), first_line(o, slot, rank), rank << OWNER, int(o.n[NOW])
    end, group = low + int(o.n[LINES]), 0
    if bits & WARPGROUP:
        group = products_of(o, warp) - int(o.n[PRODUCTS]) + 1
    make_room(o, slot)
    while rest:
        first, lines, part = blocks_of(record["addresses"], rest, int(record["width"]), LINE_BITS)
        rest &= ~part
        while lines:
            number = first + lowest(lines)
            lines &= lines - 1
            if number < low or number >= end:
                return False
            one = o.lines[base + number]
            one["warp"], one["read"], one["reader"] = NONE, now, 0
            if group == 0 or not hold(one, group, now):
                one["by_lanes"] = now
    keep_in_log(o, row_for(o, slot, warp, ANY), record, 0, True)
    return True


def hold(one: Array, group: int, now: int) -> bool:
    """Remember at a line that a product of a warpgroup has read it; false if there is no room."""
    first, second = int(one["held"]) & HALF, int(one["held"]) >> HALF_BITS
    if first == 0 or first == group:
        one["held"], one["first"] = second << HALF_BITS | group, now
    elif second == 0 or second == group:
        one["held"], one["second"] = group << HALF_BITS | first, now
    else:
        return False
    return True


def begin_copy(o: Order, slot: int, rank: int, warp: int, record: Array, lane: int) -> bool:
    """A bulk copy of a lane may write from now on."""
    row = row_for(o, slot, warp, lane)
    start, floor, own, writer = int(o.start[slot]), int(o.floor[row]), int(o.own[row]), in_flight(o)
    mask, base, low = int(record["mask"]), first_line(o, slot, rank), rank << OWNER
    starts = int(record["addresses"][lowest(mask)]) | int(record["width"])  # a copy's rows lie side by side
    is_whole, was_read = starts & (1 << LINE_BITS) - 1 == 0, False
    rest, end, products = mask, low + int(o.n[LINES]), int(o.n[PRODUCTS]) - 1
    while rest:
        first, lines, part = blocks_of(record["addresses"], rest, int(record["width"]), LINE_BITS)
        rest &= ~part
        while lines:
            number = first + lowest(lines)
            lines &= lines - 1
            if number < low or number >= end:
                return False
            one = o.lines[base + number]
            time, is_alone = int(one["written"]), one["warp"] == warp
            if one["source"] == o.cluster[slot] + 1:
                return False
            if one["landed"] > start and not knows_copies(o, slot, row, one):
                return False
            if time > floor and (not is_alone or time > own):
                return False
            time = int(one["read"])
            if time > floor and (not is_alone or time > own):
                was_read = True
                if one["by_lanes"] > floor:
                    return False
                group = int(one["held"]) & HALF
                if group and one["first"] > floor:
                    if one["first"] > o.clock[row, products + group]:
                        return False
                group = int(one["held"]) >> HALF_BITS
                if group and one["second"] > floor:
                    if one["second"] > o.clock[row, products + group]:
                        return False
            one["warp"] = NONE
            note_landing(o, slot, one, writer, is_whole)
            if is_whole:  # what has been read has been written since
                one["held"] = 0
    if was_read:
        settle(o, slot, record["addresses"], mask, int(record["width"]))
    take_cells(o, slot, rank, record, writer, 0)
    return True


def take_over(o: Order, slot: int, rank: int, warp: int, record: Array) -> bool:
    """The cp.async of lanes may write from now on."""
    row = first_row(o, slot, warp) + int(o.uniform[slot, warp])
    if take_lines(o, slot, rank, warp, row, record, True) == UNKNOWN:
        return False
    take_cells(o, slot, rank, record, NOBODY, 0)
    return True


def give_to_lanes(o: Order, slot: int, rank: int, warp: int, record: Array) -> bool:
    """Lanes have waited for what their cp.async have written, which counts as written by them now."""
    mask, width, addresses, now = int(record["mask"]), int(record["width"]), record["addresses"], int(o.n[NOW])
    base, low, rest, site = first_line(o, slot, rank), rank << OWNER, mask, int(record["site"])
    floor, end = int(o.floor[first_row(o, slot, warp) + int(o.uniform[slot, warp])]), low + int(o.n[LINES])
    while rest:
        first, lines, part = blocks_of(addresses, rest, width, LINE_BITS)
        rest &= ~part
        while lines:
            number = first + lowest(lines)
            lines &= lines - 1
            if number < low or number >= end or o.lines[base + number]["read"] > floor:
                return False
            touch_line(o.lines[base + number], warp, floor)
            o.lines[base + number]["written"], o.lines[base + number]["writer"] = now, 0
    shift, cells, start = int(o.n[SHIFT]), first_cell(o, slot, rank), int(o.start[slot])
    for lane in range(LANES):
        if mask >> lane & 1:
            address, unit = int(addresses[lane]), warp * LANES + lane
            for cell in range(cells + (address >> shift), cells + (address + width - 1 >> shift) + 1):
                made = o.cells[cell]
                if made["writer"] != unit or made["written"] <= start or made["update"] > floor:
                    return False
                made["written"], made["last"], made["site"] = now, now, site
    return True
