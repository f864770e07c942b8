"""Bulk and tensor copies in flight, and what happens to them: bodies on their records, for both engines.

A copy reads its source and writes its target when it is due, or when a wait covers it. Those into shared memory complete on an
mbarrier; the others belong to the group that their thread commits next. PTX ISA, "Data Movement and Conversion Instructions: Bulk
copy, Tensor copy".
"""

from __future__ import annotations

import ctypes

import numpy as np

from ptxsim.jit.body import body
from ptxsim.jit.export import address_of, indirect, move_bytes, view
from ptxsim.jit.record import FLAG, I64, U32
from ptxsim.lanes import LANES
from ptxsim.machine.barriers.mbarrier_state import DONE, NEVER, complete_bytes
from ptxsim.machine.copies.bulk_bytes import LONGS, call_refuse, is_there, place_rows, side_of, transfer
from ptxsim.machine.copies.bulk_records import HELD, KNOWN, MAP_WORDS, NOTES, SOURCE, TARGET, BulkCopies, BulkCopy, Side
from ptxsim.machine.copies.groups import committed, is_older
from ptxsim.machine.copies.lane_work import begin_work, land_work
from ptxsim.machine.copies.tensor_tile import (
    CHUNK,
    MOST_BYTES,
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
    FLAG_ISSUED,
    FLAG_OTHERWISE,
    FLAG_READ,
    FLAG_UNCHANGED,
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
BITS = (1 << 60) - 1
UNKNOWN_SWIZZLE = -1


@indirect
def call_combine(address: I64, copy: I64, data: I64) -> None:
    ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64)(address)(copy, data)


@indirect
def call_find_tensor(address: I64, place: I64) -> I64:
    raise NotImplementedError


def tensor_at(copies: BulkCopies, place: int) -> int:
    """The address of the record of the tensor map at an address of this process; 0 if there is none."""
    words = view(place, LONGS, MAP_WORDS)
    known = copies.known[(place >> 6) % KNOWN]
    same = known.place == place
    for i in range(MAP_WORDS):
        same = same and known.words[i] == words[i]
    if not same:
        known.place = place
        for i in range(MAP_WORDS):
            known.words[i] = words[i]
        known.tensor = call_find_tensor(copies.find_tensor, place)
    return known.tensor


# ---- the list of copies ------------------------------------------------------------------------------------------------

BYTES = BulkCopy.dtype.itemsize


def copy_at(copies: BulkCopies, place: int) -> int:
    """The address of the copy at a place of the list."""
    return copies.copies + place * BYTES


def forget(copies: BulkCopies) -> None:
    """Take those that are over out of the list."""
    end, due = 0, NEVER
    for place in range(copies.used):
        copy = view(copy_at(copies, place), BulkCopy, 1)[0]
        if copy.over == 0:
            due = min(due, copy.due)
            if end != place:
                move_bytes(copy_at(copies, end), copy_at(copies, place), BYTES)
            end += 1
    copies.used = end
    copies.next_due = due


@body
def begin_copy(stream: Stream, copies: BulkCopies, due: I64) -> None:
    """The copy whose record stands after the others, all but its state, begins."""
    copy = view(copy_at(copies, copies.used), BulkCopy, 1)[0]
    warp = view(copy.warp, WarpRecord, 1)[0]
    copies.used += 1
    copies.next_due = min(copies.next_due, due)
    copy.due = due
    copy.written = 0
    copy.released = 0
    copy.over = 0
    copy.held = 0
    if copy.work != 0:
        begin_work(stream, copies, copy)
        return
    if copy.barrier == 0:
        copy.group = committed(warp.bulk.groups, copy.lane)
        warp.bulk.copies += 1
    if copy.source.shared != 0:
        tell(stream, copies, copy, SOURCE, Event.ASYNC_READ, 0)
    tell(stream, copies, copy, SOURCE, Event.ASYNC_ISSUE, FLAG_READ)
    if copy.target.shared != 0:
        tell(stream, copies, copy, TARGET, Event.ASYNC_ISSUE, 0)
    if copy.source.shared != 0 and copy.barrier != 0:
        tell_arrival(stream, copies, copy, FLAG_ISSUED)


@body
def land_due(stream: Stream, copies: BulkCopies, now: I64) -> None:
    """Complete what is due at a turn, the earliest first."""
    while copies.next_due <= now:
        place = 0
        while view(copy_at(copies, place), BulkCopy, 1)[0].due != copies.next_due:
            place += 1
        land(stream, copies, view(copy_at(copies, place), BulkCopy, 1)[0])
        forget(copies)


@body
def land_all(stream: Stream, copies: BulkCopies, warp: WarpRecord) -> None:
    """The CTA of a warp has ended: what the warp has in flight completes."""
    for place in range(copies.used):
        copy = view(copy_at(copies, place), BulkCopy, 1)[0]
        if copy.warp == address_of(warp):
            if copy.written == 0:
                land(stream, copies, copy)
            copy.over = 1
    forget(copies)


@body
def loose_lanes(copies: BulkCopies, warp: WarpRecord, lanes: U32) -> U32:
    """Those lanes with copies in no group while none of their groups is in flight."""
    loose, grouped = 0, 0
    if warp.bulk.copies != 0:
        for place in range(copies.used):
            copy = view(copy_at(copies, place), BulkCopy, 1)[0]
            if copy.warp == address_of(warp) and copy.barrier == 0:
                if is_older(warp.bulk.groups, copy.lane, copy.group, 0):
                    grouped |= 1 << copy.lane
                else:
                    loose |= 1 << copy.lane
    return loose & ~grouped & lanes


