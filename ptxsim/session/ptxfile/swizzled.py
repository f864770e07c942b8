"""Factors of a product as they are where a tile is stored with one swizzle and read with another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

    Factors = tuple[np.ndarray, np.ndarray]  # left, right

_MOST = 1 << 21  # multiplications of a product that is tried some hundred times
_PIECES = (8, 4, 16)  # elements of 16 bytes: of f16, tf32 and f8


@dataclass(frozen=True, slots=True)
class _Swizzle:
    """Piece p of row r stands where piece p ^ (r / divisor % modulus) would."""

    divisor: int
    modulus: int

    def of(self, rows: np.ndarray) -> np.ndarray:
        return rows // self.divisor % self.modulus

    def __str__(self) -> str:
        if self.modulus == 1:
            return "none"
        return "p ^ (r" + (f" / {self.divisor}" if self.divisor > 1 else "") + f" % {self.modulus})"


_NONE = _Swizzle(1, 1)
# Those of rows of 128, 64 and 32 bytes first, then what is written in their stead.
_SWIZZLES = (
    _NONE,
    *(_Swizzle(*both) for both in ((1, 8), (2, 4), (4, 2), (1, 4), (1, 2), (2, 2), (2, 8), (4, 4), (4, 8), (8, 8))),
)


def swizzled(left: np.ndarray, right: np.ndarray, texts: tuple[str, str]) -> Iterator[tuple[Factors, str]]:
    """The factors with pieces of 16 bytes at other places of their rows, on one side and on both, and what to say."""
    if left.shape[0] * right.size > _MOST:
        return
    for pieces, said in _differences():
        moved = [_moved(factor, pieces) for factor in (left, right)]
        for factors, which in (
            ((moved[0], right), texts[0]),
            ((left, moved[1]), texts[1]),
            ((moved[0], moved[1]), f"{texts[0]} and of {texts[1]}"),
        ):
            if factors[0] is not None and factors[1] is not None:
                yield (factors[0], factors[1]), said.format(which)


def swizzled_whole(array: np.ndarray, name: str) -> Iterator[tuple[np.ndarray, str]]:
    """An array of which an expression takes a part, with pieces of 16 bytes at other places of its rows, and what to say."""
    for pieces, said in _differences():
        moved = _moved(array, pieces)
        if moved is not None:
            yield moved, said.format(name)


def _differences() -> Iterator[tuple[np.ndarray, str]]:
    """By how many elements a piece stands elsewhere, by row, for each two swizzles that differ, and what to say of a tile."""
    import numpy as np

    tried = set()
    for size in _PIECES:
        for one, other in combinations(_SWIZZLES, 2):
            pieces = one.of(np.arange(64)) ^ other.of(np.arange(64))
            key = size, pieces.tobytes()
            if key not in tried:
                tried.add(key)
                yield size * pieces, _said("{}", size, one, other)


def _said(which: str, size: int, one: _Swizzle, other: _Swizzle) -> str:
    return (
        f"that is the result if the tile of {which} is stored with one swizzle and read with another: piece p of row r, of {size} elements, "
        f"at {other} on one side, {f'at {one}' if one != _NONE else 'not swizzled'} on the other"
    )


def _moved(factor: np.ndarray, steps: np.ndarray) -> np.ndarray | None:
    """Element c of row r as element c ^ steps[r % 64]; rows are what lies side by side in memory. None where a row has no such element."""
    import numpy as np

    if not factor.flags.c_contiguous:
        turned = _moved(factor.T, steps) if factor.flags.f_contiguous else None
        return None if turned is None else turned.T
    rows, columns = factor.shape
    step = steps[np.arange(rows) % len(steps)]
    biggest = 1 << int(step.max(initial=0)).bit_length()
    if biggest == 1 or columns % biggest:
        return None
    return np.take_along_axis(factor, np.arange(columns) ^ step[:, None], axis=1)
