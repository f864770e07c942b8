"""Accesses that their lines show to be in order, without a look at their granules. For bodies.

A line of 128 bytes says when any of its granules was last written and read. An access whose lines are all older than what its
warp knows is in order, whichever lane touches which granule, and most accesses are of this kind:

* A read or an atomic of shared memory goes to a log. When a barrier of the whole CTA makes all threads know it, no access can race with
  it any more, and it is dropped without having been noted at its granules. An access that might meet it there has the log worked
  off first (`log`).
* A write to shared memory is noted at its granules.
* Where warps hand tiles to each other, a line of shared memory says when each of them last wrote and read there (`knows_warps`).
* Asynchronous operations on shared memory have `tiles`.
* Lines of global memory hold what is done to them (`global_lines`, `global_updates`).

All other accesses are judged granule by granule (`accesses`), with the same verdict.
"""

from __future__ import annotations

from ptxsim.checks.order.by_line import fills_lines, lay_out_around, write_lines
from ptxsim.checks.order.cells import (
    COPIES,
    FETCHES,
    OFFSET,
    OVER,
    OWNER,
    READS,
    STAYS,
    WRITES,
    first_cell,
    first_line,
    in_flight,
    put,
    way_of,
)
from ptxsim.checks.order.clocks import first_row, lowest
from ptxsim.checks.order.log import are_elsewhere, are_in_place, keep_in_log, make_room, settle
from ptxsim.checks.order.memory.global_lines import read_global, write_global
from ptxsim.checks.order.memory.global_updates import update_global
from ptxsim.checks.order.memory.line_readers import hold, knows_held
from ptxsim.checks.order.memory.runs import are_apart
from ptxsim.checks.order.memory.whole import fill, is_known
from ptxsim.checks.order.sites import ACQUIRES, BY_PROXY, LATER, RELEASES, STRONG, TOGETHER, WARPGROUP
from ptxsim.checks.order.state import (
    AGREED,
    AGREED_IN_SHARED,
    CTAS,
    EDGES,
    LINE_BITS,
    LINES,
    LOG_FROM,
    LOGGED_APART,
    NONE,
    NOW,
    PLAIN,
    SHIFT,
    UNASKED,
    WARPS,
    WHOLE_LINES,
    Order,
)  # fmt: skip
from ptxsim.jit.blocks import blocks_of
from ptxsim.jit.body import Array
from ptxsim.jit.rows import lower_than, lowest_of
from ptxsim.jit.vectors import lanes_between
from ptxsim.lanes import EVERY, LANES
from ptxsim.machine.event import FLAG_ASYNC_PROXY, FLAG_MIXED, FLAG_UNCHANGED, Event
from ptxsim.machine.memory import RANK_SHIFT

UNKNOWN, PARTLY, WHOLLY = range(3)


