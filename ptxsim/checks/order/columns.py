"""Columns of tensor memory: who gives them back knows of all that was done with them. For bodies."""

from __future__ import annotations

from ptxsim.checks.order.cells import ANY, FREED, knows_unit, row_for, tell
from ptxsim.checks.order.clocks import lowest
from ptxsim.checks.order.state import CTAS, NOW, PARTS, WARPS, Order
from ptxsim.jit.body import Array


def use_of(o: Order, slot: int, rank: int, part: int) -> int:
    """The first of the uses, one for each warp of the cluster, of 32 columns of a CTA."""
    return ((slot * int(o.n[CTAS]) + rank) * PARTS + part) * int(o.n[CTAS] * o.n[WARPS])


def use_columns(o: Order, slot: int, warp: int, mask: int, rank: int, parts: int, site: int) -> None:
    """Lanes of a warp work on columns of a CTA, each bit 32 of them, or have waited until such work is over."""
    for part in range(PARTS):
        if parts >> part & 1:
            use = o.columns[use_of(o, slot, rank, part) + warp]
            use["time"], use["lanes"], use["site"] = o.n[NOW], mask, site


def free_columns(o: Order, slot: int, warp: int, mask: int, rank: int, parts: int, site: int, found: Array) -> None:
    """A warp gives columns back: somebody else's use that it knows nothing of may come later, when they are another's."""
    row = row_for(o, slot, warp, ANY)
    for part in range(PARTS):
        if parts >> part & 1:
            first = use_of(o, slot, rank, part)
            for other in range(int(o.n[CTAS] * o.n[WARPS])):
                use = o.columns[first + other]
                if other != warp and use["time"] > o.start[slot] and not knows_use(o, slot, warp, row, other, use):
                    tell(o, found, FREED, site, int(use["site"]), part, slot, warp, lowest(mask), other, False)
                    return


def knows_use(o: Order, slot: int, warp: int, row: int, other: int, use: Array) -> bool:
    """Whether a warp knows of one of the lanes of another one that it has done what they did together."""
    lanes = int(use["lanes"])
    while lanes:
        if knows_unit(o, slot, warp, ANY, row, False, 0, other * 32 + lowest(lanes), int(use["time"])):
            return True
        lanes &= lanes - 1
    return False
