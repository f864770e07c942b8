"""Accesses that their lines show to be in order, without a look at their granules. For bodies.

A line of 128 bytes says when any of its granules was last written and read. An access whose lines are all older than what its
warp knows is in order, whichever lane touches which granule, and most accesses are of this kind:

* A read of shared memory goes to a log. When a barrier of the whole CTA makes all threads know it, nobody can race with it any
  more, and it is dropped without having been noted at its granules. An access that might meet it there has the log worked off
  first (`work_off`).
* A write to shared memory is noted at its granules.
* Where warps hand tiles to each other, a line's last writer knew of those before: who knows all threads of that warp at that time
  knows them all, and so it is with a reader that has been the only one since all knew of all (`knows_warp`).
* Asynchronous operations on shared memory have `tiles`.
* Lines of global memory hold what is done to them (`far`).

All other accesses are judged granule by granule (`accesses`), with the same verdict.
"""

from __future__ import annotations

from ptxsim.checks.order.cells import note
from ptxsim.checks.order.clocks import first_row, lowest
from ptxsim.checks.order.far import read_global, write_global
from ptxsim.checks.order.sites import BY_PROXY, LATER, STRONG, TOGETHER, WARPGROUP
from ptxsim.checks.order.state import (
    CELLS,
    CTAS,
    LINE_BITS,
    LINES,
    LOG_SLOT,
    LOGGED,
    LOOSE,
    NONE,
    NOW,
    PLAIN,
    SHIFT,
    WARPS,
    Order,
)
from ptxsim.jit.body import Array
from ptxsim.jit.vectors import blocks_of
from ptxsim.lanes import EVERY, LANES
from ptxsim.machine.event import FLAG_ASYNC_PROXY, FLAG_MIXED, FLAG_UNCHANGED, Event
from ptxsim.machine.memory import RANK_SHIFT

UNKNOWN, PARTLY, WHOLLY = range(3)
OWNER = RANK_SHIFT - LINE_BITS  # from this bit on, the number of a line says whose shared memory it is of
OFFSET = (1 << RANK_SHIFT) - 1


def is_in_order(
    o: Order, slot: int, rank: int, warp: int, record: Array, event: int, bits: int, is_global: bool
) -> bool:
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
    owner = int(record["addresses"][lowest(int(record["mask"]))]) >> RANK_SHIFT
    if owner != rank:
        return reads and not bits & TOGETHER and read_remote(o, slot, owner, warp, record)
    return read_shared(o, slot, rank, warp, record) if reads else write_shared(o, slot, rank, warp, record)


# ---- shared memory ----


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


def read_shared(o: Order, slot: int, rank: int, warp: int, record: Array) -> bool:
    row = first_row(o, slot, warp) + int(o.uniform[slot, warp])
    make_room(o, slot)
    found = take_lines(o, slot, rank, warp, row, record, False)
    if found == UNKNOWN or (found == PARTLY and not is_written(o, slot, rank, record)):
        return False
    keep_in_log(o, row, record, EVERY if o.sites[record["site"]] & TOGETHER else 0, False)
    return True


def read_remote(o: Order, slot: int, owner: int, warp: int, record: Array) -> bool:
    """Lanes read shared memory of another CTA of the cluster, whose granules have few places for that."""
    if owner >= o.n[CTAS]:
        return False
    row = first_row(o, slot, warp) + int(o.uniform[slot, warp])
    found = take_lines(o, slot, owner, warp, row, record, False)
    if found == UNKNOWN or (found == PARTLY and not is_written(o, slot, owner, record)):
        return False
    mask, width, addresses, now = int(record["mask"]), int(record["width"]), record["addresses"], int(o.n[NOW])
    shift, cells, start, site = int(o.n[SHIFT]), first_cell(o, slot, owner), int(o.start[slot]), int(record["site"])
    place = int(o.n[WARPS])
    for lane in range(LANES):
        if mask >> lane & 1:
            address, mine = int(addresses[lane]), 1 << lane
            for cell in range(cells + (address >> shift), cells + (address + width - 1 >> shift) + 1):
                access, since = o.reads[cell, place], max(start, int(o.cells[cell]["written"]))
                if access["time"] <= since or (access["warp"] == warp and access["lanes"] == mine):
                    access["warp"], access["time"], access["lanes"], access["site"] = warp, now, mine, site
                elif access["warp"] == warp and access["time"] == now:
                    access["lanes"] = int(access["lanes"]) | mine
                else:
                    note(o, slot, warp, lane, row, 0, o.reads[cell], owner, site, since)
    return True


