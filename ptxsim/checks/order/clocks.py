"""Rows of clocks: which lanes share one, and how one row takes over what another knows. For bodies."""

from __future__ import annotations

from ptxsim.checks.order.state import COVERED, CTAS, FAR, KEPT, NONE, NOW, OWN_ROWS, ROWS, UNITS, WARPS, Order
from ptxsim.jit.body import Array
from ptxsim.jit.rows import fill, lowest_of, new_in, raise_to
from ptxsim.lanes import LANES


def first_row(o: Order, slot: int, warp: int) -> int:
    """The first of the rows of a warp (numbered within its cluster)."""
    return slot * int(o.n[ROWS]) + warp * OWN_ROWS


def fence_row(o: Order, slot: int, warp: int) -> int:
    """The first of the rows of its fences."""
    return slot * int(o.n[ROWS]) + (int(o.n[CTAS] * o.n[WARPS]) + warp) * OWN_ROWS


def waiting_row(o: Order, slot: int, unit: int) -> int:
    """The row of what a lane has read without acquiring it."""
    return slot * int(o.n[ROWS]) + 2 * int(o.n[CTAS] * o.n[WARPS]) * OWN_ROWS + unit


def barrier_row(o: Order, slot: int, number: int) -> int:
    warps = int(o.n[CTAS] * o.n[WARPS])
    return slot * int(o.n[ROWS]) + warps * (2 * OWN_ROWS + LANES) + number


def passing_row(o: Order, slot: int, number: int) -> int:
    """The row of what is passed on at a barrier."""
    return barrier_row(o, slot, number) + int(o.come.shape[1])


def scratch_row(o: Order, slot: int) -> int:
    """A row that holds nothing from one use to the next: the last."""
    return (slot + 1) * int(o.n[ROWS]) - 1


def row_of(o: Order, slot: int, unit: int) -> int:
    """The row of a lane."""
    return first_row(o, slot, unit >> 5) + int(o.row_of[slot, unit])


# ---- all columns ----


def clear(o: Order, row: int) -> None:
    fill(o.clock[row], 0, int(o.n[UNITS]), 0)
    for k in range(o.n[FAR]):
        o.far[row, k] = 0
    o.floor[row] = 0
    o.own[row] = 0


def copy(o: Order, row: int, source: int) -> None:
    o.clock[row] = o.clock[source]
    for k in range(o.n[FAR]):
        o.far[row, k] = o.far[source, k]
    o.floor[row] = o.floor[source]
    o.own[row] = o.own[source]


def join(o: Order, row: int, source: int) -> None:
    """A row knows what another knows, too."""
    raise_to(o.clock[row], o.clock[source])
    join_far(o, row, source)


def join_far(o: Order, row: int, source: int) -> None:
    """The same of other clusters, and of what all threads have done."""
    join_snapshots(o, o.far[row], o.far[source])
    o.floor[row] = max(o.floor[row], o.floor[source])


def join_snapshots(o: Order, mine: Array, theirs: Array) -> None:
    """Snapshots of clusters say what others of them say, too."""
    k = next_new(o, mine, theirs, 0)
    while k < o.n[FAR]:
        mine[k] = later(o, int(mine[k]), int(theirs[k]))
        k = next_new(o, mine, theirs, k + 1)


def next_new(o: Order, mine: Array, theirs: Array, first: int) -> int:
    """From a column on, the first of which there is another snapshot than ours; n[FAR] if there is none."""
    k, end = first, int(o.n[FAR])
    while k < end and k + LANES <= len(mine):
        found = new_in(mine, theirs, k)
        if found:
            return min(k + lowest(found), end)
        k += LANES
    while k < end and (theirs[k] == 0 or theirs[k] == mine[k]):
        k += 1
    return min(k, end)


def see_all(o: Order, row: int) -> None:
    """A row has come to know more: what all threads of the cluster had done by when it knows."""
    o.floor[row] = max(o.floor[row], lowest_of(o.clock[row], 0, int(o.n[CTAS] * o.n[WARPS]) * LANES))


