"""Global memory by lines of 128 bytes. For bodies.

Most lines are only ever read in the same way by one or two warps, or written once, or piece by piece as fragments of accumulators are. Such a
line holds these accesses itself, as runs: lanes next to each other whose addresses go up in equal steps. Its granules are noted when something else happens to it
(`spread`), with what they would have said anyway.
"""

from __future__ import annotations

from ptxsim.checks.order.cells import ALL, note
from ptxsim.checks.order.clocks import first_row, lowest
from ptxsim.checks.order.memory.runs import LINE, end_of, first_of, last_lane, next_run
from ptxsim.checks.order.sites import BY_PROXY, TOGETHER
from ptxsim.checks.order.slots import place_granules, place_page
from ptxsim.checks.order.state import (
    CLUSTERS,
    CTAS,
    HELD,
    HOLDS_READS,
    HOLDS_WRITE,
    LINE_BITS,
    MORE_HELD,
    NONE,
    NOW,
    PAGE_BITS,
    PAGE_LINES,
    SHIFT,
    UNITS,
    WARPS,
    Order,
)
from ptxsim.jit.body import Array
from ptxsim.jit.rows import fetch
from ptxsim.lanes import EVERY, LANES

# Reads of a line after which, and after twice as many each time, it is looked at whether its granules are full.
PATIENCE = 8


def read_global(o: Order, slot: int, warp: int, record: Array, bits: int) -> bool:
    """A read of lines that nothing has written."""
    rest, addresses = int(record["mask"]), record["addresses"]
    is_alone, is_ahead = rest & rest - 1 == 0, False
    while rest:
        run, step = next_run(addresses, rest)
        if run & run - 1 == 0 and not is_alone:
            if not is_ahead:
                look_ahead(o, addresses, rest, False)
                is_ahead = True
            lane = lowest(run)
            if not read_apart(
                o, slot, warp, int(record["site"]), bits, lane, int(addresses[lane]), int(record["width"])
            ):
                return False
            rest &= rest - 1
            continue
        start = int(addresses[lowest(run)]) - lowest(run) * step
        if not read_run(o, slot, warp, int(record["site"]), bits, run, start, step, int(record["width"])):
            return False
        rest &= ~run
    return True


def look_ahead(o: Order, addresses: Array, rest: int, writes: bool) -> None:
    """Lanes read or write here and there: what is known of all their lines is asked of memory at once, not by one after another."""
    shift, key, place, size = int(o.n[SHIFT]), NONE, 0, 1 << PAGE_BITS - int(o.n[SHIFT])
    while rest:
        address = int(addresses[lowest(rest)])
        rest &= rest - 1
        if address >> PAGE_BITS != key:
            key = address >> PAGE_BITS
            place = place_page(o, key)
        if place == NONE:
            return
        fetch(o.far_lines[(place << PAGE_LINES) + (address >> LINE_BITS & (1 << PAGE_LINES) - 1)])
        if o.page_granules[place] == NONE:
            continue
        cell = int(o.page_granules[place]) * size + ((address & (1 << PAGE_BITS) - 1) >> shift)
        if writes:
            fetch(o.far_cells[cell])
        else:
            fetch(o.far_reads[cell])


def read_apart(o: Order, slot: int, warp: int, site: int, bits: int, lane: int, address: int, width: int) -> bool:
    """A lane reads alone what lies apart from what its neighbours read: such lines are seldom read in the same way again."""
    line, end = address >> LINE_BITS, address + width - 1
    place, cluster = place_page(o, line >> PAGE_LINES), int(o.cluster[slot])
    if place == NONE:
        return False
    at = (place << PAGE_LINES) + (line & (1 << PAGE_LINES) - 1)
    one = o.far_lines[at]
    if one["held"] != 0 or end >> LINE_BITS != line or width == LINE:  # copies of tiles read whole lines
        return read_run(o, slot, warp, site, bits, 1 << lane, address, 0, width)
    granules = place_granules(o, at)
    if one["written"] != 0 or granules == NONE:
        return False
    if see_reader(o, at, granules, cluster):
        row, shift = first_row(o, slot, warp) + int(o.uniform[slot, warp]), int(o.n[SHIFT])
        lanes = EVERY if bits & TOGETHER else 1 << lane
        for cell in range(granules + ((address & LINE - 1) >> shift), granules + ((end & LINE - 1) >> shift) + 1):
            note_read(o, slot, warp, lanes, row, o.far_reads[cell], site, bits)
    return True


