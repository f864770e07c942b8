"""mbarriers: who knows of them, what threads hand on there, and who uses one that ends. For bodies."""

from __future__ import annotations

from ptxsim.checks.order.by_line import lay_out
from ptxsim.checks.order.cells import AHEAD, ANY, OFFSET, UNSEEN, cell_of, end_of, knows_writer, note, row_for, tell
from ptxsim.checks.order.clocks import lowest
from ptxsim.checks.order.edges.completions import complete, go_on_completed, know, land_in, one_ahead, see_completed
from ptxsim.checks.order.edges.entries import entry_at, forget, go_on, owner_of
from ptxsim.checks.order.edges.proxies import see_copies, waited
from ptxsim.checks.order.edges.releases import acquire_at, release_at, same_address, shared_key
from ptxsim.checks.order.edges.tensor_memory import release_committed
from ptxsim.checks.order.sites import ACQUIRES, INITIALIZES, RELEASES, SCOPE
from ptxsim.checks.order.state import (
    CELLS,
    CTAS,
    ENDED,
    INITS,
    LINE_BITS,
    LINES,
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
from ptxsim.machine.event import FLAG_ASYNC_PROXY, FLAG_CORE, FLAG_ISSUED, FLAG_LANDED, ODD_PHASE, Scope
from ptxsim.machine.memory import RANK_SHIFT

ODD_BIT = 61  # of the key of an mbarrier's entries


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
        if o.n[ENDED] and not flags & (FLAG_ASYNC_PROXY | FLAG_LANDED | FLAG_ISSUED) and bits & (ACQUIRES | RELEASES):
            note_use(o, slot, warp, part, address, cell, site)
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


def note_use(o: Order, slot: int, warp: int, lanes: int, address: int, cell: int, site: int) -> None:
    """Lanes have used an mbarrier: who ends it is to know that of one of them. (In libcu++'s pipelines one lane counts for those that match.any.sync has
    brought together.)"""
    number, now = cell >> LINE_BITS - int(o.n[SHIFT]), int(o.n[NOW])
    o.lines[number]["read"], o.lines[number]["others"], o.n[LOG_FROM] = now, now, now
    row = row_for(o, slot, warp, lowest(lanes))
    since = max(int(o.start[slot]), int(o.cells[cell]["written"]))
    note(o, warp, ANY, row, 0, o.reads[cell], address >> RANK_SHIFT, site, since)


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


def release_landed(o: Order, slot: int, rank: int, lanes: int, warp: int, key: int, scope: int) -> None:
    """Besides what lanes knew when they issued them, their copies are done."""
    place = entry_at(o, key, owner_of(o, slot, rank, scope), False)
    if place == NONE:
        return
    for lane in range(LANES):
        if lanes >> lane & 1:
            o.kept[o.entries[place]["row"], warp * LANES + lane] = o.n[NOW]
    o.entries[place]["snap"] = 0
