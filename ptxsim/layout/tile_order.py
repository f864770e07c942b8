"""How a tile lies in shared memory, told from where its bytes came from.

A tile that was copied from a matrix has its 16-byte units at even distances there: so many bytes from one line to the next, so many
from one unit of a line to the next. A descriptor that reads it with another swizzle or stride than it was written with meets
them in another order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from ptxsim.layout.descriptor import Descriptor, linear_offsets
from ptxsim.layout.row_patterns import LEAST_PITCH
from ptxsim.layout.swizzle import SWIZZLE_BITS, swizzle

UNIT = 16  # bytes that every layout keeps together
UNKNOWN = -1
LEAST = 8  # lines by which a tile is known
_LIMIT = 1 << 18  # bytes that a descriptor's offsets can say


@dataclass(frozen=True, slots=True)
class Shape:
    """Of an operand that is read through a descriptor: `rows` are m of A or n of B, `major` is "K" or "MN", elements of `bits`."""

    major: str
    rows: int
    k: int
    bits: int

    def offsets(self, fields: Descriptor) -> np.ndarray:
        """Byte offset of every unit from the start of a tile before the swizzle, int64 (lines, units of a line).

        A line is a row of a K-major tile, all rows at one k of an MN-major one.
        """
        each = 8 * UNIT // self.bits
        row, column = np.arange(self.rows)[:, None], np.arange(self.k)[None, :]
        if self.major == "K":
            column = column[:, ::each]
        else:
            row = row[::each]
        found = linear_offsets(self.major, fields.swizzle, fields.leading, fields.stride, self.bits, row, column)
        return found if self.major == "K" else found.T

    def element(self, line: int, unit: int) -> str:
        """The first element of a unit, in words."""
        first = unit * 8 * UNIT // self.bits
        row, k = (line, first) if self.major == "K" else (first, line)
        return f"(row {row}, k {k})"


@lru_cache(maxsize=256)
def overlap(fields: Descriptor, shape: Shape) -> tuple[int, str, str] | None:
    """An address that a descriptor reads as two elements of an operand, and these; None if it reads no byte twice."""
    places = places_of(fields, shape)
    order = np.argsort(places, axis=None, kind="stable")
    same = np.flatnonzero(np.diff(places.ravel()[order]) == 0)
    if not len(same):
        return None
    first, second = (np.unravel_index(order[same[0] + i], places.shape) for i in range(2))
    return int(places[first]), shape.element(*map(int, first)), shape.element(*map(int, second))


def is_as_written(sources: np.ndarray, fields: Descriptor, shape: Shape) -> bool:
    """Whether the units of a tile come from even distances, and its lines from places apart, so that the descriptor reads it as it was written.

    sources: int64, by the number of a unit of shared memory, the address in global memory that its bytes came from, or UNKNOWN.
    """
    found = _came_from(sources, fields, shape)
    return _is_even(found) and abs(int(found[1, 0] - found[0, 0])) >= LEAST_PITCH


def written_as(sources: np.ndarray, fields: Descriptor, shape: Shape) -> Descriptor | None:
    """The descriptor that would read a tile in the order in which it was written, where the given one does not.

    sources: as above. None: the given one does, or nothing can be said.
    """
    units = shape.rows * shape.k * shape.bits // (8 * UNIT)
    if np.count_nonzero(sources != UNKNOWN) < units or _is_even(_came_from(sources, fields, shape)):
        return None
    for mode in sorted(SWIZZLE_BITS, key=lambda mode: mode != fields.swizzle):
        for other in _fitting(sources, replace(fields, swizzle=mode), shape):
            if other != fields and _is_even(_came_from(sources, other, shape)):
                return other
    return None


def rows_inside(sources: np.ndarray, fields: Descriptor, shape: Shape) -> int:
    """How many of the first lines of a tile come from even distances, where others do not; 0 if all do, or not even the first of them.

    sources: as above. Who reads over the end of a tile that was copied meets other bytes from some line on.
    """
    found = _came_from(sources, fields, shape)
    if (found[:2] == UNKNOWN).any() or _is_even(found):
        return 0
    lines, units = found.shape
    down, across = int(found[1, 0] - found[0, 0]), int(found[0, 1] - found[0, 0]) if units > 1 else 0
    strays = (found != found[0, 0] + np.arange(lines)[:, None] * down + np.arange(units) * across).any(axis=1)
    first = int(strays.argmax())
    return first if first >= LEAST and strays[first:].all() and down else 0


def is_of_other_direction(sources: np.ndarray, fields: Descriptor, shape: Shape) -> bool:
    """Whether a K-major operand is one step of a tile that lies the other way: taken so, units come from even distances, those of a line side by
    side; and it starts where no K-major one would, after lines of the same tile that are no whole number of operands."""
    if not fields.stride or fields.start < fields.stride:
        return False
    other = _turned(shape)
    one, two = _units_of(fields, other)[0][:2, 0].tolist()
    if max(one, two) >= len(sources):
        return False
    first, second = int(sources[one]), int(sources[two])
    down, before, at = second - first, 0, fields.start - fields.stride
    while at >= 0 and int(sources[at // UNIT]) == first - (before + LEAST) * down:
        before, at = before + LEAST, at - fields.stride
    if before % shape.rows == 0 or UNKNOWN in (first, second):
        return False
    found = _came_from(sources, fields, other)
    return _is_even(found) and (found.shape[1] < 2 or int(found[0, 1] - found[0, 0]) == UNIT)


@lru_cache(maxsize=64)
def _turned(shape: Shape) -> Shape:
    return replace(shape, major="MN")


@lru_cache(maxsize=256)
def places_of(fields: Descriptor, shape: Shape) -> np.ndarray:
    """Address of every unit that a descriptor reads, int64 (lines, units of a line)."""
    found: np.ndarray = swizzle(fields.start + shape.offsets(fields), fields.swizzle, fields.base_offset)
    return found


def _came_from(sources: np.ndarray, fields: Descriptor, shape: Shape) -> np.ndarray:
    """Of the units of a tile, in order. Outside of shared memory nothing is known."""
    units, end = _units_of(fields, shape)
    if end <= len(sources):
        found: np.ndarray = sources[units]
        return found
    inside = units < len(sources)
    return np.where(inside, sources[np.where(inside, units, 0)], UNKNOWN)


@lru_cache(maxsize=256)
def _units_of(fields: Descriptor, shape: Shape) -> tuple[np.ndarray, int]:
    """The numbers of the units that a descriptor reads, int64 (lines, units of a line), and the one after the highest."""
    units = places_of(fields, shape) // UNIT
    return units, int(units.max()) + 1


def _is_even(found: np.ndarray) -> bool:
    """Whether units come from even distances, and no two from one place."""
    lines, units = found.shape
    down, across = int(found[1, 0] - found[0, 0]), int(found[0, 1] - found[0, 0]) if units > 1 else 0
    even = _evenly(lines, units, down, across)
    return even is not None and bool((found == found[0, 0] + even).all()) and not bool((found == UNKNOWN).any())


@lru_cache(maxsize=64)
def _evenly(lines: int, units: int, down: int, across: int) -> np.ndarray | None:
    """By how much the units of a tile lie after the first where they lie at even distances; None if two lie in one place."""
    found: np.ndarray = np.arange(lines)[:, None] * down + np.arange(units) * across
    return found if np.diff(np.sort(found, axis=None)).all() else None


def _fitting(sources: np.ndarray, start: Descriptor, shape: Shape) -> Iterator[Descriptor]:
    """A descriptor as it is; then with the offsets under which it meets units where their bytes are."""
    yield start
    found, said = _came_from(sources, start, shape), shape.offsets(start)
    base = shape.offsets(replace(start, leading=0, stride=0))
    by_leading = shape.offsets(replace(start, leading=1, stride=0)) - base
    by_stride = shape.offsets(replace(start, leading=0, stride=1)) - base
    if (found[:2, 0] == UNKNOWN).any() or found.shape[1] < 2:
        return
    down, across = found[1, 0] - found[0, 0], UNIT
    if said[0, 1] == base[0, 1]:  # the second unit of a line lies there whatever the offsets are
        across = found[0, 1] - found[0, 0]

    def offsets(mine: np.ndarray, others: np.ndarray, given: int) -> list[int]:
        """What an offset can be, by the first unit that depends on it alone."""
        places = np.argwhere((mine == 1) & (others == 0))
        if not len(places):
            return [given]
        line, unit = places[0]
        there = np.flatnonzero(sources == found[0, 0] + line * down + unit * across) * UNIT
        at = swizzle(there, start.swizzle, start.base_offset) - start.start - base[line, unit]
        return [int(each) for each in at if 0 < each < _LIMIT]

    for leading in offsets(by_leading, by_stride, start.leading):
        for stride in offsets(by_stride, by_leading, start.stride):
            yield replace(start, leading=leading, stride=stride)