def later(o: Order, one: int, other: int) -> int:
    """The snapshot that says all that two of one cluster say."""
    if one == other or other == 0:
        return one
    if one == 0:
        return other
    mine, theirs = o.kept[one], o.kept[other]
    more, less = False, False
    for unit in range(len(mine)):
        more = more or mine[unit] > theirs[unit]
        less = less or mine[unit] < theirs[unit]
    if not less:
        return one
    if not more or o.n[KEPT] == len(o.kept):
        return other
    both = take(o)
    o.kept[both] = o.kept[one]
    raise_to(o.kept[both], theirs)
    return both


def take(o: Order) -> int:
    """A row to keep; the last one again where there is no room for more."""
    found = min(int(o.n[KEPT]), len(o.kept) - 1)
    o.n[KEPT] = found + 1
    return found


# ---- lanes that share rows ----


def own_row(o: Order, slot: int, warp: int, lanes: int) -> int:
    """A row for these lanes alone, with what their first lane knows; they have it from now on."""
    base, first = first_row(o, slot, warp), warp * LANES
    used, mine = 0, NONE
    live = int(o.live[slot, warp]) & ~lanes
    for lane in range(LANES):
        if live >> lane & 1:
            used |= 1 << o.row_of[slot, first + lane]
    for lane in range(LANES):
        row = int(o.row_of[slot, first + lane])
        if lanes >> lane & 1:
            if mine == NONE:
                mine = row
            if not used >> row & 1:
                mine = row
                break
    if used >> mine & 1:
        free = 0
        while used >> free & 1:
            free += 1
        copy(o, base + free, base + mine)
        mine = free
    return mine


def share(o: Order, slot: int, warp: int, lanes: int, row: int) -> None:
    """These lanes have a row from now on."""
    first, live = warp * LANES, int(o.live[slot, warp])
    for lane in range(LANES):
        if lanes >> lane & 1:
            o.row_of[slot, first + lane] = row
    o.uniform[slot, warp] = row
    if live & ~lanes:
        for lane in range(LANES):
            if live >> lane & 1 and o.row_of[slot, first + lane] != row:
                o.uniform[slot, warp] = NONE


def sharing(o: Order, slot: int, warp: int, lanes: int) -> int:
    """Those of some lanes that have the row of the first of them."""
    if o.uniform[slot, warp] != NONE:
        return lanes
    first, found, row = warp * LANES, 0, NONE
    for lane in range(LANES):
        if lanes >> lane & 1:
            mine = int(o.row_of[slot, first + lane])
            if row == NONE:
                row = mine
            if mine == row:
                found |= 1 << lane
    return found


def meet(o: Order, slot: int, warp: int, lanes: int) -> int:
    """These lanes know from now on what one of them knows or has done; returns their row."""
    base, rest = first_row(o, slot, warp), lanes
    mine = own_row(o, slot, warp, lanes)
    while rest:
        part = sharing(o, slot, warp, rest)
        row = int(o.row_of[slot, warp * LANES + lowest(part)])
        if row != mine:
            join(o, base + mine, base + row)
        rest &= ~part
    share(o, slot, warp, lanes, mine)
    stamp(o, slot, base + mine, warp, lanes)
    if lanes & int(o.live[slot, warp]) == o.live[slot, warp]:
        o.own[base + mine] = o.n[NOW]
    return base + mine


def stamp(o: Order, slot: int, row: int, warp: int, lanes: int) -> None:
    """A row knows all that these lanes have done."""
    for lane in range(LANES):
        if lanes >> lane & 1:
            unit = warp * LANES + lane
            o.clock[row, unit] = o.n[NOW]
            if o.n[COVERED]:
                o.clock[row, int(o.n[COVERED]) + unit] = max(
                    o.clock[row, int(o.n[COVERED]) + unit], o.covered_at[slot, unit]
                )


def lowest(lanes: int) -> int:
    return ((lanes & -lanes) - 1).bit_count()
