"""What hands clocks on: fences, releases and acquires at addresses. For bodies. Barriers are in barriers."""

from __future__ import annotations

from ptxsim.checks.order.cells import READS, WRITES
from ptxsim.checks.order.clocks import (
    clear,
    copy,
    fence_row,
    first_row,
    join,
    later,
    lowest,
    own_row,
    row_of,
    share,
    sharing,
    stamp,
    take,
    waiting_row,
)
from ptxsim.checks.order.proxies import waited
from ptxsim.checks.order.sites import ACQUIRES, RELEASES, SCOPE
from ptxsim.checks.order.state import (
    COVER_SCOPE,
    COVERED,
    CTAS,
    EDGES,
    FAR,
    GRID,
    NONE,
    NOW,
    UNTOLD,
    WARPS,
    Order,
    hashed,
)
from ptxsim.jit.body import Array
from ptxsim.jit.vectors import raise_to
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
    somebody reads before a fence of his own, the fences are in order, and with them what came before the first. So the second
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
    cluster = int(o.cluster[slot])
    place = entry_at(o, key, owner_of(o, slot, rank, min(scope, int(o.n[COVER_SCOPE]))), True)
    if o.entries[place]["time"] != o.n[NOW]:
        forget(o, place)
        o.entries[place]["time"] = o.n[NOW]
    move_home(o, place, cluster)
    mine = o.kept[o.entries[place]["row"]]
    for u in range(covered):
        mine[u] = max(mine[u], row[covered + u])
        mine[covered + u] = max(mine[covered + u], row[covered + u])
    mine[unit] = max(mine[unit], o.covered_at[slot, unit])
    mine[covered + unit] = max(mine[covered + unit], o.covered_at[slot, unit])
    o.entries[place]["snap"] = 0
    o.entries[place]["cta"] = cluster * o.n[CTAS] + rank


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


def owner_of(o: Order, slot: int, rank: int, scope: int) -> int:
    """Whom an entry of a scope is for: a CTA, a cluster, or everybody."""
    if scope >= Scope.GPU:
        return NONE
    cluster = int(o.cluster[slot])
    if scope == Scope.CLUSTER and o.n[CTAS] > 1:
        return int(o.n[GRID]) + cluster
    return cluster * int(o.n[CTAS]) + rank


def entry_at(o: Order, key: int, owner: int, is_new: bool) -> int:
    """The place of an entry, which is made if `is_new`; NONE if there is none."""
    size = len(o.entries)
    place = hashed(key, owner) % size
    while o.entries[place]["key"] != 0:
        if o.entries[place]["key"] == key and o.entries[place]["owner"] == owner:
            return place
        place = (place + 1) % size
    if not is_new:
        return NONE
    o.n[EDGES] += 1
    entry = o.entries[place]
    entry["key"], entry["owner"], entry["time"], entry["home"], entry["snap"] = key, owner, NONE, NONE, 0
    entry["row"] = take(o)
    return place


def column_of(o: Order, cluster: int) -> int:
    """The column of a cluster among those that others know of; UNTOLD if there is no room."""
    if o.column[cluster] == NONE:
        if o.n[FAR] < len(o.known):
            o.column[cluster] = o.n[FAR]
            o.known[o.n[FAR]] = cluster
            o.n[FAR] += 1
        else:
            o.column[cluster] = UNTOLD
    return int(o.column[cluster])


def snapshot(o: Order, place: int) -> int:
    """A row to keep that says what the row of an entry says now."""
    entry = o.entries[place]
    if entry["snap"] == 0:
        found = take(o)
        o.kept[found] = o.kept[entry["row"]]
        entry["snap"] = found
    return int(entry["snap"])


def forget(o: Order, place: int) -> None:
    """Nothing is released here any more."""
    entry = o.entries[place]
    row = int(entry["row"])
    mine = o.kept[row]
    for unit in range(len(mine)):
        mine[unit] = 0
    for k in range(o.n[FAR]):
        o.kept_far[row, k] = 0
    entry["home"], entry["snap"], entry["mixed"] = NONE, 0, 0


def go_on(o: Order, place: int, before: int) -> None:
    """What is released at an entry, and nothing else, is released at another one."""
    entry, source = o.entries[place], o.entries[before]
    o.kept[entry["row"]] = o.kept[source["row"]]
    for k in range(o.n[FAR]):
        o.kept_far[entry["row"], k] = o.kept_far[source["row"], k]
    entry["home"], entry["cta"], entry["snap"], entry["mixed"] = source["home"], source["cta"], 0, source["mixed"]


