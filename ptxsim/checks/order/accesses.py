"""Accesses to memory: judged by what the granules that they touch remember, and remembered. For bodies."""

from __future__ import annotations

from ptxsim.checks.order.cells import (
    ALL,
    ANY,
    COPIES,
    FETCHES,
    MIXED,
    NOBODY,
    OVER,
    RACE,
    RACE_IN_GLOBAL,
    RACE_IN_WARP,
    READS,
    STAYS,
    UNINITIALIZED,
    WRITES,
    are_strong,
    clash,
    knows_writer,
    note,
    row_for,
)
from ptxsim.checks.order.clocks import lowest
from ptxsim.checks.order.edges import acquire_at, release_at
from ptxsim.checks.order.sites import ACQUIRES, CP_ASYNC, FRAGMENTS, LATER, RELEASES, SCOPE, STRONG, TOGETHER, WARPGROUP
from ptxsim.checks.order.state import CELLS, COUNT, CTAS, EDGES, NONE, NOW, PAGE_BITS, SHIFT, UNITS, WARPS, Order
from ptxsim.jit.body import Array
from ptxsim.lanes import LANES
from ptxsim.machine.event import FLAG_ASYNC_PROXY, FLAG_MIXED, FLAG_READ, FLAG_UNCHANGED, Event
from ptxsim.machine.memory import RANK_SHIFT

OFFSET = (1 << RANK_SHIFT) - 1
IN_SHARED = 1 << 62  # in the key of an address


def access(o: Order, slot: int, rank: int, warp: int, record: Array, event: int, is_global: bool, found: Array) -> bool:
    """Judge an access to memory and remember it; false, with nothing done, if there is no page for a granule of it."""
    flags, mask, site = int(record["flags"]), int(record["mask"]), int(record["site"])
    bits, addresses, width = int(o.sites[site]), record["addresses"], int(record["width"])
    by_proxy = flags & FLAG_ASYNC_PROXY != 0
    how, together = 0, 0
    if event == Event.LOAD or event == Event.LDMATRIX:
        how = READS
    elif event == Event.STORE or event == Event.STMATRIX:
        how = WRITES | STAYS if flags & FLAG_UNCHANGED else WRITES
    elif event <= Event.REDUCE:
        how = READS | WRITES
    elif is_global:
        return True
    elif event == Event.ASYNC_READ:  # a product goes on reading until a wait: that is when it is remembered
        how, together = READS | FETCHES if bits & WARPGROUP else READS, ANY
    elif event == Event.ASYNC_ISSUE and not flags & FLAG_READ:
        how, together = WRITES | COPIES, ANY if by_proxy else 0
    elif event == Event.ASYNC_WAIT and not by_proxy:
        how = WRITES
    elif event == Event.ASYNC_WAIT and flags & FLAG_READ:
        how, together = READS | OVER, ANY
    if event == Event.ASYNC_WRITE or (bits & LATER and how & WRITES and not how & COPIES):
        if not is_global:
            land(o, slot, warp, addresses, mask, width, site, bits & CP_ASYNC != 0)
        return True
    if how == 0:
        return True
    if together == 0 and bits & TOGETHER:
        together = ALL
    if event == Event.STORE and flags & FLAG_MIXED:
        lane = lowest(mask)
        at = int(addresses[lane]) if is_global else int(addresses[lane]) & OFFSET
        tell(o, found, MIXED, site, site, at, slot, warp, lane, warp, is_global)
    if is_global:
        if not have_pages(o, addresses, mask, width):
            return False
        touch(
            o,
            slot,
            warp,
            addresses,
            mask,
            width,
            site,
            how,
            together,
            True,
            o.far_cells,
            o.far_reads,
            o.far_updates,
            found,
        )
    else:
        touch(o, slot, warp, addresses, mask, width, site, how, together, False, o.cells, o.reads, o.updates, found)
    if bits & STRONG:
        synchronise(o, slot, warp, addresses, mask, site, how, is_global)
    return True


def have_pages(o: Order, addresses: Array, mask: int, width: int) -> bool:
    """Whether there are pages for what lanes access in global memory."""
    shift, known = int(o.n[SHIFT]) + PAGE_BITS, NONE
    for lane in range(LANES):
        if mask >> lane & 1:
            address = int(addresses[lane])
            if address >> shift != known or address + width - 1 >> shift != known:
                if far_cell(o, address) == NONE or far_cell(o, address + width - 1) == NONE:
                    return False
                known = address >> shift
    return True


