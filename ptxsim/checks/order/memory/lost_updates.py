"""Updates by a strong load and a strong store, of which one may undo another: a thread stores what it has loaded and changed. For bodies.

A volatile or relaxed load and store do not race with those of other threads, but they are two: what another thread stores between them is
lost. And a store that is not ordered with the atomics that add there undoes them, or not. Lanes of one warp are left out, whose order
the machine takes from the program. PTX ISA, "Memory Consistency Model: Race".
"""

from __future__ import annotations

from ptxsim.checks.order.cells import LOST, OFFSET, cell_of, end_of, knows_access, knows_writer, row_for, tell, warp_of
from ptxsim.checks.order.sites import CARRIES, STRONG
from ptxsim.checks.order.slots import far_line, place_granules
from ptxsim.checks.order.state import CTAS, LINE_BITS, NONE, SHIFT, UNITS, WARPS, Order
from ptxsim.jit.body import Array
from ptxsim.lanes import LANES
from ptxsim.machine.event import Event


def put_back(o: Order, slot: int, warp: int, record: Array, event: int, is_global: bool, found: Array) -> None:
    """Lanes store what they have loaded there, changed, or add to it: do they know of the last store before theirs?"""
    site = int(record["site"])
    mask, cluster, shift, told = int(record["mask"]), int(o.cluster[slot]) if is_global else 0, int(o.n[SHIFT]), False
    base, base_warp = cluster * int(o.n[UNITS]), cluster * int(o.n[CTAS] * o.n[WARPS])
    start = 0 if is_global else int(o.start[slot])
    for lane in range(LANES):
        if not mask >> lane & 1 or told:
            continue
        address = int(record["addresses"][lane])
        if is_global:
            first = place_granules(o, far_line(o, address >> LINE_BITS))
            cell = first + ((address & (1 << LINE_BITS) - 1) >> shift)
            one, updates = o.far_cells[cell], o.far_updates[cell]
            if event != Event.STORE and is_read_since(o, cell):
                continue
        else:
            cell = cell_of(o, slot, address)
            if cell >= end_of(o, slot, address, 1):
                continue
            one, updates = o.cells[cell], o.updates[cell]
        last, row = int(one["last"]), row_for(o, slot, warp, lane)
        if last <= start:
            continue
        who, other = NONE, 0
        if last == one["written"]:
            writer = int(one["writer"])
            if o.sites[one["site"]] & STRONG and not knows_writer(o, slot, warp, lane, row, base, writer, last):
                who, other = warp_of(o, writer) if is_global else writer // LANES, int(one["site"])
        else:
            for place in range(updates.shape[0]):
                access = updates[place]
                if access["time"] == last and not knows_access(o, slot, warp, lane, row, base_warp, access, is_global):
                    who, other = int(access["warp"]), int(access["site"])
        if event != Event.STORE and o.sites[other] & CARRIES:
            continue
        if who != NONE and who != base_warp + warp:
            told = True
            at = address if is_global else address & OFFSET
            tell(o, found, LOST, site, other, at, slot, warp, lane, who, is_global)


def is_read_since(o: Order, cell: int) -> bool:
    """Whether anybody has read global memory since it was last written: a thread that has seen a store comes after it with its own."""
    latest = 0
    for place in range(o.far_reads.shape[1]):
        latest = max(latest, int(o.far_reads[cell, place]["time"]))
    return latest > int(o.far_cells[cell]["last"])
