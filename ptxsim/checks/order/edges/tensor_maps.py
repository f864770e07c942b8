"""Tensor maps in global memory that one thread has acquired and another uses: does that one know of the fence? For bodies.

Who wrote a map, and whether it has been published and acquired at all, is for `checks.proxies.tensor_maps`. PTX ISA, "fence.proxy.tensormap".
"""

from __future__ import annotations

from ptxsim.checks.order.cells import UNACQUIRED, row_for, tell
from ptxsim.checks.order.slots import far_line, place_granules
from ptxsim.checks.order.state import LINE_BITS, MAPS, NONE, NOW, WARPS, Order
from ptxsim.jit.body import Array
from ptxsim.lanes import LANES


def acquire_map(o: Order, slot: int, warp: int, lanes: int, address: int) -> None:
    """Lanes acquire a map."""
    count = int(o.map_count[slot])
    for number in range(min(count, MAPS)):
        one = o.maps[slot, number]
        if one["line"] == address >> LINE_BITS and one["warp"] == warp and one["lanes"] == lanes:
            one["latest"] = o.n[NOW]
            return
    one = o.maps[slot, count % MAPS]
    one["line"], one["warp"], one["lanes"] = address >> LINE_BITS, warp, lanes
    one["time"], one["latest"] = o.n[NOW], o.n[NOW]
    o.map_count[slot] = count + 1


def use_map(o: Order, slot: int, warp: int, record: Array, site: int, found: Array) -> None:
    """Copies of lanes read maps; where threads of the CTA have acquired one since it was written, does the lane know one of them?"""
    for lane in range(LANES):
        if int(record["mask"]) >> lane & 1:
            address = int(record["addresses"][lane])
            first = place_granules(o, far_line(o, address >> LINE_BITS))
            by = acquired_unknown(o, slot, warp, lane, address >> LINE_BITS, int(o.far_cells[first]["last"]))
            if by != NONE:
                tell(o, found, UNACQUIRED, site, int(o.far_cells[first]["site"]), address, slot, warp, lane, by, True)


def acquired_unknown(o: Order, slot: int, warp: int, lane: int, line: int, since: int) -> int:
    """The warp of the CTA that has acquired a map, if a lane knows of no thread that has, since it was written; else NONE."""
    row, found, rank = row_for(o, slot, warp, lane), NONE, warp // int(o.n[WARPS])
    if since == 0 or o.map_count[slot] > MAPS:  # one that is forgotten may be one that it knows
        return NONE
    for number in range(int(o.map_count[slot])):
        one = o.maps[slot, number]
        other = int(one["warp"])
        if one["line"] != line or one["latest"] < since or other // int(o.n[WARPS]) != rank:
            continue
        if one["time"] < since and one["time"] != one["latest"]:
            return NONE  # it may know of one in between
        for each in range(LANES):
            if int(one["lanes"]) >> each & 1 and (
                (other == warp and each == lane) or o.clock[row, other * LANES + each] >= one["time"]
            ):
                return NONE
        found = other
    return found
