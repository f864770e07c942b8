"""The log of reads and updates of shared memory that are not noted at their granules yet (`memory.lines`). For bodies."""

from __future__ import annotations

from ptxsim.checks.order.by_line import lay_out_around
from ptxsim.checks.order.cells import ANY, NOBODY, OFFSET, by_copies, first_cell, row_for, way_of
from ptxsim.checks.order.clocks import lowest
from ptxsim.checks.order.state import (
    CTAS,
    EDGES,
    LINE_BITS,
    LINES,
    LOG_FROM,
    LOG_SLOT,
    LOGGED,
    LOGGED_APART,
    NONE,
    NOTED,
    NOW,
    SHIFT,
    THREADS,
    WARPS,
    WHOLE_LINES,
    Order,
)
from ptxsim.jit.blocks import blocks_of
from ptxsim.jit.body import Array
from ptxsim.jit.rows import lowest_of
from ptxsim.jit.vectors import lanes_between, meet_others
from ptxsim.lanes import EVERY, LANES
from ptxsim.machine.event import Event
from ptxsim.machine.memory import RANK_SHIFT

FAR_BACK = 128  # accesses of the log that are looked at
WORD_BITS, QUAD_BITS = 2, 4  # bytes of a word, of four


def make_room(o: Order, slot: int) -> None:
    """For one more access in the log, of a slot."""
    if o.n[LOG_SLOT] != slot or o.n[LOGGED] == len(o.log):
        work_off(o)
        o.n[LOG_SLOT] = slot


def keep_in_log(o: Order, row: int, record: Array, lanes: int, is_anybodys: bool, late: bool) -> None:
    """Log a read or an update.

    lanes: which count as one; 0: each for itself; is_anybodys: the lanes that read are not known; late: to be noted at its lines later.
    """
    at = int(o.n[LOGGED])
    o.log[at] = record
    mine = o.log_note[at]
    mine["time"], mine["own"] = o.n[NOW], max(o.floor[row], o.own[row])
    if o.n[EDGES]:  # lanes have come to know each other at an mbarrier or a flag, too
        there = min(int(o.n[THREADS]) - int(record["warp"]) * LANES, LANES)
        unit = (
            (int(o.place[record["cta"]]) - int(o.n[LOG_SLOT] * o.n[CTAS])) * int(o.n[WARPS]) + int(record["warp"])
        ) * LANES
        mine["own"] = max(int(mine["own"]), lowest_of(o.clock[row], unit, unit + there))
    mine["lanes"], mine["together"], mine["again"] = lanes, is_anybodys or lanes != 0, 0
    mine["copier"] = 0
    mine["late"] = late
    if mine["together"] and lanes & lanes - 1 == 0:
        supersede(o, at)
    if not late and o.n[NOTED] == at:
        o.n[NOTED] = at + 1
    o.n[LOGGED] = at + 1


def note_lines(o: Order) -> None:
    """Note reads of the log at their lines, of the CTA's own shared memory, that have not been."""
    base, lines, warps = int(o.n[LOG_SLOT] * o.n[LINES]), o.lines, o.warps
    for number in range(o.n[NOTED], o.n[LOGGED]):
        record, kept = o.log[number], o.log_note[number]
        if kept["late"]:
            rest, time, way = int(record["mask"]), int(kept["time"]), LANES + int(record["warp"]) % LANES
            while rest:
                first, touched, part = blocks_of(record["addresses"], rest, int(record["width"]), LINE_BITS)
                rest &= ~part
                while touched:
                    at = base + first + lowest(touched)
                    touched &= touched - 1
                    lines[at]["read"] = max(lines[at]["read"], time)
                    warps[at, way] = max(warps[at, way], time)
    o.n[NOTED] = o.n[LOGGED]


