"""The scan over records that keeps clocks and granules, and finds races."""

from __future__ import annotations

from ptxsim.checks.order.cells import UNLIKE, UNMET, products_of, tell
from ptxsim.checks.order.clocks import lowest
from ptxsim.checks.order.edges.barriers import (
    arrive,
    barrier_number,
    came_unlike,
    come_to_cluster,
    has_not_met,
    leave,
    stray,
    sync_warp,
)
from ptxsim.checks.order.edges.completions import know
from ptxsim.checks.order.edges.departures import depart, read_by_copies
from ptxsim.checks.order.edges.mbarriers import publish_mbarriers, use_mbarriers
from ptxsim.checks.order.edges.proxies import publish
from ptxsim.checks.order.edges.releases import fence
from ptxsim.checks.order.edges.tensor_maps import acquire_map
from ptxsim.checks.order.edges.tensor_memory import fence_after, fence_before, free, use
from ptxsim.checks.order.log import work_off_apart
from ptxsim.checks.order.memory.accesses import access
from ptxsim.checks.order.memory.dependents import meet_prior, signal, wait
from ptxsim.checks.order.memory.lines import is_in_order
from ptxsim.checks.order.memory.remote_copies import meet_generic
from ptxsim.checks.order.memory.tiles import is_tile_in_order
from ptxsim.checks.order.memory.whole import change
from ptxsim.checks.order.sites import ACQUIRES, ARRIVES, COVERS, IGNORED, RELEASES, STRONG
from ptxsim.checks.order.slots import admit, end
from ptxsim.checks.order.state import (
    AWAITED,
    BARRIERS,
    CROSSING,
    CTAS,
    EDGES,
    FAR,
    KEPT,
    MARGIN,
    MOST_FAR,
    NONE,
    NOW,
    OVER,
    PRODUCTS,
    RING,
    SHIFT,
    STRAYED,
    THREADS,
    WARPS,
    Order,
)  # fmt: skip
from ptxsim.jit.body import Array, body
from ptxsim.jit.vectors import lanes_between
from ptxsim.lanes import LANES
from ptxsim.machine.event import FLAG_READ, Event, Proxy, Space

KINDS = 7  # problems of a record at most
FIELDS = 9


