"""Copies to the shared memory of another CTA of the cluster, where the generic proxy has written. For bodies.

Of copies to the own CTA's the proxy checks find the same (checks.proxies), which look at one CTA at a time.
"""

from __future__ import annotations

from ptxsim.checks.order.by_line import lay_out
from ptxsim.checks.order.cells import OFFSET, UNPUBLISHED, cell_of, end_of, line_of, row_for, tell
from ptxsim.checks.order.edges.proxies import is_published_in_cluster
from ptxsim.checks.order.sites import LATER
from ptxsim.checks.order.state import COPIED, LINE_BITS, NONE, SHIFT, Order
from ptxsim.jit.body import Array
from ptxsim.lanes import LANES
from ptxsim.machine.event import FLAG_ASYNC_PROXY, FLAG_EACH, FLAG_READ, LANE_SHIFT, Event
from ptxsim.machine.memory import RANK_SHIFT


def meet_generic(o: Order, slot: int, rank: int, warp: int, record: Array, event: int, bits: int, found: Array) -> None:
    """A copy begins: what threads have written to its destination is to be published, where that is another CTA's."""
    flags = int(record["flags"])
    if (
        event != Event.ASYNC_ISSUE
        or not bits & LATER
        or flags & (FLAG_ASYNC_PROXY | FLAG_EACH | FLAG_READ) != FLAG_ASYNC_PROXY
    ):
        return
    mask, width, addresses, start = int(record["mask"]), int(record["width"]), record["addresses"], int(o.start[slot])
    for each in range(LANES):
        if mask >> each & 1 and int(addresses[each]) >> RANK_SHIFT != rank:
            address, at = int(addresses[each]), int(addresses[each])
            while at < address + width:
                line, part = line_of(o, slot, at), min(address + width, (at >> LINE_BITS) + 1 << LINE_BITS) - at
                if line != NONE and holds_generic(o, line, start):
                    lay_out(o, line)
                    if is_told(o, slot, warp, record, at, part, flags >> LANE_SHIFT, found):
                        return
                at += part


def holds_generic(o: Order, line: int, start: int) -> bool:
    """Whether threads may have written to a line of shared memory last: the line says so where one record has written all of it."""
    one = o.lines[line]
    return bool(one["written"] > start) and bool(one["wrote"] == 0 or one["writer"] < o.n[COPIED])


def is_told(o: Order, slot: int, warp: int, record: Array, address: int, width: int, lane: int, found: Array) -> bool:
    """Whether something in part of a line is not published, which is told."""
    row, first, start = row_for(o, slot, warp, lane), cell_of(o, slot, address), int(o.start[slot])
    for cell in range(first, end_of(o, slot, address, width)):
        writer, written = int(o.cells[cell]["writer"]), int(o.cells[cell]["written"])
        if written > start and not is_published_in_cluster(o, slot, warp, lane, row, writer, written):
            at = (cell - first << int(o.n[SHIFT])) + address & OFFSET
            tell(o, found, UNPUBLISHED, int(record["site"]), int(o.cells[cell]["site"]), at, slot, warp, lane, 0, False)
            return True
    return False
