"""The scan over records that keeps clocks and granules, and finds races."""

from __future__ import annotations

from ptxsim.checks.order.accesses import OFFSET, access, cell_of, end_of, same_address, shared_key, tell
from ptxsim.checks.order.cells import RACE, knows_writer, row_for
from ptxsim.checks.order.clocks import lowest
from ptxsim.checks.order.edges import (
    acquire_at,
    arrive,
    barrier_number,
    cover,
    entry_at,
    fence,
    forget,
    leave,
    owner_of,
    release_at,
    sync_warp,
)
from ptxsim.checks.order.sites import ACQUIRES, ARRIVES, COVERS, RELEASES, SCOPE
from ptxsim.checks.order.state import BARRIERS, CTAS, FAR, KEPT, MARGIN, MOST_FAR, NONE, NOW, OVER, UNITS, WARPS, Order
from ptxsim.jit.body import Array, body
from ptxsim.lanes import LANES
from ptxsim.machine.event import FLAG_ASYNC_PROXY, Event, Proxy, Scope, Space

KINDS = 5  # problems of a record at most
FIELDS = 9


@body(enough=200)
def scan(records: Array, first: int, o: Order, found: Array) -> int:
    """Go over records from `first` on; returns the number of the first that there is no room for, or of the end.

    Problems go to `found`: rows of (what, site, other site, address, CTA, warp, lane, other's warp in the grid, whether global).
    """
    for i in range(first, len(records)):
        record = records[i]
        place = int(o.place[record["cta"]])
        if place == OVER:
            continue
        if place == NONE or o.n[KEPT] + MARGIN > len(o.kept):
            return i
        if o.n[FAR] + MARGIN > len(o.known) and len(o.known) > 1 and len(o.known) < MOST_FAR:
            return i
        slot, rank = place // int(o.n[CTAS]), place % int(o.n[CTAS])
        warp = rank * int(o.n[WARPS]) + int(record["warp"])
        event, mask, site = int(record["event"]), int(record["mask"]), int(record["site"])
        addresses, bits = record["addresses"], int(o.sites[record["site"]])
        o.n[NOW] += 1
        if event == Event.ARRIVE:
            number = barrier_number(o, rank, int(addresses[0]), int(addresses[1]))
            relaxed = int(addresses[0]) >= BARRIERS and int(addresses[2]) != 0
            arrive(o, slot, warp, mask, number, int(addresses[1]), relaxed, not bits & ARRIVES)
        elif event == Event.LEAVE:
            number = barrier_number(o, rank, int(addresses[0]), int(addresses[1]))
            is_whole = int(addresses[0]) < BARRIERS and o.come[slot, number] == o.threads[slot, rank]
            leave(o, slot, warp, mask, number, is_whole)
        elif event == Event.SYNC_WARP:
            sync_warp(o, slot, warp, mask, addresses)
        elif event == Event.FENCE:
            proxy, scope = int(addresses[1]), int(addresses[0])
            if proxy == Proxy.GENERIC:
                fence(o, slot, warp, mask, scope, bits & ACQUIRES != 0, bits & RELEASES != 0)
                if bits & COVERS:
                    cover(o, slot, warp, mask)
            elif proxy == Proxy.MBARRIER_INIT or proxy == Proxy.TENSORMAP:
                fence(o, slot, warp, mask, scope, False, True)
        elif event == Event.EXIT:
            leave_grid(o, slot, rank, warp, mask)
        elif event == Event.MBARRIER_ARRIVE or event == Event.MBARRIER_WAIT:
            if not int(record["flags"]) & FLAG_ASYNC_PROXY:
                use_mbarriers(o, slot, warp, mask, addresses, site, event == Event.MBARRIER_WAIT, found)
        elif event <= Event.ASYNC_WAIT:
            space = int(record["space"])
            if space == Space.SHARED or space == Space.GLOBAL:
                if not access(o, slot, rank, warp, record, event, space == Space.GLOBAL, found):
                    o.n[NOW] -= 1
                    return i
    return len(records)


def leave_grid(o: Order, slot: int, rank: int, warp: int, mask: int) -> None:
    """Lanes exit."""
    o.live[slot, warp] = int(o.live[slot, warp]) & ~mask
    o.threads[slot, rank] -= mask.bit_count()
    live, row = int(o.live[slot, warp]), NONE
    if o.uniform[slot, warp] == NONE and live != 0:
        for lane in range(LANES):
            if live >> lane & 1:
                mine = int(o.row_of[slot, warp * LANES + lane])
                if row != NONE and mine != row:
                    return
                row = mine
        o.uniform[slot, warp] = row


# ---- mbarriers ----


def use_mbarriers(
    o: Order, slot: int, warp: int, mask: int, addresses: Array, site: int, waits: bool, found: Array
) -> None:  # fmt: skip
    """Lanes arrive at mbarriers, or have waited for them."""
    bits, rest = int(o.sites[site]), mask
    scope = bits >> SCOPE & 3
    while rest:
        part = same_address(addresses, rest)
        rest &= ~part
        address = int(addresses[lowest(part)])
        offset, cell = address & OFFSET, cell_of(o, slot, address)
        if cell >= end_of(o, slot, address, 1):
            continue
        made, key = o.cells[cell], shared_key(o, slot, address)
        lane = lowest(part)
        row = row_for(o, slot, warp, lane)
        if not knows_writer(o, slot, warp, lane, row, 0, int(made["writer"]), int(made["written"])):
            if made["written"] > o.start[slot]:
                tell(o, found, RACE, site, int(made["site"]), offset, slot, warp, lane, int(made["writer"]) >> 5, False)
        if waits:
            if bits & ACQUIRES:
                acquire_at(o, slot, warp, part, key, int(made["written"]), scope, True)
                see_copies(o, slot, warp, part)
        elif bits & RELEASES:
            for wide in range(Scope.GPU):
                place = entry_at(o, key, owner_of(o, slot, warp // int(o.n[WARPS]), wide), False)
                if place != NONE:
                    if o.entries[place]["time"] < made["written"]:
                        forget(o, place)
                    o.entries[place]["time"] = o.n[NOW]
            release_at(o, slot, warp, part, key, 0, scope, True, False)


def see_copies(o: Order, slot: int, warp: int, lanes: int) -> None:
    """What asynchronous copies have written by now is known to lanes that have waited for an mbarrier."""
    rest = lanes
    while rest:
        lane = lowest(rest)
        o.clock[row_for(o, slot, warp, lane), int(o.n[UNITS]) - 1] = o.n[NOW]
        rest &= rest - 1
