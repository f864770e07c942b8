"""A CTA may end once the copies out of its shared memory are over and one of its threads knows that. For bodies.

It is a thread of another CTA that waits for such a copy; the sender learns of it by what that thread does next: an arrival, a flag, the
barrier of the cluster, even a relaxed one. CUDA C++ Programming Guide, "Distributed Shared Memory".
"""

from __future__ import annotations

from ptxsim.checks.order.cells import LEFT, any_knows, tell
from ptxsim.checks.order.clocks import lowest
from ptxsim.checks.order.edges.completions import completed
from ptxsim.checks.order.sites import LATER
from ptxsim.checks.order.state import COPIED, INITS, NOW, Order
from ptxsim.jit.body import Array
from ptxsim.machine.event import FLAG_ASYNC_PROXY, FLAG_READ, LANE_SHIFT, Event


def read_by_copies(o: Order, slot: int, rank: int, record: Array, event: int, bits: int) -> None:
    """A copy begins to read its CTA's shared memory, or has read it."""
    flags, copies = int(record["flags"]), int(o.n[INITS] - o.n[COPIED])
    if not copies or not bits & LATER or not flags & FLAG_ASYNC_PROXY:
        return
    size, begun = int(record["width"]) * int(record["mask"]).bit_count(), o.sent[slot, rank, copies - 1]
    if event == Event.ASYNC_READ:
        begun["bytes"] += size
        begun["site"] = record["site"]
    elif event == Event.ASYNC_WAIT and flags & FLAG_READ:
        begun["bytes"] -= size
        place = completed(o, slot, flags >> LANE_SHIFT) - int(o.n[COPIED])
        if place < copies:
            last = o.sent[slot, rank, place]
            last["time"], last["site"] = o.n[NOW], record["site"]


def depart(o: Order, slot: int, rank: int, warp: int, mask: int, site: int, found: Array) -> None:
    """Lanes of a warp are about to exit: what one of them knows to be over may be forgotten; nothing else is left when the last one goes."""
    copies, is_last = int(o.n[INITS] - o.n[COPIED]), o.threads[slot, rank] == mask.bit_count()
    for place in range(copies):
        sent, column = o.sent[slot, rank, place], int(o.n[COPIED]) + place
        if sent["time"] != 0 and sent["time"] < o.relaxed[slot, rank]:
            sent["time"] = 0
        if sent["time"] != 0 and any_knows(o, slot, warp, column, int(sent["time"])):
            sent["time"] = 0
        if is_last and (sent["time"] != 0 or sent["bytes"] > 0):
            tell(o, found, LEFT, int(sent["site"]), site, 0, slot, warp, lowest(mask), warp, False)
            return
