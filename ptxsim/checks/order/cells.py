"""Granules of memory: who has accessed them, and whether a thread that accesses them now knows of that. For bodies.

A granule of shared memory names threads of its cluster, one of global memory those of the grid. Reads of a granule and strong
writes to it stand side by side, one for each warp; in global memory, and from other CTAs, for few of them.
"""

from __future__ import annotations

from ptxsim.checks.order.clocks import first_row, lowest, row_of
from ptxsim.checks.order.sites import BY_PROXY, FRAGMENTS, SCOPE, SIZE, STRONG, WARPGROUP
from ptxsim.checks.order.state import (
    CELLS,
    COUNT,
    CTAS,
    FAR_WAYS,
    INITS,
    LINE_BITS,
    LINES,
    NEAR_WAYS,
    NONE,
    NOW,
    PRODUCTS,
    SHIFT,
    UNITS,
    UNTOLD,
    WARPS,
    WAYS,
    Order,
)
from ptxsim.jit.body import Array
from ptxsim.jit.rows import lower_than
from ptxsim.lanes import EVERY, LANES
from ptxsim.machine.event import Scope
from ptxsim.machine.memory import RANK_SHIFT

(
    RACE, RACE_IN_WARP, UNINITIALIZED, RACE_IN_GLOBAL, MIXED, UNSEEN, UNPUBLISHED, UNWAITED, NOT_CONSTANT, UNMET, FREED, UNFENCED, LEFT,
    UNLIKE, EARLY, AHEAD, UNAWAITED, HEARSAY, LOST, EAGER, UNACQUIRED,
) = range(1, 22)  # fmt: skip
OFFSET = (1 << RANK_SHIFT) - 1
OWNER = RANK_SHIFT - LINE_BITS  # from this bit on, the number of a line says whose shared memory it is of
NOBODY = -1  # wrote what all may read
ANY = -1  # a lane of the warp, it is not known which: it knows what one of them knows
ALL = -2  # the lanes of the warp together
# STAYS: the store leaves the memory as it was; COPIES: it begins to copy, and writes later; FETCHES: it goes on reading.
# OVER: what has been read for some time, and judged when that began, is not read any more.
# LEARNS: the lanes get what was there before.
READS, WRITES, STAYS, COPIES, FETCHES, OVER, LEARNS = 1, 2, 4, 8, 16, 32, 64


def first_line(o: Order, slot: int, rank: int) -> int:
    """What to add to the number of a line of a CTA's shared memory, as its address gives it."""
    return (slot * int(o.n[CTAS]) + rank) * int(o.n[LINES]) - (rank << OWNER)


def line_of(o: Order, slot: int, address: int) -> int:
    """The line of a byte of shared memory; NONE where there is no such memory."""
    rank, number = address >> RANK_SHIFT, (address & OFFSET) >> LINE_BITS
    if rank >= o.n[CTAS] or number >= o.n[LINES]:
        return NONE
    return (slot * int(o.n[CTAS]) + rank) * int(o.n[LINES]) + number


def first_cell(o: Order, slot: int, rank: int) -> int:
    """The same for granules."""
    return (slot * int(o.n[CTAS]) + rank) * int(o.n[CELLS]) - (rank << RANK_SHIFT >> int(o.n[SHIFT]))


def in_flight(o: Order) -> int:
    """The column of what copies that complete on mbarriers have not written yet."""
    return int(o.n[INITS]) - 1


def by_copies(column: int) -> int:
    """What stands in place of the warp of an access of copies of a column; and the column of that."""
    return -2 - column


def products_of(o: Order, warp: int) -> int:
    """The column of the products of a warp's warpgroup; warp: in its cluster."""
    warps = int(o.n[WARPS])
    return int(o.n[PRODUCTS]) + warp // warps * (warps // 4) + warp % warps // 4


def knows_far(o: Order, row: int, cluster: int, unit: int, time: int) -> bool:
    k = int(o.column[cluster])
    if k < 0:
        return bool(k == UNTOLD)
    found = int(o.far[row, k])
    return found != 0 and bool(o.kept[found, unit] >= time)


