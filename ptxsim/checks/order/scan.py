"""The scan over records that keeps clocks and granules, and finds races."""

from __future__ import annotations

from ptxsim.checks.order.accesses import access
from ptxsim.checks.order.barriers import arrive, barrier_number, came_unlike, has_not_met, leave, stray, sync_warp
from ptxsim.checks.order.by_line import lay_out
from ptxsim.checks.order.cells import (
    AHEAD,
    OFFSET,
    UNLIKE,
    UNMET,
    UNSEEN,
    cell_of,
    end_of,
    knows_writer,
    products_of,
    row_for,
    tell,
)
from ptxsim.checks.order.clocks import lowest
from ptxsim.checks.order.completions import complete, go_on_completed, know, land_in, one_ahead, see_completed
from ptxsim.checks.order.departures import depart, read_by_copies
from ptxsim.checks.order.dependents import meet_prior, signal, wait
from ptxsim.checks.order.edges import acquire_at, fence, release_at, same_address, shared_key
from ptxsim.checks.order.entries import entry_at, forget, go_on, owner_of
from ptxsim.checks.order.lines import is_in_order
from ptxsim.checks.order.log import work_off_apart
from ptxsim.checks.order.maps import acquire_map
from ptxsim.checks.order.proxies import publish, see_copies, waited
from ptxsim.checks.order.sites import ACQUIRES, ARRIVES, COVERS, IGNORED, INITIALIZES, RELEASES, SCOPE, STRONG
from ptxsim.checks.order.slots import admit, end
from ptxsim.checks.order.state import (
    AWAITED,
    BARRIERS,
    CELLS,
    CTAS,
    EDGES,
    FAR,
    INITS,
    KEPT,
    LINE_BITS,
    LINES,
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
    UNITS,
    WARPS,
    Order,
)  # fmt: skip
from ptxsim.checks.order.tensors import fence_after, fence_before, free, release_committed, use
from ptxsim.checks.order.tiles import is_tile_in_order
from ptxsim.checks.order.whole import change
from ptxsim.jit.body import Array, body
from ptxsim.jit.vectors import lanes_between
from ptxsim.lanes import LANES
from ptxsim.machine.event import (
    FLAG_ASYNC_PROXY,
    FLAG_CORE,
    FLAG_ISSUED,
    FLAG_LANDED,
    FLAG_READ,
    ODD_PHASE,
    Event,
    Proxy,
    Scope,
    Space,
)
from ptxsim.machine.memory import RANK_SHIFT

KINDS = 7  # problems of a record at most
FIELDS = 9
ODD_BIT = 61  # of the key of an mbarrier's entries


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
                o.relaxed[slot] = o.n[NOW]
            arrive(o, slot, warp, mask, number, int(addresses[1]), relaxed, not bits & ARRIVES)
        elif event == Event.LEAVE:
            number = barrier_number(o, rank, int(addresses[0]), int(addresses[1]))
            is_whole = int(addresses[0]) < BARRIERS and o.come[slot, number] == o.n[THREADS]
            leave(o, slot, warp, mask, number, is_whole)
        elif event == Event.SYNC_WARP:
            sync_warp(o, slot, warp, mask, addresses)
        elif event == Event.FENCE:
            proxy, scope = int(addresses[1]), int(addresses[0])
            if proxy == Proxy.GENERIC:
                fence(o, slot, warp, mask, scope, bits & ACQUIRES != 0, bits & RELEASES != 0, bits & COVERS != 0)
            elif proxy == Proxy.MBARRIER_INIT:
                publish_mbarriers(o, slot, rank, warp, mask)
            elif proxy == Proxy.ASYNC or proxy == Proxy.ASYNC_GLOBAL:
                publish(o, slot, warp, mask)
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
                if is_global and o.n[AWAITED]:
                    meet_prior(o, slot, warp, record, event, found)
                if is_global and len(o.left) and reads_what_is_left(o, record, event, bits):
                    continue
                if is_in_order(o, slot, rank, warp, record, event, bits, is_global):
                    continue
                if not is_global and is_tile_in_order(o, slot, rank, warp, record, event, bits):
                    continue
                if not access(o, slot, rank, warp, record, event, is_global, found):
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


