"""Bulk and tensor copies in flight, as records, and what happens to them: bodies, for both engines.

A copy reads its source and writes its target when it is due, or when a wait covers it. Those into shared memory complete on an
mbarrier; the others belong to the group that their thread commits next. PTX ISA, "Data Movement and Conversion Instructions: Bulk
copy, Tensor copy".
"""

from __future__ import annotations

import ctypes
from collections.abc import MutableSequence
from typing import Annotated

import numpy as np

from ptxsim.jit.body import body
from ptxsim.jit.export import address_of, clear_bytes, indirect, move_bytes, view
from ptxsim.jit.record import FLAG, I32, I64, U32, Record, record
from ptxsim.lanes import LANES
from ptxsim.machine.event import FLAG_ASYNC_PROXY, FLAG_READ, Event, Space, Stream, event
from ptxsim.machine.groups import committed, is_older
from ptxsim.machine.mbarrier_state import DONE, NEVER, complete_bytes
from ptxsim.machine.records import MBarrierRecord, WarpRecord
from ptxsim.machine.tensor_map import SIZE
from ptxsim.machine.tensor_tile import (
    MOST_BYTES,
    OUTSIDE,
    RANKS,
    SPATIAL,
    TensorRecord,
    end_inside,
    first_inside,
    list_rows,
    row_bytes,
)

ROOM = 64  # copies in flight that there is room for at first
CHUNK = 16  # bytes that a swizzle keeps together
ROW = 128  # bytes of a row in the events of runs
HELD = 62  # sources that can be held after they have been read: as many as an i64 has bits
KNOWN, MAP_WORDS = 16, SIZE // 8  # tensor maps that are remembered, and the words of each
NOTES = 64  # tiles that are remembered after they have landed
NAN_FILL = 0x7FF7  # repeated where elements lie outside of the tensor; measured on sm_90
SOURCE, TARGET = range(2)
SPAN = 1 << 40  # elements of a memory whose size is not asked for
BITS = (1 << 60) - 1
WORDS, HALVES, LONGS = np.dtype(np.uint32), np.dtype(np.uint16), np.dtype(np.int64)
CHUNKS = np.dtype([("words", "<u8", (2,))])


@record
class Side(Record):
    """One side of a copy: shared memory of a CTA, or global memory."""

    shared: I64  # address of the shared memory, 0: global memory
    start: I64  # the offset there, or a device address (not of tensors)
    named: I64  # the start as events name it


@record
class BulkCopy(Record):
    """A copy of one thread."""

    due: I64  # the turn at which it completes without a wait, NEVER once it has
    warp: I64  # address of the record of the warp
    site: I32  # of the instruction
    lane: I32
    written: I32  # the data is at its target
    released: I32  # a wait has covered the reading of the source
    over: I32  # to be forgotten
    mode: I32  # of a tensor copy
    reduction: I64  # how target and source combine (machine.reduction), 0: not
    size: I64  # bytes
    tensor: I64  # address of its TensorRecord; 0: both sides are runs of bytes
    source: Side
    target: Side
    barrier: I64  # address of the mbarrier that it completes on, 0: it has a group
    group: I64
    held: I64  # 1 + the number of the buffer that holds what has been read, 0: none
    at: Annotated[MutableSequence[int], I32, RANKS]
    taps: Annotated[MutableSequence[int], I32, SPATIAL]


@record
class Note(Record):
    """A tile in shared memory as a tensor copy has left it."""

    start: I64  # address
    extent: I64
    swizzle: I64
    digest: I64


@record
class KnownTensor(Record):
    """A tensor map that has been looked at."""

    place: I64  # address of its bytes in this process
    words: Annotated[MutableSequence[int], I64, MAP_WORDS]
    tensor: I64  # address of its record


@record
class BulkCopies(Record):
    """The copies in flight of a machine, in the order of issue, and what they need."""

    used: I64
    room: I64
    copies: I64  # address
    next_due: I64  # of all of them
    arena: I64  # what to add to a device address
    buffers: I64  # address: the first is for a moment, others hold sources
    holding: I64  # a bit for each of those
    rows: I64  # address of room for the rows of a tile
    combine: I64  # callback for reductions: address of the copy, of the incoming bytes, which it replaces
    refuse: I64  # callback: a copy has landed on an mbarrier that cannot take so many bytes
    find_tensor: I64  # callback: the record of the tensor map at an address of this process, 0: none
    events: I32  # whether there is a stream
    notes: I32  # whether tiles are remembered
    known: Annotated[MutableSequence[KnownTensor], KnownTensor, KNOWN]
    noted: I64
    note: Annotated[MutableSequence[Note], Note, NOTES]


@indirect
def call_combine(address: I64, copy: I64, data: I64) -> None:
    ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64)(address)(copy, data)


