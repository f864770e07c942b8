"""Bulk and tensor copies in flight, and what happens to them: bodies on their records, for both engines.

A copy reads its source and writes its target when it is due, or when a wait covers it. Those into shared memory complete on an
mbarrier; the others belong to the group that their thread commits next. PTX ISA, "Data Movement and Conversion Instructions: Bulk
copy, Tensor copy".
"""

from __future__ import annotations

import ctypes

from ptxsim.jit.body import body
from ptxsim.jit.export import address_of, indirect, move_bytes, view
from ptxsim.jit.record import FLAG, I64, U32
from ptxsim.machine.barriers.mbarrier_state import DONE, NEVER, complete_bytes
from ptxsim.machine.copies.bulk_bytes import LONGS, call_refuse, is_there, transfer
from ptxsim.machine.copies.bulk_events import extent, tell, tell_arrival
from ptxsim.machine.copies.bulk_records import HELD, KNOWN, MAP_WORDS, NOTES, SOURCE, TARGET, BulkCopies, BulkCopy
from ptxsim.machine.copies.groups import committed, is_older
from ptxsim.machine.copies.lane_work import begin_work, land_work
from ptxsim.machine.copies.tensor_tile import CHUNK, MOST_BYTES, TensorRecord
from ptxsim.machine.event import FLAG_ISSUED, FLAG_READ, FLAG_UNCHANGED, Event, Stream
from ptxsim.machine.records import MBarrierRecord, WarpRecord

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