# ---- mbarriers ----


def publish_mbarriers(o: Order, slot: int, rank: int, warp: int, lanes: int) -> None:
    """fence.mbarrier_init: what lanes have initialised in their CTA is handed on by relaxed arrivals, too, and nothing else is.

    So it is known in two ways: by what its thread has done, or by the column that is all that such an arrival hands on without a fence.
    """
    to_line, lines, now = LINE_BITS - int(o.n[SHIFT]), int(o.n[LINES]), int(o.n[NOW])
    place, known = slot * int(o.n[CTAS]) + rank, 0
    for number in range(lines):
        if o.lines[place * lines + number]["written"] > o.start[slot]:
            lay_out(o, place * lines + number)
            first = place * int(o.n[CELLS]) + (number << to_line)
            for cell in range(first, min(first + (1 << to_line), (place + 1) * int(o.n[CELLS]))):
                one = o.cells[cell]
                unit = int(one["writer"])
                if unit >> 5 == warp and lanes >> (unit & 31) & 1 and o.sites[one["site"]] & INITIALIZES:
                    if one["written"] > o.start[slot] and one["updater"] <= one["written"]:
                        one["updater"] = now
                        known |= 1 << (unit & 31)  # who has initialised it
    know(o, slot, warp, known, int(o.n[INITS]) + rank, now)


def use_mbarriers(
    o: Order, slot: int, warp: int, mask: int, addresses: Array, site: int, waits: bool, flags: int, found: Array
) -> None:  # fmt: skip
    """Lanes arrive at mbarriers, or have waited for them; flags: of the record."""
    rest, bits = mask, int(o.sites[site])
    while rest:
        part = same_address(addresses, rest)
        rest &= ~part
        named = int(addresses[lowest(part)])
        address, is_odd = named & ((1 << ODD_PHASE) - 1), named >> ODD_PHASE & 1
        cell = cell_of(o, slot, address)
        if cell >= end_of(o, slot, address, 1):
            if (
                flags & (FLAG_ASYNC_PROXY | FLAG_ISSUED) == FLAG_ASYNC_PROXY
            ):  # one of another CTA than the data's: any wait says that the data is there
                land_in(o, slot, part, int(o.n[UNITS]) - 1, 0)
            continue
        lay_out(o, cell >> LINE_BITS - int(o.n[SHIFT]))
        made, key = o.cells[cell], shared_key(o, slot, address)
        written, writer = int(made["written"]), int(made["writer"])
        by_copy = not waits and flags & FLAG_ASYNC_PROXY != 0
        if not flags & (FLAG_ISSUED if by_copy else FLAG_LANDED) and written > o.start[slot]:
            lane = unaware(o, slot, warp, part, address >> RANK_SHIFT, writer, written, int(made["updater"]))
            if lane != NONE:
                tell(o, found, UNSEEN, site, int(made["site"]), address & OFFSET, slot, warp, lane, writer >> 5, False)
        if waits:
            wait_for_phase(o, slot, warp, part, phase_key(key, is_odd), site, written)
            see_completed(o, slot, warp, part, address, is_odd, bits & ACQUIRES != 0)
        elif by_copy and flags & FLAG_ISSUED:
            arrive_in_phase(o, slot, warp, part, key, is_odd, Scope.CLUSTER, True, written, False)
            arrive_at_home(o, slot, released_at(o, slot, warp, phase_key(key, is_odd), Scope.CLUSTER), address)
        elif by_copy:
            complete(o, slot, part, address, is_odd)
        else:
            lane = (
                NONE
                if flags & (FLAG_LANDED | FLAG_ISSUED | FLAG_CORE)
                else one_ahead(o, slot, warp, part, address, is_odd)
            )
            if lane != NONE:
                tell(o, found, AHEAD, site, int(made["site"]), address & OFFSET, slot, warp, lane, writer >> 5, False)
            go_on_completed(o, slot, address, is_odd)
            scope = bits >> SCOPE & 3
            arrive_in_phase(
                o, slot, warp, part, key, is_odd, scope, bits & RELEASES != 0, written, flags & FLAG_LANDED != 0
            )
            if flags & FLAG_CORE and flags & FLAG_ISSUED:  # what is begun after a commit it does not stand for
                release_committed(o, released_at(o, slot, warp, phase_key(key, is_odd), scope), warp)
            if flags & FLAG_ISSUED:
                arrive_at_home(o, slot, released_at(o, slot, warp, phase_key(key, is_odd), scope), address)


