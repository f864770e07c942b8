"""Fences, and releases and acquires at addresses: what they hand on from clock to clock. For bodies."""

from __future__ import annotations

from ptxsim.checks.order.cells import READS, WRITES
from ptxsim.checks.order.clocks import (
    clear,
    copy,
    fence_row,
    first_row,
    join,
    lowest,
    own_row,
    row_of,
    share,
    sharing,
    stamp,
    waiting_row,
)
from ptxsim.checks.order.edges.entries import (
    begun,
    entry_at,
    owner_of,
    reach,
    relaxed_at,
    release_into,
    release_known,
    take_from,
)
from ptxsim.checks.order.edges.hearsay import hear, say
from ptxsim.checks.order.edges.proxies import waited
from ptxsim.checks.order.sites import ACQUIRES, FOLLOWED, LOOKS, PART, RELEASES, SCOPE, WORD
from ptxsim.checks.order.state import COVER_SCOPE, COVERED, CTAS, EDGES, HEARS, NONE, NOW, TENSOR, WARPS, Order
from ptxsim.jit.body import Array
from ptxsim.lanes import LANES
from ptxsim.machine.event import Scope

IN_SHARED = 1 << 62  # in the key of an address

# ---- fences ----


def acquire_row(o: Order, slot: int, warp: int, lanes: int, source: int) -> None:
    """Lanes know from now on what a row knows."""
    rest = lanes
    while rest:
        part = sharing(o, slot, warp, rest)
        mine = own_row(o, slot, warp, part)
        share(o, slot, warp, part, mine)
        join(o, first_row(o, slot, warp) + mine, source)
        rest &= ~part


def fence(o: Order, slot: int, warp: int, lanes: int, scope: int, acquires: bool, releases: bool, covers: bool) -> None:
    """What lanes have read is theirs; what they write from now on hands on what they know. covers: it stands in one order with
    others."""
    if acquires:
        for lane in range(LANES):
            unit = warp * LANES + lane
            if lanes >> lane & 1 and o.need[slot, unit] != NONE and o.need[slot, unit] <= scope:
                acquire_row(o, slot, warp, 1 << lane, waiting_row(o, slot, unit))
                o.need[slot, unit] = NONE
    if covers:
        cover(o, slot, warp, lanes)
    o.n[EDGES] += 1
    if releases:
        rest, base = lanes, fence_row(o, slot, warp)
        while rest:
            part = sharing(o, slot, warp, rest)
            free = free_fence(o, slot, warp, part)
            copy(o, base + free, row_of(o, slot, warp * LANES + lowest(part)))
            for lane in range(LANES):
                if part >> lane & 1:
                    unit = warp * LANES + lane
                    o.fence_row[slot, unit], o.fence_time[slot, unit] = free, o.n[NOW]
                    o.fence_scope[slot, unit] = scope
            rest &= ~part


def cover(o: Order, slot: int, warp: int, lanes: int) -> None:
    """A fence.sc of lanes: what they know comes before the fences of that kind that follow.

    All of these stand in one order. Where a thread meets others that have such a fence (a barrier), and then writes a flag that
    another thread reads before a fence of its own, the fences are in order, and with them what came before the first. So the second
    half of a clock says what is covered by a fence that the thread knows of.
    """
    covered, rest = int(o.n[COVERED]), lanes
    while rest:
        part = sharing(o, slot, warp, rest)
        mine = own_row(o, slot, warp, part)
        share(o, slot, warp, part, mine)
        row = o.clock[first_row(o, slot, warp) + mine]
        for unit in range(covered):
            row[covered + unit] = max(row[covered + unit], row[unit])
        for lane in range(LANES):
            if part >> lane & 1:
                o.covered_at[slot, warp * LANES + lane] = o.n[NOW]
        rest &= ~part


def release_covered(o: Order, slot: int, rank: int, unit: int, key: int, scope: int) -> None:
    """A relaxed write hands on what is covered by fences that its thread knows of."""
    row, covered, some = o.clock[row_of(o, slot, unit)], int(o.n[COVERED]), int(o.covered_at[slot, unit])
    for u in range(covered):
        some |= int(row[covered + u])
    if some == 0:
        return
    mine = o.kept[relaxed_at(o, slot, rank, key, min(scope, int(o.n[COVER_SCOPE])))]
    for u in range(covered):
        mine[u] = max(mine[u], row[covered + u])
        mine[covered + u] = max(mine[covered + u], row[covered + u])
    mine[unit] = max(mine[unit], o.covered_at[slot, unit])
    mine[covered + unit] = max(mine[covered + unit], o.covered_at[slot, unit])


