"""Accesses to memory: judged by what the granules that they touch remember, and remembered. For bodies."""

from __future__ import annotations

from ptxsim.checks.order.cells import (
    ALL,
    ANY,
    COPIES,
    NOBODY,
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
from ptxsim.checks.order.edges import (
    acquire_at,
    release_at,
)
from ptxsim.checks.order.sites import (
    ACQUIRES,
    CP_ASYNC,
    FRAGMENTS,
    LATER,
    RELEASES,
    SCOPE,
    STRONG,
    TOGETHER,
    WARPGROUP,
)
from ptxsim.checks.order.state import (
    CELLS,
    COUNT,
    CTAS,
    NONE,
    NOW,
    PAGE_BITS,
    SHIFT,
    UNITS,
    WARPS,
    Order,
)
from ptxsim.jit.body import Array
from ptxsim.lanes import LANES
from ptxsim.machine.event import FLAG_ASYNC_PROXY, FLAG_READ, FLAG_UNCHANGED, Event
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
    elif event == Event.ASYNC_READ:
        how, together = READS, ANY
    elif event == Event.ASYNC_ISSUE and not flags & FLAG_READ:
        how, together = WRITES | COPIES, ANY if by_proxy else 0
    elif event == Event.ASYNC_WAIT and not by_proxy:
        how = WRITES
    elif event == Event.ASYNC_WAIT and flags & FLAG_READ and not bits & WARPGROUP:
        how, together = READS, ANY
    if event == Event.ASYNC_WRITE or (bits & LATER and how & WRITES and not how & COPIES):
        if not is_global:
            land(o, slot, warp, addresses, mask, width, site, bits & CP_ASYNC != 0)
        return True
    if how == 0:
        return True
    if together == 0 and bits & TOGETHER:
        together = ALL
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
    for lane in range(LANES):
        if mask >> lane & 1:
            address = int(addresses[lane])
            if far_cell(o, address) == NONE or far_cell(o, address + width - 1) == NONE:
                return False
    return True


def touch(
    o: Order, slot: int, warp: int, addresses: Array, mask: int, width: int, site: int, how: int, together: int,
    is_global: bool, cells: Array, reads: Array, updates: Array, found: Array,
) -> None:  # fmt: skip
    """Judge and remember an access of lanes, each `width` bytes; together: ANY, ALL, or 0 where each stands for itself."""
    bits, now = int(o.sites[site]), int(o.n[NOW])
    cluster = int(o.cluster[slot]) if is_global else 0
    base, base_warp = cluster * int(o.n[UNITS]), cluster * int(o.n[CTAS] * o.n[WARPS])
    is_strong, has_updates = bits & STRONG != 0, updates.shape[1] != 0
    is_update = is_strong and how & WRITES != 0
    start = 0 if is_global else int(o.start[slot])
    said = 0
    for each in range(LANES):
        if not mask >> each & 1:
            continue
        lane = each if together == 0 else together
        address = int(addresses[each])
        row = row_for(o, slot, warp, lane)
        floor = -1 if is_global else int(o.floor[row])
        first = far_cell(o, address) if is_global else cell_of(o, slot, address)
        home = NONE if is_global else address >> RANK_SHIFT
        end = first + granules(o, address, width) if is_global else end_of(o, slot, address, width)
        if first >= end:
            continue
        o.before[each] = cells[first]["last"]
        for cell in range(first, end):
            one = cells[cell]
            written, writer = int(one["written"]), int(one["writer"])
            what, other, who = 0, 0, 0
            stays = how & STAYS != 0
            if written <= start and not is_global:
                stays = False
                if how & READS:
                    what, other = UNINITIALIZED, site
            elif written > floor or writer == base + int(o.n[UNITS]) - 1:
                if written > start and written != now and not stays:
                    mine = base_warp + warp
                    theirs = writer // LANES if not is_global else warp_of(o, writer)
                    grid = int(o.cluster[slot]) * int(o.n[CTAS] * o.n[WARPS])
                    if not knows_writer(o, slot, warp, lane, row, base, writer, written):
                        strong = is_strong and writer != base + int(o.n[UNITS]) - 1 and are_strong(
                            o, site, int(one["site"]), grid + warp, theirs if is_global else grid + theirs
                        )  # fmt: skip
                        if not strong and not (theirs == mine and bits & int(o.sites[one["site"]]) & FRAGMENTS):
                            other, who = int(one["site"]), theirs
                            what = RACE_IN_WARP if theirs == mine else RACE_IN_GLOBAL if is_global else RACE
            if what != UNINITIALIZED and what != RACE and what != RACE_IN_GLOBAL:
                if has_updates and one["update"] > max(floor, start) and not stays:
                    place = clash(
                        o, slot, warp, lane, row, base_warp, updates[cell], site, max(start, written), is_global
                    )
                    if place != NONE:
                        other, who = int(updates[cell, place]["site"]), int(updates[cell, place]["warp"])
                        what = RACE_IN_WARP if who == base_warp + warp else RACE_IN_GLOBAL if is_global else RACE
                if how & WRITES and not stays and one["read"] > max(floor, start) and what in (0, RACE_IN_WARP):
                    place = clash(
                        o, slot, warp, lane, row, base_warp, reads[cell], site, max(start, written), is_global
                    )
                    if place != NONE:
                        other, who = int(reads[cell, place]["site"]), int(reads[cell, place]["warp"])
                        what = RACE_IN_WARP if who == base_warp + warp else RACE_IN_GLOBAL if is_global else RACE
            if what and not said >> what & 1:
                said |= 1 << what
                at = address if cell == first else (cell - first << int(o.n[SHIFT])) + address
                tell(
                    o,
                    found,
                    what,
                    site,
                    other,
                    at if is_global else at & OFFSET,
                    slot,
                    warp,
                    max(each, 0),
                    who,
                    is_global,
                )
            if how & COPIES:  # who reads it before it is there has not waited: checks.proxy_scan
                one["writer"], one["written"], one["site"], one["last"] = NOBODY, now, site, now
            elif is_update and written > start:
                one["last"], one["update"] = now, now
                note(o, slot, warp, lane, row, base_warp, updates[cell], home, site, max(start, written))
            elif how & WRITES and not stays:
                unit = warp * LANES + each
                one["writer"], one["written"], one["site"], one["last"] = base + unit, now, site, now
            else:
                if how & WRITES:
                    one["last"] = now
                one["read"] = now
                if not bits & WARPGROUP:  # any warp of the four may say that the product is over: checks.proxy_scan
                    note(o, slot, warp, lane, row, base_warp, reads[cell], home, site, max(start, written))


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