def unaware(o: Order, slot: int, warp: int, lanes: int, rank: int, writer: int, time: int, published: int) -> int:
    """One of some lanes that does not know of an initialisation; NONE if all do. rank: of the mbarrier's CTA; published: when its thread
    has executed fence.mbarrier_init, if that is after it."""
    rest, inits = lanes, int(o.n[INITS]) + rank
    while rest:
        lane = lowest(rest)
        rest &= rest - 1
        row = row_for(o, slot, warp, lane)
        is_handed_on = published > time and o.clock[row, inits] >= published
        if not is_handed_on and not knows_writer(o, slot, warp, lane, row, 0, writer, time):
            return lane
        if o.uniform[slot, warp] != NONE and writer >> 5 != warp:
            return NONE
    return NONE


def phase_key(key: int, is_odd: int) -> int:
    """What is released in a phase is kept beside what is released in the next one, which may begin before all have waited."""
    return key | is_odd << ODD_BIT


def wait_for_phase(o: Order, slot: int, warp: int, lanes: int, key: int, site: int, since: int) -> None:
    bits = int(o.sites[site])
    waited(o, slot, warp, lanes)
    acquire_at(o, slot, warp, lanes, key, since, bits >> SCOPE & 3, bits & ACQUIRES != 0)
    if bits & ACQUIRES:
        see_copies(o, slot, warp, lanes)


def arrive_in_phase(
    o: Order, slot: int, warp: int, lanes: int, key: int, is_odd: int, scope: int, releases: bool, since: int, has_landed: bool
) -> None:  # fmt: skip
    """since: when the mbarrier was initialised; has_landed: copies that the lanes have issued arrive for them.

    A copy to another CTA completes with a release in the scope of the cluster: who waits knows what its thread knew when it began it.
    """
    rank, mine, other = warp // int(o.n[WARPS]), phase_key(key, is_odd), phase_key(key, 1 - is_odd)
    for wide in range(Scope.GPU):
        owner = owner_of(o, slot, rank, wide)
        place, before = entry_at(o, mine, owner, False), entry_at(o, other, owner, False)
        if place != NONE and o.entries[place]["time"] < since:
            forget(o, place)
        if before != NONE and o.entries[before]["time"] >= since:
            if place == NONE or o.entries[place]["time"] < o.entries[before]["time"]:
                place = entry_at(o, mine, owner, True)
                go_on(o, place, before)
        if place != NONE:
            o.entries[place]["time"] = o.n[NOW]
    if has_landed:
        release_landed(o, slot, rank, lanes, warp, mine, scope)
    else:
        release_at(o, slot, warp, lanes, mine, 0, scope, releases, False)


def released_at(o: Order, slot: int, warp: int, key: int, scope: int) -> int:
    """The entry of what an arrival has released, in its own scope."""
    return entry_at(o, key, owner_of(o, slot, warp // int(o.n[WARPS]), scope), False)


def arrive_at_home(o: Order, slot: int, place: int, address: int) -> None:
    """What asynchronous operations arrive for is known to who waits in the mbarrier's CTA, in the scope of the CTA too: as with copies
    (see_completed), CUTLASS waits so for the commits of other CTAs. place: of the entry."""
    if place != NONE:
        o.entries[place]["cta"] = int(o.cluster[slot] * o.n[CTAS]) + (address >> RANK_SHIFT)


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


def release_landed(o: Order, slot: int, rank: int, lanes: int, warp: int, key: int, scope: int) -> None:
    """Besides what lanes knew when they issued them, their copies are done."""
    place = entry_at(o, key, owner_of(o, slot, rank, scope), False)
    if place == NONE:
        return
    for lane in range(LANES):
        if lanes >> lane & 1:
            o.kept[o.entries[place]["row"], warp * LANES + lane] = o.n[NOW]
    o.entries[place]["snap"] = 0
