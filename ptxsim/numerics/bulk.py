"""Fused dot products at speed: the arithmetic of fused.py compiled by numba, for whole matrices. Imported when needed.

An output meets its L products in float32 and int32: x*y is exact, scaling it by 2^(F - largest exponent) is exact, and
the conversion to int32 is the cut toward zero. That holds while the largest exponent is moderate and nothing is
infinite or NaN; outputs where it does not hold take the float64 path of `careful`. Columns are packed in stripes, so
that every inner loop runs over one stripe and vectorises.
"""

from __future__ import annotations

import warnings
from functools import cache

import llvmlite.ir as ir
import numpy as np
from numba import njit, types
from numba.extending import intrinsic

from ptxsim.numerics.parameters import Rule

STRIPE = 128
# Exponents of operands that are zero, and of those that are infinite or NaN: sums of two fit int16 and tell them apart.
ZERO, SPECIAL = -8000, 16000
# Largest exponents of an output for which float32 and its exponents suffice.
LOWEST, HIGHEST = -100, 125
FRACTION_BITS = {"f32": 23, "e8m13": 13, "f16": 10}

i16, i32, i64, f64 = np.int16, np.int32, np.int64, np.float64


def _bitcast(source, target, llvm_type):
    """An intrinsic that reads the bits of one number type as another."""

    @intrinsic
    def cast(typing_context, value):
        def generate(context, builder, signature, arguments):
            return builder.bitcast(arguments[0], llvm_type)

        return target(source), generate

    return cast


word_of_float = _bitcast(types.float32, types.int32, ir.IntType(32))
float_of_word = _bitcast(types.int32, types.float32, ir.FloatType())
word_of_double = _bitcast(types.float64, types.int64, ir.IntType(64))
double_of_word = _bitcast(types.int64, types.float64, ir.DoubleType())


@intrinsic
def truncate(typing_context, value):
    """float32 to int32 toward zero; any bits where it does not fit."""

    def generate(context, builder, signature, arguments):
        return builder.fptosi(arguments[0], ir.IntType(32))

    return types.int32(types.float32), generate


def compiled(signature):
    """A jitted function, kept on disk where numba finds a place to write and what lies there can be read."""

    def decorate(function):
        options = {"error_model": "numpy", "boundscheck": False}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return njit(signature, cache=True, **options)(function)
            except Exception:  # no place for a cache, or a broken one: compile for this process alone
                return njit(signature, **options)(function)

    return decorate


_matrix, _stripes = types.Array(types.float32, 2, "C"), types.Array(types.float32, 3, "C")
_matrix_exponents, _stripe_exponents = types.Array(types.int16, 2, "C"), types.Array(types.int16, 3, "C")


@njit(inline="always")
def power(exponent):
    """2^exponent for -1022 to 1023."""
    return double_of_word(i64(i64(exponent) + i64(1023)) << i64(52))


@compiled([types.void(_matrix, types.int32, _matrix_exponents), types.void(_stripes, types.int32, _stripe_exponents)])
def exponents(values, smallest, result):
    """Exponents as decoded, of a contiguous float32 array; `smallest` is the type's smallest normal one."""
    flat, out = values.reshape(-1), result.reshape(-1)
    for i in range(flat.size):
        word = word_of_float(flat[i])
        field = i32(word >> i32(23)) & i32(255)
        exponent = i32(field - i32(127))
        exponent = exponent if exponent > smallest else smallest
        exponent = i32(ZERO) if word & i32(0x7FFFFFFF) == 0 else exponent
        out[i] = i16(i32(SPECIAL) if field == 255 else exponent)


@compiled(_stripes(_matrix, types.float32))
def pack(values, fill):
    """(K, N) as stripes of columns (stripes, K, STRIPE); missing columns get `fill`."""
    rows, columns = values.shape
    stripes = (columns + STRIPE - 1) // STRIPE
    result = np.empty((stripes, rows, STRIPE), np.float32)
    for s in range(stripes):
        width = min(STRIPE, columns - s * STRIPE)
        for k in range(rows):
            for j in range(width):
                result[s, k, j] = values[k, s * STRIPE + j]
            for j in range(width, STRIPE):
                result[s, k, j] = fill
    return result


@compiled(_matrix(_stripes, types.int64))
def unpack(stripes, columns):
    """The inverse of pack."""
    rows = stripes.shape[1]
    result = np.empty((rows, columns), np.float32)
    for s in range(stripes.shape[0]):
        width = min(STRIPE, columns - s * STRIPE)
        for k in range(rows):
            for j in range(width):
                result[k, s * STRIPE + j] = stripes[s, k, j]
    return result


@njit
def rounded(value, kept, narrow):
    """A float64 to the accumulator's number: nearest f16 if narrow, else toward zero with `kept` fraction bits."""
    if not np.isfinite(value) or value == 0:
        return np.float32(value)
    smallest = -14 if narrow else -126
    exponent = max((word_of_double(value) >> 52 & 2047) - 1023, smallest)
    scale = power(kept - exponent)
    steps = value * scale
    steps = np.rint(steps) if narrow else np.trunc(steps)
    result = steps / scale
    if result == 0:
        return np.float32(0)
    limit = 65520.0 if narrow else 2.0**128
    return np.float32(result if abs(result) < limit else np.copysign(np.inf, result))


