"""Tensor memory: 128 lanes by 512 columns of 32 bits, and where it keeps what products and copies put there.

PTX ISA, "Tensor Memory: Addressing", "Data Movement Shape", "Data Path Layout Organization"; judged by the layouts of CuTe and
Triton (tests/layout). An address has the lane in bits 31 to 16 and the column in bits 15 to 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np

from ptxsim.layout.bits import BitLayout

ROWS, COLUMNS = 128, 512  # ROWS are what the manual calls lanes
QUARTER = 32  # rows that a warp of a warpgroup reaches


def bits_of(numbers: Iterable[int]) -> int:
    """A set of numbers, a bit for each."""
    found = 0
    for number in numbers:
        found |= 1 << number
    return found


class Area(NamedTuple):
    """Some rows of some columns: sets of them as bits (`bits_of`)."""

    rows: int
    columns: int

    def at(self, address: int) -> Area:
        """What is relative to an address, as it lies in the memory."""
        return Area(self.rows << (address >> 16), self.columns << (address & 0xFFFF))


@dataclass(frozen=True, eq=False)
class Cells:
    """Rows and columns, relative to an address; arrays of one shape."""

    rows: np.ndarray
    columns: np.ndarray

    def __iter__(self) -> Iterator[np.ndarray]:
        return iter((self.rows, self.columns))

    @cached_property
    def area(self) -> Area:
        """All of them: each row is there with each column."""
        return Area(*(bits_of(np.unique(axis).tolist()) for axis in self))

    def at(self, address: int) -> Cells:
        """As they lie in the memory."""
        return Cells(self.rows + (address >> 16), self.columns + (address & 0xFFFF))


# What each lane of a warp, and each register after the other, has: r are rows, c columns, h the second half of 16x32bx2.
SHAPES = {
    "32x32b": ("lane r0 r1 r2 r3 r4 | elem c0..", "rc", 32, 1),
    "16x64b": ("lane r3 c0 r0 r1 r2 | elem c1..", "rc", 16, 2),
    "16x128b": ("lane c0 c1 r0 r1 r2 | elem r3 c2..", "rc", 16, 4),
    "16x256b": ("lane c1 c2 r0 r1 r2 | elem c0 r3 c3..", "rc", 16, 8),
    "16x32bx2": ("lane r0 r1 r2 r3 h0 | elem c0..", "rch", 16, 1),
}


@cache
def moved(shape: str, number: int, split: int = 0, packed: bool = False) -> Cells:
    """The cells of a load or a store, (registers, 32 lanes); `packed` (.pack::16b): (2, registers, 32), whose low halves make the low
    and the high half of a register. `split`: columns to the second half of 16x32bx2."""
    line, axes, rows, columns = SHAPES[shape]
    layout = BitLayout(line, axes, (rows, columns * number, 2)[: len(axes)])
    row, column = (axis.T for axis in layout.coordinates[:2])
    beyond = min(split % (1 << 32), COLUMNS)  # farther is as much outside, and costs a bit a column
    far = beyond * layout.coordinates[2].T if len(axes) == 3 else 0
    if not packed:
        return Cells(row, column + far)
    half = np.arange(2)[:, None, None]
    return Cells(np.broadcast_to(row, (2, *row.shape)), 2 * column + half + far)


def row_of(m: np.ndarray, rows: int, spread: bool) -> np.ndarray:
    """The row that a CTA keeps row m of `rows` of a matrix in; `spread`: 64 rows take 16 of every 32."""
    return m % 16 + m // 16 * QUARTER if spread and rows == 64 else m


@cache
def accumulators(rows: int, n: int, spread: bool) -> Cells:
    """The cells of D of one CTA, (rows, n). `spread`: of a product of one CTA that is not .ws, or of a pair's with a sparse A; else 64 and 32 rows stand several times
    one below the other, with a half or a quarter of the columns each."""
    m, column = np.arange(rows)[:, None], np.arange(n)[None, :]
    if spread or rows == ROWS:
        return Cells(*np.broadcast_arrays(row_of(m, rows, spread), column))
    part = n // (ROWS // rows)
    return Cells(*np.broadcast_arrays(m + column // part * rows, column % part))


@cache
def metadata_cells(
    rows: int, k: int, group: int, bits: int, spread: bool = False
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
    """Of the nibble of every row and group of a sparse A, (rows, k / group): row and column from its address on, and the bit it starts at.

    Of 16- and 32-bit elements a row of tensor memory has a half of k for two rows of A; of narrower ones all of its own row. Where D is
    `spread`, so are these, 16 rows at a time: the manual asks for the same alignment of both ("Data Path Layout Organization").
    """
    m, at = np.arange(rows)[:, None], np.arange(k // group)[None, :] * 4
    if bits < 16:
        row, bit = np.broadcast_arrays(m, at)
    else:
        row, bit = np.broadcast_arrays(m % 8 + m // 16 * 16 + at // 16 * 8, at % 16 + m // 8 % 2 * 16)
    return row_of(row, rows, spread), bit // 32, (bit % 32).astype(np.uint32)


def scale_place(row: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Row in each quarter, and column, of the word with the block scales of a row of A or a column of B."""
    return row % QUARTER, row // QUARTER


# Rows and 16-byte pieces that a copy from shared memory takes, and the first rows of tensor memory that each part of the rows goes to.
COPIES = {
    ("128x256b", None): (128, 2, ((0,),)), ("128x128b", None): (128, 1, ((0,),)),
    ("4x256b", None): (4, 2, ((0,), (32,), (64,), (96,))),
    ("64x128b", "warpx2::02_13"): (64, 1, ((0, 64),)),
    ("64x128b", "warpx2::01_23"): (64, 1, ((0, 32), (64, 96))),
    ("32x128b", "warpx4"): (32, 1, ((0, 32, 64, 96),)),
}  # fmt: skip


@cache
def copied(shape: str, warps: str | None) -> list[tuple[Cells, slice]]:
    """Where a copy puts the rows of a tile, and which rows: each as often as it says."""
    rows, pieces, parts = COPIES[shape, warps]
    each = rows // len(parts)
    row, column = np.arange(each)[:, None], np.arange(4 * pieces)[None, :]
    return [
        (Cells(*np.broadcast_arrays(row + start, column)), slice(number * each, (number + 1) * each))
        for number, starts in enumerate(parts)
        for start in starts
    ]