def knows_writer(o: Order, slot: int, warp: int, lane: int, row: int, base: int, writer: int, time: int) -> bool:
    """Whether a lane (or ANY, ALL of a warp) knows a write; `base`: the first thread of the cluster, as the granule names it."""
    if writer == NOBODY:
        return True
    units = int(o.n[UNITS])
    unit = writer - base
    if unit < 0 or unit >= units:
        cluster = writer // units
        return knows_far(o, row, cluster, writer - cluster * units, time)
    if lane == ANY:
        if unit >> 5 == warp:
            return True
        return any_knows(o, slot, warp, unit, time)
    return (lane >= 0 and unit == warp * LANES + lane) or bool(o.clock[row, unit] >= time)


def any_knows(o: Order, slot: int, warp: int, unit: int, time: int) -> bool:
    for lane in range(LANES):
        if int(o.live[slot, warp]) >> lane & 1 and o.clock[row_of(o, slot, warp * LANES + lane), unit] >= time:
            return True
    return False


def knows_access(
    o: Order, slot: int, warp: int, lane: int, row: int, base: int, access: Array, is_global: bool
) -> bool:  # fmt: skip
    """The same for an access that stands beside others; `base`: the first warp of the cluster."""
    other, lanes, time = int(access["warp"]) - base, int(access["lanes"]), int(access["time"])
    if access["warp"] < NONE:
        return knows_unit(o, slot, warp, lane, row, False, 0, by_copies(int(access["warp"])), time)
    warps = int(o.n[CTAS] * o.n[WARPS])
    cluster = (other + base) // warps
    is_far = other < 0 or other >= warps
    if o.sites[access["site"]] & BY_PROXY and is_global:
        return knows_unit(o, slot, warp, lane, row, is_far, cluster, int(o.n[UNITS]) - 1, time)
    if lane == ANY and other == warp:
        return True
    if not is_far and time <= int(o.floor[row]):
        return True
    first, count = other * LANES, LANES
    if is_far:
        first = (other + base - cluster * warps) * LANES
    elif lanes == 0 and o.sites[access["site"]] & WARPGROUP:  # each of its four warps may say that the product is over
        return knows_unit(o, slot, warp, lane, row, False, cluster, products_of(o, other), time)
    if lanes == 0:
        if not is_far and lane >= 0 and first <= warp * LANES + lane < first + count:
            return True
        each = 0
        while each < count and not knows_unit(o, slot, warp, lane, row, is_far, cluster, first + each, time):
            each += 1
        return each < count
    if other == warp and lane >= 0:
        lanes &= ~(1 << lane)
    while lanes:
        if not knows_unit(o, slot, warp, lane, row, is_far, cluster, first + lowest(lanes), time):
            return False
        lanes &= lanes - 1
    return True


def knows_unit(
    o: Order, slot: int, warp: int, lane: int, row: int, is_far: bool, cluster: int, unit: int, time: int
) -> bool:
    """Whether a lane, or ANY of a warp, knows what a thread of a cluster has done by a time."""
    if is_far:
        return knows_far(o, row, cluster, unit, time)
    return bool(o.clock[row, unit] >= time) or (lane == ANY and any_knows(o, slot, warp, unit, time))


def agree(one: int, two: int) -> bool:
    """Whether two accesses are strong, and of one size, by the bits of their sites."""
    mine, theirs = one >> SIZE & 7, two >> SIZE & 7
    return one & two & STRONG != 0 and (mine == theirs or mine * theirs == 0)


def are_strong(o: Order, site: int, other: int, mine: int, theirs: int) -> bool:
    """Whether two accesses are strong, of one size, each in the scope of the other; `mine`, `theirs`: warps of the grid."""
    one, two = int(o.sites[site]), int(o.sites[other])
    if not agree(one, two):
        return False
    if (one >> SCOPE & 3) >= Scope.GPU and (two >> SCOPE & 3) >= Scope.GPU:
        return True
    warps = int(o.n[WARPS])
    if mine // warps == theirs // warps:
        return True
    needed = Scope.CLUSTER if mine // warps // o.n[CTAS] == theirs // warps // o.n[CTAS] else Scope.GPU
    return (one >> SCOPE & 3) >= needed and (two >> SCOPE & 3) >= needed