@indirect
def call_refuse(address: I64, copy: I64) -> None:
    ctypes.CFUNCTYPE(None, ctypes.c_int64)(address)(copy)


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
    if copy.barrier == 0:
        copy.group = committed(warp.bulk.groups, copy.lane)
        warp.bulk.copies += 1
    if copy.source.shared != 0:
        tell(stream, copies, copy, SOURCE, Event.ASYNC_READ, 0)
        tell(stream, copies, copy, SOURCE, Event.ASYNC_ISSUE, FLAG_READ)
    if copy.target.shared != 0:
        tell(stream, copies, copy, TARGET, Event.ASYNC_ISSUE, 0)


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
    data = copies.buffers + copy.held * MOST_BYTES
    if copy.held == 0:
        transfer(address_of(copies), address_of(copy), SOURCE, data, False)
        if copy.source.shared == 0:
            tell(stream, copies, copy, SOURCE, Event.ASYNC_READ, 0)
    else:
        copies.holding &= ~(1 << copy.held - 1)
    if copy.reduction != 0:
        call_combine(copies.combine, address_of(copy), data)
    transfer(address_of(copies), address_of(copy), TARGET, data, True)
    if copy.target.shared != 0 and copies.notes != 0 and copy.tensor != 0:
        keep_note(copies, copy)
    tell(stream, copies, copy, TARGET, Event.ASYNC_WRITE, 0)
    copy.written = 1
    copy.due = NEVER
    if copy.barrier != 0:
        release_source(stream, copies, copy)
        tell(stream, copies, copy, TARGET, Event.ASYNC_WAIT, 0)
        copy.over = 1
        arrive_with_bytes(stream, copies, copy)


def release_source(stream: Stream, copies: BulkCopies, copy: BulkCopy) -> None:
    """A wait has shown that the source has been read."""
    if copy.source.shared != 0 and copy.released == 0:
        copy.released = 1
        tell(stream, copies, copy, SOURCE, Event.ASYNC_WAIT, FLAG_READ)


def arrive_with_bytes(stream: Stream, copies: BulkCopies, copy: BulkCopy) -> None:
    """complete_tx on the mbarrier of a copy."""
    barrier = view(copy.barrier, MBarrierRecord, 1)[0]
    if copies.events != 0:
        warp = view(copy.warp, WarpRecord, 1)[0]
        called = np.zeros(LANES, np.uint64)
        for lane in range(LANES):
            called[lane] = barrier.called
        event(stream, warp, copy.site, Event.MBARRIER_ARRIVE, Space.SHARED, 8, FLAG_ASYNC_PROXY, 1 << copy.lane, called)
    if complete_bytes(barrier, copy.size) != DONE:
        call_refuse(copies.refuse, address_of(copy))


@body(enough=8, chooses=True)
def place_rows(copies_at: I64, copy_address: I64) -> I64:
    """Write the addresses of a tile's rows to their room; what `list_rows` returns."""
    copy = view(copy_address, BulkCopy, 1)[0]
    return list_rows(
        view(copy.tensor, TensorRecord, 1)[0], copy.mode, copy.at, copy.taps, view(copies_at, BulkCopies, 1)[0].rows
    )


def side_of(copy: BulkCopy, which: int) -> int:
    """The address of one side."""
    return address_of(copy.source) if which == SOURCE else address_of(copy.target)


@body(enough=8, chooses=True)
def transfer(copies_at: I64, copy_address: I64, which: I32, data: I64, writes: FLAG) -> None:
    """Bytes of one side of a copy, in the order of the copy, to an address, or from there."""
    copies, copy = view(copies_at, BulkCopies, 1)[0], view(copy_address, BulkCopy, 1)[0]
    side = view(side_of(copy, which), Side, 1)[0]
    if copy.tensor == 0:
        exchange(side.start + (side.shared if side.shared != 0 else copies.arena), data, copy.size, writes)
        return
    tensor = view(copy.tensor, TensorRecord, 1)[0]
    if side.shared != 0:
        permute(tensor, side, data, copy.size, writes)
        return
    rows = view(copies.rows, LONGS, place_rows(copies_at, copy_address))
    width = row_bytes(tensor)
    low, high = first_inside(tensor, copy.at[0]), end_inside(tensor, copy.at[0])
    for i in range(len(rows)):
        row = data + i * width
        inside = rows[i] != OUTSIDE and low < high
        if not writes and (not inside or high - low != width):
            fill(tensor, row, width)
        if inside:
            exchange(copies.arena + int(rows[i]) + low, row + low, high - low, writes)
    if tensor.tf32 != 0 and not writes and which == SOURCE:
        for i in range(len(rows)):
            if rows[i] != OUTSIDE:
                round_to_tf32(data + i * width, low, high)