def read_run(o: Order, slot: int, warp: int, site: int, bits: int, run: int, start: int, step: int, width: int) -> bool:
    me, now, cluster = int(o.cluster[slot]) * int(o.n[CTAS] * o.n[WARPS]) + warp, int(o.n[NOW]), int(o.cluster[slot])
    first, end = start + lowest(run) * step, start + last_lane(run) * step + width
    page, place, is_dense = NONE, 0, step <= width
    for line in range(first >> LINE_BITS, (end - 1 >> LINE_BITS) + 1):
        if line >> PAGE_LINES != page:
            page = line >> PAGE_LINES
            place = place_page(o, page)
            if place == NONE:
                return False
        at = (place << PAGE_LINES) + (line & (1 << PAGE_LINES) - 1)
        one, mine = o.far_lines[at], o.far_ways[at, 0]
        if one["written"] != 0:
            return False
        if one["held"] == 0 and one["read"] == 0:
            hold(mine, me, now, site, run, start, step, width)
            one["held"], one["read"] = HOLDS_READS, now
            continue
        if one["held"] != 0:
            if is_same(o, mine, me, bits, run, start, step, width):
                mine["time"], mine["site"], one["read"] = now, site, now
                continue
            is_full = is_dense and first <= line << LINE_BITS and end >= line + 1 << LINE_BITS
            if is_full and covers(mine, line) and stands_beside(o, slot, at, me, site, bits, run, start, step, width):
                one["read"] = now
                continue
            if not spread(o, at, line):
                return False
        granules = place_granules(o, at)
        if see_reader(o, at, granules, cluster):
            note_reads(o, slot, warp, granules, line, site, bits, run, start, step, width)
    return True


def hold(way: Array, warp: int, now: int, site: int, run: int, start: int, step: int, width: int) -> None:
    way["warp"], way["time"], way["site"], way["lanes"] = warp, now, site, run
    way["start"], way["step"], way["width"] = start, step, width


def is_same(o: Order, way: Array, warp: int, bits: int, run: int, start: int, step: int, width: int) -> bool:
    """Whether a run that a line holds is of this warp, each of whose lanes does the same again."""
    others = (int(o.sites[way["site"]]) ^ bits) & (TOGETHER | BY_PROXY)
    same = way["warp"] == warp and way["lanes"] == run and way["start"] == start and others == 0
    return same and way["step"] == step and way["width"] == width


def covers(way: Array, line: int) -> bool:
    """Whether a run touches every byte of a line."""
    run, start, step, width = int(way["lanes"]), int(way["start"]), int(way["step"]), int(way["width"])
    if step > width or start + lowest(run) * step > line << LINE_BITS:
        return False
    return start + last_lane(run) * step + width >= line + 1 << LINE_BITS


def stands_beside(
    o: Order, slot: int, at: int, me: int, site: int, bits: int, run: int, start: int, step: int, width: int
) -> bool:  # fmt: skip
    """Let a line that a warp has read whole hold a second read of all of it, if its granules would; as `note_read` does."""
    other, warps, all_warps = o.far_ways[at, 1], int(o.n[WARPS]), int(o.n[CTAS] * o.n[WARPS])
    theirs, others, base = int(o.far_ways[at, 0]["warp"]), int(other["warp"]), int(o.cluster[slot]) * all_warps
    if theirs == me:
        return False
    if other["time"] == 0:
        hold(other, me, int(o.n[NOW]), site, run, start, step, width)
        return True
    if is_same(o, other, me, bits, run, start, step, width):
        other["time"], other["site"] = o.n[NOW], site
        return True
    return not (abs(theirs - others) < warps or base <= theirs < base + all_warps or base <= others < base + all_warps)


