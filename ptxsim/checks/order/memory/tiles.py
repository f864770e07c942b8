"""What asynchronous operations do to their CTA's own shared memory, as far as its lines show that to be in order. For bodies.

Products read tiles, bulk copies and cp.async write them, many granules a lane. `lines` judges them as it does other accesses, with
the same verdict as granule by granule (`accesses`):

* A product begins to read: the lines say whether its warp knows who wrote them. It is remembered when a wait shows it to be over.
* A bulk or tensor copy begins to read: that is a read of its lane, as others are. What has been read until a wait goes to the
  log of reads once more; where the copy completes on an mbarrier, as the read of that one's column, as products' reads are.
* A copy begins to write: nothing may have been done to its lines that its lane does not know. Products of one or two warpgroups
  that have read them are known by the columns of these: consumers arrive at an mbarrier when they have waited for them.
* What a lane's cp.async has written is the lane's, after a wait, if no other thread has been there since.
"""

from __future__ import annotations

from ptxsim.checks.order.by_line import are_of_lanes, fills_lines, lay_out_under, write_lines
from ptxsim.checks.order.cells import (
    ANY,
    COPIES,
    FETCHES,
    NOBODY,
    OVER,
    READS,
    WRITES,
    first_cell,
    in_flight,
    products_of,
    row_for,
)
from ptxsim.checks.order.clocks import first_row
from ptxsim.checks.order.edges.completions import completed
from ptxsim.checks.order.log import keep_in_log, make_room
from ptxsim.checks.order.memory.lines import PARTLY, UNKNOWN, WHOLLY, is_all_own, is_written, take_cells, take_lines
from ptxsim.checks.order.sites import BY_PROXY, LATER, REDUCES, STRONG, TOGETHER, WARPGROUP
from ptxsim.checks.order.state import LOGGED, NONE, NOW, PLAIN, SHIFT, Order
from ptxsim.jit.body import Array
from ptxsim.lanes import LANES
from ptxsim.machine.event import FLAG_ASYNC_PROXY, FLAG_EACH, FLAG_READ, LANE_SHIFT, Event


def is_tile_in_order(o: Order, slot: int, rank: int, warp: int, record: Array, event: int, bits: int) -> bool:
    """Whether its lines show an asynchronous operation on shared memory to be in order; it has been remembered then."""
    flags = int(record["flags"])
    if event < Event.ASYNC_READ or o.n[PLAIN]:
        return False
    begins = flags & FLAG_ASYNC_PROXY != 0 and event == Event.ASYNC_ISSUE
    if bits & REDUCES and event != Event.ASYNC_READ:
        return False
    if begins and flags & FLAG_EACH:
        return o.uniform[slot, warp] != NONE and begin_copy(o, slot, warp, record, ANY)
    if bits & STRONG and event != Event.ASYNC_READ:
        return False
    if begins:
        return flags & FLAG_READ != 0 or begin_copy(o, slot, warp, record, flags >> LANE_SHIFT)
    if not is_all_own(o, rank, record):
        return False
    if flags & FLAG_ASYNC_PROXY:
        if event == Event.ASYNC_READ:
            return (
                fetch(o, slot, warp, record) if bits & WARPGROUP else send(o, slot, warp, record, flags >> LANE_SHIFT)
            )
        return event == Event.ASYNC_WAIT and (
            flags & FLAG_READ == 0
            or end_reads(o, slot, warp, record, flags >> LANE_SHIFT if bits & (BY_PROXY | LATER) == BY_PROXY else ANY)
        )
    if o.uniform[slot, warp] == NONE or bits & (LATER | TOGETHER):
        return False
    if event == Event.ASYNC_ISSUE:
        return take_over(o, slot, warp, record)
    return event == Event.ASYNC_WAIT and give_to_lanes(o, slot, rank, warp, record)


def fetch(o: Order, slot: int, warp: int, record: Array) -> bool:
    """A product begins to read."""
    found = take_lines(o, slot, warp, row_for(o, slot, warp, ANY), record, READS | FETCHES, 0)
    return found == WHOLLY or (found == PARTLY and is_written(o, slot, record))


def send(o: Order, slot: int, warp: int, record: Array, lane: int) -> bool:
    """A bulk copy of a lane begins to read."""
    row, reader = row_for(o, slot, warp, lane), in_flight(o) if o.sites[record["site"]] & LATER else 0
    make_room(o, slot)
    found = take_lines(o, slot, warp, row, record, READS, reader)
    if found == UNKNOWN or (found == PARTLY and not is_written(o, slot, record)):
        return False
    keep_in_log(o, row, record, 1 << lane, False, False)
    return True


def end_reads(o: Order, slot: int, warp: int, record: Array, lane: int) -> bool:
    """A wait shows what has been read until then: the log remembers it, as the lane's that waits for its group, else as no lane's (ANY)."""
    row, bits, copier, reader = row_for(o, slot, warp, lane), int(o.sites[record["site"]]), 0, 0
    make_room(o, slot)
    if bits & LATER:
        copier = completed(o, slot, int(record["flags"]) >> LANE_SHIFT)
        reader = copier
    elif bits & WARPGROUP:
        reader = products_of(o, warp)
    if take_lines(o, slot, warp, row, record, READS | OVER, reader) == UNKNOWN:
        return False
    keep_in_log(o, row, record, 0 if lane == ANY else 1 << lane, lane == ANY, False)
    o.log_note[int(o.n[LOGGED]) - 1]["copier"] = copier
    return True


def begin_copy(o: Order, slot: int, warp: int, record: Array, lane: int) -> bool:
    """A bulk copy of a lane, or stores of lanes (ANY), may write from now on."""
    if take_lines(o, slot, warp, row_for(o, slot, warp, lane), record, WRITES | COPIES, 0) == UNKNOWN:
        return False
    take_cells(o, slot, record, in_flight(o), 0)
    return True


def take_over(o: Order, slot: int, warp: int, record: Array) -> bool:
    """The cp.async of lanes may write from now on."""
    row = first_row(o, slot, warp) + int(o.uniform[slot, warp])
    if take_lines(o, slot, warp, row, record, WRITES, 0) == UNKNOWN:
        return False
    take_cells(o, slot, record, NOBODY, 0)
    return True


def give_to_lanes(o: Order, slot: int, rank: int, warp: int, record: Array) -> bool:
    """Lanes have waited for what their cp.async have written, which counts as written by them now."""
    mask, width, addresses, now = int(record["mask"]), int(record["width"]), record["addresses"], int(o.n[NOW])
    row, site = first_row(o, slot, warp) + int(o.uniform[slot, warp]), int(record["site"])
    floor = int(o.floor[row])
    if take_lines(o, slot, warp, row, record, WRITES | OVER, 0) == UNKNOWN:
        return False
    if fills_lines(o, record) and are_of_lanes(o, slot, record, warp * LANES, floor):
        write_lines(o, slot, record, warp * LANES, 1)
        return True
    lay_out_under(o, slot, addresses, mask, width)
    shift, cells, start = int(o.n[SHIFT]), first_cell(o, slot, rank), int(o.start[slot])
    for lane in range(LANES):
        if mask >> lane & 1:
            address, unit = int(addresses[lane]), warp * LANES + lane
            for cell in range(cells + (address >> shift), cells + (address + width - 1 >> shift) + 1):
                made = o.cells[cell]
                if made["writer"] != unit or made["written"] <= start or made["update"] > floor:
                    return False
                made["written"], made["last"], made["site"] = now, now, site
    return True