def touch(
    o: Order, slot: int, warp: int, addresses: Array, mask: int, width: int, site: int, how: int, together: int,
    is_global: bool, cells: Array, reads: Array, updates: Array, found: Array,
) -> None:  # fmt: skip
    """Judge and remember an access of lanes, each `width` bytes; together: ANY, ALL, or 0 where each stands for itself."""
    bits, now = int(o.sites[site]), int(o.n[NOW])
    cluster = int(o.cluster[slot]) if is_global else 0
    base, base_warp = cluster * int(o.n[UNITS]), cluster * int(o.n[CTAS] * o.n[WARPS])
    proxy, shift, rank = base + int(o.n[UNITS]) - 1, int(o.n[SHIFT]), warp // int(o.n[WARPS])
    start = 0 if is_global else int(o.start[slot])
    is_uniform, row = o.uniform[slot, warp] != NONE, row_for(o, slot, warp, NONE)
    own_floor = int(o.floor[row])  # of threads of this cluster
    floor = start if is_global else own_floor
    stays, changes = how & STAYS != 0, how & WRITES != 0 and how & STAYS == 0
    is_update = bits & STRONG != 0 and how & WRITES != 0
    notes_read = not changes and not how & FETCHES
    said, last, is_again, page, place = 0, -1, False, NONE, 0
    for each in range(LANES):
        if not mask >> each & 1:
            continue
        address = int(addresses[each])
        first, home, way = address >> shift, NONE, NONE
        if is_global:
            if first >> PAGE_BITS != page:
                page, place = first >> PAGE_BITS, far_cell(o, address) - (first & (1 << PAGE_BITS) - 1)
            first = place + (first & (1 << PAGE_BITS) - 1)
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
            one = cells[cell]
            written, writer = int(one["written"]), int(one["writer"])
            is_known = writer != proxy and (written <= floor or (base <= writer < proxy and written <= own_floor))
            is_again = is_again and is_known
            calm = (is_known or (writer == me and written > start)) and one["update"] <= floor
            if (changes and one["read"] > floor) or (written <= start and not is_global):
                calm = False
            if not calm and not how & OVER:
                what, other, who = judge(
                    o,
                    slot,
                    warp,
                    lane,
                    row,
                    base,
                    base_warp,
                    one,
                    reads[cell],
                    updates[cell],
                    site,
                    how,
                    start,
                    floor,
                    is_global,
                )
                if what and not said >> what & 1:
                    said |= 1 << what
                    at = address if cell == first else (cell - first << shift) + address
                    tell(
                        o, found, what, site, other, at if is_global else at & OFFSET, slot, warp, each, who, is_global
                    )
            if how & COPIES:  # who reads it before it is there has not waited: checks.proxy_scan
                one["writer"], one["written"], one["site"], one["last"] = NOBODY, now, site, now
            elif is_update and written > start:
                one["last"], one["update"] = now, now
                note(o, slot, warp, lane, row, base_warp, updates[cell], home, site, max(start, written))
            elif changes or (stays and written <= start and not is_global):
                unit = warp * LANES + each
                one["writer"], one["written"], one["site"], one["last"] = base + unit, now, site, now
            else:
                if stays:
                    one["last"] = now
                one["read"] = now
                if notes_read:
                    access = reads[cell, max(way, 0)]
                    is_mine = access["lanes"] == 1 << max(lane, 0) and access["warp"] == base_warp + warp
                    if lane >= 0 and (is_mine or way != NONE) and (is_mine or access["time"] <= floor):
                        access["warp"], access["time"], access["lanes"], access["site"] = (
                            base_warp + warp, now, 1 << lane, site
                        )  # fmt: skip
                    else:
                        note(o, slot, warp, lane, row, base_warp, reads[cell], home, site, max(start, written))


def again(accesses: Array, warp: int, now: int, lane: int) -> None:
    """One more lane of a warp takes part in an access that stands among those of a granule."""
    for place in range(accesses.shape[0]):
        if accesses[place]["time"] == now and accesses[place]["warp"] == warp:
            accesses[place]["lanes"] = int(accesses[place]["lanes"]) | 1 << lane
            return


def judge(
    o: Order, slot: int, warp: int, lane: int, row: int, base: int, base_warp: int, one: Array, reads: Array, updates: Array,
    site: int, how: int, start: int, floor: int, is_global: bool,
) -> tuple[int, int, int]:  # fmt: skip
    """What is wrong with an access to a granule, at which other site, and the warp there."""
    written, writer, bits = int(one["written"]), int(one["writer"]), int(o.sites[site])
    proxy, mine = base + int(o.n[UNITS]) - 1, base_warp + warp
    grid = 0 if is_global else int(o.cluster[slot]) * int(o.n[CTAS] * o.n[WARPS])
    race = RACE_IN_GLOBAL if is_global else RACE
    what, other, who = 0, 0, 0
    if written <= start and not is_global:
        if how & READS:
            return UNINITIALIZED, site, 0
    elif how & STAYS:
        return 0, 0, 0
    elif (written > floor or writer == proxy) and written > start and written != o.n[NOW]:
        if not knows_writer(o, slot, warp, lane, row, base, writer, written):
            theirs = warp_of(o, writer) if is_global else writer // LANES
            is_strong = writer != proxy and are_strong(o, site, int(one["site"]), grid + mine, grid + theirs)
            if not is_strong and not (theirs == mine and bits & int(o.sites[one["site"]]) & FRAGMENTS):
                what, other, who = RACE_IN_WARP if theirs == mine else race, int(one["site"]), theirs
    # A lane of this instruction has written over what all of them are judged by.
    since = max(start, written) if written != o.n[NOW] else start
    if what in (0, RACE_IN_WARP) and one["update"] > floor:
        place = clash(o, slot, warp, lane, row, base_warp, updates, site, since, is_global)
        if place != NONE:
            who, other = int(updates[place]["warp"]), int(updates[place]["site"])
            what = RACE_IN_WARP if who == mine else race
    if what in (0, RACE_IN_WARP) and how & WRITES and one["read"] > floor:
        place = clash(o, slot, warp, lane, row, base_warp, reads, site, since, is_global)
        if place != NONE:
            who, other = int(reads[place]["warp"]), int(reads[place]["site"])
            what = RACE_IN_WARP if who == mine else race
    return what, other, who