def spread(o: Order, at: int, line: int) -> bool:
    """Note what a line holds at its granules; false if there is no room for them."""
    granules, one, units = place_granules(o, at), o.far_lines[at], int(o.n[UNITS])
    if granules == NONE:
        return False
    shift, all_warps = int(o.n[SHIFT]), int(o.n[CTAS] * o.n[WARPS])
    for way in range(HELD + MORE_HELD if one["held"] == HOLDS_WRITE else HELD):
        held = o.far_ways[at, way] if way < HELD else o.far_more[at, way - HELD]
        if held["time"] == 0:
            continue
        warp, time, site, run = int(held["warp"]), int(held["time"]), int(held["site"]), int(held["lanes"])
        start, step, width = int(held["start"]) - (line << LINE_BITS), int(held["step"]), int(held["width"])
        unit, bits = warp // all_warps * units + warp % all_warps * LANES, int(o.sites[site])
        for lane in range(first_of(run, start, step, width), end_of(run, start, step)):
            address = start + lane * step
            for cell in range(
                granules + (max(address, 0) >> shift), granules + (min(address + width, LINE) - 1 >> shift) + 1
            ):
                if one["held"] == HOLDS_WRITE:
                    made = o.far_cells[cell]
                    made["writer"], made["written"], made["last"], made["site"] = unit + lane, time, time, site
                    if bits & BY_PROXY:
                        made["writer"] = warp // all_warps * units + units - 1
                else:
                    read = o.far_reads[cell, way]
                    lanes = EVERY if bits & TOGETHER else 1 << lane
                    if read["time"] == time and read["warp"] == warp:
                        lanes |= int(read["lanes"])
                    read["warp"], read["time"], read["lanes"], read["site"] = warp, time, lanes, site
    if one["held"] == HOLDS_WRITE:
        one["others"] = one["written"]
    one["held"] = 0
    return True


def note_reads(
    o: Order, slot: int, warp: int, granules: int, line: int, site: int, bits: int, run: int, start: int, step: int, width: int
) -> None:  # fmt: skip
    """Note a read of a line that nothing has written at its granules."""
    shift, row = int(o.n[SHIFT]), first_row(o, slot, warp) + int(o.uniform[slot, warp])
    start -= line << LINE_BITS
    lane, end = first_of(run, start, step, width), end_of(run, start, step)
    while lane < end:
        address, lanes = start + lane * step, run if step == 0 else 1 << lane
        if bits & TOGETHER:
            lanes = EVERY
        for cell in range(
            granules + (max(address, 0) >> shift), granules + (min(address + width, LINE) - 1 >> shift) + 1
        ):
            note_read(o, slot, warp, lanes, row, o.far_reads[cell], site, bits)
        lane = end if step == 0 else lane + 1


def note_read(o: Order, slot: int, warp: int, lanes: int, row: int, reads: Array, site: int, bits: int) -> None:
    """Note a read of lanes among those of a granule."""
    all_warps, warps = int(o.n[CTAS] * o.n[WARPS]), int(o.n[WARPS])
    base, one, other = int(o.cluster[slot]) * all_warps, reads[0], reads[1]
    me, theirs, others, now = base + warp, int(one["warp"]), int(other["warp"]), int(o.n[NOW])
    if one["time"] == 0 or (theirs == me and int(one["lanes"]) | lanes == lanes):
        one["warp"], one["time"], one["lanes"], one["site"] = me, now, lanes, site
    elif theirs != me and (other["time"] == 0 or (others == me and int(other["lanes"]) | lanes == lanes)):
        other["warp"], other["time"], other["lanes"], other["site"] = me, now, lanes, site
    elif abs(theirs - others) < warps or base <= theirs < base + all_warps or base <= others < base + all_warps:
        # Two of other CTAs would stay as they are.
        if bits & TOGETHER:
            note(o, warp, ALL, row, base, reads, NONE, site, 0)
            return
        while lanes:
            note(o, warp, lowest(lanes), row, base, reads, NONE, site, 0)
            lanes &= lanes - 1


