"""What threads know of copies of the async proxy, and what those see. For bodies."""

from __future__ import annotations

from ptxsim.checks.order.cells import knows_writer, row_for
from ptxsim.checks.order.clocks import lowest
from ptxsim.checks.order.state import COPYING, CTAS, NOW, UNITS, WARPS, Order
from ptxsim.lanes import LANES


def publish(o: Order, slot: int, warp: int, lanes: int) -> None:
    """A proxy fence for global memory: what lanes have written there, and what they know, copies see."""
    if o.n[COPYING]:
        for lane in range(LANES):
            if lanes >> lane & 1:
                mine = o.published[thread_of(o, slot, warp, lane)]
                mine["before"], mine["fenced"], mine["covers"] = mine["fenced"], o.n[NOW], mine["synced"]


def waited(o: Order, slot: int, warp: int, lanes: int) -> None:
    """Lanes have waited for others, and may know what those have written."""
    if o.n[COPYING]:
        for lane in range(LANES):
            if lanes >> lane & 1:
                o.published[thread_of(o, slot, warp, lane)]["synced"] = o.n[NOW]


def thread_of(o: Order, slot: int, warp: int, lane: int) -> int:
    """A thread as granules of global memory name it."""
    return int(o.cluster[slot] * o.n[UNITS]) + warp * LANES + lane


def see_copies(o: Order, slot: int, warp: int, lanes: int) -> None:
    """What asynchronous copies have written by now is known to lanes that have waited for an mbarrier, or for copies of theirs."""
    rest = lanes
    while rest:
        lane = lowest(rest)
        o.clock[row_for(o, slot, warp, lane), int(o.n[UNITS]) - 1] = o.n[NOW]
        rest &= rest - 1


def is_published(
    o: Order, slot: int, warp: int, lane: int, row: int, base: int, writer: int, written: int
) -> bool:  # fmt: skip
    """Whether a copy of a lane sees what a thread has written to global memory through the generic proxy: a proxy fence stands
    between the two, executed by either thread or by another one."""
    units = int(o.n[UNITS])
    if o.n[COPYING] == 0 or written == 0 or writer < 0 or writer % units == units - 1:
        return True
    theirs = o.published[writer]
    if theirs["fenced"] > written:
        is_known = knows_writer(o, slot, warp, lane, row, base, writer, int(theirs["fenced"]))
        if is_known or theirs["before"] > written:
            return True
    for unit in range(int(o.n[CTAS] * o.n[WARPS]) * LANES):
        one = o.published[base + unit]
        if one["covers"] >= written and knows_writer(o, slot, warp, lane, row, base, base + unit, int(one["fenced"])):
            return True
    return False