def is_in_order(
    o: Order, slot: int, rank: int, warp: int, record: Array, event: int, bits: int, is_global: bool
) -> bool:
    """Whether its lines show an access to be in order; it has been remembered then."""
    reads, flags = event == Event.LOAD or event == Event.LDMATRIX, int(record["flags"])
    if is_global and event >= Event.ASYNC_WRITE and bits & BY_PROXY and not bits & STRONG:
        if event > Event.ASYNC_ISSUE or o.uniform[slot, warp] == NONE or o.n[PLAIN]:
            return False
        if event == Event.ASYNC_WRITE:
            return write_global(o, slot, warp, record, bits)
        return read_global(o, slot, warp, record, bits)
    updates = Event.STORE < event <= Event.REDUCE
    if not reads and not updates and (event != Event.STORE or bits & TOGETHER or flags & FLAG_MIXED):
        return False
    stays = flags & FLAG_UNCHANGED != 0
    if stays and (
        o.n[UNASKED] == 0
        if is_global
        else not are_apart(record["addresses"], int(record["mask"]), int(record["width"]))
    ):
        return False
    if bits & (LATER | WARPGROUP) or flags & FLAG_ASYNC_PROXY or o.uniform[slot, warp] == NONE or o.n[PLAIN]:
        return False
    if updates:
        hands_on = o.n[EDGES] != 0 or bits & (ACQUIRES | RELEASES) != 0
        if hands_on or not bits & STRONG or o.n[AGREED if is_global else AGREED_IN_SHARED] == 0:
            return False
        if is_global:
            return update_global(o, slot, warp, record)
    elif bits & STRONG:
        return False
    if is_global:
        if reads or stays:
            return read_global(o, slot, warp, record, bits)
        return write_global(o, slot, warp, record, bits)
    is_own = is_all_own(o, rank, record)
    if not is_own and bits & TOGETHER:
        return False
    row, how = first_row(o, slot, warp) + int(o.uniform[slot, warp]), READS if reads else WRITES
    if updates:
        how |= READS
    if stays:
        how |= STAYS
    # What warps know of each other changes at barriers only: then it can be said later which of them have a place.
    is_logged = how & READS != 0 and (is_own or o.n[EDGES] == 0)
    if is_logged:
        make_room(o, slot)
    elif how & READS:
        settle(o, slot, record["addresses"], int(record["mask"]), int(record["width"]))
    if how == READS and is_logged and is_known(o, slot, row, record):
        keep_in_log(o, row, record, EVERY if bits & TOGETHER else 0, False, True)
        return True
    found = WHOLLY
    if how != READS or not take_known_lines(o, slot, warp, row, record):
        found = take_lines(o, slot, warp, row, record, how, 0)
    if found == UNKNOWN or (found == PARTLY and not is_written(o, slot, record)):
        return False
    if not how & READS:
        take_cells(o, slot, record, warp * LANES, 1)
    elif is_logged:
        keep_in_log(o, row, record, EVERY if bits & TOGETHER else 0, False, False)
        o.n[LOGGED_APART] += not is_own
    else:
        note_at_once(o, slot, rank, warp, row, record)
    return True


def is_all_own(o: Order, rank: int, record: Array) -> bool:
    """Whether lanes access the shared memory of their own CTA."""
    first, mask = rank << RANK_SHIFT, int(record["mask"])
    return o.n[CTAS] == 1 or lanes_between(record["addresses"], mask, first, first | OFFSET) == mask


# ---- shared memory ----


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


def note_at_once(o: Order, slot: int, rank: int, warp: int, row: int, record: Array) -> None:
    """Lanes read shared memory of other CTAs of the cluster, too."""
    mask, width, addresses, site = int(record["mask"]), int(record["width"]), record["addresses"], int(record["site"])
    shift, cells, start, owner = int(o.n[SHIFT]), 0, int(o.start[slot]), NONE
    by_line = o.n[WHOLE_LINES] != 0
    for lane in range(LANES):
        if mask >> lane & 1:
            address = int(addresses[lane])
            if address >> RANK_SHIFT != owner:
                owner = address >> RANK_SHIFT
                cells = first_cell(o, slot, owner)
            if by_line:
                lay_out_around(o, cells + (address >> shift), cells + (address + width - 1 >> shift))
            for cell in range(cells + (address >> shift), cells + (address + width - 1 >> shift) + 1):
                since = max(start, int(o.cells[cell]["written"]))
                place = way_of(o, rank, warp, row, o.reads[cell], owner, since)
                if place != NONE:
                    put(o, row, warp, o.reads[cell, place], 1 << lane, site, since, warp * LANES)
    o.n[LOG_FROM] = o.n[NOW]


def take_cells(o: Order, slot: int, record: Array, writer: int, step: int) -> None:
    """The granules of an access are written now: by `writer`, or where `step` is 1, each lane's by the lane's own after it."""
    if fills_lines(o, record):
        write_lines(o, slot, record, writer, step)
        return
    mask, width, addresses, now = int(record["mask"]), int(record["width"]), record["addresses"], int(o.n[NOW])
    shift, cells, site, owner = int(o.n[SHIFT]), 0, int(record["site"]), NONE
    by_line = o.n[WHOLE_LINES] != 0
    for lane in range(LANES):
        if mask >> lane & 1:
            address = int(addresses[lane])
            if address >> RANK_SHIFT != owner:
                owner = address >> RANK_SHIFT
                cells = first_cell(o, slot, owner)
            if by_line:
                lay_out_around(o, cells + (address >> shift), cells + (address + width - 1 >> shift))
            for cell in range(cells + (address >> shift), cells + (address + width - 1 >> shift) + 1):
                made = o.cells[cell]
                made["writer"], made["written"], made["last"], made["site"] = writer + step * lane, now, now, site


