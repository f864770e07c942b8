"""What granules remember of accesses, and what is wrong with one more. For bodies."""

from __future__ import annotations

from ptxsim.checks.order.by_line import fills_lines, lay_out_under, write_lines
from ptxsim.checks.order.cells import (
    ANY,
    COPIES,
    EARLY,
    FETCHES,
    LEARNS,
    NOBODY,
    NOT_CONSTANT,
    OFFSET,
    OVER,
    RACE,
    RACE_IN_GLOBAL,
    RACE_IN_WARP,
    READS,
    STAYS,
    UNINITIALIZED,
    UNPUBLISHED,
    UNWAITED,
    WRITES,
    again,
    are_strong,
    by_copies,
    cell_of,
    clash,
    end_of,
    forget_before,
    forget_own,
    in_flight,
    keep_store,
    knows_writer,
    line_of,
    note_lane,
    row_for,
    tell,
    warp_of,
)
from ptxsim.checks.order.edges.completions import completed, landing_in
from ptxsim.checks.order.edges.proxies import is_published
from ptxsim.checks.order.log import settle
from ptxsim.checks.order.memory.lines import note_landing, reads_alone
from ptxsim.checks.order.memory.runs import are_apart
from ptxsim.checks.order.sites import DECIDED, FRAGMENTS, LATER, READ_ONLY, REDUCES, STRONG, WORD
from ptxsim.checks.order.slots import far_line, place_granules
from ptxsim.checks.order.state import (
    AGREED,
    AGREED_IN_SHARED,
    COPIED,
    CTAS,
    INITS,
    LINE_BITS,
    LOG_FROM,
    NONE,
    NOW,
    SHIFT,
    UNITS,
    WARPS,
    Order,
)
from ptxsim.jit.body import Array
from ptxsim.lanes import LANES
from ptxsim.machine.memory import RANK_SHIFT


def agrees(o: Order, bits: int, is_global: bool) -> bool:
    """Whether an access is strong, and with any other strong one each in the scope of the other."""
    return bits & STRONG != 0 and o.n[AGREED if is_global else AGREED_IN_SHARED] != 0