def supersede(o: Order, at: int) -> None:
    """What a product or a copy has read replaces what is logged of it: a loop reads the same tiles again and again, and only the last time
    counts; and that a copy has read replaces that it has begun to."""
    mine = o.log[at]
    place = (int(mine["addresses"][0]) >> 4) * 31 + int(mine["warp"]) + int(mine["cta"]) * 97 & len(o.log_last) - 1
    last = int(o.log_last[place])
    lanes = min(o.log_note[at]["lanes"], o.log_note[last]["lanes"])  # of a copy's, one lane of one and the same warp
    if last < o.n[LOGGED] and lanes == 0 and o.log_note[last]["together"]:
        if is_same(mine, o.log[last]):
            o.log_note[last]["again"] = 1
    o.log_last[place] = at


def is_same(one: Array, other: Array) -> bool:
    """Whether two records are of the same bytes, and of the same warp."""
    differ = int(one["mask"]) ^ int(other["mask"]) | int(one["width"]) ^ int(other["width"])
    differ |= int(one["warp"]) ^ int(other["warp"]) | int(one["cta"]) ^ int(other["cta"])
    mine, theirs = one["addresses"], other["addresses"]
    for lane in range(LANES):
        differ |= int(mine[lane]) ^ int(theirs[lane])
    return differ == 0


def are_in_place(o: Order, slot: int, row: int, record: Array) -> bool:
    """Whether what a warp has read, as far as a row of it does not know that, lanes that write now have all read for themselves. The
    log says so, where it goes back far enough."""
    known, number = max(int(o.floor[row]), int(o.own[row])), int(o.n[LOGGED])
    if o.n[LOG_SLOT] != slot or o.n[LOG_FROM] > known:
        return False
    addresses, mask, width = record["addresses"], int(record["mask"]), int(record["width"])
    last = max(0, number - FAR_BACK)
    while number > last:
        number -= 1
        before, kept = o.log[number], o.log_note[number]
        if kept["time"] <= known:
            return True
        if before["warp"] != record["warp"] or before["cta"] != record["cta"]:
            continue
        if kept["together"] or meet_others(
            addresses, mask, width, before["addresses"], int(before["mask"]), int(before["width"])
        ):
            return False
    return number == 0


def are_elsewhere(o: Order, slot: int, row: int, record: Array, line: int, own: int) -> bool:
    """Whether lanes write other words of a line than those that have been read there and that their warp's row does not know of.

    By the log, if it goes back far enough. own: up to when the row knows of its own warp's reads.
    """
    floor, number = int(o.floor[row]), int(o.n[LOGGED])
    if o.n[LOG_SLOT] != slot or o.n[LOG_FROM] > floor:
        return False
    bits = WORD_BITS if record["width"] <= 2 << WORD_BITS else QUAD_BITS
    first, words = words_of(record, line, bits)
    last = max(0, number - FAR_BACK)
    while number > last:
        number -= 1
        before, time = o.log[number], int(o.log_note[number]["time"])
        if time <= floor:
            return True
        if time <= own and before["warp"] == record["warp"] and before["cta"] == record["cta"]:
            continue
        start, read = words_of(before, line, bits)
        if read and read >> max(first - start, 0) & words >> max(start - first, 0):
            return False
    return number == 0


def words_of(record: Array, line: int, bits: int) -> tuple[int, int]:
    """Which words of 1 << bits bytes of a line a record accesses: the first of them, and the bits of those from there on, 0 for none."""
    start, mask, width = line << LINE_BITS, int(record["mask"]), int(record["width"])
    lanes = lanes_between(record["addresses"], mask, start - width + 1, start + (1 << LINE_BITS) - 1)
    if lanes == 0:
        return 0, 0
    if width > 2 << bits:  # only the first and the last word would be told
        return start >> bits, EVERY
    first, words, _ = blocks_of(record["addresses"], lanes, width, bits)
    return first, words


def settle(o: Order, slot: int, addresses: Array, mask: int, width: int) -> None:
    """Work the log off if an access of lanes may meet one in it."""
    if o.n[LOGGED] == 0 or o.n[LOG_SLOT] != slot:
        return
    note_lines(o)
    ctas, lines, earliest = int(o.n[CTAS]), int(o.n[LINES]), int(o.log_note[0]["time"])
    for lane in range(LANES):
        if mask >> lane & 1:
            offset, owner = int(addresses[lane]) & OFFSET, int(addresses[lane]) >> RANK_SHIFT
            if owner < ctas:
                base = (slot * ctas + owner) * lines
                for at in range(base + (offset >> LINE_BITS), base + min((offset + width - 1 >> LINE_BITS) + 1, lines)):
                    if max(o.lines[at]["read"], o.lines[at]["updated"]) >= earliest:
                        work_off(o)
                        return


