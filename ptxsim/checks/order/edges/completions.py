"""Copies that complete on mbarriers: the column of clocks that their writes have, and the threads that have waited for it. For bodies."""

from __future__ import annotations

from ptxsim.checks.order.clocks import first_row, lowest, own_row, row_of, share, sharing
from ptxsim.checks.order.edges.releases import waiting_for
from ptxsim.checks.order.state import COMPLETIONS, COPIED, INITS, NONE, NOW, Order
from ptxsim.lanes import LANES
from ptxsim.machine.memory import RANK_SHIFT


def know(o: Order, slot: int, warp: int, lanes: int, column: int, time: int) -> None:
    """Lanes know from now on what a column says up to a time."""
    rest = lanes
    while rest:
        part = sharing(o, slot, warp, rest)
        rest &= ~part
        mine = own_row(o, slot, warp, part)
        share(o, slot, warp, part, mine)
        row = first_row(o, slot, warp) + mine
        o.clock[row, column] = max(o.clock[row, column], time)


def completed_at(address: int) -> int:
    """The place, among the columns for copies, of an mbarrier."""
    return (address >> RANK_SHIFT) * COMPLETIONS + (address >> 3) % COMPLETIONS


def complete(o: Order, slot: int, lanes: int, address: int, is_odd: int) -> None:
    """Copies of lanes complete on an mbarrier: they write now, which the records after this one say."""
    place = completed_at(address)
    if max(o.landed[slot, 0, place], o.landed[slot, 1, place]) <= o.start[slot]:
        o.landed_by[slot, place] = address
    elif o.landed_by[slot, place] != address:
        o.landed_by[slot, place] = NONE
    land_in(o, slot, lanes, int(o.n[COPIED]) + place, is_odd)


def one_ahead(o: Order, slot: int, warp: int, lanes: int, address: int, is_odd: int) -> int:
    """One of some lanes, which arrive in a phase, that does not know the copies of the phase before to be over; NONE if all do, or the
    mbarrier shares its column."""
    if o.n[COPIED] == o.n[INITS]:
        return NONE
    place, rest = completed_at(address), lanes
    column, time = int(o.n[COPIED]) + place, int(o.landed[slot, 1 - is_odd, place])
    if time <= o.start[slot] or o.landed_by[slot, place] != address:
        return NONE
    while rest:
        lane = lowest(rest)
        rest &= rest - 1
        if o.clock[row_of(o, slot, warp * LANES + lane), column] < time:
            return lane
    return NONE


def land_in(o: Order, slot: int, lanes: int, column: int, is_odd: int) -> None:
    for lane in range(LANES):
        if lanes >> lane & 1:
            o.landing[slot, lane] = column << 1 | is_odd


def go_on_completed(o: Order, slot: int, address: int, is_odd: int) -> None:
    """An arrival in a phase comes after all copies that completed in the one before."""
    if o.n[COPIED] < o.n[INITS]:
        place = completed_at(address)
        o.landed[slot, is_odd, place] = max(o.landed[slot, is_odd, place], o.landed[slot, 1 - is_odd, place])


def see_completed(o: Order, slot: int, warp: int, lanes: int, address: int, is_odd: int, acquires: bool) -> None:
    """Lanes have waited for a phase, and know the copies that completed in it; where they acquire nothing, a fence may later.

    Copies that other CTAs multicast are known like a CTA's own, whatever the scope of the wait: the mbarrier is in the waiting CTA's
    memory, the manual's examples and CUTLASS wait in the scope .cta, and an H200 gives such programs the data.
    """
    if o.n[COPIED] == o.n[INITS]:
        return
    place, rest = completed_at(address), lanes
    column, time = int(o.n[COPIED]) + place, int(o.landed[slot, is_odd, place])
    if acquires:
        know(o, slot, warp, lanes, column, time)
        return
    while rest:
        row = waiting_for(o, slot, warp * LANES + lowest(rest))
        rest &= rest - 1
        o.clock[row, column] = max(o.clock[row, column], time)


def completed(o: Order, slot: int, lane: int) -> int:
    """The column of the copy of a lane of a CTA that lands, which completes in this phase of its mbarrier."""
    landing = int(o.landing[slot, lane])
    column = landing >> 1
    if column < o.n[INITS]:
        place = column - int(o.n[COPIED])
        o.landed[slot, landing & 1, place] = o.n[NOW]
    return column


def landing_in(o: Order, slot: int, lanes: int) -> int:
    """The column of what lands for all of some lanes; NONE if there are several."""
    column = completed(o, slot, lowest(lanes))
    for lane in range(LANES):
        if lanes >> lane & 1 and o.landing[slot, lane] != o.landing[slot, lowest(lanes)]:
            return NONE
    return column
