"""Operands laid out in stripes of STRIPE lanes, over which the loops of fused_numba.py vectorise. Imported when needed."""

from __future__ import annotations

import numpy as np

from ptxsim.numerics.float_codes import exponent_of_word, widened
from ptxsim.numerics.numba_support import Scalar, float_of_word, inner, shift_right

STRIPE = 128
WORDS = 8  # words of an item that are turned at a time: as many as LLVM's vectoriser takes apart

f32, i16, u32, u64 = np.float32, np.int16, np.uint32, np.uint64


@inner
def pack(values: np.ndarray) -> np.ndarray:
    """(K, N) as stripes of columns (stripes, K, STRIPE); missing columns are zeros."""
    rows, columns = values.shape
    stripes = (columns + STRIPE - 1) // STRIPE
    result = np.empty((stripes, rows, STRIPE), f32)
    for s in range(stripes):
        width = min(STRIPE, columns - s * STRIPE)
        for k in range(rows):
            for j in range(width):
                result[s, k, j] = values[k, u64(s * STRIPE) + u64(j)]
            for j in range(width, STRIPE):
                result[s, k, j] = 0
    return result


@inner
def turn(words: np.ndarray, first: Scalar, start: Scalar, rows: np.ndarray, turned: np.ndarray) -> None:
    """Words start, start + 1, ... of the items from `first` on, (items, W), as lanes: turned (WORDS * STRIPE).

    `rows` (STRIPE * WORDS) is scratch memory. Both are flat: only so does LLVM see that what is written does not overlap.
    """
    used = min(STRIPE, words.shape[0] - first)
    width = min(WORDS, words.shape[1] - start)
    if used < STRIPE or width < WORDS:
        rows[:] = 0
    if width == WORDS:
        for j in range(used):
            for w in range(WORDS):
                rows[u64(j * WORDS) + u64(w)] = words[u64(first) + u64(j), u64(start) + u64(w)]
    else:
        for j in range(used):
            for w in range(width):
                rows[u64(j * WORDS) + u64(w)] = words[u64(first) + u64(j), u64(start) + u64(w)]
    for j in range(STRIPE):
        turned[u64(j)] = rows[u64(WORDS * j)]
        turned[u64(STRIPE + j)] = rows[u64(WORDS * j + 1)]
        turned[u64(2 * STRIPE + j)] = rows[u64(WORDS * j + 2)]
        turned[u64(3 * STRIPE + j)] = rows[u64(WORDS * j + 3)]
        turned[u64(4 * STRIPE + j)] = rows[u64(WORDS * j + 4)]
        turned[u64(5 * STRIPE + j)] = rows[u64(WORDS * j + 5)]
        turned[u64(6 * STRIPE + j)] = rows[u64(WORDS * j + 6)]
        turned[u64(7 * STRIPE + j)] = rows[u64(WORDS * j + 7)]


@inner
def load(
    words: np.ndarray, first: Scalar, bits: Scalar, widening: tuple[Scalar, ...], smallest: Scalar, inner: Scalar,
    values: np.ndarray, exponents: np.ndarray,
) -> None:  # fmt: skip
    """Items `first` to `first` + STRIPE - 1 as numbers and their exponents, the items being the lanes.

    words (items, W): matrices (K, inner) of codes of `bits` bits, in words of 32, the matrix of an item row by row.
    values, exponents (inner, K, STRIPE) are filled; lanes of missing items are zeros.
    """
    rows, turned = np.empty(STRIPE * WORDS, u32), np.empty(WORDS * STRIPE, u32)
    per_word = 32 // bits
    n, k = 0, 0
    for start in range(0, words.shape[1], WORDS):
        turn(words, first, start, rows, turned)
        for w in range(min(WORDS, words.shape[1] - start)):
            for part in range(per_word):
                shift = u32(part * bits)
                for j in range(STRIPE):
                    word = widened(shift_right(turned[u64(w * STRIPE) + u64(j)], shift), *widening)
                    values[u64(n), u64(k), j] = float_of_word(word)
                    exponents[u64(n), u64(k), j] = exponent_of_word(word, smallest)
                n += 1
                if n == inner:
                    n, k = 0, k + 1