def work_off(o: Order) -> None:
    """Note the reads and updates of the log at their granules."""
    note_lines(o)
    slot, shift = int(o.n[LOG_SLOT]), int(o.n[SHIFT])
    start, ctas = int(o.start[slot]), int(o.n[CTAS])
    by_line = o.n[WHOLE_LINES] != 0
    for number in range(o.n[LOGGED]):
        record, kept = o.log[number], o.log_note[number]
        now, own, given, together = int(kept["time"]), int(kept["own"]), int(kept["lanes"]), int(kept["together"])
        if now <= start or kept["again"]:
            continue
        mask, width, site, owner, cells = int(record["mask"]), int(record["width"]), int(record["site"]), NONE, 0
        rank = int(o.place[record["cta"]]) - slot * ctas
        addresses, warp = record["addresses"], rank * int(o.n[WARPS]) + int(record["warp"])
        updates = Event.STORE < record["event"] <= Event.REDUCE
        alike, row, who = 0, row_for(o, slot, warp, ANY), by_copies(int(kept["copier"])) if kept["copier"] else warp
        for lane in range(LANES):
            if mask >> lane & 1:
                address, alike = int(addresses[lane]), alike | 1 << lane
                if lane + 1 < LANES and mask >> lane + 1 & 1 and int(addresses[lane + 1]) == address:
                    continue  # noted with the next lane, which accesses the same
                mine = given if together else alike
                alike = 0
                if address >> RANK_SHIFT != owner:
                    owner = address >> RANK_SHIFT
                    cells = first_cell(o, slot, owner)
                if by_line:
                    lay_out_around(o, cells + (address >> shift), cells + (address + width - 1 >> shift))
                for cell in range(cells + (address >> shift), cells + (address + width - 1 >> shift) + 1):
                    one = o.cells[cell]
                    since = max(start, int(one["written"]))
                    if since >= now:
                        if not kept["copier"]:
                            continue  # it has been written over
                        since = start
                    if updates and one["update"] <= now:
                        one["update"] = now
                        one["updater"] = warp * LANES + lane if record["event"] != Event.REDUCE else NOBODY
                    accesses = o.reads[cell]
                    if updates:
                        one["last"] = max(one["last"], now)
                        accesses = o.updates[cell]
                    way = way_of(o, rank, warp, row, accesses, owner, since)
                    if way != NONE:
                        note_logged(accesses[way], who, now, mine, site, max(since, own))
    o.n[LOGGED], o.n[LOGGED_APART], o.n[NOTED], o.n[LOG_FROM] = 0, 0, 0, o.n[NOW]


def work_off_apart(o: Order) -> None:
    """Before warps get to know more of each other."""
    if o.n[LOGGED_APART] != 0:
        work_off(o)


def drop(o: Order, slot: int) -> None:
    """Nobody asks for what the log says of a slot."""
    if o.n[LOG_SLOT] == slot:
        o.n[LOGGED], o.n[LOGGED_APART], o.n[NOTED] = 0, 0, 0


def drop_known(o: Order, slot: int) -> None:
    """All threads of a cluster know what is in the log, unless copies have read there: that those are over no thread has done."""
    copies = 0
    if o.n[LOG_SLOT] == slot:
        for number in range(o.n[LOGGED]):
            copies += o.log_note[number]["copier"] != 0
    if copies:
        work_off(o)
    else:
        drop(o, slot)


def note_logged(access: Array, warp: int, now: int, lanes: int, site: int, known: int) -> None:
    """An access of lanes of a warp that knew what it had done up to a time itself: what other lanes did later counts as done now."""
    if lanes and access["warp"] == warp and access["time"] > known:
        lanes |= int(access["lanes"])
    access["warp"], access["time"], access["lanes"], access["site"] = warp, now, lanes, site
