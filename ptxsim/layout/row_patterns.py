"""In which ways kernels let units of 16 bytes change places by the row they stand in, and what shows that two of them were mixed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, product

import numpy as np

ROWS = 8  # of the matrices that ldmatrix and stmatrix move
UNIT = 16  # bytes that change places together, as a rule
SMALLER = 8, 4  # bytes of pieces of units that some let change places
LEAST_PITCH = 32  # bytes from one row to the next: units side by side are no rows


@dataclass(frozen=True, slots=True)
class RowPattern:
    """Unit p of row r stands where unit p ^ (r / divisor % modulus) would."""

    divisor: int
    modulus: int

    def of(self, rows: np.ndarray) -> np.ndarray:
        """By how much the number of a unit is flipped in each row."""
        return rows // self.divisor % self.modulus

    def __str__(self) -> str:
        if self.modulus == 1:
            return "none"
        return "p ^ (r" + (f" / {self.divisor}" if self.divisor > 1 else "") + f" % {self.modulus})"


PLAIN = RowPattern(1, 1)
# Those of rows of 128, 64 and 32 bytes first, then what is written in their stead.
PATTERNS = (
    PLAIN,
    *(RowPattern(*both) for both in ((1, 8), (2, 4), (4, 2), (1, 4), (1, 2), (2, 2), (2, 8), (4, 4), (4, 8), (8, 8))),
)


def differences(rows: int) -> Iterator[tuple[np.ndarray, str]]:
    """By how many units one stands elsewhere, by row, for each two patterns that differ, and these in words after "piece p of row r"."""
    numbers, tried = np.arange(rows), set()
    for one, other in combinations(PATTERNS, 2):
        pieces = one.of(numbers) ^ other.of(numbers)
        if pieces.tobytes() not in tried:
            tried.add(pieces.tobytes())
            yield pieces, f"at {other} on one side, {f'at {one}' if one != PLAIN else 'not swizzled'} on the other"


@lru_cache(maxsize=1)
def _of_a_matrix() -> list[tuple[np.ndarray, str]]:
    return [
        (pieces * UNIT, f"piece p of row r, of {UNIT} bytes, is {said}")
        for pieces, said in differences(ROWS)
        if pieces.any()
    ]


def mixed(places: np.ndarray, came_from: Callable[[np.ndarray], np.ndarray | None]) -> str | None:
    """In words, two patterns of which one was taken for the other where the rows of a matrix lie; None where they lie as they should.

    places: addresses of the rows, int64 (8,); came_from: where what stands at such addresses belongs, None if that is not known. Rows
    belong to places that are evenly spaced; those that are not, and would be with the units of one of the patterns, were mixed.
    """
    found = came_from(places)
    if found is None or _pitch(found):
        return None
    ways = []
    for flips, said in _of_a_matrix():
        other = came_from(places ^ flips)
        pitch = 0 if other is None else _pitch(other)
        if pitch:
            ways.append((pitch & -pitch, said))
    # Pitches are multiples of large powers of two; one unit more than that is a diagonal.
    return max(ways, key=lambda way: way[0])[1] if ways else None


def mixed_within(places: np.ndarray, came_from: Callable[[np.ndarray, int], np.ndarray | None]) -> str | None:
    """The same where what changes places is smaller than a unit, so that the rows are no runs of bytes any more. came_from: where pieces of so many
    bytes belong."""
    rows = np.arange(ROWS)
    for size, taken, written in product(SMALLER, PATTERNS, PATTERNS[1:]):
        straight = places ^ taken.of(rows) * UNIT
        each = [came_from((straight + piece) ^ written.of(rows) * size, size) for piece in range(0, UNIT, size)]
        first = each[0]
        if (
            first is None
            or not _pitch(first)
            or any(found is None or (found != first + n * size).any() for n, found in enumerate(each))
        ):
            continue
        read = f"where units of {UNIT} bytes are at {taken}" if taken != PLAIN else "not swizzled"
        return f"piece p of row r, of {size} bytes, is at {written} on one side, {read} on the other"
    return None


def pitches(found: np.ndarray) -> np.ndarray:
    """How many bytes lie from one place of each row to the next, 0 in rows in which they are not evenly spaced."""
    steps = found[:, 1:] - found[:, :-1]
    pitch = abs(steps[:, 0])
    return np.where((steps == steps[:, :1]).all(1) & (pitch >= LEAST_PITCH), pitch, 0)


def _pitch(found: np.ndarray) -> int:
    """The same of one row."""
    return int(pitches(found[None])[0])
