"""What bulk and tensor copies move: bytes of one side, in the order of the copy. Bodies, for both engines."""

from __future__ import annotations

import ctypes

import numpy as np

from ptxsim.jit.body import body
from ptxsim.jit.export import address_of, fill_bytes, indirect, move_bytes, view
from ptxsim.jit.record import FLAG, I32, I64
from ptxsim.machine.copies.bulk_records import SOURCE, BulkCopies, BulkCopy, Side
from ptxsim.machine.copies.tensor_tile import (
    CHUNK,
    OUTSIDE,
    TensorRecord,
    end_inside,
    first_inside,
    list_rows,
    row_bytes,
    row_pitch,
    swizzle_mask,
    swizzle_shift,
    swizzled,
)

SIX_BITS = 12  # the unit of elements of six bits
NAN_FILL = 0x7FF7  # repeated where elements lie outside of the tensor; measured on sm_90
ANYTHING = 0xFF  # what stands where nothing has been read: NaN in every format
SPAN = 1 << 40  # elements of a memory whose size is not asked for
WORDS, HALVES, LONGS, OCTETS = np.dtype(np.uint32), np.dtype(np.uint16), np.dtype(np.int64), np.dtype(np.uint8)
CHUNKS = np.dtype([("words", "<u8", (2,))])


@indirect
def call_refuse(address: I64, copy: I64) -> None:
    ctypes.CFUNCTYPE(None, ctypes.c_int64)(address)(copy)


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
    if copy.left + copy.right != 0 and which == SOURCE:
        read_inside(side.start + (side.shared if side.shared != 0 else copies.arena), data, copy)
        return
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
            exchange_row(copies.arena + int(rows[i]) + low, row + low, high - low, tensor.unit, writes)
    if tensor.tf32 != 0 and not writes and which == SOURCE:
        for i in range(len(rows)):
            if rows[i] != OUTSIDE:
                round_to_tf32(data + i * width, low, high)


@body(enough=8, chooses=True)
def is_there(copies_at: I64, copy_address: I64, data: I64) -> FLAG:
    """Whether the target, in global memory, holds already what a copy is about to write there."""
    copies, copy = view(copies_at, BulkCopies, 1)[0], view(copy_address, BulkCopy, 1)[0]
    if copy.tensor == 0:
        return are_alike(copies.arena + copy.target.start, data, copy.size)
    tensor = view(copy.tensor, TensorRecord, 1)[0]
    rows = view(copies.rows, LONGS, place_rows(copies_at, copy_address))
    width, low, high = row_bytes(tensor), first_inside(tensor, copy.at[0]), end_inside(tensor, copy.at[0])
    for i in range(len(rows)):
        if rows[i] != OUTSIDE and low < high:
            if not are_rows_alike(copies.arena + int(rows[i]) + low, data + i * width + low, high - low, tensor.unit):
                return False
    return True


def are_alike(place: int, other: int, size: int) -> bool:
    """Whether bytes at two addresses are the same."""
    differ, whole = 0, size >> 3 if (place | other) & 7 == 0 else 0
    longs, theirs = view(place, LONGS, whole), view(other, LONGS, whole)
    for i in range(whole):
        differ |= longs[i] ^ theirs[i]
    octets, others = view(place, OCTETS, size), view(other, OCTETS, size)
    for i in range(whole * 8, size):
        differ |= octets[i] ^ others[i]
    return bool(differ == 0)


def are_rows_alike(place: int, other: int, size: int, unit: int) -> bool:
    """Whether a row in global memory and one as shared memory has it are the same; `unit` as types have it."""
    if unit == CHUNK:
        return are_alike(place, other, size)
    same = True
    for number in range(size // unit):
        same = same and are_alike(place + number * unit, other + number * CHUNK, unit)
    return same


def read_inside(place: int, data: int, copy: BulkCopy) -> None:
    """Bytes of a run without those at its ends that are not read: these are anything."""
    octets = view(data, OCTETS, copy.size)
    for i in range(copy.left):
        octets[i] = ANYTHING
    for i in range(copy.size - copy.right, copy.size):
        octets[i] = ANYTHING
    if copy.left + copy.right < copy.size:
        move_bytes(data + copy.left, place + copy.left, copy.size - copy.left - copy.right)


def exchange(place: int, data: int, size: int, writes: bool) -> None:
    """Bytes at a place to an address, or from there."""
    if writes:
        move_bytes(place, data, size)
    else:
        move_bytes(data, place, size)


def exchange_row(place: int, data: int, size: int, unit: int, writes: bool) -> None:
    """The same for a row in global memory, and one as shared memory has it; `unit` as types have it."""
    if unit == CHUNK:
        exchange(place, data, size, writes)
        return
    for number in range(size // unit):
        if not writes:
            octets = view(data + number * CHUNK, OCTETS, CHUNK)
            for i in range(unit, CHUNK):
                octets[i] = ANYTHING
        exchange(place + number * unit, data + number * CHUNK, unit, writes)


def permute(tensor: TensorRecord, side: Side, data: int, size: int, writes: bool) -> None:
    """The same for a tile in shared memory."""
    if tensor.swizzle == 0:
        exchange(side.shared + side.start, data, size, writes)
    else:
        pitch, width = row_pitch(tensor), row_bytes(tensor)
        tile, memory = view(data, CHUNKS, SPAN), view(side.shared, CHUNKS, SPAN)
        mask, shift = swizzle_mask(tensor), swizzle_shift(tensor)
        number = 0
        for row in range(size // width):
            start = side.start + row * pitch
            for column in range(width // CHUNK):
                at = swizzled(start + column * CHUNK, mask, shift)
                if writes:
                    memory[at >> 4] = tile[number]
                else:
                    tile[number] = memory[at >> 4]
                number += 1
    if tensor.unit == SIX_BITS and not writes:
        for number in range(size // CHUNK):
            pack(data + number * CHUNK)


def pack(place: int) -> None:
    """16 elements of six bits, each in a byte (b6p2x16), stand one after the other in the first 12 bytes."""
    octets = view(place, OCTETS, CHUNK)
    for i in range(4):
        word = 0
        for j in range(4):
            word |= (int(octets[4 * i + j]) & 63) << 6 * j
        for j in range(3):
            octets[3 * i + j] = word >> 8 * j & 255


def fill(tensor: TensorRecord, row: int, size: int) -> None:
    """What elements outside of the tensor read as."""
    fill_bytes(row, 0, size)
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