def place_of(o: Order, warp: int, row: int, base: int, accesses: Array, rank: int, since: int) -> int:
    """Where an access of a warp stands among those of a granule; NONE if there are two already that it knows nothing of.

    rank: of the CTA whose memory it is; NONE for global memory. Accesses up to `since` no longer count.
    """
    first, end = 0, FAR_WAYS
    if rank != NONE:
        if warp // o.n[WARPS] == rank:
            return warp - rank * int(o.n[WARPS])
        first, end = int(o.n[WARPS]), int(o.n[WARPS]) + NEAR_WAYS
    for place in range(first, end):
        if accesses[place]["time"] <= since or accesses[place]["warp"] == base + warp:
            return place
    units = int(o.n[CTAS] * o.n[WARPS]) * LANES
    for place in range(first, end):
        unit = (int(accesses[place]["warp"]) - base) * LANES
        is_near = 0 <= unit < units
        unit += lowest(int(accesses[place]["lanes"]))
        if rank == NONE and o.sites[accesses[place]["site"]] & BY_PROXY:
            unit = int(o.n[UNITS]) - 1
        if is_near and o.clock[row, unit] >= accesses[place]["time"]:
            return place
    # Whoever writes without an order knows nothing of one of two CTAs; of three warps of one it may know the two that are here.
    mine, other = (base + warp) // int(o.n[WARPS]), int(accesses[first]["warp"]) // int(o.n[WARPS])
    if end - first > 1 and other == int(accesses[first + 1]["warp"]) // int(o.n[WARPS]) != mine:
        return first
    return NONE


def way_of(o: Order, rank: int, warp: int, row: int, accesses: Array, owner: int, since: int) -> int:
    """The same for a warp of a CTA and shared memory of one of its cluster."""
    near = int(o.n[WARPS])
    if owner == rank:
        return warp - rank * near
    if accesses[near]["time"] <= since or accesses[near]["warp"] == warp:
        return near
    return place_of(o, warp, row, 0, accesses, owner, since)


def note(
    o: Order, warp: int, lane: int, row: int, base: int, accesses: Array, rank: int, site: int, since: int
) -> None:
    """Put an access beside the others of a granule."""
    place = place_of(o, warp, row, base, accesses, rank, since)
    if place != NONE:
        mine = EVERY if lane == ALL else 0 if lane == ANY else 1 << lane
        put(o, row, base + warp, accesses[place], mine, site, since, warp * LANES)


def put(o: Order, row: int, warp: int, access: Array, mine: int, site: int, since: int, first: int) -> None:
    """Put an access of lanes of a warp in its place; first: the column of the warp's first lane."""
    lanes = mine
    if access["warp"] == warp and access["time"] > since and access["lanes"] != 0 and mine != 0:
        old = int(access["lanes"]) & ~mine
        if access["time"] == o.n[NOW]:
            lanes |= old
        elif old:  # what other lanes did before counts as done now, as far as this one does not know it
            lanes |= old & lower_than(o.clock[row], first, int(access["time"]))
    access["warp"], access["time"], access["lanes"], access["site"] = warp, o.n[NOW], lanes, site


def note_lane(
    o: Order, warp: int, lane: int, row: int, base: int, accesses: Array, way: int, home: int, floor: int, site: int,
    since: int,
) -> None:  # fmt: skip
    """Put an access beside the others of a granule, `way` its place there if it has one; mostly a lane's, of which the one before
    was the same lane's, or is known to all."""
    access = accesses[max(way, 0)]
    is_mine = access["lanes"] == 1 << max(lane, 0) and access["warp"] == base + warp
    if lane >= 0 and (is_mine or way != NONE) and (is_mine or access["time"] <= floor):
        access["warp"], access["time"], access["lanes"], access["site"] = base + warp, o.n[NOW], 1 << lane, site
    else:
        note(o, warp, lane, row, base, accesses, home, site, since)


