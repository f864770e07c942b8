"""Accesses to memory, as the event stream tells of them, to the granules that they touch. For bodies."""

from __future__ import annotations

import numpy as np

from ptxsim.checks.order.by_line import lay_out_under
from ptxsim.checks.order.cells import ALL, ANY, COPIES, FETCHES, LEARNS, MIXED, OFFSET, OVER, READS, STAYS, WRITES, tell
from ptxsim.checks.order.clocks import lowest
from ptxsim.checks.order.edges.hearsay import take_data
from ptxsim.checks.order.edges.proxies import see_copies
from ptxsim.checks.order.edges.releases import synchronise
from ptxsim.checks.order.edges.tensor_maps import use_map
from ptxsim.checks.order.log import settle
from ptxsim.checks.order.memory.global_lines import spread
from ptxsim.checks.order.memory.lost_updates import put_back
from ptxsim.checks.order.memory.touches import land, touch
from ptxsim.checks.order.sites import BY_PROXY, CARRIES, CP_ASYNC, LATER, REDUCES, STRONG, TAKEN, TOGETHER, WARPGROUP
from ptxsim.checks.order.slots import far_line, place_granules
from ptxsim.checks.order.state import LINE_BITS, NONE, PAGE_BITS, Order
from ptxsim.jit.body import Array
from ptxsim.lanes import LANES
from ptxsim.machine.event import (
    FLAG_ASYNC_PROXY,
    FLAG_EACH,
    FLAG_MIXED,
    FLAG_READ,
    FLAG_TENSORMAP,
    FLAG_UNCHANGED,
    LANE_SHIFT,
    Event,
)

ALIGNED = 16  # bytes that rows of tiles are aligned to, while lanes' own accesses are aligned to their size


def access(o: Order, slot: int, warp: int, record: Array, event: int, is_global: bool, found: Array) -> bool:
    """Judge an access to memory and remember it; false, with nothing done, if there is no page for a granule of it."""
    flags, mask, site = int(record["flags"]), int(record["mask"]), int(record["site"])
    bits, addresses, width = int(o.sites[site]), record["addresses"], int(record["width"])
    by_proxy = flags & FLAG_ASYNC_PROXY != 0
    how, together, copier = 0, 0, flags >> LANE_SHIFT if by_proxy else NONE
    if event == Event.LOAD or event == Event.LDMATRIX:
        how = READS
    elif event == Event.STORE or event == Event.STMATRIX:
        how = WRITES | STAYS if flags & FLAG_UNCHANGED else WRITES
    elif event <= Event.REDUCE:
        how = READS | WRITES if event == Event.REDUCE else READS | WRITES | LEARNS
    elif is_global:
        lane = flags >> LANE_SHIFT
        if event == Event.ASYNC_WAIT and by_proxy and not flags & FLAG_READ:
            see_copies(o, slot, warp, 1 << lane)
        if event == Event.ASYNC_WRITE and by_proxy:
            how = READS | WRITES | COPIES if bits & REDUCES else WRITES | COPIES
            if flags & FLAG_UNCHANGED:
                how |= STAYS
        elif event == Event.ASYNC_ISSUE and by_proxy and flags & FLAG_READ:
            how = READS | COPIES
        together = 1 + lane
        if event == Event.ASYNC_READ and flags & FLAG_TENSORMAP:
            how, together = READS, ANY  # warps copy maps as one: what a lane has written is its warp's
    elif event == Event.ASYNC_READ:  # a product goes on reading until a wait: that is when it is remembered
        how, together = READS | FETCHES if bits & WARPGROUP else READS, ANY
        if by_proxy and not bits & WARPGROUP:
            together = 1 + (flags >> LANE_SHIFT)
    elif event == Event.ASYNC_ISSUE and not flags & FLAG_READ:
        how, together = WRITES | COPIES, 1 + (flags >> LANE_SHIFT) if by_proxy and not flags & FLAG_EACH else 0
        if bits & REDUCES:  # what it adds to is to be there
            how |= READS
    elif event == Event.ASYNC_WAIT and not by_proxy:
        how = WRITES
    elif event == Event.ASYNC_WAIT and flags & FLAG_READ:
        how, together = READS | OVER, ANY
        if bits & (BY_PROXY | LATER) == BY_PROXY:  # its group's wait is its lane's
            together = 1 + copier
    if not is_global and (event == Event.ASYNC_WRITE or (bits & LATER and how & WRITES and not how & COPIES)):
        land(o, slot, warp, record, bits & CP_ASYNC != 0, copier)
        return True
    if how == 0:
        return True
    if together == 0 and bits & TOGETHER:
        together = ALL
    if event == Event.STORE and flags & FLAG_MIXED:
        lane = lowest(mask)
        at = int(addresses[lane]) if is_global else int(addresses[lane]) & OFFSET
        tell(o, found, MIXED, site, differing(addresses, mask, width), at, slot, warp, lane, warp, is_global)
    if is_global and not have_pages(o, addresses, mask, width):
        return False
    if not is_global:
        lay_out_under(o, slot, addresses, mask, width)
    if bits & CARRIES and (event == Event.STORE or (is_global and Event.STORE < event <= Event.REDUCE)):
        put_back(o, slot, warp, record, event, is_global, found)
    if is_global:
        touch_global(o, slot, warp, addresses, mask, width, site, how, together, copier, found)
    else:
        settle(o, slot, addresses, mask, width)
        touch(o, slot, warp, addresses, mask, width, site, how, together, copier, False, found)
    if is_global and event == Event.ASYNC_READ and flags & FLAG_TENSORMAP:
        use_map(o, slot, warp, record, site, found)
    if bits & TAKEN and is_global:
        take_data(o, slot, warp, record, site, found)
    if bits & STRONG and not by_proxy:
        synchronise(o, slot, warp, addresses, mask, site, how, is_global)
    return True