def touch(
    o: Order, slot: int, warp: int, addresses: Array, mask: int, width: int, site: int, how: int, together: int, copier: int,
    is_global: bool, found: Array,
) -> None:  # fmt: skip
    """Judge and remember an access of lanes, each `width` bytes.

    together: ANY, ALL, 1 + the lane that does it all, or 0 where each lane stands for itself; copier: the lane whose copy it is, or NONE.
    """
    cells, lines = o.far_cells if is_global else o.cells, o.far_lines if is_global else o.lines
    reads, updates = o.far_reads if is_global else o.reads, o.far_updates if is_global else o.updates
    bits, now = int(o.sites[site]), int(o.n[NOW])
    cluster = int(o.cluster[slot]) if is_global else 0
    base, base_warp = cluster * int(o.n[UNITS]), cluster * int(o.n[CTAS] * o.n[WARPS])
    proxy, shift, rank = base + int(o.n[UNITS]) - 1, int(o.n[SHIFT]), warp // int(o.n[WARPS])
    copied = base + int(o.n[COPIED])
    start = 0 if is_global else int(o.start[slot])
    is_uniform, row = o.uniform[slot, warp] != NONE, row_for(o, slot, warp, NONE)
    own_floor = int(o.floor[row])  # of threads of this cluster
    floor = start if is_global else own_floor
    stays, changes = how & STAYS != 0, how & WRITES != 0 and how & STAYS == 0
    is_update, is_agreed = bits & STRONG != 0 and how & WRITES != 0, agrees(o, bits, is_global)
    notes_read = not changes and not how & FETCHES
    column = 0  # of a copy that has read
    if how & OVER and bits & LATER:
        column = completed(o, slot, max(copier, 0))
    if notes_read and not is_global:
        o.n[LOG_FROM] = now
    said, last, is_again, known, place, to_line, far = 0, -1, False, NONE, 0, LINE_BITS - shift, 0
    looked_at, looked_from, is_alone = NONE, 0, False
    overlap = how & WRITES != 0 and not are_apart(addresses, mask, width)
    for each in range(LANES):
        if not mask >> each & 1:
            continue
        address = int(addresses[each])
        first, home, way = address >> shift, NONE, NONE
        if is_global:
            if address >> LINE_BITS != known:
                known = address >> LINE_BITS
                at = far_line(o, known)
                place = place_granules(o, at)
                far = at - (place >> to_line)
            first = place + (first & (1 << to_line) - 1)
        else:
            first = cell_of(o, slot, address)
        end = min(first + ((address + width - 1) >> shift) - (address >> shift) + 1, len(cells))
        if not is_global:
            home = address >> RANK_SHIFT
            end = min(end, end_of(o, slot, address, width))
            if home == rank:
                way = warp - rank * int(o.n[WARPS])
            if first >= end:
                continue
        lane, me = together, NOBODY
        if together == 0:
            lane, me = each, base + warp * LANES + each
        elif together > 0:
            lane, me = together - 1, base + warp * LANES + together - 1
        if not is_uniform:
            row = row_for(o, slot, warp, lane)
            own_floor = int(o.floor[row])
            floor = start if is_global else own_floor
        elif is_again and address == last:  # a lane that reads what the one before it has read
            o.before[each] = o.before[each - 1]
            for cell in range(first, end):
                again(reads[cell], base_warp + warp, now, each)
            continue
        last, is_again = address, together == 0 and notes_read and each + 1 < LANES and mask >> each + 1 & 1 != 0
        o.before[each] = cells[first]["last"]
        for cell in range(first, end):
            number = (cell >> to_line) + far
            one, line = cells[cell], lines[number]
            written, writer = int(one["written"]), int(one["writer"])
            is_known = written <= floor or (base <= writer < copied and written <= own_floor)
            is_known = is_known and not copied <= writer <= proxy
            if not is_known and base <= writer <= proxy and together != ANY:
                is_known = o.clock[row, writer - base] >= written
            is_again = is_again and is_known
            calm = is_known or (writer == me and written > start)
            if (
                (one["update"] > floor and not is_agreed)
                or (written <= start and not is_global)
                or (changes and not is_global and (line["held"] != 0 or line["source"] == o.cluster[slot] + 1))
            ):
                calm = False
            elif changes and calm and line["read"] > floor:
                # Only this warp has read the line since: was it this lane?
                # (Lines of global memory and of other CTAs do not say.)
                calm = way != NONE and together == 0
                if calm and (number != looked_at or floor != looked_from):
                    looked_at, looked_from, is_alone = number, floor, reads_alone(o, warp, number, floor)
                calm = calm and is_alone
                if calm and reads[cell, way]["lanes"] != 1 << each:
                    calm = reads[cell, way]["time"] <= max(written, floor)
            if bits & READ_ONLY and is_global and max(written, one["update"]) > 0:
                calm = True
                if not said >> NOT_CONSTANT & 1:
                    said |= 1 << NOT_CONSTANT
                    other = int(one["site"]) if written > 0 else int(updates[cell, 0]["site"])
                    tell(o, found, NOT_CONSTANT, site, other, address, slot, warp, each, 0, True)
            if not calm and not how & OVER:
                what, other, who = judge(
                    o, slot, warp, lane, row, base, base_warp, one, reads[cell], updates[cell], site, how, start, floor, is_global
                )  # fmt: skip
                if what == UNINITIALIZED and bits & STRONG and width <= WORD and is_begun(cells, first, end, start):
                    what = 0  # the rest of a word of which a part is an atomic: libcu++ swaps the word
                if what and not said >> what & 1:
                    said |= 1 << what
                    at = address if cell == first else (cell - first << shift) + address
                    tell(
                        o, found, what, site, other, at if is_global else at & OFFSET, slot, warp, each, who, is_global
                    )
            if overlap and written != now:
                forget_before(reads[cell], max(start, written))
                forget_before(updates[cell], max(start, written))
            if how & COPIES and is_global and not is_published(o, slot, warp, lane, row, base, writer, written):
                if not said >> UNPUBLISHED & 1:
                    said |= 1 << UNPUBLISHED
                    tell(o, found, UNPUBLISHED, site, int(one["site"]), address, slot, warp, lane, 0, True)
            if is_global and how & WRITES and not (is_update and is_agreed):
                line["others"] = now
            if how & COPIES and how & WRITES and is_global and not ((is_update or stays) and written > start):
                one["writer"], one["written"], one["site"], one["last"], line["written"] = proxy, now, site, now, now
            elif how & COPIES and not is_global:  # for cp.async, checks.proxies.scan finds who has not waited
                if bits & REDUCES and 0 <= writer < copied and written > start:
                    keep_store(o, row, one, reads[cell], home, start)
                one["written"], one["site"], one["last"] = now, site, now
                if bits & LATER:
                    one["writer"], one["updater"] = in_flight(o), me
                    note_landing(o, slot, line, in_flight(o), width == 1 << LINE_BITS)
                else:
                    one["writer"], line["written"], o.warps[number, warp % LANES] = NOBODY, now, now
            elif is_update and written > start:
                one["last"], one["update"], line["updated"] = now, now, now
                one["updater"] = base + warp * LANES + each if how & LEARNS else NOBODY
                if is_global:
                    line["written"] = now
                else:
                    o.warps[number, 2 * LANES + warp % LANES] = now
                note_lane(o, warp, lane, row, base_warp, updates[cell], way, home, floor, site, max(start, written))
            elif changes or (stays and written <= start and not is_global):
                unit = warp * LANES + each
                one["writer"], one["written"], one["site"], one["last"] = base + unit, now, site, now
                line["written"] = now
                if is_global:
                    forget_own(o, reads[cell], base_warp + warp, each)
                    continue
                o.warps[number, warp % LANES] = now
                if way != NONE and reads[cell, way]["lanes"] == 1 << each and reads[cell, way]["warp"] == warp:
                    reads[cell, way]["time"] = 0  # the same
            else:
                if stays:
                    one["last"] = now
                line["read"] = now
                if is_global:
                    line["high"] = 0  # far.see_reader is to look again
                if together == ANY:
                    line["others"] = now
                elif not is_global:
                    o.warps[number, LANES + warp % LANES] = now
                if notes_read:
                    note_lane(o, warp, lane, row, base_warp, reads[cell], way, home, floor, site, max(start, written))
                if column != 0 and way != NONE:
                    reads[cell, way]["warp"] = by_copies(column)
                    line["source"] = o.cluster[slot] + 1