def move_home(o: Order, place: int, cluster: int) -> None:
    """The row of an entry is about threads of a cluster from now on; what it said about another one's is a snapshot."""
    entry = o.entries[place]
    row, mine = int(entry["row"]), o.kept[entry["row"]]
    if entry["home"] == cluster:
        return
    if entry["home"] != NONE:
        entry["mixed"] = 1
        k = column_of(o, int(entry["home"]))
        if k >= 0:
            o.kept_far[row, k] = later(o, int(o.kept_far[row, k]), snapshot(o, place))
        for u in range(len(mine)):
            mine[u] = 0
    k = int(o.column[cluster])
    if k >= 0 and o.kept_far[row, k] != 0:
        raise_to(mine, o.kept[o.kept_far[row, k]])
        o.kept_far[row, k] = 0
    entry["home"] = cluster


def release_into(o: Order, place: int, slot: int, source: int, unit: int, time: int) -> None:
    """An entry hands on what a row knows, and what a thread has done up to a time."""
    entry, cluster = o.entries[place], int(o.cluster[slot])
    row = int(entry["row"])
    mine = o.kept[row]
    move_home(o, place, cluster)
    raise_to(mine, o.clock[source])
    mine[unit] = max(mine[unit], time)
    if o.n[COVERED]:
        mine[o.n[COVERED] + unit] = max(mine[o.n[COVERED] + unit], o.covered_at[slot, unit])
    for k in range(o.n[FAR]):
        if o.known[k] != cluster:
            o.kept_far[row, k] = later(o, int(o.kept_far[row, k]), int(o.far[source, k]))
    entry["snap"] = 0
    entry["cta"] = cluster * o.n[CTAS] + unit // LANES // o.n[WARPS]


def take_from(o: Order, place: int, slot: int, row: int, scope: int) -> None:
    """A row learns what an entry hands on, as far as the reader's scope goes."""
    entry, cluster = o.entries[place], int(o.cluster[slot])
    kept = int(entry["row"])
    if entry["home"] == cluster:
        raise_to(o.clock[row], o.kept[kept])
    elif scope >= Scope.GPU and entry["home"] != NONE:
        k = column_of(o, int(entry["home"]))
        if k >= 0:
            o.far[row, k] = later(o, int(o.far[row, k]), snapshot(o, place))
    for k in range(o.n[FAR]):
        found = int(o.kept_far[kept, k])
        if found != 0:
            if o.known[k] == cluster:
                raise_to(o.clock[row], o.kept[found])
            elif (
                scope >= Scope.GPU or not entry["mixed"]
            ):  # what the releasing thread knows itself it hands on in any scope
                o.far[row, k] = later(o, int(o.far[row, k]), found)


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


def reach(o: Order, place: int, slot: int, cta: int) -> int:
    """The scope that a fence needs to acquire from an entry."""
    if o.entries[place]["home"] != o.cluster[slot]:
        return Scope.GPU
    return Scope.CTA if o.entries[place]["cta"] == cta else Scope.CLUSTER


def release_at(
    o: Order, slot: int, warp: int, lanes: int, key: int, since: int, scope: int, releases: bool, goes_on: bool
) -> None:
    """Lanes have written at an address, where the write before was at `since`. goes_on: what has been released stays so."""
    rank = warp // int(o.n[WARPS])
    if goes_on:
        for wide in range(scope + 1 if scope < Scope.GPU else Scope.GPU + 1):
            place = entry_at(o, key, owner_of(o, slot, rank, wide), False)
            if place != NONE and o.entries[place]["time"] >= since:
                o.entries[place]["time"] = o.n[NOW]
    for lane in range(LANES):
        if lanes >> lane & 1:
            unit = warp * LANES + lane
            if releases:
                release_one(o, slot, rank, unit, key, scope, row_of(o, slot, unit), int(o.n[NOW]))
                continue
            if o.n[COVERED]:
                release_covered(o, slot, rank, unit, key, scope)
            if o.fence_row[slot, unit] != NONE:
                reached = min(scope, int(o.fence_scope[slot, unit]))
                row = fence_row(o, slot, warp) + int(o.fence_row[slot, unit])
                release_one(o, slot, rank, unit, key, reached, row, int(o.fence_time[slot, unit]))


def release_one(o: Order, slot: int, rank: int, unit: int, key: int, scope: int, row: int, time: int) -> None:
    place = entry_at(o, key, owner_of(o, slot, rank, scope), True)
    if o.entries[place]["time"] != o.n[NOW]:
        forget(o, place)
        o.entries[place]["time"] = o.n[NOW]
    release_into(o, place, slot, row, unit, time)


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
            waited(o, slot, warp, part)
            acquire_at(o, slot, warp, part, key, since, scope, bits & ACQUIRES != 0)
        if how & READS and how & WRITES and bits & ACQUIRES and bits & RELEASES and part & part - 1:
            take_turns(o, slot, warp, part)
        if how & WRITES:
            release_at(o, slot, warp, part, key, since, scope, bits & RELEASES != 0, how & READS != 0)


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
