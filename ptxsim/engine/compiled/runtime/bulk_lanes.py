"""Bulk and tensor copies in native code: what the lanes of a warp begin, one after the other, in memory of their own CTA.

Every function does all of an operation, or nothing where it cannot: the slow path does it then. Shared memory is given by addresses
of this process; what happens to copies in flight is machine.bulk_state.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import numpy as np

from ptxsim.engine.compiled.runtime.abi import KINDS, READ_ONLY, UNKNOWN, Context, Numbers
from ptxsim.engine.compiled.runtime.addresses import NONE, allocation_of, space_of
from ptxsim.engine.compiled.runtime.events import event
from ptxsim.engine.compiled.runtime.mbarrier_lanes import live_at
from ptxsim.jit.body import body
from ptxsim.jit.export import address_of, view
from ptxsim.jit.record import FLAG, I32, I64, U32, Pointer
from ptxsim.lanes import LANES
from ptxsim.machine import bulk_state
from ptxsim.machine.asynchronous import LATEST
from ptxsim.machine.bulk_bytes import place_rows
from ptxsim.machine.bulk_records import BulkCopies, BulkCopy, Side
from ptxsim.machine.bulk_state import begin_copy, copy_at, extent_of, loose_lanes, tensor_at
from ptxsim.machine.event import FLAG_TENSORMAP, Event
from ptxsim.machine.mbarrier_state import NOWHERE
from ptxsim.machine.records import CtaRecord, MBarrierTable, WarpRecord
from ptxsim.machine.tensor_map import SIZE
from ptxsim.machine.tensor_tile import (
    IM2COL,
    OUTSIDE,
    RANKS,
    SPATIAL,
    TensorRecord,
    count_rows,
    end_inside,
    first_inside,
    row_bytes,
)

LOAD, STORE, LOOK = range(3)  # what a copy does: into shared memory, out of it, nothing
Coordinates = Annotated[Sequence[int], Pointer(np.dtype(np.int64), LANES * (RANKS + SPATIAL))]
_LONGS = np.dtype(np.int64)


@body
def issue_run(
    context: Context, warp: WarpRecord, site: I32, lanes: U32, what: I32, shared: Numbers, others: Numbers, sizes: Numbers,
    barriers: Numbers, reduction: I64,
) -> FLAG:  # fmt: skip
    """Copies of runs of bytes between shared and global memory begin."""
    copies = view(context.bulk, BulkCopies, 1)[0]
    count = 0
    for lane in range(LANES):
        if lanes >> lane & 1 != 0:
            size, other = sizes[lane], others[lane]
            if size <= 0 or size % 16 != 0 or other % 16 != 0 or not in_allocation(context, other, size, what == STORE):
                return False
            if what != LOOK:
                if copies.used + count == copies.room:
                    return False
                copy = view(copy_at(copies, copies.used + count), BulkCopy, 1)[0]
                name(copy, warp, site, lane)
                if not has_sides(context, warp, copy, what, shared[lane], size, barriers[lane]):
                    return False
                copy.size = size
                copy.tensor = 0
                copy.reduction = reduction
                side = view(address_of(copy.source) if what == LOAD else address_of(copy.target), Side, 1)[0]
                side.start = other
                side.named = other
                count += 1
    begin(context, copies, count)
    return True


@body
def issue_tensor(
    context: Context, warp: WarpRecord, site: I32, lanes: U32, what: I32, mode: I32, rank: I32, shared: Numbers, maps: Numbers,
    at: Coordinates, barriers: Numbers, allowed: U32, reduction: I64,
) -> FLAG:  # fmt: skip
    """Copies of tiles begin. `at` has the coordinates and the offsets of im2col; `allowed`: the types that a reduction takes."""
    copies = view(context.bulk, BulkCopies, 1)[0]
    count = 0
    for lane in range(LANES):
        if lanes >> lane & 1 != 0:
            place = maps[lane]
            if place & 63 != 0 or not in_allocation(context, place, SIZE, False):
                return False
            found = tensor_at(copies, context.arena + place)
            if found == 0 or copies.used + count == copies.room:
                return False
            copy = view(copy_at(copies, copies.used + count), BulkCopy, 1)[0]
            name(copy, warp, site, lane)
            tensor = view(found, TensorRecord, 1)[0]
            if (
                tensor.rank != rank
                or (tensor.im2col != 0) != (mode == IM2COL)
                or (what == STORE and tensor.storable == 0)
            ):
                return False
            if reduction != 0 and allowed >> tensor.type & 1 == 0:
                return False
            copy.tensor = found
            copy.mode = mode
            copy.size = count_rows(tensor, mode) * row_bytes(tensor)
            copy.reduction = reduction + tensor.type if reduction != 0 else 0
            for i in range(RANKS):
                copy.at[i] = at[i * LANES + lane]
            for i in range(SPATIAL):
                copy.taps[i] = at[(RANKS + i) * LANES + lane] & 0xFFFF
            if not rows_in_allocation(context, copies, copy, tensor):
                return False
            if what != LOOK:
                size = extent_of(tensor, copy.size)
                if shared[lane] - warp.shared & 127 != 0:
                    return False
                if not has_sides(context, warp, copy, what, shared[lane], size, barriers[lane]):
                    return False
            count += 1
    for lane in range(LANES):
        if lanes >> lane & 1 != 0 and context.records != 0:
            event(
                context, warp, site, Event.ASYNC_READ, space_of(context, maps[lane]), SIZE, FLAG_TENSORMAP, 1 << lane,
                maps,
            )  # fmt: skip
    if what != LOOK:
        begin(context, copies, count)
    return True


@body
def wait_for_bulk(context: Context, warp: WarpRecord, lanes: U32, newest: I64, reading: FLAG) -> FLAG:
    """machine.bulk_state.wait_for_bulk; false, with nothing done, where there is something to report."""
    copies = view(context.bulk, BulkCopies, 1)[0]
    if loose_lanes(copies, warp, lanes) != 0:
        return False
    bulk_state.wait_for_bulk(context, copies, warp, lanes, newest, reading)
    return True


def name(copy: BulkCopy, warp: WarpRecord, site: int, lane: int) -> None:
    """Whose copy it is; nothing else of it is known yet."""
    copy.warp = address_of(warp)
    copy.site = site
    copy.lane = lane
    copy.source.shared = 0
    copy.target.shared = 0
    copy.barrier = 0


def has_sides(
    context: Context, warp: WarpRecord, copy: BulkCopy, what: int, place: int, size: int, barrier: int
) -> bool:
    """Name the shared side of a copy and its mbarrier; false if they are not there."""
    offset = place - warp.shared
    if offset < warp.shared_start or offset + size > warp.shared_start + warp.shared_span or offset % 16 != 0:
        return False
    side = view(address_of(copy.target) if what == LOAD else address_of(copy.source), Side, 1)[0]
    side.shared = warp.shared
    side.start = offset
    side.named = offset
    if what == LOAD:
        cta = view(context.cta, CtaRecord, 1)[0]
        if cta.mbarriers == 0:
            return False
        table = view(cta.mbarriers, MBarrierTable, 1)[0]
        found = live_at(table, barrier)
        if found == NOWHERE:
            return False
        copy.barrier = address_of(table.all[found])
    return True


def in_allocation(context: Context, address: int, size: int, writes: bool) -> bool:
    """Whether a run of bytes of global memory is there, to be read or written."""
    i = allocation_of(context, address)
    if i == NONE:
        return False
    kind = view(context.kinds, np.int32, UNKNOWN)[i]
    if writes and (kind & READ_ONLY != 0 or kind & KINDS["param"] != 0):
        return False
    offset = address - view(context.starts, np.int64, UNKNOWN)[i]
    return bool(size <= view(context.sizes, np.int64, UNKNOWN)[i] - offset)


def rows_in_allocation(context: Context, copies: BulkCopies, copy: BulkCopy, tensor: TensorRecord) -> bool:
    """Whether the rows of a tile are there, all in the same allocation."""
    count = place_rows(address_of(copies), address_of(copy))
    if count < 0:
        return False
    rows = view(copies.rows, _LONGS, count)
    first, last = 0, OUTSIDE
    for i in range(count):
        if rows[i] != OUTSIDE:
            first = rows[i] if last == OUTSIDE else min(first, rows[i])
            last = max(last, rows[i])
    low, high = first_inside(tensor, copy.at[0]), end_inside(tensor, copy.at[0])
    return last == OUTSIDE or low >= high or in_allocation(context, first + low, last - first + high - low, False)


def begin(context: Context, copies: BulkCopies, count: int) -> None:
    """The copies whose records stand after the others begin."""
    for _ in range(count):
        begin_copy(context, copies, context.steps + LATEST)


EXPORTS = issue_run, issue_tensor, wait_for_bulk
