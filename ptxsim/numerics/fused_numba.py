"""Fused dot products at speed: the arithmetic of fused.py compiled by numba. Imported when needed.

An output meets its L products in float32 and int32: x*y is exact, scaling it by 2^(F - largest exponent) is exact, and
the conversion to int32 is the cut toward zero. That holds while the largest exponent is moderate and nothing is
infinite or NaN; outputs where it does not hold in every block become NaN, and are for fused.py to compute. Every inner
loop runs over one stripe of outputs, so that it vectorises: columns of one product, or the same output of many products.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from hashlib import sha256
from pathlib import Path
from types import FunctionType
from typing import Any, TypeAlias

import numpy as np
from numba import types

from ptxsim.numerics.float_codes import NAN, NUMBERS, WIDENING, exponents
from ptxsim.numerics.fused import HIGHEST, LOWEST, ZERO
from ptxsim.numerics.numba_support import (
    Function,
    Scalar,
    compiled,
    double_of_word,
    float_of_word,
    inlined,
    inner,
    truncate,
    word_of_double,
    word_of_float,
)
from ptxsim.numerics.operand_stripes import STRIPE, load, pack

i16, i32, i64, u64 = np.int16, np.int32, np.int64, np.uint64
f32, f64 = np.float32, np.float64


@inner
def out_of_range(scale_exponent: Scalar, fraction: Scalar) -> Scalar:
    """Whether float32 does not suffice for an output with this scale."""
    top = i32(fraction - scale_exponent)
    return (top < i32(LOWEST)) | (top > i32(HIGHEST))


def _blocks(length: int, narrow: bool, many: bool) -> Function:
    """A function for chains of blocks of `length` products, in place of the accumulators; NaN where float64 is needed.

    `narrow`: the accumulator is f16. `many`: a lane is an item with an A of its own, (M, K, STRIPE), else every lane has
    the same (M, K). Products are taken 16 at a time: the compiler unrolls that far, and their sum fits int32 for every
    fraction up to 25.
    """
    part = min(length, 16)
    parts = length // part

    if many:

        @inlined
        def at(x: np.ndarray, m: Scalar, k: Scalar, j: Scalar) -> Scalar:
            return x[m, k, j]

    else:

        @inlined
        def at(x: np.ndarray, m: Scalar, k: Scalar, j: Scalar) -> Scalar:
            return x[m, k]

    def blocks(
        x: np.ndarray, x_exponent: np.ndarray, y: np.ndarray, y_exponent: np.ndarray, result: np.ndarray,
        fraction: Scalar, zero_exponent: Scalar, kept: Scalar,
    ) -> None:  # fmt: skip
        largest = np.empty(STRIPE, i16)
        scale_exponent = np.empty(STRIPE, i32)
        sums = np.empty((parts, STRIPE), i32)
        special = np.empty(STRIPE, f32)
        mask = i64(-1) << i64(52 - kept)
        for s in range(y.shape[0]):
            n = u64(s * STRIPE)  # unsigned: numba would test a signed index for negative values, in every lane
            for k0 in range(0, y.shape[1], length):
                for m in range(x.shape[0]):
                    for p in range(parts):
                        for j in range(STRIPE):
                            top = largest[j] if p else i16(-32000)
                            for k in range(p * part, p * part + part):
                                exponent = i16(at(x_exponent, m, k0 + k, j) + y_exponent[s, k0 + k, j])
                                top = exponent if exponent > top else top
                            largest[j] = top
                    outside = i32(0)
                    for j in range(STRIPE):
                        word = word_of_float(result[m, n + u64(j)])
                        top = i32(i32(i32(word >> i32(23)) & i32(255)) - i32(127))
                        if narrow:
                            top = top if top > i32(-14) else i32(-14)
                            top = i32(ZERO) if i32(word & i32(NAN)) == 0 else top
                        product_top = i32(largest[j])
                        top = product_top if product_top > top else top
                        if narrow and top > i32(LOWEST) and top < i32(zero_exponent):
                            top = i32(zero_exponent)  # f16 products can be smaller than what a zero counts as
                        scale_exponent[j] = i32(fraction - top)
                        outside = i32(outside | i32(out_of_range(scale_exponent[j], fraction)))
                    for p in range(parts):
                        for j in range(STRIPE):
                            scale = float_of_word(i32(i32(scale_exponent[j] + i32(127)) << i32(23)))
                            cut = i32(0)
                            for k in range(p * part, p * part + part):
                                cut = i32(cut + truncate(at(x, m, k0 + k, j) * y[s, k0 + k, j] * scale))
                            sums[p, j] = cut
                    if outside:
                        for j in range(STRIPE):
                            if out_of_range(scale_exponent[j], fraction):
                                zero = largest[j] <= ZERO // 2 and word_of_float(result[m, n + u64(j)]) == 0
                                special[j] = 0 if zero else np.nan
                    for j in range(STRIPE):
                        scale = float_of_word(i32(i32(scale_exponent[j] + i32(127)) << i32(23)))
                        total = f64(truncate(result[m, n + u64(j)] * scale))
                        for p in range(parts):
                            total += f64(sums[p, j])
                        if narrow:
                            value = total * double_of_word(i64(i64(1023) - i64(scale_exponent[j])) << i64(52))
                            field = word_of_double(value) & i64(0x7FF << 52)
                            least = i64((1023 - 14) << 52)
                            field = field if field > least else least
                            magic = double_of_word((field + i64(42 << 52)) | i64(1 << 51))
                            value = (value + magic) - magic  # nearest even at 10 fraction bits
                            result[m, n + u64(j)] = f32(value if abs(value) < 65520.0 else np.copysign(np.inf, value))
                        else:
                            unscale = float_of_word(i32(i32(i32(127) - scale_exponent[j]) << i32(23)))
                            result[m, n + u64(j)] = f32(double_of_word(word_of_double(total) & mask)) * unscale
                    if outside:
                        for j in range(STRIPE):
                            if out_of_range(scale_exponent[j], fraction):
                                result[m, n + u64(j)] = special[j]

    return inner(_named(blocks, f"blocks_{length}{'_narrow' * narrow}{'_many' * many}"))


def _named(function: Any, name: str) -> Function:
    # Code from numba's cache is known by its functions' names, and two of one name get in each other's way.
    function.__name__ = function.__qualname__ = name
    named: Function = function
    return named


blocks: Function = _blocks(16, narrow=False, many=False)  # `_kernel` puts those of each kernel's length here


def product(
    x: np.ndarray, columns: np.ndarray, c: np.ndarray, smallest_x: Scalar, smallest_y: Scalar, fraction: Scalar,
    zero_exponent: Scalar, kept: Scalar,
) -> np.ndarray:  # fmt: skip
    """One product: x (M, K), columns (K, N), c (M, N) to (M, N), N rounded up to whole stripes."""
    y = pack(columns)
    result = np.empty((c.shape[0], y.shape[0] * STRIPE), f32)
    for m in range(c.shape[0]):
        for j in range(c.shape[1]):
            result[m, j] = c[m, j]
        for j in range(c.shape[1], result.shape[1]):
            result[m, j] = 1
    x_exponent, y_exponent = exponents(x, smallest_x), exponents(y, smallest_y)
    blocks(x, x_exponent, y, y_exponent, result, fraction, zero_exponent, kept)
    return result


def products(
    a: np.ndarray, b: np.ndarray, c: np.ndarray, rows: int, columns: int, a_bits: Scalar, b_bits: Scalar,
    a_widening: tuple[Scalar, ...], b_widening: tuple[Scalar, ...], smallest_x: Scalar, smallest_y: Scalar,
    fraction: Scalar, zero_exponent: Scalar, kept: Scalar,
) -> np.ndarray:  # fmt: skip
    """Many products: codes of A (items, M * K) and B (items, K * N) in words, c (items, M * N) to (items, M * N)."""
    k = a.shape[1] * (32 // a_bits) // rows
    x, x_exponent = np.empty((rows, k, STRIPE), f32), np.empty((rows, k, STRIPE), i16)
    y, y_exponent = np.empty((columns, k, STRIPE), f32), np.empty((columns, k, STRIPE), i16)
    total = np.ones((rows, columns * STRIPE), f32)
    result = np.empty(c.shape, f32)
    for first in range(0, c.shape[0], STRIPE):
        used = min(STRIPE, c.shape[0] - first)
        load(a, first, a_bits, a_widening, smallest_x, 1, x.reshape(1, -1, STRIPE), x_exponent.reshape(1, -1, STRIPE))
        load(b, first, b_bits, b_widening, smallest_y, columns, y, y_exponent)
        lanes = total.reshape(-1, STRIPE)
        for p in range(lanes.shape[0]):
            for j in range(used):
                lanes[p, j] = c[u64(first) + u64(j), p]
        blocks(x, x_exponent, y, y_exponent, total, fraction, zero_exponent, kept)
        for p in range(lanes.shape[0]):
            for j in range(used):
                result[u64(first) + u64(j), p] = lanes[p, j]
    return result


Kernel: TypeAlias = Callable[..., np.ndarray]
_words = types.Array(types.uint32, 2, "C")
_widening = types.Tuple(WIDENING)  # type: ignore[no-untyped-call]  # numba leaves its tuples untyped
_rule = [*[types.int32] * 3, *[types.int64] * 2]


@cache
def product_kernel(length: int, narrow: bool) -> Kernel:
    """`product`, compiled, for blocks of `length` products and accumulators of f16 (`narrow`) or f32."""
    return _kernel(product, length, narrow, False, *[NUMBERS] * 3, *_rule)


@cache
def products_kernel(length: int, narrow: bool) -> Kernel:
    """`products`, compiled, likewise."""
    return _kernel(
        products, length, narrow, True, _words, _words, NUMBERS, *[types.int64] * 4, _widening, _widening, *_rule
    )


def _kernel(function: Any, length: int, narrow: bool, many: bool, *arguments: Any) -> Kernel:
    # A global, not a variable around it: numba's cache compares those, and a compiled function is another one in each process.
    own = FunctionType(function.__code__, {**function.__globals__, "blocks": _blocks(length, narrow, many)})
    return compiled(NUMBERS(*arguments))(_named(own, f"{function.__name__}_{length}{'_narrow' * narrow}_{_sources()}"))


@cache
def _sources() -> str:
    """What the compiled functions are made of: numba looks at the file of the outermost one alone."""
    here = Path(__file__)
    names = ("float_codes", "fused", "fused_numba", "numba_support", "operand_stripes")
    return sha256(b"".join(here.with_stem(name).read_bytes() for name in names)).hexdigest()[:12]
