"""What threads know of copies of the async proxy, and what those see. For bodies."""

from __future__ import annotations

from ptxsim.checks.order.cells import knows_writer, row_for
from ptxsim.checks.order.clocks import lowest
from ptxsim.checks.order.state import COPIED, COPYING, CROSSING, CTAS, NOW, UNITS, WARPS, Order
from ptxsim.jit.body import Array
from ptxsim.lanes import LANES
from ptxsim.machine.event import Proxy


def publish(o: Order, slot: int, warp: int, lanes: int, proxy: int) -> None:
    """A fence of the async proxy: what lanes have written, and what they know, copies see; in global or in shared memory, or in both."""
    for lane in range(LANES):
        if lanes >> lane & 1:
            if o.n[COPYING] and proxy != Proxy.ASYNC_SHARED:
                note_fence(o, o.published[thread_of(o, slot, warp, lane)])
            if o.n[CROSSING] and proxy != Proxy.ASYNC_GLOBAL:
                note_fence(o, o.fenced[slot, warp * LANES + lane])


def note_fence(o: Order, mine: Array) -> None:
    mine["before"], mine["fenced"], mine["covers"] = mine["fenced"], o.n[NOW], mine["synced"]


def waited(o: Order, slot: int, warp: int, lanes: int) -> None:
    """Lanes have waited for others, and may know what those have written."""
    if o.n[COPYING]:
        for lane in range(LANES):
            if lanes >> lane & 1:
                o.published[thread_of(o, slot, warp, lane)]["synced"] = o.n[NOW]
    if o.n[CROSSING]:
        for lane in range(LANES):
            if lanes >> lane & 1:
                o.fenced[slot, warp * LANES + lane]["synced"] = o.n[NOW]


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
    if is_fenced(o, slot, warp, lane, row, base, writer, written, o.published[writer]):
        return True
    for unit in range(int(o.n[CTAS] * o.n[WARPS]) * LANES):
        if covers(o, slot, warp, lane, row, base, base + unit, written, o.published[base + unit]):
            return True
    return False


def is_published_in_cluster(o: Order, slot: int, warp: int, lane: int, row: int, writer: int, written: int) -> bool:
    """The same of shared memory of the cluster."""
    if writer < 0 or writer >= o.n[COPIED]:
        return True
    if is_fenced(o, slot, warp, lane, row, 0, writer, written, o.fenced[slot, writer]):
        return True
    for unit in range(int(o.n[CTAS] * o.n[WARPS]) * LANES):
        if covers(o, slot, warp, lane, row, 0, unit, written, o.fenced[slot, unit]):
            return True
    return False


def is_fenced(
    o: Order, slot: int, warp: int, lane: int, row: int, base: int, writer: int, written: int, theirs: Array
) -> bool:  # fmt: skip
    """Whether who has written has executed a fence since, which a lane knows of."""
    if theirs["fenced"] <= written:
        return False
    is_known = knows_writer(o, slot, warp, lane, row, base, writer, int(theirs["fenced"]))
    return is_known or bool(theirs["before"] > written)


def covers(
    o: Order, slot: int, warp: int, lane: int, row: int, base: int, thread: int, written: int, one: Array
) -> bool:  # fmt: skip
    """Whether another thread has executed one after it had waited for others, which a lane knows of."""
    return bool(one["covers"] >= written) and knows_writer(o, slot, warp, lane, row, base, thread, int(one["fenced"]))