def take_known_lines(o: Order, slot: int, warp: int, row: int, record: Array) -> bool:
    """Note that a warp reads its lines, up to one that does not show by itself that all that has been done there is known to all."""
    start, now, floor, era = int(o.start[slot]), int(o.n[NOW]), int(o.floor[row]), int(o.cluster[slot]) + 1
    rest, way, owner, base, end, lines, warps = int(record["mask"]), LANES + warp % LANES, NONE, 0, 0, o.lines, o.warps
    while rest:
        first, touched, part = blocks_of(record["addresses"], rest, int(record["width"]), LINE_BITS)
        rest &= ~part
        if first >> OWNER != owner:
            owner = first >> OWNER
            base, end = first_line(o, slot, owner), (owner << OWNER) + int(o.n[LINES])
            if owner >= o.n[CTAS]:
                return False
        while touched:
            number = first + lowest(touched)
            touched &= touched - 1
            if number >= end:
                return False
            one = lines[base + number]
            known = max(one["written"], one["updated"]) <= floor and one["full"] == era and one["landed"] <= start
            if not known:
                return False
            one["read"], warps[base + number, way] = now, now
    return True


def take_lines(o: Order, slot: int, warp: int, row: int, record: Array, how: int, reader: int) -> int:
    """Note at its lines what an access does (cells.READS and so on; who reads and writes updates strongly, as all do). reader: the column of
    what has read that is no warp, or 0.

    UNKNOWN where something has been done to one that the warp may not know; for reads, else, whether all of them have been written,
    as far as they ask.
    """
    start, now, floor, era = int(o.start[slot]), int(o.n[NOW]), int(o.floor[row]), int(o.cluster[slot]) + 1
    rest, found, way, bits = int(record["mask"]), WHOLLY, warp % LANES, int(o.sites[record["site"]])
    updates = how == READS | WRITES
    is_whole = how & COPIES != 0 and fills_lines(o, record)
    # Up to when the row knows what its warp has done, and what it has read; whether granules show that each lane may meet what has been written.
    own, own_reads, may_meet, is_by_lanes = int(o.own[row]), int(o.own[row]), False, False
    if record["event"] == Event.STORE or record["event"] == Event.LOAD:
        is_by_lanes = bits & TOGETHER == 0
    while rest:
        first, lines, part = blocks_of(record["addresses"], rest, int(record["width"]), LINE_BITS)
        rest &= ~part
        rank = first >> OWNER
        base, end = first_line(o, slot, rank), (rank << OWNER) + int(o.n[LINES])
        if rank >= o.n[CTAS]:
            return UNKNOWN
        while lines:
            number = first + lowest(lines)
            lines &= lines - 1
            if number >= end:
                return UNKNOWN
            at = base + number
            one = o.lines[at]
            if not how & OVER:
                if one["landed"] > start and not knows_copies(o, slot, row, one):
                    return UNKNOWN
                if one["written"] > floor and not may_meet and not knows_warps(o, warp, row, o.warps[at], 0, own):
                    if not is_by_lanes or not may_access(o, slot, warp, row, record):
                        return UNKNOWN
                    may_meet = True
            if how & WRITES or not how & OVER:
                if (
                    one["updated"] > floor
                    and not updates
                    and not knows_warps(o, warp, row, o.warps[at], 2 * LANES, int(o.own[row]))
                ):
                    return UNKNOWN
                if how & STAYS and max(one["written"], one["updated"], one["landed"]) > start:
                    return UNKNOWN
            if how & WRITES:
                if one["source"] == era or not knows_held(o, row, at, start):
                    return UNKNOWN
                if one["read"] > floor:
                    if not knows_warps(o, warp, row, o.warps[at], LANES, own_reads):
                        if own_reads != now and is_by_lanes and are_in_place(o, slot, row, record):
                            own_reads = now
                        if own_reads != now or not knows_warps(o, warp, row, o.warps[at], LANES, own_reads):
                            if not is_by_lanes or not are_elsewhere(o, slot, row, record, number, own_reads):
                                return UNKNOWN
            if how & COPIES:
                note_landing(o, slot, one, in_flight(o), is_whole)
                if is_whole:  # what has been read has been written since
                    one["held"] = 0
            elif updates:
                one["updated"], o.warps[at, 2 * LANES + way] = now, now
            elif how & WRITES:
                one["written"], o.warps[at, way] = now, now
            elif not how & FETCHES:
                one["read"] = now
                if reader == 0:
                    o.warps[at, LANES + way] = now
                else:
                    hold(o, one, reader, era)
            if how & READS and not how & OVER and one["full"] != era:
                if found == PARTLY or not fill(o, slot, at):
                    found = PARTLY
    return found


