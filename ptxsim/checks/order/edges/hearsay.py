"""Data that threads read because a flag says that it is there, where the writer of the flag neither released nor fenced. For bodies.

Strong accesses never race. But a thread that has seen a flag of another CTA, and then reads what was stored before the flag was set,
may get an old value: volatile and relaxed accesses to two places are in no order for others. So beside what writes release, it is
recorded what their CTA had done when they wrote a flag, and for each thread the flags that it has seen: what it would know if all of
these released, beside what it does know, or may acquire by a fence.

* The reader's fence is asked for where a thread reads data after its flag with nothing at all in between (`strong`), not where a barrier
  is in between: the CUDA Programming Guide's sum of the last block has no other.
* Nothing is said where several threads write the data, or one does more than once under one flag: algorithms that relax distances or
  paths in any order work with an old value, too.
* Where one thread writes data again and again, and the reader has seen flags in between, each flag is for its own data.

PTX ISA, "Memory Consistency Model".
"""

from __future__ import annotations

from ptxsim.checks.order.cells import EAGER, HEARSAY, knows_writer, row_for, tell, warp_of
from ptxsim.checks.order.clocks import clear, join, lowest, row_of, scratch_row, waiting_row
from ptxsim.checks.order.edges.entries import entry_at, owner_of, release_known, take_from
from ptxsim.checks.order.sites import BY_PROXY, COUNTS, STRONG
from ptxsim.checks.order.slots import far_line, place_granules
from ptxsim.checks.order.state import CTAS, HEARD, LINE_BITS, NONE, NOW, SHIFT, UNITS, UNTOLD, WARPS, Order
from ptxsim.jit.body import Array
from ptxsim.jit.rows import fill
from ptxsim.lanes import LANES
from ptxsim.machine.event import Scope

SAID = 1 << 60  # in the key of an address: what is said there, released or not


def say(o: Order, slot: int, warp: int, lanes: int, key: int, since: int, goes_on: bool) -> None:
    """Lanes have written at an address of global memory strongly, where the write before was at `since`; goes_on: what was said stays so."""
    rank = warp // int(o.n[WARPS])
    if goes_on:
        place = entry_at(o, key | SAID, owner_of(o, slot, rank, Scope.GPU), False)
        if place != NONE and o.entries[place]["time"] >= since:
            o.entries[place]["time"] = o.n[NOW]
    if lanes:
        place = release_known(o, slot, warp, lanes, key | SAID, Scope.GPU)
        # All that its CTA has done, whether or not it has met the other threads.
        first, end = rank * int(o.n[WARPS]) * LANES, (rank + 1) * int(o.n[WARPS]) * LANES
        fill(o.kept[o.entries[place]["row"]], first, end, int(o.n[NOW]))


