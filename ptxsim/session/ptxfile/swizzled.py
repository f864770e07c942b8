"""Factors of a product as they are where a tile is stored with one swizzle and read with another."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ptxsim.layout.row_patterns import differences

if TYPE_CHECKING:
    import numpy as np

    Factors = tuple[np.ndarray, np.ndarray]  # left, right

_MOST = 1 << 21  # multiplications of a product that is tried some hundred times
_ROWS = 64  # after which patterns repeat
_PIECES = (8, 4, 16, 2)  # elements of 16 bytes: of f16, tf32 and f8; of words of 4 bytes


_OF_FACTORS = "that is the result if the tile of {} is stored with one swizzle and read with another: {}"


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
                yield (factors[0], factors[1]), _OF_FACTORS.format(which, said)


def swizzled_whole(array: np.ndarray, name: str) -> Iterator[tuple[np.ndarray, str]]:
    """An array of which an expression takes a part, with pieces of 16 bytes at other places of its rows, and what to say."""
    for pieces, said in _differences():
        moved = _moved(array, pieces)
        if moved is not None:
            yield moved, _OF_FACTORS.format(name, said)


def swizzled_result(expected: np.ndarray) -> Iterator[tuple[np.ndarray, str]]:
    """A result as it is where its tile leaves shared memory with another swizzle than it was stored with, and what to say of its rows."""
    for pieces, said in _differences() if expected.size <= _MOST else ():
        moved = _moved(expected, pieces)
        if moved is not None:
            yield (
                moved,
                f"the pieces of rows stand as if its tile was stored with one swizzle and read with another ({said})",
            )


def _differences() -> Iterator[tuple[np.ndarray, str]]:
    """By how many elements a piece stands elsewhere, by row, for each two patterns that differ, and these in words."""
    for size in _PIECES:
        for pieces, said in differences(_ROWS):
            yield size * pieces, f"piece p of row r, of {size} elements, {said}"


def _moved(factor: np.ndarray, steps: np.ndarray) -> np.ndarray | None:
    """Element c of row r as element c ^ steps[r % _ROWS]; rows are what lies side by side in memory. None where a row has no such element."""
    import numpy as np

    if not factor.flags.c_contiguous:
        turned = _moved(factor.T, steps) if factor.flags.f_contiguous else None
        return None if turned is None else turned.T
    rows, columns = factor.shape
    step = steps[np.arange(rows) % _ROWS]
    biggest = 1 << int(step.max(initial=0)).bit_length()
    if biggest == 1 or columns % biggest:
        return None
    return np.take_along_axis(factor, np.arange(columns) ^ step[:, None], axis=1)