def is_begun(cells: Array, first: int, end: int, start: int) -> bool:
    """Whether any of some granules has been written."""
    last = 0
    for cell in range(first, end):
        last = max(last, int(cells[cell]["written"]))
    return last > start


def judge(
    o: Order, slot: int, warp: int, lane: int, row: int, base: int, base_warp: int, one: Array, reads: Array, updates: Array,
    site: int, how: int, start: int, floor: int, is_global: bool,
) -> tuple[int, int, int]:  # fmt: skip
    """What is wrong with an access to a granule, at which other site, and the warp there."""
    written, writer, bits = int(one["written"]), int(one["writer"]), int(o.sites[site])
    copied, proxy, mine = base + int(o.n[COPIED]), base + int(o.n[UNITS]) - 1, base_warp + warp
    grid = 0 if is_global else int(o.cluster[slot]) * int(o.n[CTAS] * o.n[WARPS])
    race = RACE_IN_GLOBAL if is_global else RACE
    what, other, who = 0, 0, 0
    is_added = copied <= writer < o.n[INITS] and not is_global and bits & int(o.sites[one["site"]]) & REDUCES != 0
    # Who asks the result of its own update, which was the last of all, knows that no other will come: tickets of CTAs.
    is_last = (
        bits & DECIDED != 0 and lane >= 0 and one["update"] > written and one["updater"] == base + warp * LANES + lane
    )
    if written <= start and not is_global:
        if how & READS:
            return UNINITIALIZED, site, 0
    elif how & STAYS and not copied <= writer == in_flight(o):  # what a copy brings is not there yet
        return 0, 0, 0
    elif is_added:
        written = start  # sums have no order among them, and each is judged by what came before them all
    elif (written > floor or copied <= writer <= proxy) and written > start and written != o.n[NOW]:
        if not is_last and not knows_writer(o, slot, warp, lane, row, base, writer, written):
            if copied <= writer < o.n[INITS] and not is_global:
                if how & WRITES and int(o.sites[one["site"]]) & REDUCES and how & COPIES == 0:
                    return race, int(one["site"]), int(one["updater"]) // LANES
                return UNWAITED, int(one["site"]), mine
            theirs = warp_of(o, writer) if is_global else writer // LANES
            is_strong = are_strong(o, site, int(one["site"]), grid + mine, grid + theirs)
            if is_strong and how & READS and not is_global:
                return (
                    EARLY,
                    int(one["site"]),
                    theirs,
                )  # the store is the first one there: later strong ones are updates
            if not is_strong and not (theirs == mine and bits & int(o.sites[one["site"]]) & FRAGMENTS):
                by_copy = is_global and writer % int(o.n[UNITS]) == int(o.n[UNITS]) - 1
                what, other, who = RACE_IN_WARP if theirs == mine and not by_copy else race, int(one["site"]), theirs
    # A lane of this instruction has written over what all of them are judged by.
    since = max(start, written) if written != o.n[NOW] else start
    if not is_global:
        since = max(since, floor)  # what came before is known
    is_updated = one["update"] > floor and not agrees(o, bits, is_global)
    if what in (0, RACE_IN_WARP) and is_updated and not is_last and not is_added:
        place = clash(o, slot, warp, lane, row, base_warp, updates, site, since, is_global)
        if place != NONE:
            who, other = int(updates[place]["warp"]), int(updates[place]["site"])
            what = RACE_IN_WARP if who == mine else race
    if what in (0, RACE_IN_WARP) and how & WRITES:
        place = clash(o, slot, warp, lane, row, base_warp, reads, site, since, is_global)
        if place != NONE:
            who, other = int(reads[place]["warp"]), int(reads[place]["site"])
            what, who = RACE_IN_WARP if who == mine else race, who if who >= 0 else mine
    return what, other, who


