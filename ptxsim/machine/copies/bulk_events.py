"""What observers and checks hear of bulk and tensor copies: the rows that they read and write, and arrivals on mbarriers. For bodies."""

from __future__ import annotations

import numpy as np

from ptxsim.jit.export import address_of, view
from ptxsim.lanes import LANES
from ptxsim.machine.copies.bulk_bytes import LONGS, place_rows, side_of
from ptxsim.machine.copies.bulk_records import SOURCE, TARGET, BulkCopies, BulkCopy, Side
from ptxsim.machine.copies.tensor_tile import (
    CHUNK,
    OUTSIDE,
    WIDEST,
    TensorRecord,
    end_inside,
    first_inside,
    has_whole_rows,
    row_bytes,
    row_pitch,
)
from ptxsim.machine.event import (
    FLAG_ASYNC_PROXY,
    FLAG_OTHERWISE,
    LANE_SHIFT,
    MOST_OUTSIDE,
    ODD_PHASE,
    OUTSIDE_SHIFT,
    SWIZZLE_SHIFT,
    Event,
    Space,
    Stream,
    event,
)
from ptxsim.machine.records import MBarrierRecord, WarpRecord

ROW = 128  # bytes of a row in the events of runs


def tell_arrival(stream: Stream, copies: BulkCopies, copy: BulkCopy, flag: int) -> None:
    """Record the complete_tx on the mbarrier of a copy, before what it writes; flag: FLAG_ISSUED where it will come."""
    if copies.events == 0:
        return
    barrier, warp, side = view(copy.barrier, MBarrierRecord, 1)[0], view(copy.warp, WarpRecord, 1)[0], copy.target
    where = side.named - side.start + barrier.word - side.shared  # the mbarrier may be another CTA's of the cluster
    names = np.zeros(LANES, np.uint64)
    for lane in range(LANES):
        names[lane] = where | (barrier.phase & 1) << ODD_PHASE
    event(
        stream, warp, copy.site, Event.MBARRIER_ARRIVE, Space.SHARED, 8, FLAG_ASYNC_PROXY | flag, 1 << copy.lane, names
    )


def tell(stream: Stream, copies: BulkCopies, copy: BulkCopy, which: int, kind: int, flags: int) -> None:
    """Record the rows of one side, up to 32 in a record, whose mask counts them."""
    if copies.events == 0:
        return
    side = view(side_of(copy, which), Side, 1)[0]
    space = Space.GLOBAL if side.shared == 0 else Space.SHARED
    flags |= FLAG_ASYNC_PROXY | copy.lane << LANE_SHIFT
    if side.shared == 0 and copy.tensor != 0:
        tell_rows(stream, copies, copy, kind, flags)
        return
    if copy.tensor != 0 and (kind == Event.ASYNC_READ or kind == Event.ASYNC_WRITE):
        flags |= layout_flags(copy, which)
    low, high = 0, copy.size if side.shared == 0 else extent(copy)
    if which == SOURCE and copy.left != 0:
        low = CHUNK
        tell_run(stream, copy, space, side.named + copy.left, min(CHUNK, high - copy.right) - copy.left, 1, kind, flags)
    if which == SOURCE and copy.right != 0 and low < high:
        high -= CHUNK
        tell_run(stream, copy, space, side.named + high, CHUNK - copy.right, 1, kind, flags)
    width = ROW if (side.named + low) % ROW == 0 and (high - low) % ROW == 0 else CHUNK
    tell_run(stream, copy, space, side.named + low, high - low, width, kind, flags)


def tell_rows(stream: Stream, copies: BulkCopies, copy: BulkCopy, kind: int, flags: int) -> None:
    """The same for rows of a tensor."""
    warp, tensor = view(copy.warp, WarpRecord, 1)[0], view(copy.tensor, TensorRecord, 1)[0]
    low, high = first_inside(tensor, copy.at[0]), end_inside(tensor, copy.at[0])
    rows = view(copies.rows, LONGS, place_rows(address_of(copies), address_of(copy)))
    addresses = np.zeros(LANES, np.uint64)
    mask, outside = 0, 0
    for i in range(len(rows)):
        lane = i % LANES
        if rows[i] != OUTSIDE and low < high:
            for other in range(lane, LANES):  # those without a row have the address of another one
                addresses[other] = rows[i] + low
            if mask == 0:
                for other in range(lane):
                    addresses[other] = rows[i] + low
            mask |= 1 << lane
        if lane == LANES - 1 or i == len(rows) - 1:
            if mask == 0:
                outside = min(outside + 1, MOST_OUTSIDE)
            else:
                told = outside << OUTSIDE_SHIFT if kind == Event.ASYNC_READ else 0
                event(stream, warp, copy.site, kind, Space.GLOBAL, high - low, flags | told, mask, addresses)
                outside = 0
            mask = 0


def layout_flags(copy: BulkCopy, which: int) -> int:
    """How the tile of a copy lies in shared memory, as events say it."""
    tensor = view(copy.tensor, TensorRecord, 1)[0]
    if tensor.swizzle > WIDEST or (which == TARGET and not has_whole_rows(tensor, copy.at)):
        return FLAG_OTHERWISE
    return int(tensor.swizzle) << SWIZZLE_SHIFT


def tell_run(
    stream: Stream, copy: BulkCopy, space: int, start: int, size: int, width: int, kind: int, flags: int
) -> None:
    """The same for a run of bytes, in pieces of a width."""
    warp = view(copy.warp, WarpRecord, 1)[0]
    addresses = np.zeros(LANES, np.uint64)
    count = 0
    for i in range((size + width - 1) // width):
        addresses[count] = start + i * width
        count += 1
        if count == LANES or (i + 1) * width >= size:
            event(stream, warp, copy.site, kind, space, width, flags, (1 << count) - 1, addresses)
            count = 0


def extent(copy: BulkCopy) -> int:
    """Bytes of shared memory from the first row of a copy to the end of the last."""
    if copy.tensor == 0:
        return copy.size
    return extent_of(view(copy.tensor, TensorRecord, 1)[0], copy.size)


def extent_of(tensor: TensorRecord, size: int) -> int:
    """The same of a tile."""
    return size if tensor.swizzle == 0 else size // row_bytes(tensor) * row_pitch(tensor)
