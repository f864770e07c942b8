"""The rows of a tensor that a tensor copy moves. PTX ISA, "Tensors": tiled mode and im2col modes. Bodies, for both engines.

Elements outside of the tensor read as the fill value and are not written. Everything is innermost dimension first.
"""

from __future__ import annotations

from collections.abc import MutableSequence, Sequence
from typing import Annotated

import numpy as np

from ptxsim.jit.export import view
from ptxsim.jit.record import I32, I64, Record, record
from ptxsim.machine.copies.tensor_map import PADDED, SWIZZLES, TensorDescription
from ptxsim.machine.copies.tensor_map import WIDE as MAPS_WIDE
from ptxsim.types import Target

RANKS, SPATIAL = 5, 3  # most dimensions of a tensor, and of its images
TILE, GATHER, IM2COL, WIDE, WIDE_128 = range(5)  # modes of copies
MAP_OF = (0, 0, 1, 2, 3)  # which kind of im2col map each mode has, 0: none
MOST_BYTES = 1 << 18  # of a copy: more than a CTA's shared memory
# What `list_rows` returns in place of a number of rows.
MISALIGNED, OUTSIDE_OF_BOX, TOO_LARGE, UNKNOWN_HALO = -1, -2, -3, -4
OUTSIDE = -1  # in place of the address of a row: it is not in the tensor
FAR = 1 << 60  # an address that is in no allocation, in place of those with the highest bit
LOW = (1 << 63) - 1
CHUNK = 16  # bytes that a swizzle keeps together
BEFORE_HALO = 32  # pixels of im2col::w::128 after which a halo comes
LOADED_ONLY = 8  # the unit of a type that is not stored
NO_NARROW_LOADS = 12  # the family of targets that load no elements below 8 bits
WIDEST = SWIZZLES.index("128B")

LONGS = np.dtype(np.int64)
Five = Annotated[MutableSequence[int], I64, RANKS]
Three = Annotated[MutableSequence[int], I32, SPATIAL]


@record
class TensorRecord(Record):
    """A tensor map as copies use it."""

    start: I64  # device address
    rank: I32
    bytes: I32  # of an element, or of the `packed` ones that share them; those count as one wherever it is not said
    packed: I32
    unit: I32  # bytes of what takes 16 in shared memory
    type: I32  # its code (tensor_map.ELEMENT_TYPES)
    swizzle: I32  # its number
    nan: I32  # whether elements outside of the tensor read as NaN
    tf32: I32  # whether f32 values are rounded as they are read
    im2col: I32
    storable: I32
    loadable: I32
    dims: Five
    strides: Five  # bytes
    count: Five  # positions of a tile; the first is the elements of a row
    step: Five  # from one position to the next
    low: Three  # pixels' bounding box
    high: Three  # and its end
    pixels: I32