def keep_store(o: Order, row: int, one: Array, reads: Array, home: int, start: int) -> None:
    """A granule's last store stands beside its reads, where a sum takes its place: others that add to it may not know the store."""
    unit = int(one["writer"])
    place = place_of(o, unit >> 5, row, 0, reads, home, start)
    if place != NONE and reads[place]["time"] <= one["written"]:
        access = reads[place]
        access["warp"], access["time"], access["lanes"] = unit >> 5, one["written"], 1 << (unit & 31)
        access["site"] = one["site"]


def forget_own(o: Order, reads: Array, warp: int, lane: int) -> None:
    """What a lane alone has read it has written: who meets the read meets the write. (far.write_run does the same.)"""
    is_own = reads[0]["lanes"] == 1 << lane and reads[0]["warp"] == warp and reads[1]["time"] == 0
    if is_own and not o.sites[reads[0]["site"]] & BY_PROXY:
        reads[0]["time"] = 0


def forget_before(accesses: Array, since: int) -> None:
    """A granule is written, perhaps by several lanes at once: none of them is to meet what has been written over before.

    Copies stay: that they are over no thread has done.
    """
    for place in range(accesses.shape[0]):
        access = accesses[place]
        if access["time"] <= since and access["warp"] >= NONE:
            access["time"] = 0


def again(accesses: Array, warp: int, now: int, lane: int) -> None:
    """One more lane of a warp takes part in an access that stands among those of a granule."""
    for place in range(accesses.shape[0]):
        if accesses[place]["time"] == now and accesses[place]["warp"] == warp:
            accesses[place]["lanes"] = int(accesses[place]["lanes"]) | 1 << lane
            return


def clash(
    o: Order,
    slot: int,
    warp: int,
    lane: int,
    row: int,
    base: int,
    accesses: Array,
    site: int,
    since: int,
    is_global: bool,
) -> int:
    """Which of the accesses of a granule after `since` the warp does not know and may not meet; those of other warps first."""
    found, ways = NONE, FAR_WAYS if is_global else int(o.n[WAYS])
    grid = int(o.cluster[slot]) * int(o.n[CTAS] * o.n[WARPS])
    for place in range(ways):
        access = accesses[place]
        by_copy = not is_global and access["warp"] < NONE and access["time"] > o.start[slot]
        if (access["time"] <= since and not by_copy) or access["time"] == o.n[NOW]:
            continue
        if found != NONE and access["warp"] == base + warp:
            continue
        others, unit = int(access["lanes"]), (int(access["warp"]) - base) * LANES
        if (
            not is_global
            and others != 0
            and others & others - 1 == 0
            and o.clock[row, unit + lowest(others)] >= access["time"]
        ):
            continue  # a lane that is known
        theirs = int(access["warp"]) + (0 if is_global else grid)
        if are_strong(o, site, int(access["site"]), grid + warp, theirs):
            continue
        if access["warp"] == base + warp and o.sites[site] & o.sites[access["site"]] & FRAGMENTS:
            continue
        if not knows_access(o, slot, warp, lane, row, base, access, is_global):
            if found == NONE or access["warp"] != base + warp:
                found = place
    return found


def row_for(o: Order, slot: int, warp: int, lane: int) -> int:
    """The row that an access of a lane, or of lanes together, is judged by."""
    if o.uniform[slot, warp] != NONE:
        return first_row(o, slot, warp) + int(o.uniform[slot, warp])
    if lane >= 0:
        return row_of(o, slot, warp * LANES + lane)
    for each in range(LANES):
        if int(o.live[slot, warp]) >> each & 1:
            return row_of(o, slot, warp * LANES + each)
    return first_row(o, slot, warp)


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


def warp_of(o: Order, writer: int) -> int:
    """The warp of the grid of a thread as granules of global memory name it."""
    units, warps = int(o.n[UNITS]), int(o.n[CTAS] * o.n[WARPS])
    cluster, unit = writer // units, writer % units
    return cluster * warps + (unit // LANES if unit < units - 1 else 0)  # of the cluster's copies, its first warp


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
