"""What lanes begin in native code that completes on mbarriers later (machine.copies.lane_work): st.async, red.async, cp.async.mbarrier.arrive.

Every function does all of an operation, or nothing where it cannot: the slow path does it then.
"""

from __future__ import annotations

import numpy as np

from ptxsim.engine.compiled.runtime.abi import UNKNOWN, Context, Numbers
from ptxsim.engine.compiled.runtime.addresses import NONE
from ptxsim.engine.compiled.runtime.bulk_lanes import begin, name
from ptxsim.engine.compiled.runtime.mbarrier_lanes import live_at, table_at
from ptxsim.jit.body import body
from ptxsim.jit.export import address_of, view
from ptxsim.jit.record import FLAG, I32, U32
from ptxsim.lanes import LANES
from ptxsim.machine.barriers.mbarrier_state import NOWHERE, add_pending, most_arrivals
from ptxsim.machine.copies.bulk_records import BulkCopies, BulkCopy
from ptxsim.machine.copies.bulk_state import copy_at
from ptxsim.machine.copies.lane_work import ARRIVE, LaneWork
from ptxsim.machine.memory import RANK_SHIFT
from ptxsim.machine.records import MBarrierRecord, MBarrierTable, WarpRecord


@body
def issue_stores(
    context: Context, warp: WarpRecord, site: I32, lanes: U32, width: I32, operation: I32, targets: Numbers, barriers: Numbers,
    low: Numbers, high: Numbers,
) -> FLAG:  # fmt: skip
    """Stores of lanes begin, whose places are there."""
    copies = view(context.bulk, BulkCopies, 1)[0]
    if lanes == 0:
        return True
    if not has_barriers(copies, warp, lanes, barriers):
        return False
    work = view(copies.free_work, LaneWork, 1)[0]
    for lane in range(LANES):
        if lanes >> lane & 1 != 0:
            at = targets[lane] - warp.cluster
            if at < 0 or at >> RANK_SHIFT >= warp.ctas:
                return False
            work.targets[lane] = targets[lane]
            work.names[lane] = at
            work.low[lane] = low[lane]
            work.high[lane] = high[lane]
    work.width = width
    work.operation = operation
    begin_work(context, copies, warp, site, lanes)
    return True


@body
def issue_arrivals(
    context: Context, warp: WarpRecord, site: I32, lanes: U32, increments: FLAG, barriers: Numbers
) -> FLAG:  # fmt: skip
    """Lanes will arrive when the copies have landed that they have issued; increments: the phase expects so many more."""
    copies = view(context.bulk, BulkCopies, 1)[0]
    if lanes == 0:
        return True
    if not has_barriers(copies, warp, lanes, barriers):
        return False
    work = view(copies.free_work, LaneWork, 1)[0]
    for lane in range(LANES):
        if lanes >> lane & 1 != 0 and increments:
            barrier = view(work.barriers[lane], MBarrierRecord, 1)[0]
            if barrier.pending + LANES > most_arrivals(barrier.layout):
                return False
    for lane in range(LANES):
        if lanes >> lane & 1 != 0 and increments:
            add_pending(view(work.barriers[lane], MBarrierRecord, 1)[0], 1)
    work.operation = ARRIVE
    work.before = warp.copies.issued
    begin_work(context, copies, warp, site, lanes)
    return True


def has_barriers(copies: BulkCopies, warp: WarpRecord, lanes: int, barriers: Numbers) -> bool:
    """Name the mbarriers of lanes in the record that is free; false if there is none, or a lane has no mbarrier."""
    if copies.used == copies.room or copies.free_work == 0:
        return False
    work, place, found = view(copies.free_work, LaneWork, 1)[0], NONE, 0
    for lane in range(LANES):
        if lanes >> lane & 1 != 0:
            if barriers[lane] != place:
                place = barriers[lane]
                address = table_at(warp, place)
                if address == 0:
                    return False
                table = view(address, MBarrierTable, 1)[0]
                number = live_at(table, place)
                if number == NOWHERE:
                    return False
                found = address_of(table.all[number])
            work.barriers[lane] = found
            work.barrier_names[lane] = place - warp.cluster
    return True


def begin_work(context: Context, copies: BulkCopies, warp: WarpRecord, site: int, lanes: int) -> None:
    """What the record that is free says begins."""
    work, copy = view(copies.free_work, LaneWork, 1)[0], view(copy_at(copies, copies.used), BulkCopy, 1)[0]
    first = 0
    while lanes >> first & 1 == 0:
        first += 1
    work.lanes = lanes
    work.line = view(context.lines, np.int64, UNKNOWN)[site]
    name(copy, warp, site, first)
    copy.barrier = work.barriers[first]
    copy.size = work.width
    copy.work = address_of(work)
    begin(context, copies, 1)


EXPORTS = issue_stores, issue_arrivals