def release_fenced(o: Order, slot: int, rank: int, unit: int, key: int, scope: int) -> None:
    """A relaxed write hands on what its thread knows to come before a fence for tensor memory."""
    row, warps, first = o.clock[row_of(o, slot, unit)], int(o.n[CTAS] * o.n[WARPS]), int(o.n[TENSOR])
    latest = int(o.start[slot])
    for fenced in range(first + warps, first + 2 * warps):
        latest = max(latest, int(row[fenced]))
    if latest > o.start[slot]:
        mine = o.kept[relaxed_at(o, slot, rank, key, scope)]
        for known in range(first, first + warps):
            mine[known] = max(mine[known], row[known + warps])


def free_fence(o: Order, slot: int, warp: int, lanes: int) -> int:
    """A row for a fence that no other lane needs."""
    used, free = 0, 0
    for lane in range(LANES):
        row = int(o.fence_row[slot, warp * LANES + lane])
        if not lanes >> lane & 1 and row != NONE:
            used |= 1 << row
    while used >> free & 1:
        free += 1
    return free


# ---- releases and acquires at addresses ----


def acquire_at(o: Order, slot: int, warp: int, lanes: int, key: int, since: int, scope: int, acquires: bool) -> None:
    """Lanes have read at an address what was last written there at `since`; where they acquire it not, a fence may later."""
    cta = int(o.cluster[slot] * o.n[CTAS]) + warp // int(o.n[WARPS])
    for wide in range(Scope.GPU + 1):
        owner = owner_of(o, slot, warp // int(o.n[WARPS]), wide)
        place = entry_at(o, key, owner, False)
        if place == NONE or o.entries[place]["time"] < since or o.entries[place]["home"] == NONE:
            continue
        if wide == Scope.CLUSTER and o.n[CTAS] == 1:
            continue
        if scope == Scope.CTA and o.entries[place]["cta"] != cta:
            continue
        if acquires:
            rest = lanes
            while rest:
                part = sharing(o, slot, warp, rest)
                mine = own_row(o, slot, warp, part)
                share(o, slot, warp, part, mine)
                take_from(o, place, slot, first_row(o, slot, warp) + mine, scope)
                rest &= ~part
        else:
            for lane in range(LANES):
                if lanes >> lane & 1:
                    unit = warp * LANES + lane
                    row = waiting_for(o, slot, unit)
                    take_from(o, place, slot, row, scope)
                    needed = reach(o, place, slot, cta)
                    o.need[slot, unit] = max(o.need[slot, unit], needed)


def waiting_for(o: Order, slot: int, unit: int) -> int:
    """The row of what a lane learns by its next fence."""
    row = waiting_row(o, slot, unit)
    if o.need[slot, unit] == NONE:
        clear(o, row)
        o.need[slot, unit] = Scope.CTA
    return row


def release_at(
    o: Order, slot: int, warp: int, lanes: int, key: int, since: int, scope: int, releases: bool, goes_on: bool
) -> None:
    """Lanes have written at an address, where the write before was at `since`. goes_on: what has been released stays so; it does, too, where
    that was by the thread that writes now: a release and a strong write after it to one place are a release pattern."""
    rank, one = warp // int(o.n[WARPS]), NONE
    if lanes and not lanes & lanes - 1:
        one = warp * LANES + lowest(lanes)
    if goes_on or one != NONE:
        for wide in range(scope + 1 if scope < Scope.GPU else Scope.GPU + 1):
            place = entry_at(o, key, owner_of(o, slot, rank, wide), False)
            if place == NONE or o.entries[place]["time"] < since:
                continue
            if goes_on or (o.entries[place]["by"] == one and o.entries[place]["home"] == o.cluster[slot]):
                o.entries[place]["time"] = o.n[NOW]
    if not releases:
        release_by_fences(o, slot, rank, warp, lanes, key, scope)
    elif lanes:
        release_known(o, slot, warp, lanes, key, scope)


def release_by_fences(o: Order, slot: int, rank: int, warp: int, lanes: int, key: int, scope: int) -> None:
    """Lanes hand on what they knew at their fences before."""
    for lane in range(LANES):
        if lanes >> lane & 1:
            unit = warp * LANES + lane
            if o.n[COVERED]:
                release_covered(o, slot, rank, unit, key, scope)
            if o.n[TENSOR]:
                release_fenced(o, slot, rank, unit, key, scope)
    rest = lanes
    while rest:
        first = lowest(rest)
        fenced, unit = int(o.fence_row[slot, warp * LANES + first]), warp * LANES + first
        part = 1 << first
        for lane in range(first + 1, LANES):  # those that share the row have executed the fence together
            if rest >> lane & 1 and o.fence_row[slot, warp * LANES + lane] == fenced:
                part |= 1 << lane
        rest &= ~part
        if fenced != NONE:
            place = begun(o, slot, rank, key, min(scope, int(o.fence_scope[slot, unit])))
            row = fence_row(o, slot, warp) + fenced
            release_into(o, place, slot, row, warp, part, int(o.fence_time[slot, unit]))


def synchronise(
    o: Order, slot: int, warp: int, addresses: Array, mask: int, site: int, how: int, is_global: bool
) -> None:
    """What lanes have read strongly they acquire, what they write they release, as the instruction says."""
    bits, rest = int(o.sites[site]), mask
    if o.n[EDGES] == 0 and not bits & (ACQUIRES | RELEASES):
        return  # nothing to hand on
    while rest:
        part = same_address(addresses, rest)
        rest &= ~part
        address, since = int(addresses[lowest(part)]), int(o.before[lowest(part)])
        if bits & PART:
            address &= -WORD
        key = address if is_global else shared_key(o, slot, address)
        if how & READS and how & WRITES and part & part - 1 and hands_on_by_fences(o, slot, warp, part, bits):
            for lane in range(LANES):  # one after the other
                if part >> lane & 1:
                    meet_at(o, slot, warp, 1 << lane, key, since, site, how, is_global)
        else:
            meet_at(o, slot, warp, part, key, since, site, how, is_global)


def hands_on_by_fences(o: Order, slot: int, warp: int, lanes: int, bits: int) -> bool:
    """Whether lanes that update one place hand on what was done before their fences, to the lanes after them."""
    if bits & ACQUIRES and bits & RELEASES:
        return False  # see take_turns
    for lane in range(LANES):
        if lanes >> lane & 1 and o.fence_row[slot, warp * LANES + lane] != NONE:
            return True
    return bits & RELEASES != 0


def meet_at(
    o: Order, slot: int, warp: int, part: int, key: int, since: int, site: int, how: int, is_global: bool
) -> None:  # fmt: skip
    """The same of lanes that access one address, which was last written at `since`."""
    bits = int(o.sites[site])
    scope = bits >> SCOPE & 3
    if how & READS:
        waited(o, slot, warp, part)
        acquire_at(o, slot, warp, part, key, since, scope, bits & ACQUIRES != 0)
        if bits & FOLLOWED:
            hear(o, slot, warp, part, key, since, site)
    if how & READS and how & WRITES and bits & ACQUIRES and bits & RELEASES and part & part - 1:
        take_turns(o, slot, warp, part)
    if how & WRITES:
        goes_on = how & READS != 0 or bits & PART != 0  # other parts of the word stay
        if bits & LOOKS and not bits & RELEASES:
            part = 0  # who reads the value cannot tell it from the one before: it may be that one, and nothing else is handed on
        release_at(o, slot, warp, part, key, since, scope, bits & RELEASES != 0, goes_on)
        if o.n[HEARS] and is_global:
            say(o, slot, warp, part, key, since, goes_on)


def take_turns(o: Order, slot: int, warp: int, lanes: int) -> None:
    """Lanes that update one place with one instruction do so in turn: each knows what those before it know and have done."""
    base, before, done = first_row(o, slot, warp), NONE, 0
    for lane in range(LANES):
        if lanes >> lane & 1:
            mine = own_row(o, slot, warp, 1 << lane)
            share(o, slot, warp, 1 << lane, mine)
            if before != NONE:
                join(o, base + mine, base + before)
                stamp(o, slot, base + mine, warp, done)
            before, done = mine, done | 1 << lane


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
