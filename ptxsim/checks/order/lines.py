"""Accesses that their lines show to be in order, without a look at their granules. For bodies.

A line of 128 bytes says when any of its granules was last written and read. An access whose lines are all older than what its
warp knows is in order, whichever lane touches which granule, and most accesses are of this kind:

* A read of shared memory goes to a log. When a barrier of the whole CTA makes all threads know it, nobody can race with it any
  more, and it is dropped without having been noted at its granules. An access that might meet it there has the log worked off
  first (`work_off`).
* A write to shared memory is noted at its granules.
* Lines of global memory hold what is done to them (`far`).

All other accesses are judged granule by granule (`accesses`), with the same verdict.
"""

from __future__ import annotations

from ptxsim.checks.order.clocks import first_row, lowest
from ptxsim.checks.order.far import read_global, write_global
from ptxsim.checks.order.sites import BY_PROXY, LATER, STRONG, TOGETHER, WARPGROUP
from ptxsim.checks.order.state import CELLS, CTAS, LINE_BITS, LINES, LOG_SLOT, LOGGED, NONE, NOW, PLAIN, SHIFT, Order
from ptxsim.jit.body import Array
from ptxsim.jit.vectors import blocks_of
from ptxsim.lanes import EVERY, LANES
from ptxsim.machine.event import FLAG_ASYNC_PROXY, FLAG_MIXED, FLAG_UNCHANGED, Event

UNKNOWN, PARTLY, WHOLLY = range(3)


def is_in_order(o: Order, slot: int, warp: int, record: Array, event: int, bits: int, is_global: bool) -> bool:
    """Whether its lines show an access to be in order; it has been remembered then."""
    reads, flags = event == Event.LOAD or event == Event.LDMATRIX, int(record["flags"])
    if is_global and event == Event.ASYNC_ISSUE and bits & BY_PROXY and not bits & STRONG:
        return o.uniform[slot, warp] != NONE and o.n[PLAIN] == 0 and read_global(o, slot, warp, record, bits)
    if not reads and (event != Event.STORE or bits & TOGETHER or flags & (FLAG_UNCHANGED | FLAG_MIXED)):
        return False
    if bits & (STRONG | LATER | WARPGROUP) or flags & FLAG_ASYNC_PROXY or o.uniform[slot, warp] == NONE or o.n[PLAIN]:
        return False
    if is_global:
        return read_global(o, slot, warp, record, bits) if reads else write_global(o, slot, warp, record)
    return o.n[CTAS] == 1 and (read_shared(o, slot, warp, record) if reads else write_shared(o, slot, warp, record))


# ---- shared memory, of clusters of one CTA ----


def touch_line(one: Array, warp: int, floor: int) -> None:
    """Before an access of a warp that knows what all threads did up to `floor` is noted: whether it is the only one since."""
    if one["warp"] != warp:
        one["warp"] = NONE if max(one["written"], one["read"]) > floor else warp


def note_landing(o: Order, slot: int, one: Array, column: int, is_whole: bool) -> None:
    """Bytes of a line have come by a copy of a column, or all of them."""
    era = o.cluster[slot] + 1
    if not is_whole and one["high"] == era and one["low"] != column:
        column = NONE
    one["low"], one["high"], one["landed"] = column, era, o.n[NOW]


def knows_copies(o: Order, slot: int, row: int, one: Array) -> bool:
    """Whether a row knows of all copies to a line that has some, if the line can tell."""
    if one["high"] != o.cluster[slot] + 1 or one["low"] == NONE:
        return False
    return bool(o.clock[row, int(one["low"])] >= one["landed"])


def read_shared(o: Order, slot: int, warp: int, record: Array) -> bool:
    if o.n[LOG_SLOT] != slot or o.n[LOGGED] == len(o.log):
        work_off(o)
        o.n[LOG_SLOT] = slot
    row = first_row(o, slot, warp) + int(o.uniform[slot, warp])
    found = take_lines(o, slot, warp, row, record, False)
    if found == UNKNOWN or (found == PARTLY and not is_written(o, slot, record)):
        return False
    at = int(o.n[LOGGED])
    o.log[at] = record
    o.log_time[at], o.log_own[at] = o.n[NOW], max(o.floor[row], o.own[row])
    o.n[LOGGED] = at + 1
    return True


def write_shared(o: Order, slot: int, warp: int, record: Array) -> bool:
    row, now, site = first_row(o, slot, warp) + int(o.uniform[slot, warp]), int(o.n[NOW]), int(record["site"])
    if take_lines(o, slot, warp, row, record, True) == UNKNOWN:
        return False
    mask, width, addresses = int(record["mask"]), int(record["width"]), record["addresses"]
    shift, cells = int(o.n[SHIFT]), slot * int(o.n[CELLS])
    for lane in range(LANES):
        if mask >> lane & 1:
            address = int(addresses[lane])
            for cell in range(cells + (address >> shift), cells + (address + width - 1 >> shift) + 1):
                made = o.cells[cell]
                made["writer"], made["written"], made["last"], made["site"] = warp * LANES + lane, now, now, site
    return True