def tensor_record(t: TensorDescription, target: Target) -> TensorRecord:
    """The record of a map."""
    found = TensorRecord(
        t.address, t.rank, t.type.bytes, t.type.packed, t.type.unit, t.type.code, SWIZZLES.index(t.swizzle)
    )
    found.nan, found.tf32 = t.fill == "nan", t.type.name.startswith("tf32")
    found.im2col, found.pixels = t.lower_corner is not None, t.pixels
    if t.wide:
        found.im2col = 2 + MAPS_WIDE.index(t.wide)
    for i, (dim, stride) in enumerate(zip(t.dims, t.strides)):
        step = t.element_strides[i]
        # The innermost dimension has no traversal stride, but with an interleaved layout.
        found.step[i] = 1 if i == 0 and (t.interleave == "none" or found.im2col) else step
        found.dims[i], found.strides[i] = dim, stride
        found.count[i] = -(-t.box[i] // found.step[i])
    if t.lower_corner is not None:
        found.count[0] = t.channels
        for i, (low, high) in enumerate(zip(t.lower_corner, t.upper_corner)):
            found.low[i], found.high[i] = low, t.dims[1 + i] + high
    found.dims[0], found.count[0] = t.dims[0] // t.type.packed, found.count[0] // t.type.packed
    # Measured on sm_90: the copy faults where the pixels' bounding box leaves the tensor.
    stays_inside = min((*(t.lower_corner or ()), *(-c for c in t.upper_corner)), default=0) >= 0
    found.storable = stays_inside and t.type.unit != LOADED_ONLY
    found.loadable = not (t.type.packed > 1 and target.family == NO_NARROW_LOADS)
    return found


def mode_of(mode: object) -> int:
    """A copy's mode as the copies' records have it."""
    if mode in ("tile::gather4", "tile::scatter4"):
        return GATHER
    if mode in ("im2col::w", "im2col::w::128"):
        return WIDE_128 if mode == "im2col::w::128" else WIDE
    return IM2COL if str(mode).startswith("im2col") else TILE


def row_bytes(tensor: TensorRecord) -> int:
    """Bytes of a tile's row in shared memory."""
    return tensor.count[0] * tensor.bytes * CHUNK // tensor.unit


def row_pitch(tensor: TensorRecord) -> int:
    """Bytes from one row to the next, with a swizzle: rows narrower than it stand at its width (measured on sm_90)."""
    return CHUNK << min(tensor.swizzle, WIDEST)


def swizzled(place: int, mask: int, shift: int) -> int:
    """The offset in shared memory at which 16 bytes really stand; `mask` and `shift` of the swizzle."""
    return place ^ (place >> 7 & mask) << shift


def swizzle_shift(tensor: TensorRecord) -> int:
    """The lowest bit of an offset that a swizzle changes."""
    return 4 if tensor.swizzle <= WIDEST else 5 if tensor.swizzle == WIDEST + 1 else 6


def swizzle_mask(tensor: TensorRecord) -> int:
    """The bits that it changes, from that one on; they are joined with those from bit 7 on."""
    return (1 << min(tensor.swizzle, WIDEST) + 4 - swizzle_shift(tensor)) - 1


def first_step(tensor: TensorRecord) -> int:
    """The elements of which the first coordinate of a tile has to be a multiple."""
    return CHUNK * tensor.packed // tensor.bytes if tensor.unit == CHUNK else PADDED


def count_rows(tensor: TensorRecord, mode: int, halo: int) -> int:
    """How many rows a tile has; `halo`: wHalo of im2col along W alone."""
    if mode == GATHER:
        return 4
    if mode == IM2COL:
        return tensor.pixels
    if mode == WIDE:
        return tensor.pixels + halo
    if mode == WIDE_128:
        return 128 + 128 // BEFORE_HALO * halo
    rows = 1
    for i in range(1, tensor.rank):
        rows *= tensor.count[i]
    return rows


def first_inside(tensor: TensorRecord, at: int) -> int:
    """The first byte of a row that begins at a position of the innermost dimension (in elements, all of them) and is in the tensor."""
    at //= tensor.packed
    return 0 if at >= 0 else min(tensor.count[0], (tensor.step[0] - 1 - at) // tensor.step[0]) * tensor.bytes


def end_inside(tensor: TensorRecord, at: int) -> int:
    """The end of those bytes; not above `first_inside` where there are none."""
    left = tensor.dims[0] - at // tensor.packed
    return 0 if left <= 0 else min(tensor.count[0], (left + tensor.step[0] - 1) // tensor.step[0]) * tensor.bytes


def has_whole_rows(tensor: TensorRecord, at: Sequence[int]) -> bool:
    """Whether rows of a tile are runs of bytes on both sides, from the first one on; without a swizzle, all bytes of the row."""
    is_run = tensor.packed == 1 and tensor.unit == CHUNK and tensor.step[0] == 1 and at[0] >= 0
    return is_run and (tensor.swizzle != 0 or at[0] + tensor.count[0] <= tensor.dims[0])


def list_rows(tensor: TensorRecord, mode: int, at: Sequence[int], taps: Sequence[int], place: int) -> int:
    """Write the addresses of a tile's rows to `place`, i64: of their first elements, or OUTSIDE. Returns how many they are.

    `at` are the coordinates of the tile; gathered rows have the last four. `taps` move the pixels of im2col; along W alone they are wHalo
    and wOffset.
    """
    rows = count_rows(tensor, mode, taps[0] if mode >= WIDE else 0)
    if at[0] % first_step(tensor) != 0:  # measured on sm_90: the copy faults, as it does outside of the box
        return MISALIGNED
    if rows * row_bytes(tensor) > MOST_BYTES:
        return TOO_LARGE
    found = view(place, LONGS, rows)
    if mode == TILE:
        list_tile(tensor, at, found)
        return rows
    position = [0] * RANKS
    last = tensor.rank - 1
    if mode == IM2COL:
        for i in range(1, last):
            position[i] = at[i]
            if at[i] < tensor.low[i - 1] or at[i] >= tensor.high[i - 1]:
                return OUTSIDE_OF_BOX
        position[last] = at[last]
    if mode >= WIDE:
        return list_pixels(tensor, BEFORE_HALO if mode == WIDE_128 else tensor.pixels, at, taps, found)
    moved = [0] * RANKS
    for row in range(rows):
        for i in range(1, tensor.rank):
            if mode == GATHER:
                moved[i] = at[1 + row]
            else:
                moved[i] = position[i] + (taps[i - 1] if i < last else 0)
        found[row] = row_at(tensor, at[0] // tensor.packed, moved)
        i = 1
        if mode == IM2COL:
            while i < last:
                position[i] += tensor.step[i]
                if position[i] < tensor.high[i - 1]:
                    break
                position[i] = tensor.low[i - 1]
                i += 1
            if i == last:
                position[last] += tensor.step[last]
    return rows


def list_tile(tensor: TensorRecord, at: Sequence[int], found: MutableSequence[int]) -> None:
    """The same of a tile, in runs of rows that follow each other in the second dimension."""
    run = tensor.count[1] if tensor.rank > 1 else 1
    step = [0] * RANKS  # how far each of the dimensions after it has come
    for start in range(0, len(found), run):
        address, is_there = tensor.start + at[0] // tensor.packed * tensor.bytes, True
        for i in range(2, tensor.rank):
            position = at[i] + step[i] * tensor.step[i]
            is_there = is_there and position >= 0 and position < tensor.dims[i]
            address += position * tensor.strides[i]
        for row in range(run):
            position = at[1] + row * tensor.step[1]
            if is_there and (tensor.rank == 1 or (position >= 0 and position < tensor.dims[1])):
                found[start + row] = wrapped(address + position * tensor.strides[1])
            else:
                found[start + row] = OUTSIDE
        i = 2
        while i < tensor.rank:
            step[i] += 1
            if step[i] < tensor.count[i]:
                break
            step[i] = 0
            i += 1


def list_pixels(
    tensor: TensorRecord, run: int, at: Sequence[int], taps: Sequence[int], found: MutableSequence[int]
) -> int:  # fmt: skip
    """The same of im2col along W alone, where a halo comes after each `run` of pixels.

    The manual's text does not say whether a halo goes on along W, over the edge of the box, or in the next image, as pixels do. Where both
    are not the same address, or both outside of the tensor, it is UNKNOWN_HALO.
    """
    halo, offset = taps[0], taps[1]
    if at[1] >= tensor.high[0]:  # left of the box a copy may begin
        return OUTSIDE_OF_BOX
    first = at[0] // tensor.packed
    position, beyond, ahead = [0] * RANKS, [0] * RANKS, [0] * RANKS
    for i in range(1, tensor.rank):
        position[i] = at[i] + (offset if i == 1 else 0)
    for row in range(len(found)):
        if row % (run + halo) < run:
            found[row] = row_at(tensor, first, position)
            for i in range(1, tensor.rank):
                beyond[i] = position[i]
            next_pixel(tensor, position, offset)
            for i in range(1, tensor.rank):
                ahead[i] = position[i]
        else:
            beyond[1] += tensor.step[1]
            found[row] = row_at(tensor, first, beyond)
            if found[row] != row_at(tensor, first, ahead):
                return UNKNOWN_HALO
            next_pixel(tensor, ahead, offset)
    return len(found)


def next_pixel(tensor: TensorRecord, position: list[int], offset: int) -> None:
    """Go on along W, at the box's edge in the next image; wOffset moves the box."""
    last = tensor.rank - 1
    position[1] += tensor.step[1]
    if position[1] >= tensor.high[0] + offset:
        position[1] = tensor.low[0] + offset
        position[last] += tensor.step[last]


def row_at(tensor: TensorRecord, first: int, position: list[int]) -> int:
    """The address of the row at a position, or OUTSIDE."""
    address = tensor.start + first * tensor.bytes
    for i in range(1, tensor.rank):
        if position[i] < 0 or position[i] >= tensor.dims[i]:
            return OUTSIDE
        address += position[i] * tensor.strides[i]
    return wrapped(address)


def wrapped(address: int) -> int:
    """An address of 64 bits. Programs count on that the sum wraps (Triton's ragged tensors, whose outermost stride takes back what the next
    one adds)."""
    return FAR if address >> 63 & 1 else address & LOW