def see_reader(o: Order, at: int, granules: int, cluster: int) -> bool:
    """A line of global memory that nothing has written is read: will its granules remember who does?

    Where all remember two CTAs, `low` to `high` are those CTAs' clusters, plus one: readers of others change nothing.
    """
    one, warps, ctas = o.far_lines[at], int(o.n[WARPS]), int(o.n[CTAS])
    one["read"] = o.n[NOW]
    if one["high"] != 0 and not one["low"] <= cluster + 1 <= one["high"]:
        return False
    one["high"] = 0
    one["full"] += 1
    reads = int(one["full"])
    if reads < PATIENCE or reads & reads - 1:
        return True
    low, high = int(o.n[CLUSTERS]), 0
    for cell in range(granules, granules + (LINE >> int(o.n[SHIFT]))):
        mine, other = o.far_reads[cell, 0], o.far_reads[cell, 1]
        if mine["time"] == 0 or other["time"] == 0:
            return True
        first, second = int(mine["warp"]) // warps, int(other["warp"]) // warps
        if first == second:
            return True
        low, high = min(low, first // ctas, second // ctas), max(high, first // ctas, second // ctas)
    one["low"], one["high"] = low + 1, high + 1
    return low <= cluster <= high


def write_global(o: Order, slot: int, warp: int, record: Array, bits: int) -> bool:
    """A write where nothing has been read but by the lanes themselves, and nothing written; of copies, where nothing has been done."""
    rest, addresses = int(record["mask"]), record["addresses"]
    is_alone, is_ahead = rest & rest - 1 == 0, False
    while rest:
        run, step = next_run(addresses, rest)
        if run & run - 1 == 0 and not is_alone and not is_ahead:
            look_ahead(o, addresses, rest, True)
            is_ahead = True
        start = int(addresses[lowest(run)]) - lowest(run) * step
        if not write_run(o, slot, warp, int(record["site"]), bits, run, start, step, int(record["width"])):
            return False
        rest &= ~run
    return True


def write_run(
    o: Order, slot: int, warp: int, site: int, bits: int, run: int, start: int, step: int, width: int
) -> bool:
    me, now, page, place = int(o.cluster[slot]) * int(o.n[CTAS] * o.n[WARPS]) + warp, int(o.n[NOW]), NONE, 0
    first, last = start + lowest(run) * step, start + last_lane(run) * step + width - 1
    for line in range(first >> LINE_BITS, (last >> LINE_BITS) + 1):
        if line >> PAGE_LINES != page:
            page = line >> PAGE_LINES
            place = place_page(o, page)
            if place == NONE:
                return False
        at = (place << PAGE_LINES) + (line & (1 << PAGE_LINES) - 1)
        one, mine = o.far_lines[at], o.far_ways[at, 0]
        is_new = one["held"] == 0 and one["written"] == 0 and one["read"] == 0
        if not is_new and not bits & BY_PROXY and one["held"] == HOLDS_READS and o.far_ways[at, 1]["time"] == 0:
            # What each lane alone has read it writes now: no access asks for the read any more.
            is_new = (step >= width or run & run - 1 == 0) and is_same(o, mine, me, bits, run, start, step, width)
        if is_new:
            hold(mine, me, now, site, run, start, step, width)
            one["held"], one["written"], one["read"] = HOLDS_WRITE, now, 0
            continue
        if bits & BY_PROXY:
            return False
        if one["held"] == HOLDS_WRITE and writes_beside(o, at, me, site, run, start, step, width):
            one["written"] = now
            continue
        if (one["held"] != 0 and not spread(o, at, line)) or one["read"] != 0:
            return False
        if not write_granules(o, slot, warp, at, line, site, run, start, step, width):
            return False
    return True


def writes_beside(o: Order, at: int, me: int, site: int, run: int, start: int, step: int, width: int) -> bool:
    """Let a line that holds writes hold another one, of bytes apart from theirs, if there is room. Single lanes would fill it soon."""
    first, end = start + lowest(run) * step, start + last_lane(run) * step + width
    if step != width or run & run - 1 == 0:
        return False
    for way in range(HELD + MORE_HELD):
        other = o.far_ways[at, way] if way < HELD else o.far_more[at, way - HELD]
        if other["time"] == 0:
            hold(other, me, int(o.n[NOW]), site, run, start, step, width)
            return True
        lanes, begin = int(other["lanes"]), int(other["start"])
        last = begin + last_lane(lanes) * int(other["step"]) + int(other["width"])
        if end > begin + lowest(lanes) * int(other["step"]) and first < last:
            return False
    return False


def write_granules(
    o: Order, slot: int, warp: int, at: int, line: int, site: int, run: int, start: int, step: int, width: int
) -> bool:
    """A write to granules of a line of which nothing has been read, as long as they have not been written."""
    granules, shift, now = place_granules(o, at), int(o.n[SHIFT]), int(o.n[NOW])
    if granules == NONE:
        return False
    start -= line << LINE_BITS
    unit = int(o.cluster[slot]) * int(o.n[UNITS]) + warp * LANES
    o.far_lines[at]["written"], o.far_lines[at]["others"] = now, now
    for lane in range(first_of(run, start, step, width), end_of(run, start, step)):
        address = start + lane * step
        for cell in range(
            granules + (max(address, 0) >> shift), granules + (min(address + width, LINE) - 1 >> shift) + 1
        ):
            one = o.far_cells[cell]
            if (one["written"] != 0 and one["written"] != now) or one["update"] != 0:
                return False
            one["writer"], one["written"], one["last"], one["site"] = unit + lane, now, now, site
    return True