def differing(addresses: Array, mask: int, width: int) -> int:
    """In which bits the numbers of lanes differ that access one place; and one bit more where their places overlap in part."""
    found = 0
    for each in range(LANES):
        for other in range(each):
            if mask >> each & mask >> other & 1:
                apart = abs(int(addresses[each]) - int(addresses[other]))
                if apart == 0:
                    found |= each ^ other
                elif apart < width:
                    found |= LANES
    return found


def have_pages(o: Order, addresses: Array, mask: int, width: int) -> bool:
    """Whether there are granules for what lanes access in global memory, which say from now on what their lines held."""
    known = NONE
    for lane in range(LANES):
        if mask >> lane & 1:
            address = int(addresses[lane])
            for line in range(address >> LINE_BITS, (address + width - 1 >> LINE_BITS) + 1):
                if line != known:
                    at = far_line(o, line)
                    if at == NONE or place_granules(o, at) == NONE:
                        return False
                    if o.far_lines[at]["held"] != 0:
                        spread(o, at, line)
                    known = line
    return True


def touch_global(
    o: Order, slot: int, warp: int, addresses: Array, mask: int, width: int, site: int, how: int, together: int, copier: int,
    found: Array,
) -> None:  # fmt: skip
    """`touch` of global memory, whose granules follow each other within a page only: rows of tiles may lie in two."""
    apart = across_pages(addresses, mask, width)
    if apart != mask:
        touch(o, slot, warp, addresses, mask & ~apart, width, site, how, together, copier, True, found)
    if apart:
        touch_parts(o, slot, warp, addresses, apart, width, site, how, together, copier, found)


def touch_parts(
    o: Order, slot: int, warp: int, addresses: Array, rest: int, width: int, site: int, how: int, together: int, copier: int,
    found: Array,
) -> None:  # fmt: skip
    """The same of lanes whose bytes lie in several pages, in parts that do not."""
    starts = np.zeros(LANES, np.uint64)
    while rest:
        lane = lowest(rest)
        rest &= rest - 1
        at, end = int(addresses[lane]), int(addresses[lane]) + width
        while at < end:
            size = min(end, (at >> PAGE_BITS) + 1 << PAGE_BITS) - at
            starts[lane] = at
            touch(o, slot, warp, starts, 1 << lane, size, site, how, together, copier, True, found)
            at += size


def across_pages(addresses: Array, mask: int, width: int) -> int:
    """The lanes whose bytes lie in several pages."""
    found = 0
    if width > ALIGNED:
        for lane in range(LANES):
            if mask >> lane & 1 and int(addresses[lane]) >> PAGE_BITS != int(addresses[lane]) + width - 1 >> PAGE_BITS:
                found |= 1 << lane
    return found