@njit
def careful(x, y, c, largest, column, fraction, zero_exponent, kept, narrow):
    """One output in float64, for any values. x: (L,), y: (L, STRIPE); `largest` is the products' largest exponent."""
    if largest <= ZERO // 2 and np.isfinite(c) and (c != 0 or word_of_float(c) == 0):
        return rounded(f64(c), kept, narrow)  # every product is zero
    plain = f64(c)
    every_zero = c == 0
    for k in range(x.size):
        product = f64(x[k]) * f64(y[k, column])
        every_zero &= product == 0
        plain += product
    if every_zero or not np.isfinite(plain):
        return np.float32(plain)
    if c != 0:
        smallest = -14 if narrow else -126
        largest = max(largest, max((word_of_double(f64(c)) >> 52 & 2047) - 1023, smallest))
    largest = max(largest, zero_exponent)
    scale = power(fraction - largest)
    total = np.trunc(f64(c) * scale)
    for k in range(x.size):
        total += np.trunc(f64(x[k]) * f64(y[k, column]) * scale)
    return rounded(total / scale, kept, narrow)


def _kernel(length: int, parts: int, narrow: bool):
    """The chain of blocks of `length` products over all stripes, in place on the packed accumulators c.

    `parts`: int32 sums a block needs. `narrow`: the accumulator is f16.
    """
    part = length // parts

    def chain(x, x_exponent, y, y_exponent, c, fraction, zero_exponent, kept):
        largest = np.empty(STRIPE, np.int16)
        scale_exponent = np.empty(STRIPE, np.int32)
        sums = np.empty((parts, STRIPE), np.int32)
        unusual = np.empty(STRIPE, np.float32)
        mask = i64(-1) << i64(52 - kept)
        for s in range(y.shape[0]):
            for k0 in range(0, x.shape[1], length):
                for m in range(x.shape[0]):
                    for j in range(STRIPE):
                        top = i16(-32000)
                        for k in range(length):
                            exponent = i16(x_exponent[m, k0 + k] + y_exponent[s, k0 + k, j])
                            top = exponent if exponent > top else top
                        largest[j] = top
                    outside = i32(0)
                    for j in range(STRIPE):
                        word = word_of_float(c[s, m, j])
                        top = i32((word >> i32(23) & i32(255)) - i32(127))
                        if narrow:
                            top = top if top > i32(-14) else i32(-14)
                            top = i32(ZERO) if word & i32(0x7FFFFFFF) == 0 else top
                        product_top = i32(largest[j])
                        top = product_top if product_top > top else top
                        outside = i32(outside | (i32(top < i32(LOWEST)) | i32(top > i32(HIGHEST))))
                        scale_exponent[j] = i32(fraction - top)
                    for p in range(parts):
                        for j in range(STRIPE):
                            scale = float_of_word(i32(i32(scale_exponent[j] + i32(127)) << i32(23)))
                            total = i32(0)
                            for k in range(p * part, p * part + part):
                                total = i32(total + truncate(x[m, k0 + k] * y[s, k0 + k, j] * scale))
                            sums[p, j] = total
                    if outside:
                        for j in range(STRIPE):
                            top = i32(fraction - scale_exponent[j])
                            if top < LOWEST or top > HIGHEST:
                                unusual[j] = careful(
                                    x[m, k0 : k0 + length], y[s, k0 : k0 + length], c[s, m, j], i64(largest[j]), j,
                                    i64(fraction), zero_exponent, kept, narrow,
                                )  # fmt: skip
                            else:
                                unusual[j] = c[s, m, j]
                    for j in range(STRIPE):
                        scale = float_of_word(i32(i32(scale_exponent[j] + i32(127)) << i32(23)))
                        total = f64(truncate(c[s, m, j] * scale))
                        for p in range(parts):
                            total += f64(sums[p, j])
                        unscale = double_of_word(i64(i64(1023) - i64(scale_exponent[j])) << i64(52))
                        if narrow:
                            value = total * unscale
                            field = word_of_double(value) & i64(0x7FF0000000000000)
                            least = i64((1023 - 14) << 52)
                            field = field if field > least else least
                            magic = double_of_word((field + i64(42 << 52)) | i64(1 << 51))
                            value = (value + magic) - magic  # nearest even at 10 fraction bits
                            value = value if abs(value) < 65520.0 else np.copysign(np.inf, value)
                        else:
                            value = double_of_word(word_of_double(total) & mask) * unscale
                        c[s, m, j] = np.float32(value)
                    if outside:
                        for j in range(STRIPE):
                            top = i32(fraction - scale_exponent[j])
                            if top < LOWEST or top > HIGHEST:
                                c[s, m, j] = unusual[j]

    return chain


_SIGNATURE = types.void(
    _matrix, _matrix_exponents, _stripes, _stripe_exponents, _stripes, types.int32, types.int64, types.int64
)


@cache
def kernel(length: int, parts: int, narrow: bool):
    """The compiled chain for blocks of `length`."""
    return compiled(_SIGNATURE)(_kernel(length, parts, narrow))


def chain(a: np.ndarray, b: np.ndarray, c: np.ndarray, smallest: tuple[int, int], rule: Rule) -> np.ndarray:
    """float32 numbers a (M, K), b (K, N), c (M, N) to the accumulated float32 (M, N), as fused.chain does it.

    `smallest`: exponents of the smallest normal numbers of A's and B's types. K is a multiple of rule.length.
    """
    parts = max(1, (rule.length << rule.fraction + 2) >> 31)
    a = np.ascontiguousarray(a, np.float32)
    a_exponents = np.empty(a.shape, np.int16)
    exponents(a, smallest[0], a_exponents)
    stripes = pack(np.ascontiguousarray(b, np.float32), 0.0)
    b_exponents = np.empty(stripes.shape, np.int16)
    exponents(stripes, smallest[1], b_exponents)
    accumulators = pack(np.ascontiguousarray(c, np.float32), 1.0)
    run = kernel(rule.length, parts, rule.accumulator == "f16")
    kept = FRACTION_BITS[rule.accumulator]
    run(a, a_exponents, stripes, b_exponents, accumulators, rule.fraction, rule.zero_exponent, kept)
    return unpack(accumulators, c.shape[1])