def exchange(place: int, data: int, size: int, writes: bool) -> None:
    """Bytes at a place to an address, or from there."""
    if writes:
        move_bytes(place, data, size)
    else:
        move_bytes(data, place, size)


def permute(tensor: TensorRecord, side: Side, data: int, size: int, writes: bool) -> None:
    """The same for a tile in shared memory. Rows narrower than the swizzle stand at its width (measured on sm_90)."""
    if tensor.swizzle == 0:
        exchange(side.shared + side.start, data, size, writes)
        return
    mask, pitch, width = (1 << tensor.swizzle) - 1, CHUNK << tensor.swizzle, row_bytes(tensor)
    tile, memory = view(data, CHUNKS, SPAN), view(side.shared, CHUNKS, SPAN)
    number = 0
    for row in range(size // width):
        for column in range(width // CHUNK):
            at = side.start + row * pitch + column * CHUNK
            at ^= (at >> 7 & mask) << 4
            if writes:
                memory[at >> 4] = tile[number]
            else:
                tile[number] = memory[at >> 4]
            number += 1


def fill(tensor: TensorRecord, row: int, size: int) -> None:
    """What elements outside of the tensor read as."""
    clear_bytes(row, size)
    if tensor.nan != 0:
        halves = view(row, HALVES, size // 2)
        for i in range(size // 2):
            halves[i] = NAN_FILL


def round_to_tf32(row: int, low: int, high: int) -> None:
    """f32 rounded to the ten fraction bits of tf32, to nearest even."""
    words = view(row, WORDS, high // 4)
    for i in range(low // 4, high // 4):
        word = int(words[i])
        if word & 0x7FFFFFFF > 0x7F800000:
            words[i] = 0x7FFFE000
        else:
            words[i] = (word + 0xFFF + (word >> 13 & 1)) & 0xFFFFE000


# ---- what observers and checks hear of -----------------------------------------------------------------------------------


def tell(stream: Stream, copies: BulkCopies, copy: BulkCopy, which: int, kind: int, flags: int) -> None:
    """Record the rows of one side, up to 32 in a record, whose mask counts them."""
    if copies.events == 0:
        return
    side, warp = view(side_of(copy, which), Side, 1)[0], view(copy.warp, WarpRecord, 1)[0]
    space = Space.GLOBAL if side.shared == 0 else Space.SHARED
    addresses = np.zeros(LANES, np.uint64)
    count = 0
    if side.shared == 0 and copy.tensor != 0:
        tensor = view(copy.tensor, TensorRecord, 1)[0]
        low, high = first_inside(tensor, copy.at[0]), end_inside(tensor, copy.at[0])
        rows = view(copies.rows, LONGS, place_rows(address_of(copies), address_of(copy)))
        for i in range(len(rows)):
            if rows[i] != OUTSIDE and low < high:
                addresses[count] = rows[i] + low
                count += 1
            if count == LANES or (count != 0 and i == len(rows) - 1):
                event(
                    stream,
                    warp,
                    copy.site,
                    kind,
                    space,
                    high - low,
                    flags | FLAG_ASYNC_PROXY,
                    (1 << count) - 1,
                    addresses,
                )
                count = 0
        return
    size = copy.size if side.shared == 0 else extent(copy)
    width = ROW if side.named % ROW == 0 and size % ROW == 0 else CHUNK
    for i in range((size + width - 1) // width):
        addresses[count] = side.named + i * width
        count += 1
        if count == LANES or (i + 1) * width >= size:
            event(stream, warp, copy.site, kind, space, width, flags | FLAG_ASYNC_PROXY, (1 << count) - 1, addresses)
            count = 0


def extent(copy: BulkCopy) -> int:
    """Bytes of shared memory from the first row of a copy to the end of the last."""
    if copy.tensor == 0:
        return copy.size
    return extent_of(view(copy.tensor, TensorRecord, 1)[0], copy.size)


def extent_of(tensor: TensorRecord, size: int) -> int:
    """The same of a tile."""
    return size if tensor.swizzle == 0 else size // row_bytes(tensor) * (CHUNK << tensor.swizzle)


def keep_note(copies: BulkCopies, copy: BulkCopy) -> None:
    """Remember how a tile was written."""
    note = copies.note[copies.noted % NOTES]
    copies.noted += 1
    note.start = copy.target.shared + copy.target.start
    note.extent = extent(copy)
    note.swizzle = view(copy.tensor, TensorRecord, 1)[0].swizzle
    note.digest = digest(note.start, note.extent)


@body(enough=8, chooses=True)
def digest(start: I64, size: I64) -> I64:
    """A number that other bytes at an address hardly have."""
    words, found = view(start, LONGS, size // 8), 0
    for i in range(size // 8):
        found = (found * 31 + words[i]) & BITS
    return found