def land(o: Order, slot: int, warp: int, record: Array, by_lane: bool, copier: int) -> None:
    """Bytes of an asynchronous copy are there; copier: the lane whose copy all of them are, or NONE."""
    addresses, mask, width, site = record["addresses"], int(record["mask"]), int(record["width"]), int(record["site"])
    if by_lane:
        settle(o, slot, addresses, mask, width)
    shared = warp * LANES if by_lane else landing_in(o, slot, mask if copier == NONE else 1 << copier)
    if shared != NONE and fills_lines(o, record):
        land_lines(o, slot, warp, record, by_lane, shared)
        return
    lay_out_under(o, slot, addresses, mask, width)
    now, to_line, known, writer, is_whole = int(o.n[NOW]), LINE_BITS - int(o.n[SHIFT]), NONE, 0, width == 1 << LINE_BITS
    for lane in range(LANES):
        if mask >> lane & 1:
            address = int(addresses[lane])
            start, end = cell_of(o, slot, address), end_of(o, slot, address, width)
            column = shared + lane if by_lane else completed(o, slot, lane) if shared == NONE else shared
            if column != writer:
                writer, known = column, NONE
            for cell in range(start, end):
                one = o.cells[cell]
                one["writer"], one["site"], one["written"], one["last"] = writer, site, now, now
            for number in range(start >> to_line, (end - 1 >> to_line) + 1 if start < end else 0):
                if number != known:
                    line, known = o.lines[number], number
                    if by_lane:
                        line["written"], o.warps[number, warp % LANES] = now, now
                    else:
                        note_landing(o, slot, line, writer, is_whole)


def land_lines(o: Order, slot: int, warp: int, record: Array, by_lane: bool, writer: int) -> None:
    """The same of whole lines; writer: the column of the copy, or of the warp's first lane."""
    mask, addresses, width, now, lane = int(record["mask"]), record["addresses"], int(record["width"]), int(o.n[NOW]), 0
    write_lines(o, slot, record, writer, 1 if by_lane else 0)
    while lane < LANES:
        at = line_of(o, slot, int(addresses[lane])) if mask >> lane & 1 else NONE
        if at != NONE:
            line = o.lines[at]
            if by_lane:
                line["written"], o.warps[at, warp % LANES] = now, now
            else:
                note_landing(o, slot, line, writer, True)
        lane += (1 << LINE_BITS) // width