@body
def wait_for_bulk(stream: Stream, copies: BulkCopies, warp: WarpRecord, lanes: U32, newest: I64, reading: FLAG) -> None:
    """All but the `newest` latest groups of these lanes complete, or (`reading`) are done with their sources."""
    if warp.bulk.copies == 0:
        return
    for place in range(copies.used):
        copy = view(copy_at(copies, place), BulkCopy, 1)[0]
        if copy.warp != address_of(warp) or copy.barrier != 0 or lanes >> copy.lane & 1 == 0:
            continue
        if not is_older(warp.bulk.groups, copy.lane, copy.group, newest):
            continue
        if copy.written == 0 and reading:
            hold(stream, copies, copy)
        elif copy.written == 0:
            land(stream, copies, copy)
        release_source(stream, copies, copy)
        if copy.written != 0:
            if copy.target.shared == 0 and not reading:
                tell(stream, copies, copy, TARGET, Event.ASYNC_WAIT, 0)
            copy.over = 1
            warp.bulk.copies -= 1
    forget(copies)


# ---- what a copy does --------------------------------------------------------------------------------------------------


def hold(stream: Stream, copies: BulkCopies, copy: BulkCopy) -> None:
    """Read the source of a copy that writes later; with all buffers in use it writes now."""
    if copy.held != 0:
        return
    for number in range(HELD):
        if copies.holding >> number & 1 == 0:
            copies.holding |= 1 << number
            copy.held = 1 + number
            transfer(address_of(copies), address_of(copy), SOURCE, copies.buffers + copy.held * MOST_BYTES, False)
            return
    land(stream, copies, copy)


def land(stream: Stream, copies: BulkCopies, copy: BulkCopy) -> None:
    """The data is at its target."""
    if copy.work != 0:
        copy.written, copy.due, copy.over = 1, NEVER, 1
        land_work(stream, copies, copy)
        return
    data = copies.buffers + copy.held * MOST_BYTES
    if copy.held == 0:
        transfer(address_of(copies), address_of(copy), SOURCE, data, False)
        if copy.source.shared == 0:
            tell(stream, copies, copy, SOURCE, Event.ASYNC_READ, 0)
    else:
        copies.holding &= ~(1 << copy.held - 1)
    if copy.reduction != 0:
        call_combine(copies.combine, address_of(copy), data)
    flags = 0
    if copies.events != 0 and copy.target.shared == 0 and copy.reduction == 0:
        if is_there(address_of(copies), address_of(copy), data):
            flags = FLAG_UNCHANGED
    transfer(address_of(copies), address_of(copy), TARGET, data, True)
    if copy.barrier != 0:
        tell_arrival(stream, copies, copy, 0)
    if copy.target.shared != 0 and copies.notes != 0 and copy.tensor != 0:
        keep_note(copies, copy)
    tell(stream, copies, copy, TARGET, Event.ASYNC_WRITE, flags)
    copy.written = 1
    copy.due = NEVER
    if copy.barrier != 0:
        release_source(stream, copies, copy)
        tell(stream, copies, copy, TARGET, Event.ASYNC_WAIT, 0)
        copy.over = 1
        if complete_bytes(view(copy.barrier, MBarrierRecord, 1)[0], brought(copy)) != DONE:
            call_refuse(copies.refuse, address_of(copy))


def brought(copy: BulkCopy) -> int:
    """The bytes that a copy tells its mbarrier of: without padding, as CUTLASS and Triton announce them."""
    return copy.size if copy.tensor == 0 else copy.size * view(copy.tensor, TensorRecord, 1)[0].unit // CHUNK


def release_source(stream: Stream, copies: BulkCopies, copy: BulkCopy) -> None:
    """A wait has shown that the source has been read."""
    if copy.source.shared != 0 and copy.released == 0:
        copy.released = 1
        tell(stream, copies, copy, SOURCE, Event.ASYNC_WAIT, FLAG_READ)


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


# ---- what observers and checks hear of -----------------------------------------------------------------------------------


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


def keep_note(copies: BulkCopies, copy: BulkCopy) -> None:
    """Remember how a tile was written."""
    note = copies.note[copies.noted % NOTES]
    copies.noted += 1
    note.start = copy.target.shared + copy.target.start
    note.extent = extent(copy)
    note.swizzle = view(copy.tensor, TensorRecord, 1)[0].swizzle
    note.digest = digest(note.start, note.extent)


@body
def swizzle_at(copies: BulkCopies, place: I64, fine: I64) -> I64:
    """The number of the swizzle of the tensor copy that brought the tile around an address; UNKNOWN_SWIZZLE if none did, or if
    something was written there since, which is not looked at where the swizzle is `fine`."""
    number = copies.noted - 1
    while number >= max(copies.noted - NOTES, 0):
        note = copies.note[number % NOTES]
        if note.start <= place and place < note.start + note.extent:
            is_there = note.swizzle == fine or digest(note.start, note.extent) == note.digest
            return note.swizzle if is_there else UNKNOWN_SWIZZLE
        number -= 1
    return UNKNOWN_SWIZZLE


MOST_WORDS = 256


@body(enough=8, chooses=True)
def digest(start: I64, size: I64) -> I64:
    """A number that other bytes at an address hardly have; of long tiles some words in all columns are looked at."""
    words, found, i = view(start, LONGS, size // 8), 0, 0
    step = size // 8 // MOST_WORDS | 1
    while i < size // 8:
        found = (found * 31 + words[i]) & BITS
        i += step
    return found