def land(o: Order, slot: int, warp: int, addresses: Array, mask: int, width: int, site: int, by_lane: bool) -> None:
    """Bytes of an asynchronous copy are there."""
    for lane in range(LANES):
        if mask >> lane & 1:
            address = int(addresses[lane])
            start = cell_of(o, slot, address)
            for cell in range(start, end_of(o, slot, address, width)):
                one = o.cells[cell]
                writer = warp * LANES + lane if by_lane else int(o.n[UNITS]) - 1
                one["writer"], one["site"], one["written"], one["last"] = writer, site, o.n[NOW], o.n[NOW]


def granules(o: Order, address: int, width: int) -> int:
    shift = int(o.n[SHIFT])
    return ((address + width - 1) >> shift) - (address >> shift) + 1


def end_of(o: Order, slot: int, address: int, width: int) -> int:
    """The granule after those of an access to shared memory, none where there is no such memory."""
    rank = address >> RANK_SHIFT
    if rank >= o.n[CTAS]:
        return 0
    end = (slot * int(o.n[CTAS]) + rank + 1) * int(o.n[CELLS])
    return min(cell_of(o, slot, address) + granules(o, address, width), end)


def cell_of(o: Order, slot: int, address: int) -> int:
    """The granule of a byte of shared memory."""
    owner = slot * int(o.n[CTAS]) + (address >> RANK_SHIFT)
    return owner * int(o.n[CELLS]) + ((address & OFFSET) >> int(o.n[SHIFT]))


def far_cell(o: Order, address: int) -> int:
    """The granule of a byte of global memory; NONE if there is no page for it."""
    cell = address >> int(o.n[SHIFT])
    page, size = cell >> PAGE_BITS, len(o.page_key)
    place = page % size
    while o.page_key[place] != page:
        if o.page_key[place] == NONE:
            return NONE
        place = (place + 1) % size
    return int(o.page_at[place] << PAGE_BITS) + (cell & (1 << PAGE_BITS) - 1)


def warp_of(o: Order, writer: int) -> int:
    """The warp of the grid of a thread as granules of global memory name it."""
    units, warps = int(o.n[UNITS]), int(o.n[CTAS] * o.n[WARPS])
    cluster = writer // units
    return cluster * warps + (writer - cluster * units) // LANES


def synchronise(
    o: Order, slot: int, warp: int, addresses: Array, mask: int, site: int, how: int, is_global: bool
) -> None:
    """What lanes have read strongly they acquire, what they write they release, as the instruction says."""
    bits, rest = int(o.sites[site]), mask
    scope = bits >> SCOPE & 3
    if o.n[EDGES] == 0 and not bits & (ACQUIRES | RELEASES):
        return  # nothing to hand on
    while rest:
        part = same_address(addresses, rest)
        rest &= ~part
        address, since = int(addresses[lowest(part)]), int(o.before[lowest(part)])
        key = address if is_global else shared_key(o, slot, address)
        if how & READS:
            acquire_at(o, slot, warp, part, key, since, scope, bits & ACQUIRES != 0)
        if how & WRITES:
            release_at(o, slot, warp, part, key, since, scope, bits & RELEASES != 0, how & READS != 0)


def same_address(addresses: Array, lanes: int) -> int:
    """Those of some lanes that have the address of the first of them."""
    found, address = 0, -1
    for lane in range(LANES):
        if lanes >> lane & 1:
            mine = int(addresses[lane])
            if address < 0:
                address = mine
            if mine == address:
                found |= 1 << lane
    return found


def shared_key(o: Order, slot: int, address: int) -> int:
    return IN_SHARED | int(o.cluster[slot]) << 32 | address


def tell(
    o: Order, found: Array, what: int, site: int, other: int, address: int, slot: int, warp: int, lane: int, who: int, is_global: bool
) -> None:  # fmt: skip
    """Note a problem."""
    if o.n[COUNT] == len(found):
        return
    row = found[int(o.n[COUNT])]
    o.n[COUNT] += 1
    row[0], row[1], row[2], row[3] = what, site, other, address
    row[4] = int(o.cluster[slot]) * int(o.n[CTAS]) + warp // int(o.n[WARPS])
    row[5], row[6], row[7], row[8] = warp % int(o.n[WARPS]), lane, who, is_global