def make_room(o: Order, slot: int) -> None:
    """For one more read in the log, of a slot."""
    if o.n[LOG_SLOT] != slot or o.n[LOGGED] == len(o.log):
        work_off(o)
        o.n[LOG_SLOT] = slot


def keep_in_log(o: Order, row: int, record: Array, lanes: int, is_anybodys: bool) -> None:
    """A read, of lanes as one where some are given, else of each for itself; is_anybodys: who reads is not known by lanes."""
    at = int(o.n[LOGGED])
    o.log[at] = record
    mine = o.log_note[at]
    mine["time"], mine["own"] = o.n[NOW], max(o.floor[row], o.own[row])
    mine["lanes"], mine["together"] = lanes, is_anybodys or lanes != 0
    o.n[LOGGED] = at + 1


def write_shared(o: Order, slot: int, rank: int, warp: int, record: Array) -> bool:
    row = first_row(o, slot, warp) + int(o.uniform[slot, warp])
    if take_lines(o, slot, rank, warp, row, record, True) == UNKNOWN:
        return False
    take_cells(o, slot, rank, record, warp * LANES, 1)
    return True


def take_cells(o: Order, slot: int, rank: int, record: Array, writer: int, step: int) -> None:
    """The granules of an access are written now: by `writer`, or where `step` is 1, each lane's by the lane's own after it."""
    mask, width, addresses, now = int(record["mask"]), int(record["width"]), record["addresses"], int(o.n[NOW])
    shift, cells, site = int(o.n[SHIFT]), first_cell(o, slot, rank), int(record["site"])
    for lane in range(LANES):
        if mask >> lane & 1:
            address = int(addresses[lane])
            for cell in range(cells + (address >> shift), cells + (address + width - 1 >> shift) + 1):
                made = o.cells[cell]
                made["writer"], made["written"], made["last"], made["site"] = writer + step * lane, now, now, site


def first_line(o: Order, slot: int, rank: int) -> int:
    """What to add to the number of a line of a CTA's shared memory, as its address gives it."""
    return (slot * int(o.n[CTAS]) + rank) * int(o.n[LINES]) - (rank << OWNER)


def first_cell(o: Order, slot: int, rank: int) -> int:
    """The same for granules."""
    return (slot * int(o.n[CTAS]) + rank) * int(o.n[CELLS]) - (rank << RANK_SHIFT >> int(o.n[SHIFT]))


def take_lines(o: Order, slot: int, rank: int, warp: int, row: int, record: Array, writes: bool) -> int:
    """Note an access at its lines; UNKNOWN where something has been done to one that the warp may not know, else whether all of
    them have been written, as far as a read asks."""
    start, now, floor, own = int(o.start[slot]), int(o.n[NOW]), int(o.floor[row]), int(o.own[row])
    rest, base, found, low = int(record["mask"]), first_line(o, slot, rank), WHOLLY, rank << OWNER
    end, other, theirs = low + int(o.n[LINES]), 0, 0
    while rest:
        first, lines, part = blocks_of(record["addresses"], rest, int(record["width"]), LINE_BITS)
        rest &= ~part
        while lines:
            number = first + lowest(lines)
            lines &= lines - 1
            if number < low or number >= end:
                return UNKNOWN
            one = o.lines[base + number]
            if writes and one["source"] == o.cluster[slot] + 1:
                return UNKNOWN
            if one["landed"] > start and not knows_copies(o, slot, row, one):
                return UNKNOWN
            is_alone, time = one["warp"] == warp, int(one["written"])
            if time > floor and (not is_alone or time > own):
                if one["writer"] != other:
                    other = int(one["writer"])
                    theirs = knows_warp(o, row, other - 1) if other else 0
                if time > theirs:
                    return UNKNOWN
            read = int(one["read"])
            if writes and read > floor and (not is_alone or read > own):
                if one["reader"] != other:
                    other = int(one["reader"])
                    theirs = knows_warp(o, row, other - 1) if other else 0
                if read > theirs:
                    return UNKNOWN
            touch_line(one, warp, floor)
            if writes:
                one["written"], one["writer"] = now, warp + 1
            else:
                one["reader"] = warp + 1 if read <= floor or one["reader"] == warp + 1 else 0
                one["read"], one["by_lanes"] = now, now
                if one["full"] != o.cluster[slot] + 1 and (found == PARTLY or not fill(o, slot, base + number)):
                    found = PARTLY
    return found


