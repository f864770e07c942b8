"""Bulk and tensor copies in flight as records (machine.copies.bulk_state)."""

from __future__ import annotations

from collections.abc import MutableSequence
from typing import Annotated

from ptxsim.jit.record import I32, I64, Record, record
from ptxsim.machine.copies.tensor_map import SIZE
from ptxsim.machine.copies.tensor_tile import RANKS, SPATIAL

ROOM = 1024  # copies in flight that there is room for at first; only Python makes more
HELD = 62  # sources that can be held after they have been read: as many as an i64 has bits
KNOWN, MAP_WORDS = 16, SIZE // 8  # tensor maps that are remembered, and the words of each
NOTES = 1024  # tiles that are remembered after they have landed
SOURCE, TARGET = range(2)


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
    left: I32  # bytes at the beginning and at the end of a run that are not read (.ignore_oob)
    right: I32
    reduction: I64  # how target and source combine (machine.copies.reduction), 0: not
    size: I64  # bytes
    tensor: I64  # address of its TensorRecord; 0: both sides are runs of bytes
    source: Side
    target: Side
    barrier: I64  # address of the mbarrier that it completes on, 0: it has a group
    group: I64
    held: I64  # 1 + the number of the buffer that holds what has been read, 0: none
    work: I64  # address of the record of what lanes do (machine.copies.lane_work), 0: a copy of memory
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
    free_work: I64  # the first record of lanes' work that is not in use: address, 0: none
    find_tensor: I64  # callback: the record of the tensor map at an address of this process, 0: none
    events: I32  # whether there is a stream
    notes: I32  # whether tiles are remembered
    known: Annotated[MutableSequence[KnownTensor], KnownTensor, KNOWN]
    noted: I64
    note: Annotated[MutableSequence[Note], Note, NOTES]