def knows_warps(o: Order, warp: int, row: int, times: Array, first: int, own: int) -> bool:
    """Whether a row of a warp knows what all warps have done by their times, which begin at `first`; own: up to when it knows what
    its own warp has done."""
    rest = EVERY & ~lower_than(times, first, int(o.floor[row]) + 1)
    while rest:
        way = lowest(rest)
        rest &= rest - 1
        for other in range(way, int(o.n[CTAS] * o.n[WARPS]), LANES):
            known = own
            if other != warp:
                known = lowest_of(o.clock[row], other * LANES, other * LANES + LANES)
            if times[first + way] > known:
                return False
    return True


def reads_alone(o: Order, warp: int, at: int, floor: int) -> bool:
    """Whether no warp but one has read a line since a time."""
    one, warps = o.lines[at], int(o.n[CTAS] * o.n[WARPS])
    if warps > LANES or one["others"] > floor or max(one["first"], one["second"]) > floor:
        return False
    return EVERY & ~lower_than(o.warps[at], LANES, floor + 1) & ~(1 << warp) == 0


def may_access(o: Order, slot: int, warp: int, row: int, record: Array) -> bool:
    """Whether a row of a warp knows who last wrote each granule of shared memory that its lanes access, or the same lane did."""
    floor, own = int(o.floor[row]), int(o.own[row])
    mask, width, addresses = int(record["mask"]), int(record["width"]), record["addresses"]
    cells, shift, owner = 0, int(o.n[SHIFT]), NONE
    by_line = o.n[WHOLE_LINES] != 0
    for lane in range(LANES):
        if mask >> lane & 1:
            address = int(addresses[lane])
            if address >> RANK_SHIFT != owner:
                owner = address >> RANK_SHIFT
                cells = first_cell(o, slot, owner)
            first = cells + (address >> shift)
            if by_line:
                lay_out_around(o, first, min(first + (width - 1 >> shift), len(o.cells) - 1))
            for cell in range(first, min(first + (width - 1 >> shift) + 1, len(o.cells))):
                writer, written = int(o.cells[cell]["writer"]), int(o.cells[cell]["written"])
                is_own = writer == warp * LANES + lane or (writer >> 5 == warp and written <= own)
                if written > floor and not is_own:
                    return False
    return True


def is_written(o: Order, slot: int, record: Array) -> bool:
    """Whether all that a record reads of shared memory has been written since its CTA began."""
    mask, width, addresses = int(record["mask"]), int(record["width"]), record["addresses"]
    cells, shift, start, owner, known = 0, int(o.n[SHIFT]), int(o.start[slot]), NONE, NONE
    by_line = o.n[WHOLE_LINES] != 0
    for lane in range(LANES):
        if mask >> lane & 1 and int(addresses[lane]) != known:  # often the lane before has read the same
            address = int(addresses[lane])
            known = address
            if address >> RANK_SHIFT != owner:
                owner = address >> RANK_SHIFT
                cells = first_cell(o, slot, owner)
            if by_line:
                lay_out_around(o, cells + (address >> shift), cells + (address + width - 1 >> shift))
            for cell in range(cells + (address >> shift), cells + (address + width - 1 >> shift) + 1):
                if o.cells[cell]["written"] <= start:
                    return False
    return True