def hear(o: Order, slot: int, warp: int, lanes: int, key: int, since: int, site: int) -> None:
    """Lanes have read a flag, which was last written at `since`."""
    place = entry_at(o, key | SAID, owner_of(o, slot, warp // int(o.n[WARPS]), Scope.GPU), False)
    if place == NONE or o.entries[place]["time"] < since or o.entries[place]["home"] == NONE:
        return
    said, row = int(o.entries[place]["time"]), scratch_row(o, slot)
    for lane in range(LANES):
        unit = warp * LANES + lane
        if not lanes >> lane & 1 or has_heard(o, slot, unit, key, said):
            continue
        count = int(o.heard_count[slot])
        o.heard_count[slot] = count + 1
        number = count % HEARD
        one = o.heard[slot, number]
        one["unit"], one["time"], one["site"], one["key"], one["said"] = unit, o.n[NOW], site, key, said
        clear(o, row)
        take_from(o, place, slot, row, Scope.GPU)
        keep(o, slot, 2 * number, row)
        clear(o, row)
        join(o, row, row_of(o, slot, unit))
        if o.need[slot, unit] != NONE:
            join(o, row, waiting_row(o, slot, unit))
        keep(o, slot, 2 * number + 1, row)


def has_heard(o: Order, slot: int, unit: int, key: int, said: int) -> bool:
    """Whether a thread has heard this before: it looks again."""
    for number in range(min(int(o.heard_count[slot]), HEARD)):
        one = o.heard[slot, number]
        if one["unit"] == unit and one["key"] == key and one["said"] == said:
            return True
    return False


def keep(o: Order, slot: int, number: int, row: int) -> None:
    at = slot * 2 * HEARD + number
    o.heard_clock[at] = o.clock[row]
    o.heard_far[at] = o.far[row]


def take_data(o: Order, slot: int, warp: int, record: Array, site: int, found: Array) -> None:
    """Lanes have read data strongly: does what they know of its last write rest on flags alone?"""
    mask, cluster, shift = int(record["mask"]), int(o.cluster[slot]), int(o.n[SHIFT])
    base, told = cluster * int(o.n[UNITS]), False
    cta = cluster * int(o.n[CTAS]) + warp // int(o.n[WARPS])
    for lane in range(LANES):
        if not mask >> lane & 1 or told:
            continue
        address = int(record["addresses"][lane])
        first = place_granules(o, far_line(o, address >> LINE_BITS))
        cell = first + ((address & (1 << LINE_BITS) - 1) >> shift)
        one = o.far_cells[cell]
        since, writer, store = int(one["written"]), int(one["writer"]), int(one["site"])
        if since == 0 or o.sites[store] & (STRONG | BY_PROXY) != STRONG:
            continue
        written = int(one["last"])
        if written != since:
            way = only_way(o, o.far_updates[cell], writer, since)
            if way == NONE and o.sites[site] & COUNTS:
                told = take_sum(o, slot, warp, lane, site, address, cell, found)
            if way == NONE or o.far_updates[cell, way]["time"] != written:
                continue
            store = int(o.far_updates[cell, way]["site"])
        row = row_for(o, slot, warp, lane)
        if warp_of(o, writer) // int(o.n[WARPS]) == cta or knows_writer(
            o, slot, warp, lane, row, base, writer, written
        ):
            continue
        unit = warp * LANES + lane
        if o.need[slot, unit] != NONE and in_row(o, waiting_row(o, slot, unit), base, writer, written):
            flag = heard_by(o, slot, unit, base, writer, written, address)
            if flag != NONE:
                told = True
                tell(o, found, EAGER, site, store, address, slot, warp, flag, warp_of(o, writer), True)
            continue
        flag = heard_of(o, slot, unit, row, base, writer, written, address)
        if flag != NONE and (
            written == since or has_heard_between(o, slot, warp * LANES + lane, row, base, writer, since, written)
        ):
            told = True
            tell(o, found, HEARSAY, site, store, address, slot, warp, flag, warp_of(o, writer), True)


def take_sum(o: Order, slot: int, warp: int, lane: int, site: int, address: int, cell: int, found: Array) -> bool:
    """The same of what several threads have updated, and the last one reads, as a count has told it that it is the last; whether something is wrong."""
    base, warps, unit = int(o.cluster[slot]) * int(o.n[UNITS]), int(o.n[CTAS] * o.n[WARPS]), warp * LANES + lane
    row, updates = row_for(o, slot, warp, lane), o.far_updates[cell]
    for way in range(len(updates)):
        one = updates[way]
        time, lanes, cluster = int(one["time"]), int(one["lanes"]), int(one["warp"]) // warps
        if time == 0 or time == o.n[NOW] or lanes == 0:
            continue
        writer = cluster * int(o.n[UNITS]) + int(one["warp"]) % warps * LANES + lowest(lanes)
        is_near = int(one["warp"]) // int(o.n[WARPS]) == (int(o.cluster[slot]) * warps + warp) // int(o.n[WARPS])
        if is_near or knows_writer(o, slot, warp, lane, row, base, writer, time):
            continue
        what, flag = HEARSAY, NONE
        if o.need[slot, unit] != NONE and in_row(o, waiting_row(o, slot, unit), base, writer, time):
            what, flag = EAGER, heard_by(o, slot, unit, base, writer, time, address)
        else:
            flag = heard_of(o, slot, unit, row, base, writer, time, address)
        if flag != NONE and o.sites[flag] & COUNTS:
            tell(o, found, what, site, int(one["site"]), address, slot, warp, flag, int(one["warp"]), True)
            return True
    return False


def only_way(o: Order, updates: Array, writer: int, since: int) -> int:
    """The place of the strong writes to a granule since it was first written, if all are of the thread that did that; else NONE."""
    found = NONE
    for way in range(len(updates)):
        one = updates[way]
        if one["time"] > since:
            if (
                found != NONE
                or one["warp"] != warp_of(o, writer)
                or one["lanes"] != 1 << writer % int(o.n[UNITS]) % LANES
            ):
                return NONE
            found = way
    return found


def has_heard_between(o: Order, slot: int, unit: int, row: int, base: int, writer: int, since: int, time: int) -> bool:
    """Whether a thread has seen a flag that tells of a write, and not of a later one: of that it has seen another flag."""
    for number in range(min(int(o.heard_count[slot]), HEARD)):
        one, at = o.heard[slot, number], 2 * (slot * HEARD + number)
        if one["unit"] == unit or o.clock[row, one["unit"]] >= one["time"]:
            clock, far = o.heard_clock[at], o.heard_far[at]
            if tells(o, clock, far, base, writer, since, False) and not tells(o, clock, far, base, writer, time, True):
                return True
    return False


def heard_by(o: Order, slot: int, unit: int, base: int, writer: int, time: int, key: int) -> int:
    """The site at which a thread itself has seen a flag that tells of a write to another place than its own, last; NONE if there is none."""
    found, latest = NONE, 0
    for number in range(min(int(o.heard_count[slot]), HEARD)):
        one, at = o.heard[slot, number], 2 * (slot * HEARD + number)
        if (
            one["unit"] == unit
            and one["key"] != key
            and one["time"] > latest
            and tells(o, o.heard_clock[at], o.heard_far[at], base, writer, time, False)
        ):
            found, latest = int(one["site"]), int(one["time"])
    return found


def heard_of(o: Order, slot: int, unit: int, row: int, base: int, writer: int, time: int, key: int) -> int:
    """The site at which the CTA of a thread has seen a flag that alone tells of a write; NONE if there is none, or one that releases it, or where it is that
    write itself that has been seen: reads of one place are in order."""
    found, threads, count = NONE, int(o.n[WARPS]) * LANES, int(o.heard_count[slot])
    for number in range(min(count, HEARD)):
        one = o.heard[slot, number]
        at, is_known = 2 * (slot * HEARD + number), one["unit"] == unit or o.clock[row, one["unit"]] >= one["time"]
        if is_known and tells(o, o.heard_clock[at + 1], o.heard_far[at + 1], base, writer, time, True):
            return NONE
        if one["key"] == key:
            if is_known and one["said"] >= time:
                return NONE
            continue
        # Where some are forgotten it may be one of those that the thread knows.
        may_tell = is_known or (count <= HEARD and one["unit"] // threads == unit // threads)
        if may_tell and tells(o, o.heard_clock[at], o.heard_far[at], base, writer, time, False):
            found = int(one["site"])
    return found


def in_row(o: Order, row: int, base: int, writer: int, time: int) -> bool:
    return tells(o, o.clock[row], o.far[row], base, writer, time, True)


def tells(o: Order, clock: Array, far: Array, base: int, writer: int, time: int, untold: bool) -> bool:
    """Whether a write is in a clock; untold: the answer for clusters of which nothing is known."""
    units = int(o.n[UNITS])
    unit, cluster = writer % units, writer // units
    if writer - unit == base:
        return bool(clock[unit] >= time)
    k = int(o.column[cluster])
    if k < 0:
        return untold and k == UNTOLD
    known = int(far[k])
    return known != 0 and bool(o.kept[known, unit] >= time)
