"""Entries: what has been released at an address, for which threads, and which of them may acquire it. For bodies."""

from __future__ import annotations

from ptxsim.checks.order.clocks import join_snapshots, later, lowest, next_new, row_of, sharing, take
from ptxsim.checks.order.state import COVERED, CTAS, EDGES, FAR, GRID, NONE, NOW, UNTOLD, WARPS, Order, hashed
from ptxsim.jit.body import Array, body
from ptxsim.jit.rows import raise_to
from ptxsim.lanes import LANES
from ptxsim.machine.event import Scope


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
    entry["key"], entry["owner"], entry["time"] = key, owner, NONE
    entry["home"], entry["snap"], entry["by"] = NONE, 0, NONE
    entry["row"] = take(o)
    return place


@body
def settle(before: Array, entries: Array) -> None:
    """Put entries into a larger table, which is empty."""
    for i in range(before.shape[0]):
        if before[i]["key"] != 0:
            place = hashed(int(before[i]["key"]), int(before[i]["owner"])) % len(entries)
            while entries[place]["key"] != 0:
                place = (place + 1) % len(entries)
            entries[place] = before[i]


def begun(o: Order, slot: int, rank: int, key: int, scope: int) -> int:
    """The entry of an address for a scope, without what was released there before this record and does not go on."""
    place = entry_at(o, key, owner_of(o, slot, rank, scope), True)
    if o.entries[place]["time"] != o.n[NOW]:
        forget(o, place)
        o.entries[place]["time"] = o.n[NOW]
    return place


def relaxed_at(o: Order, slot: int, rank: int, key: int, scope: int) -> int:
    """The row, of those kept, for what a relaxed write hands on."""
    place = begun(o, slot, rank, key, scope)
    move_home(o, place, int(o.cluster[slot]))
    o.entries[place]["snap"] = 0
    o.entries[place]["cta"] = o.cluster[slot] * o.n[CTAS] + rank
    return int(o.entries[place]["row"])


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
    entry["home"], entry["snap"], entry["mixed"], entry["by"] = NONE, 0, 0, NONE


def go_on(o: Order, place: int, before: int) -> None:
    """Add what is released at one entry to another one, beside what that holds of threads of the same cluster.

    So what will be known when asynchronous work is done is kept from when the work was begun.
    """
    entry, source = o.entries[place], o.entries[before]
    row, there = int(entry["row"]), int(source["row"])
    both = entry["home"] != NONE and entry["home"] == source["home"]
    if both:
        raise_to(o.kept[row], o.kept[there])
        join_snapshots(o, o.kept_far[row], o.kept_far[there])
    else:
        o.kept[row] = o.kept[there]
        for k in range(o.n[FAR]):
            o.kept_far[row, k] = o.kept_far[there, k]
    entry["mixed"] = max(int(entry["mixed"]) if both else 0, int(source["mixed"]))
    entry["home"], entry["cta"], entry["snap"], entry["by"] = source["home"], source["cta"], 0, NONE


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


def release_into(o: Order, place: int, slot: int, source: int, warp: int, lanes: int, time: int) -> None:
    """An entry hands on what a row knows, and what lanes of a warp have done up to a time."""
    entry, cluster = o.entries[place], int(o.cluster[slot])
    row = int(entry["row"])
    mine = o.kept[row]
    one = warp * LANES + lowest(lanes) if lanes and not lanes & lanes - 1 else NONE
    entry["by"] = one if entry["home"] == NONE or entry["by"] == one else NONE
    move_home(o, place, cluster)
    raise_to(mine, o.clock[source])
    for lane in range(LANES):
        if lanes >> lane & 1:
            unit = warp * LANES + lane
            mine[unit] = max(mine[unit], time)
            if o.n[COVERED]:
                mine[o.n[COVERED] + unit] = max(mine[o.n[COVERED] + unit], o.covered_at[slot, unit])
    told, known = o.kept_far[row], o.far[source]
    k = next_new(o, told, known, 0)
    while k < o.n[FAR]:
        if o.known[k] != cluster:
            told[k] = later(o, int(told[k]), int(known[k]))
        k = next_new(o, told, known, k + 1)
    entry["snap"] = 0
    entry["cta"] = cluster * o.n[CTAS] + warp // o.n[WARPS]


def release_known(o: Order, slot: int, warp: int, lanes: int, key: int, scope: int) -> int:
    """The entry of an address, which from now on hands on what lanes know and have done."""
    place, rest = begun(o, slot, warp // int(o.n[WARPS]), key, scope), lanes
    while rest:
        part = sharing(o, slot, warp, rest)
        rest &= ~part
        release_into(o, place, slot, row_of(o, slot, warp * LANES + lowest(part)), warp, part, int(o.n[NOW]))
    return place


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
    mine, theirs = o.far[row], o.kept_far[kept]
    k = next_new(o, mine, theirs, 0)
    while k < o.n[FAR]:
        if o.known[k] == cluster:
            raise_to(o.clock[row], o.kept[theirs[k]])
        elif (
            scope >= Scope.GPU or not entry["mixed"]
        ):  # what the releasing thread knows itself it hands on in any scope
            mine[k] = later(o, int(mine[k]), int(theirs[k]))
        k = next_new(o, mine, theirs, k + 1)


def reach(o: Order, place: int, slot: int, cta: int) -> int:
    """The scope that a fence needs to acquire from an entry."""
    if o.entries[place]["home"] != o.cluster[slot]:
        return Scope.GPU
    return Scope.CTA if o.entries[place]["cta"] == cta else Scope.CLUSTER
