"""cp.async: the copies of a warp on their way, and what commits and waits make of them. Bodies, for both engines.

With seed 0 a copy lands when a wait covers it, as late as allowed; for other seeds the instruction draws a moment, and it lands at the
warp's first turn from then on. Lanes may
commit and wait on their own, and copy into the shared memory of several CTAs: every copy knows the groups of each of its lanes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import numpy as np

from ptxsim.jit.body import Array, body
from ptxsim.jit.export import fill_bytes, move_bytes, view
from ptxsim.jit.record import FLAG, I32, I64, U32, Pointer
from ptxsim.lanes import EVERY, LANES
from ptxsim.machine.copies.groups import commit_group, is_older
from ptxsim.machine.event import Addresses, Event, Space, Stream, event
from ptxsim.machine.memory import ARENA, RANK_SHIFT, GlobalMemory
from ptxsim.machine.records import LaneCopies, LaneCopy, WarpRecord

Counts = Annotated[Sequence[int], Pointer(np.dtype(np.int32), LANES)]

ROOM, FEW = 128, 16  # copies that a warp has room for at first, and how much of it is used until they are more
BYTES = LaneCopy.dtype.itemsize
WORDS = {count: np.dtype([("words", "<u4", (count,))]) for count in (1, 2, 4)}
SPAN = 1 << 40  # bytes of a memory whose size is not asked for
OFFSET = (1 << RANK_SHIFT) - 1  # of a name of shared memory: the bits within its CTA


def make_room(copies: LaneCopies, room: int, memory: GlobalMemory) -> np.ndarray:
    """Room for so many copies, out of global memory; returns where they are, which the caller keeps."""
    place = np.empty(room * BYTES, np.uint8)
    start = place.ctypes.data
    if copies.capacity != 0:
        move_bytes(start, copies.copies, copies.capacity * BYTES)
    else:
        copies.capacity = min(room, FEW)
    copies.copies, copies.room = start, room
    copies.arena, copies.begins = memory.bytes.ctypes.data, ARENA
    return place


def address(copies: LaneCopies, place: int) -> int:
    """Where the copy at a place of the ring is kept."""
    return copies.copies + (place & copies.capacity - 1) * BYTES


@body
def issue_copy(
    warp: WarpRecord, site: I32, size: I32, lanes: U32, shared: I64, count: Counts, to: Addresses, source: Addresses
) -> FLAG:
    """A copy of these lanes begins; false, with nothing done, if there is no room for it. See LaneCopy for the rest."""
    copies = warp.copies
    if lanes == 0:
        return True
    if copies.end - copies.first == copies.capacity:
        close_gaps(copies)
        if copies.open == copies.capacity and not widen(copies):
            return False
    copy = view(address(copies, copies.end), LaneCopy, 1)[0]
    copy.number, copy.site, copy.size, copy.shared = copies.issued, site, size, shared
    copy.open, copy.landed, copy.due = lanes, 0, 0
    copy.together, copy.own = copies.groups.together, copies.groups.own
    copy.count, copy.to, copy.source = count, to, source
    copies.open += 1
    copies.end += 1
    copies.issued += 1
    return True


def widen(copies: LaneCopies) -> bool:
    """Use twice as much of the room; false if there is no more."""
    half = copies.capacity
    if half == copies.room:
        return False
    copies.capacity = 2 * half
    for place in range(copies.first, copies.end):
        if place & half:
            move_bytes(address(copies, place), address(copies, place - half), BYTES)
    return True


@body
def uncommitted(warp: WarpRecord, lanes: U32) -> U32:
    """Those lanes with copies that no group holds while none of their groups is in flight."""
    copies = warp.copies
    loose, grouped = 0, 0
    for place in range(copies.end - 1, copies.first - 1, -1):
        copy = view(address(copies, place), LaneCopy, 1)[0]
        held = older(copies, copy, 0)
        if loose == 0 and lanes & ~held == 0:
            return 0  # what was issued before is in groups, too
        loose |= lanes & copy.open & ~held
        grouped |= lanes & copy.open & held
    return loose & ~grouped


@body
def wait_for_groups(stream: Stream, warp: WarpRecord, lanes: U32, newest: I32) -> None:
    """All but the `newest` latest groups of these lanes complete."""
    copies = warp.copies
    for place in range(copies.first, copies.end):
        copy = view(address(copies, place), LaneCopy, 1)[0]
        covered = lanes & older(copies, copy, newest)
        if covered == 0:
            break  # nor is anything that was issued later
        close(stream, warp, copy, covered & copy.open)
    drop_closed(copies)


@body
def wait_for_copies(stream: Stream, warp: WarpRecord, lanes: U32, before: I64) -> None:
    """What these lanes have issued before the copy of a number completes, committed or not."""
    copies = warp.copies
    for place in range(copies.first, copies.end):
        copy = view(address(copies, place), LaneCopy, 1)[0]
        if copy.number < before:
            close(stream, warp, copy, lanes & copy.open)
    drop_closed(copies)


@body
def land_later(warp: WarpRecord, due: I64) -> None:
    """The copy that was issued last is due at a turn."""
    copies = warp.copies
    view(address(copies, copies.end - 1), LaneCopy, 1)[0].due = due
    copies.next_due = due if copies.next_due == 0 else min(copies.next_due, due)


@body
def land_copies(stream: Stream, warp: WarpRecord, now: I64) -> None:
    """The data of all copies is there that are due at a turn."""
    copies, first = warp.copies, 0
    for place in range(copies.first, copies.end):
        copy = view(address(copies, place), LaneCopy, 1)[0]
        if copy.due != 0 and copy.due <= now:
            copy.due = 0
            land(stream, warp, copy, copy.open)
        elif copy.due != 0:
            first = copy.due if first == 0 else min(first, copy.due)
    copies.next_due = first


def older(copies: LaneCopies, copy: LaneCopy, newest: int) -> int:
    """The lanes whose part of a copy is in a group, and not in one of their `newest` latest."""
    groups = copies.groups
    if groups.apart == 0:
        return EVERY if copy.together < groups.together - newest else 0
    found = 0
    for lane in range(LANES):
        if is_older(groups, lane, copy.together + copy.own[lane], newest):
            found |= 1 << lane
    return found


def close(stream: Stream, warp: WarpRecord, copy: LaneCopy, lanes: int) -> None:
    """A wait covers these lanes of a copy: their data is there."""
    if lanes != 0:
        land(stream, warp, copy, lanes)
        copy.open = copy.open & ~lanes
        if copy.open == 0:
            warp.copies.open -= 1
        event(stream, warp, copy.site, Event.ASYNC_WAIT, Space.SHARED, copy.size, 0, lanes, copy.to)


def land(stream: Stream, warp: WarpRecord, copy: LaneCopy, lanes: int) -> None:
    """Write the data of these lanes where that has not been done; what is not read becomes zero."""
    lanes = lanes & ~copy.landed
    if lanes == 0:
        return
    copy.landed = copy.landed | lanes
    start, begins, shared = warp.copies.arena, warp.copies.begins, copy.shared
    if copy.size == 16:
        move(copy, lanes, start, begins, view(shared, WORDS[4], SPAN, 1), view(start, WORDS[4], SPAN, 1))
    elif copy.size == 8:
        move(copy, lanes, start, begins, view(shared, WORDS[2], SPAN, 1), view(start, WORDS[2], SPAN, 1))
    else:
        move(copy, lanes, start, begins, view(shared, WORDS[1], SPAN, 1), view(start, WORDS[1], SPAN, 1))
    event(stream, warp, copy.site, Event.ASYNC_WRITE, Space.SHARED, copy.size, 0, lanes, copy.to)


def move(copy: LaneCopy, lanes: int, start: int, begins: int, to: Array, source: Array) -> None:
    """Copy bytes of lanes: elements of the copy's size at any byte of shared memory and, from `start` on, of global memory, whose first
    device address is `begins`."""
    size, counts, targets, sources = copy.size, copy.count, copy.to, copy.source
    for lane in range(LANES):
        if lanes >> lane & 1:
            at, from_ = int(targets[lane]) & OFFSET, int(sources[lane]) - begins
            if counts[lane] == size:
                to[at] = source[from_]
            else:
                move_bytes(copy.shared + at, start + from_, counts[lane])
                fill_bytes(copy.shared + at + counts[lane], 0, size - counts[lane])


def drop_closed(copies: LaneCopies) -> None:
    """Forget the oldest copies, as far as waits have covered them; later ones too once they are many."""
    while copies.first < copies.end and view(address(copies, copies.first), LaneCopy, 1)[0].open == 0:
        copies.first += 1
    if copies.end - copies.first > 2 * copies.open:
        close_gaps(copies)


def close_gaps(copies: LaneCopies) -> None:
    """Forget all copies that waits have covered: the others move up."""
    end = copies.first
    for place in range(copies.first, copies.end):
        if view(address(copies, place), LaneCopy, 1)[0].open != 0:
            move_bytes(address(copies, end), address(copies, place), BYTES)
            end += 1
    copies.end = end


EXPORTS = issue_copy, commit_group, uncommitted, wait_for_groups, wait_for_copies, land_copies