def knows_warp(o: Order, row: int, warp: int) -> int:
    """Up to when a row knows all threads of a warp, and what they knew."""
    found = 0 if o.n[LOOSE] else int(o.n[NOW])
    for unit in range(warp * LANES, (warp + 1) * LANES):
        found = min(found, int(o.clock[row, unit]))
    return found


def fill(o: Order, slot: int, line: int) -> bool:
    """Whether all granules of a line have been written since their CTA began, which is remembered."""
    per_line, place = LINE_BITS - int(o.n[SHIFT]), line // int(o.n[LINES])
    first = place * int(o.n[CELLS]) + (line - place * int(o.n[LINES]) << per_line)
    for cell in range(first, min(first + (1 << per_line), (place + 1) * int(o.n[CELLS]))):
        if o.cells[cell]["written"] <= o.start[slot]:
            return False
    o.lines[line]["full"] = o.cluster[slot] + 1
    return True


def is_written(o: Order, slot: int, rank: int, record: Array) -> bool:
    """Whether all that a record reads of shared memory has been written since its CTA began."""
    mask, width, addresses = int(record["mask"]), int(record["width"]), record["addresses"]
    cells, shift, start = first_cell(o, slot, rank), int(o.n[SHIFT]), int(o.start[slot])
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
    ctas, lines, earliest = int(o.n[CTAS]), int(o.n[LINES]), int(o.log_note[0]["time"])
    for lane in range(LANES):
        if mask >> lane & 1:
            offset, owner = int(addresses[lane]) & OFFSET, int(addresses[lane]) >> RANK_SHIFT
            if owner < ctas:
                base = (slot * ctas + owner) * lines
                for at in range(base + (offset >> LINE_BITS), base + min((offset + width - 1 >> LINE_BITS) + 1, lines)):
                    if o.lines[at]["read"] >= earliest:
                        work_off(o)
                        return


def work_off(o: Order) -> None:
    """Note the reads of the log at their granules."""
    slot, shift = int(o.n[LOG_SLOT]), int(o.n[SHIFT])
    start, ctas = int(o.start[slot]), int(o.n[CTAS])
    for number in range(o.n[LOGGED]):
        record, kept = o.log[number], o.log_note[number]
        now, own, given, together = int(kept["time"]), int(kept["own"]), int(kept["lanes"]), int(kept["together"])
        if now <= start:
            continue
        way, mask, width, site = int(record["warp"]), int(record["mask"]), int(record["width"]), int(record["site"])
        rank = int(o.place[record["cta"]]) - slot * ctas
        addresses, cells, warp = record["addresses"], first_cell(o, slot, rank), rank * int(o.n[WARPS]) + way
        for lane in range(LANES):
            if mask >> lane & 1:
                address, mine = int(addresses[lane]), given if together else 1 << lane
                for cell in range(cells + (address >> shift), cells + (address + width - 1 >> shift) + 1):
                    since = max(start, int(o.cells[cell]["written"]))
                    if since < now:
                        access, lanes = o.reads[cell, way], mine
                        # What other lanes did before counts as done now, as far as this one did not know it.
                        if mine and access["warp"] == warp and access["time"] > max(since, own):
                            lanes |= int(access["lanes"])
                        access["warp"], access["time"], access["lanes"], access["site"] = warp, now, lanes, site
    o.n[LOGGED] = 0
