"""Bulk and tensor copies in native code: what the lanes of a warp begin, one after the other.

Every function does all of an operation, or nothing where it cannot: the slow path does it then. Shared memory is given by addresses
of this process; what happens to copies in flight is machine.copies.bulk_state.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import numpy as np

from ptxsim.engine.compiled.runtime.abi import KINDS, READ_ONLY, UNKNOWN, Context, Numbers
from ptxsim.engine.compiled.runtime.addresses import NONE, allocation_of, space_of
from ptxsim.engine.compiled.runtime.draws import delay
from ptxsim.engine.compiled.runtime.events import event
from ptxsim.engine.compiled.runtime.mbarrier_lanes import live_at, table_at
from ptxsim.jit.body import body
from ptxsim.jit.export import address_of, move_bytes, view
from ptxsim.jit.record import FLAG, I32, I64, U32, Pointer
from ptxsim.lanes import LANES
from ptxsim.machine.barriers.mbarrier_state import NOWHERE
from ptxsim.machine.copies import bulk_state
from ptxsim.machine.copies.bulk_bytes import place_rows
from ptxsim.machine.copies.bulk_events import extent_of
from ptxsim.machine.copies.bulk_records import BulkCopies, BulkCopy, Side
from ptxsim.machine.copies.bulk_state import BYTES, begin_copy, copy_at, land_all, land_due, loose_lanes, tensor_at
from ptxsim.machine.copies.tensor_map import SIZE
from ptxsim.machine.copies.tensor_tile import (
    MAP_OF,
    OUTSIDE,
    RANKS,
    SPATIAL,
    WIDE,
    TensorRecord,
    count_rows,
    end_inside,
    first_inside,
    row_bytes,
)
from ptxsim.machine.event import FLAG_TENSORMAP, Event
from ptxsim.machine.memory import RANK_SHIFT
from ptxsim.machine.records import MBarrierRecord, MBarrierTable, WarpRecord

LOAD, STORE, SHARE, LOOK = range(4)  # a copy into shared memory, out of it, from one CTA's to another's; none
ALONE = -1  # in place of a mask of CTAs
PAIRS = 1 << 16  # beside a mask: each CTA's copy completes in its pair, on the side that the mbarrier is of
Coordinates = Annotated[Sequence[int], Pointer(np.dtype(np.int64), LANES * (RANKS + SPATIAL))]
_LONGS = np.dtype(np.int64)


@body
def issue_run(
    context: Context, warp: WarpRecord, site: I32, lanes: U32, what: I32, shared: Numbers, others: Numbers, sizes: Numbers,
    barriers: Numbers, ctas: Numbers, reduction: I64,
) -> FLAG:  # fmt: skip
    """Copies of runs of bytes begin. `ctas`: the mask of a multicast, or ALONE."""
    copies = view(context.bulk, BulkCopies, 1)[0]
    count = 0
    for lane in range(LANES):
        if lanes >> lane & 1 != 0:
            size, other = sizes[lane], others[lane]
            if size <= 0 or size % 16 != 0 or other % 16 != 0:
                return False
            if what != SHARE and not in_allocation(context, other, size, what == STORE):
                return False
            if what != LOOK:
                if copies.used + count == copies.room:
                    return False
                copy = view(copy_at(copies, copies.used + count), BulkCopy, 1)[0]
                name(copy, warp, site, lane)
                copy.size = size
                copy.tensor = 0
                copy.reduction = reduction
                if not has_places(warp, copy, what, shared[lane], size, barriers[lane], other):
                    return False
                count = multiplied(copies, copy, count, warp, ctas[lane], size, barriers[lane])
                if count == NOWHERE:
                    return False
    begin(context, copies, count)
    return True


@body
def issue_tensor(
    context: Context, warp: WarpRecord, site: I32, lanes: U32, what: I32, mode: I32, rank: I32, shared: Numbers, maps: Numbers,
    at: Coordinates, barriers: Numbers, ctas: Numbers, allowed: U32, reduction: I64,
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
            if tensor.rank != rank or tensor.im2col != MAP_OF[mode]:
                return False
            if (what == STORE and tensor.storable == 0) or (what == LOAD and tensor.loadable == 0):
                return False
            if reduction != 0 and allowed >> tensor.type & 1 == 0:
                return False
            copy.tensor = found
            copy.mode = mode
            copy.reduction = reduction + tensor.type if reduction != 0 else 0
            for i in range(RANKS):
                copy.at[i] = at[i * LANES + lane]
            for i in range(SPATIAL):
                copy.taps[i] = at[(RANKS + i) * LANES + lane] & 0xFFFF
            copy.size = count_rows(tensor, mode, copy.taps[0] if mode >= WIDE else 0) * row_bytes(tensor)
            if not rows_in_allocation(context, copies, copy, tensor):
                return False
            if what != LOOK:
                size = extent_of(tensor, copy.size)
                if shared[lane] - warp.cluster & 127 != 0:
                    return False
                if not has_places(warp, copy, what, shared[lane], size, barriers[lane], 0):
                    return False
                count = multiplied(copies, copy, count, warp, ctas[lane], size, barriers[lane])
                if count == NOWHERE:
                    return False
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
    """machine.copies.bulk_state.wait_for_bulk; false, with nothing done, where there is something to report."""
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
    copy.left = 0
    copy.right = 0
    copy.work = 0


def has_places(warp: WarpRecord, copy: BulkCopy, what: int, place: int, size: int, barrier: int, other: int) -> bool:
    """Name both sides of a copy, and its mbarrier; false if what it names in shared memory is not there."""
    if what == STORE:
        copy.target.start = other
        copy.target.named = other
        return names_shared(warp, copy.source, place, size)
    copy.source.start = other
    copy.source.named = other
    if what == SHARE and not names_shared(warp, copy.source, other, size):
        return False
    return has_target(warp, copy, place, size, barrier)


def has_target(warp: WarpRecord, copy: BulkCopy, place: int, size: int, barrier: int) -> bool:
    """The same for the shared memory that a copy writes, of any CTA, and its mbarrier there."""
    table = table_at(warp, barrier)
    if table == 0 or not names_shared(warp, copy.target, place, size):
        return False
    objects = view(table, MBarrierTable, 1)[0]
    found = live_at(objects, barrier)
    if found == NOWHERE:
        return False
    copy.barrier = address_of(objects.all[found])
    return True


def multiplied(
    copies: BulkCopies, copy: BulkCopy, count: int, warp: WarpRecord, ctas: int, size: int, barrier: int
) -> int:  # fmt: skip
    """How many copies are about to begin with this one, to the same place in every CTA of a mask; NOWHERE if they cannot."""
    if ctas == ALONE:
        return count + 1
    if (ctas & PAIRS - 1) >> warp.ctas != 0:
        return NOWHERE
    start, offset = copy.target.start, view(copy.barrier, MBarrierRecord, 1)[0].offset
    side = (barrier - warp.cluster) >> RANK_SHIFT & 1
    for rank in range(warp.ctas):
        if ctas >> rank & 1 != 0:
            if copies.used + count == copies.room:
                return NOWHERE
            place = copy_at(copies, copies.used + count)
            if place != address_of(copy):
                move_bytes(place, address_of(copy), BYTES)
            cta = warp.cluster + (rank << RANK_SHIFT)
            waits = cta if ctas & PAIRS == 0 else warp.cluster + ((rank >> 1 << 1 | side) << RANK_SHIFT)
            if not has_target(warp, view(place, BulkCopy, 1)[0], cta + start, size, waits + offset):
                return NOWHERE
            count += 1
    return count


def names_shared(warp: WarpRecord, side: Side, place: int, size: int) -> bool:
    """Let a side be at a place in the shared memory of some CTA; false if it is not all there."""
    name = place - warp.cluster
    side.start = name & (1 << RANK_SHIFT) - 1
    side.shared = place - side.start
    side.named = name
    start, end = warp.shared_start, warp.shared_start + warp.shared_span
    if name < 0 or name >> RANK_SHIFT >= warp.ctas:
        return False
    return side.start >= start and side.start + size <= end and side.start % 16 == 0


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
        begin_copy(context, copies, context.steps + delay(context))


EXPORTS = issue_run, issue_tensor, wait_for_bulk, land_due, land_all