def take_lines(o: Order, slot: int, warp: int, row: int, record: Array, writes: bool) -> int:
    """Note an access at its lines; UNKNOWN where something has been done to one that the warp may not know, else whether all of
    them have been written, as far as a read asks."""
    start, now, floor, own = int(o.start[slot]), int(o.n[NOW]), int(o.floor[row]), int(o.own[row])
    rest, base, found = int(record["mask"]), slot * int(o.n[LINES]), WHOLLY
    while rest:
        first, lines, part = blocks_of(record["addresses"], rest, int(record["width"]), LINE_BITS)
        rest &= ~part
        while lines:
            number = first + lowest(lines)
            lines &= lines - 1
            if number >= o.n[LINES]:
                return UNKNOWN
            one = o.lines[base + number]
            time = int(one["written"])
            if writes:
                time = max(time, int(one["read"]))
            if one["landed"] > start and not knows_copies(o, slot, row, one):
                return UNKNOWN
            if time > floor and (one["warp"] != warp or time > own):
                return UNKNOWN
            touch_line(one, warp, floor)
            if writes:
                one["written"] = now
            else:
                one["read"] = now
                if one["full"] != o.cluster[slot] + 1 and (found == PARTLY or not fill(o, slot, base + number)):
                    found = PARTLY
    return found


def fill(o: Order, slot: int, line: int) -> bool:
    """Whether all granules of a line have been written since their CTA began, which is remembered."""
    per_line = LINE_BITS - int(o.n[SHIFT])
    first = slot * int(o.n[CELLS]) + (line - slot * int(o.n[LINES]) << per_line)
    for cell in range(first, min(first + (1 << per_line), (slot + 1) * int(o.n[CELLS]))):
        if o.cells[cell]["written"] <= o.start[slot]:
            return False
    o.lines[line]["full"] = o.cluster[slot] + 1
    return True


def is_written(o: Order, slot: int, record: Array) -> bool:
    """Whether all that a record reads of shared memory has been written since its CTA began."""
    mask, width, addresses = int(record["mask"]), int(record["width"]), record["addresses"]
    cells, shift, start = slot * int(o.n[CELLS]), int(o.n[SHIFT]), int(o.start[slot])
    for lane in range(LANES):
        if mask >> lane & 1:
            address = int(addresses[lane])
            for cell in range(cells + (address >> shift), cells + (address + width - 1 >> shift) + 1):
                if o.cells[cell]["written"] <= start:
                    return False
    return True


def settle(o: Order, slot: int, addresses: Array, mask: int, width: int) -> None:
    """Work the log off if an access of lanes may meet one in it."""
    if o.n[LOGGED] == 0 or o.n[LOG_SLOT] != slot:
        return
    base, earliest, end = slot * int(o.n[LINES]), int(o.log_time[0]), (slot + 1) * int(o.n[LINES])
    for lane in range(LANES):
        if mask >> lane & 1:
            address = int(addresses[lane])
            for at in range(base + (address >> LINE_BITS), min(base + (address + width - 1 >> LINE_BITS) + 1, end)):
                if o.lines[at]["read"] >= earliest:
                    work_off(o)
                    return


def work_off(o: Order) -> None:
    """Note the reads of the log at their granules."""
    slot, shift = int(o.n[LOG_SLOT]), int(o.n[SHIFT])
    cells, start = slot * int(o.n[CELLS]), int(o.start[slot])
    for number in range(o.n[LOGGED]):
        record, now, own = o.log[number], int(o.log_time[number]), int(o.log_own[number])
        if now <= start:
            continue
        warp, mask, width, site = int(record["warp"]), int(record["mask"]), int(record["width"]), int(record["site"])
        addresses, together = record["addresses"], int(o.sites[site]) & TOGETHER
        for lane in range(LANES):
            if mask >> lane & 1:
                address, mine = int(addresses[lane]), EVERY if together else 1 << lane
                for cell in range(cells + (address >> shift), cells + (address + width - 1 >> shift) + 1):
                    since = max(start, int(o.cells[cell]["written"]))
                    if since < now:
                        access, lanes = o.reads[cell, warp], mine
                        # What other lanes did before counts as done now, as far as this one did not know it.
                        if access["warp"] == warp and access["time"] > max(since, own):
                            lanes |= int(access["lanes"])
                        access["warp"], access["time"], access["lanes"], access["site"] = warp, now, lanes, site
    o.n[LOGGED] = 0
