"""What threads know of copies of the async proxy, and what those see. For bodies."""

from __future__ import annotations

from ptxsim.checks.order.cells import row_for
from ptxsim.checks.order.clocks import lowest
from ptxsim.checks.order.state import COPYING, NOW, UNITS, Order
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