@body(enough=200, worth=1000)
def scan(records: Array, first: int, o: Order, found: Array) -> int:
    """Go over records from `first` on; returns the number of the first that there is no room for, or of the end.

    Problems go to `found`: rows of (what, site, other site, address, CTA, warp, lane, other's warp in the grid, whether global).
    """
    for i in range(first, len(records)):
        record = records[i]
        place = int(o.place[record["cta"]])
        if place == OVER:
            continue
        if place == NONE:
            place = admit(o, int(record["cta"]))
        if place == NONE or o.n[KEPT] + MARGIN > len(o.kept):
            return i
        if o.n[FAR] + MARGIN > len(o.known) and len(o.known) > 1 and len(o.known) < MOST_FAR:
            return i
        slot, rank = place, 0
        if o.n[CTAS] > 1:
            slot, rank = place // int(o.n[CTAS]), place % int(o.n[CTAS])
            if o.n[EDGES] != 0:  # from now on warps get to know each other between barriers, too
                work_off_apart(o)
        warp = rank * int(o.n[WARPS]) + int(record["warp"])
        event, mask, site = int(record["event"]), int(record["mask"]), int(record["site"])
        addresses, bits = record["addresses"], int(o.sites[record["site"]])
        o.n[NOW] += 1
        if o.pending[slot, warp] != 0 and event != Event.LEAVE:
            stray(o, slot, warp)
        if event == Event.ARRIVE:
            number = barrier_number(o, rank, int(addresses[0]), int(addresses[1]))
            relaxed = int(addresses[0]) >= BARRIERS and int(addresses[2]) != 0
            other = has_not_met(o, slot, warp, mask, number, int(addresses[1]))
            if other != NONE:
                tell(o, found, UNMET, site, site, int(addresses[0]), slot, warp, lowest(mask), other, False)
            other = came_unlike(o, slot, number, int(addresses[1]), site)
            if other != NONE:
                tell(o, found, UNLIKE, site, other, int(addresses[0]), slot, warp, lowest(mask), warp, False)
            if relaxed:
                come_to_cluster(o, slot, warp, int(addresses[1]))
            arrive(o, slot, warp, mask, number, int(addresses[1]), relaxed, not bits & ARRIVES)
        elif event == Event.LEAVE:
            number = barrier_number(o, rank, int(addresses[0]), int(addresses[1]))
            is_whole = int(addresses[0]) < BARRIERS and o.come[slot, number] == o.n[THREADS]
            leave(o, slot, warp, mask, number, is_whole)
            if int(addresses[0]) >= BARRIERS:
                o.relaxed[slot, rank] = o.relaxed[slot, o.n[CTAS]]
        elif event == Event.SYNC_WARP:
            sync_warp(o, slot, warp, mask, addresses)
        elif event == Event.FENCE:
            proxy, scope = int(addresses[1]), int(addresses[0])
            if proxy == Proxy.GENERIC:
                fence(o, slot, warp, mask, scope, bits & ACQUIRES != 0, bits & RELEASES != 0, bits & COVERS != 0)
            elif proxy == Proxy.MBARRIER_INIT:
                publish_mbarriers(o, slot, rank, warp, mask)
            elif proxy == Proxy.ASYNC or proxy == Proxy.ASYNC_GLOBAL or proxy == Proxy.ASYNC_SHARED:
                publish(o, slot, warp, mask, proxy)
            elif proxy == Proxy.TENSORMAP:
                fence(o, slot, warp, mask, scope, False, True, False)
            elif proxy == Proxy.TENSORMAP_ACQUIRE:
                fence(o, slot, warp, mask, scope, True, False, False)
                acquire_map(o, slot, warp, mask, int(addresses[2]))
            elif proxy == Proxy.DEPENDENTS:
                signal(o, slot, rank, warp, mask)
            elif proxy == Proxy.PREREQUISITES:
                wait(o, slot, warp, mask)
        elif event == Event.EXIT:
            if int(o.live[slot, warp]) & mask:
                depart(o, slot, rank, warp, int(o.live[slot, warp]) & mask, site, found)
                leave_grid(o, slot, rank, warp, mask)
                end(o, slot)
        elif event == Event.TENSOR_USE:
            use(o, slot, warp, mask, addresses, site, found)
        elif event == Event.TENSOR_FREE:
            free(o, slot, warp, mask, addresses, site, found)
        elif event == Event.TENSOR_FENCE:
            if addresses[0]:
                fence_after(o, slot, warp, mask)
            else:
                fence_before(o, slot, warp, mask)
        elif bits & IGNORED:
            continue  # the phase may go on
        elif event == Event.MBARRIER_ARRIVE or event == Event.MBARRIER_WAIT:
            waits = event == Event.MBARRIER_WAIT
            use_mbarriers(o, slot, warp, mask, addresses, site, waits, int(record["flags"]), found)
        elif event == Event.WGMMA_WAIT:
            wait_for_products(o, slot, warp, mask, int(addresses[0]))
        elif event <= Event.ASYNC_WAIT:
            space = int(record["space"])
            if space == Space.SHARED or space == Space.GLOBAL:
                if int(record["width"]) & (1 << int(o.n[SHIFT])) - 1:
                    o.n[NOW] -= 1
                    return i
                is_global = space == Space.GLOBAL
                if not is_global and event >= Event.ASYNC_READ:
                    read_by_copies(o, slot, rank, record, event, bits)
                if not is_global:
                    change(o, slot, event, int(record["flags"]), bits)
                if not is_global and o.n[CROSSING]:
                    meet_generic(o, slot, rank, warp, record, event, bits, found)
                if is_global and o.n[AWAITED]:
                    meet_prior(o, slot, warp, record, event, found)
                if is_global and len(o.left) and reads_what_is_left(o, record, event, bits):
                    continue
                if is_in_order(o, slot, rank, warp, record, event, bits, is_global):
                    continue
                if not is_global and is_tile_in_order(o, slot, rank, warp, record, event, bits):
                    continue
                if not access(o, slot, warp, record, event, is_global, found):
                    o.n[NOW] -= 1
                    return i
    return len(records)


def reads_what_is_left(o: Order, record: Array, event: int, bits: int) -> bool:
    """Whether an access only reads what the launch leaves as it is: nothing is to be remembered of it. Writes there are counted."""
    addresses, mask, width, inside = record["addresses"], int(record["mask"]), int(record["width"]), 0
    is_read = event == Event.LOAD or event == Event.LDMATRIX or event == Event.ASYNC_READ
    if event == Event.ASYNC_ISSUE or event == Event.ASYNC_WAIT:
        is_read = int(record["flags"]) & FLAG_READ != 0
    for k in range(len(o.left)):
        first, end = int(o.left[k, 0]), int(o.left[k, 1])
        if is_read:
            inside |= lanes_between(addresses, mask, first, end - width)
        elif lanes_between(addresses, mask, first - width + 1, end - 1):
            o.n[STRAYED] += 1
    return is_read and inside == mask and not bits & STRONG


def leave_grid(o: Order, slot: int, rank: int, warp: int, mask: int) -> None:
    """Lanes exit."""
    live, row = int(o.live[slot, warp]) & ~mask, NONE
    o.threads[slot, rank] -= (int(o.live[slot, warp]) & mask).bit_count()
    o.live[slot, warp] = live
    if o.uniform[slot, warp] == NONE and live != 0:
        for lane in range(LANES):
            if live >> lane & 1:
                mine = int(o.row_of[slot, warp * LANES + lane])
                if row != NONE and mine != row:
                    return
                row = mine
        o.uniform[slot, warp] = row


def wait_for_products(o: Order, slot: int, warp: int, lanes: int, count: int) -> None:
    """A warp has waited for so many products of its warpgroup."""
    column = products_of(o, warp)
    group = column - int(o.n[PRODUCTS])
    if group >= o.waits.shape[1]:
        return  # there are no products
    for number in range(max(int(o.waits[slot, group]), count - RING), count):
        o.over[slot, group, number % RING] = o.n[NOW]
    o.waits[slot, group] = max(o.waits[slot, group], count)
    if count:
        know(o, slot, warp, lanes, column, int(o.over[slot, group, (count - 1) % RING]))
