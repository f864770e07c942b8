"""Fused dot products at speed: the arithmetic of fused.py compiled by numba, for whole matrices. Imported when needed.

An output meets its L products in float32 and int32: x*y is exact, scaling it by 2^(F - largest exponent) is exact, and
the conversion to int32 is the cut toward zero. That holds while the largest exponent is moderate and nothing is
infinite or NaN; outputs where it does not hold take the float64 path of `careful`. Columns are packed in stripes, and
every inner loop runs over one stripe of one row, so that it vectorises.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numba import njit, types

from ptxsim.numerics import fused
from ptxsim.numerics.formats import decode, encode, number_elements
from ptxsim.numerics.jit import (
    compiled,
    double_of_word,
    float_of_word,
    fma,
    truncate,
    word_of_double,
    word_of_float,
)
from ptxsim.numerics.matrix import halves
from ptxsim.numerics.parameters import Rule
from ptxsim.types import TYPES

STRIPE = 128
AT_ONCE = 1 << 19  # multiplications of small products that are spread out in memory at a time
# Exponents of operands that are zero, and of those that are infinite or NaN: sums of two fit int16 and tell them apart.
ZERO, SPECIAL = -8000, 16000
# Largest exponents of an output for which float32 and its exponents suffice.
LOWEST, HIGHEST = -100, 125
KEPT_BITS = {"f32": 23, "e8m13": 13, "f16": 10}
INFINITE, NAN = 0x7F800000, 0x7FFFFFFF

i16, i32, i64, u16, u32, u64 = np.int16, np.int32, np.int64, np.uint16, np.uint32, np.uint64
f32, f64 = np.float32, np.float64


_numbers = types.Array(types.float32, 2, "C")
_spread_numbers = types.Array(types.float32, 4, "C")
_codes = [types.Array(kind, 2, "C") for kind in (types.uint8, types.uint16, types.uint32)]


# ---- codes to numbers and back --------------------------------------------------------------------------------------


@compiled([_numbers(kind, *[types.uint32] * 5, types.float32) for kind in _codes])
def _widen(codes, magnitude_mask, sign_shift, shift, infinity, nan, scale):
    """Float codes (M, N) as float32: the magnitude's bits moved to float32's place, times `scale` for the bias.

    Magnitudes from `infinity` on are infinite or NaN, the magnitude `nan` is NaN.
    """
    result = np.empty(codes.shape, f32)
    for m in range(codes.shape[0]):
        for n in range(codes.shape[1]):
            code = u32(codes[m, n])
            magnitude = u32(code & magnitude_mask)
            moved = u32(magnitude << shift)
            word = u32(word_of_float(f32(float_of_word(i32(moved)) * scale)))
            word = u32(moved | u32(INFINITE)) if magnitude >= infinity else word
            word = u32(NAN) if magnitude == nan else word
            result[m, n] = float_of_word(i32(u32(word | u32(u32(code >> sign_shift) << u32(31)))))
    return result


def numbers(codes: np.ndarray, name: str) -> np.ndarray:
    """Codes (M, N) of a float type of at most 32 bits as float32 numbers."""
    codes = np.require(codes, requirements="CW")  # the compiled functions take no others
    return codes.view(f32) if name == "f32" else _widen(codes, *_widening(name))


@cache
def _widening(name: str) -> tuple:
    """_widen's arguments for a type."""
    kind = TYPES[name]
    if name == "tf32":  # an f32 word without its low 13 bits
        return 0x7FFFE000, 31, 0, INFINITE, 0xFFFFFFFF, f32(1)
    width = kind.exponent + kind.mantissa
    infinity = 0xFFFFFFFF if kind.finite else (1 << width) - (1 << kind.mantissa)
    nan = 0x7F if name == "e4m3" else 0xFFFFFFFF
    return (1 << width) - 1, width, 23 - kind.mantissa, infinity, nan, f32(2.0 ** (127 - kind.bias))


@compiled(types.Array(types.uint16, 2, "C")(_numbers))
def f16_codes(values):
    """float32 numbers that f16 represents exactly as f16 codes, NaN canonical."""
    result = np.empty(values.shape, u16)
    for m in range(values.shape[0]):
        for n in range(values.shape[1]):
            word = u32(word_of_float(values[m, n]))
            magnitude = u32(word & u32(NAN))
            normal = u32(u32(magnitude - u32(112 << 23)) >> u32(13))
            subnormal = u32(truncate(f32(abs(values[m, n]) * f32(2**24))))
            code = subnormal if magnitude < u32(113 << 23) else normal
            code = u32(0x7C00) if magnitude == u32(INFINITE) else code
            code = u32(code | u32(u32(word >> u32(16)) & u32(0x8000)))
            result[m, n] = u16(u32(0x7FFF) if magnitude > u32(INFINITE) else code)
    return result


# ---- one output at a time, any values -------------------------------------------------------------------------------


@njit
def power(exponent):
    """2^exponent for -1022 to 1023."""
    return double_of_word((exponent + 1023) << 52)


@njit
def exponent_of(value, smallest):
    """The exponent of a finite number that is not zero, `smallest` at least."""
    return max((word_of_double(f64(value)) >> 52 & 2047) - 1023, smallest)


@njit
def rounded(value, kept, narrow):
    """A float64 to the accumulator's number: nearest f16 if narrow, else toward zero with `kept` fraction bits."""
    if np.isnan(value):
        return float_of_word(i32(NAN))
    if np.isinf(value) or value == 0:
        return f32(value)
    scale = power(kept - exponent_of(value, -14 if narrow else -126))
    steps = np.rint(value * scale) if narrow else np.trunc(value * scale)
    result = steps / scale
    if abs(result) >= (65520.0 if narrow else 2.0**128):
        return f32(np.copysign(np.inf, result))
    return f32(result if result != 0 else 0.0)


@njit
def careful(x, y, c, largest, column, fraction, zero_exponent, kept, narrow):
    """One block of one output in float64. x: (L,), y: (L, STRIPE); `largest` is the products' largest exponent."""
    if largest <= ZERO // 2 and np.isfinite(c) and (c != 0 or word_of_float(c) == 0):
        return rounded(f64(c), kept, narrow)  # every product is zero
    plain = f64(c)
    every_zero = c == 0
    for k in range(x.size):
        product = f64(x[k]) * f64(y[k, column])
        every_zero &= product == 0
        plain += product
    if every_zero or not np.isfinite(plain):
        return rounded(plain, kept, narrow)
    top = max(largest, zero_exponent)
    if c != 0:
        top = max(top, exponent_of(c, -14 if narrow else -126))
    scale = power(fraction - top)
    total = np.trunc(f64(c) * scale)
    for k in range(x.size):
        total += np.trunc(f64(x[k]) * f64(y[k, column]) * scale)
    return rounded(total / scale + 0.0, kept, narrow)  # what was cut to nothing is +0


# ---- whole matrices -------------------------------------------------------------------------------------------------


@njit
def exponents(values, smallest):
    """Exponents as decoded, of float32 numbers; `smallest` is the type's smallest normal one."""
    result = np.empty(values.shape, i16)
    flat, out = values.reshape(-1), result.reshape(-1)
    for i in range(flat.size):
        word = word_of_float(flat[i])
        field = i32(i32(word >> i32(23)) & i32(255))
        exponent = i32(field - i32(127))
        exponent = exponent if exponent > smallest else smallest
        exponent = i32(ZERO) if i32(word & i32(NAN)) == 0 else exponent
        out[i] = i16(i32(SPECIAL) if field == 255 else exponent)
    return result


@njit
def pack(values):
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


@njit
def unusual(scale_exponent, fraction):
    """Whether an output with this scale has to be computed carefully."""
    top = i32(fraction - scale_exponent)
    return (top < i32(LOWEST)) | (top > i32(HIGHEST))


@compiled(_spread_numbers(_numbers, types.int64, types.int64))
def _spread(x, rows, columns):
    """Rows of many small A (items * rows, K) beside the columns of their B, `columns` each: (stripes, rows, K, STRIPE)."""
    width = x.shape[0] // rows * columns
    stripes = (width + STRIPE - 1) // STRIPE
    result = np.zeros((stripes, rows, x.shape[1], STRIPE), f32)
    item = np.empty(STRIPE, u64)
    for s in range(stripes):
        used = min(STRIPE, width - s * STRIPE)
        for j in range(used):
            item[j] = u64((s * STRIPE + j) // columns * rows)
        for m in range(rows):
            for k in range(x.shape[1]):
                for j in range(used):
                    result[s, m, k, j] = x[item[j] + u64(m), k]
    return result


def _kernel(length: int, narrow: bool, spread: bool):
    """A function for chains of blocks of `length` products.

    `narrow`: the accumulator is f16. `spread`: A is as _spread makes it, else (M, K). Products are taken 16 at a time: the
    compiler unrolls that far, and their sum fits int32 for every fraction up to 25.
    """
    part = min(length, 16)
    parts = length // part

    if spread:

        @njit(inline="always")
        def at(x, s, m, k, j):
            return x[s, m, k, j]

    else:

        @njit(inline="always")
        def at(x, s, m, k, j):
            return x[m, k]

    def chain(x, columns, c, smallest_x, smallest_y, fraction, zero_exponent, kept):
        x_exponent, y = exponents(x, smallest_x), pack(columns)
        y_exponent = exponents(y, smallest_y)
        result = np.empty((c.shape[0], y.shape[0] * STRIPE), f32)
        for m in range(c.shape[0]):
            for j in range(c.shape[1]):
                result[m, j] = c[m, j]
            for j in range(c.shape[1], result.shape[1]):
                result[m, j] = 1
        largest = np.empty(STRIPE, i16)
        scale_exponent = np.empty(STRIPE, i32)
        sums = np.empty((parts, STRIPE), i32)
        special = np.empty(STRIPE, f32)
        mask = i64(-1) << i64(52 - kept)
        for s in range(y.shape[0]):
            n = u64(s * STRIPE)  # unsigned: numba would test a signed index for negative values, in every lane
            for k0 in range(0, y.shape[1], length):
                for m in range(c.shape[0]):
                    for p in range(parts):
                        for j in range(STRIPE):
                            top = largest[j] if p else i16(-32000)
                            for k in range(p * part, p * part + part):
                                exponent = i16(at(x_exponent, s, m, k0 + k, j) + y_exponent[s, k0 + k, j])
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
                        outside = i32(outside | i32(unusual(scale_exponent[j], fraction)))
                    for p in range(parts):
                        for j in range(STRIPE):
                            scale = float_of_word(i32(i32(scale_exponent[j] + i32(127)) << i32(23)))
                            total = i32(0)
                            for k in range(p * part, p * part + part):
                                total = i32(total + truncate(at(x, s, m, k0 + k, j) * y[s, k0 + k, j] * scale))
                            sums[p, j] = total
                    if outside:
                        for j in range(STRIPE):
                            if unusual(scale_exponent[j], fraction):
                                rows = slice(k0, k0 + length)
                                special[j] = careful(
                                    at(x, s, m, rows, j), y[s, rows], result[m, n + u64(j)], i64(largest[j]), j,
                                    i64(fraction), zero_exponent, kept, narrow,
                                )  # fmt: skip
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
                            if unusual(scale_exponent[j], fraction):
                                result[m, n + u64(j)] = special[j]
        return result

    return chain


@cache
def kernel(length: int, narrow: bool, spread: bool = False):
    """The compiled chain for blocks of `length`."""
    arguments = [_spread_numbers if spread else _numbers, _numbers, _numbers] + [types.int32] * 3 + [types.int64] * 2
    function = _kernel(length, narrow, spread)
    # Code from numba's cache is known by its function's name, and two of one name get in each other's way.
    function.__name__ = function.__qualname__ = f"chain_{length}{'_narrow' * narrow}{'_spread' * spread}"
    return compiled(_numbers(*arguments))(function)


def chain(a: np.ndarray, b: np.ndarray, c: np.ndarray, smallest: tuple[int, int], rule: Rule) -> np.ndarray:
    """float32 numbers a (M, K), b (K, N), c (M, N) to the accumulated float32 (M, N), as fused.chain does it.

    `smallest`: exponents of the smallest normal numbers of A's and B's types. K is a multiple of rule.length. A may be
    what _spread makes of many, of which every column of B and C then has its own.
    """
    run = kernel(rule.length, rule.accumulator == "f16", a.ndim == 4)
    a, b, c = (np.ascontiguousarray(x) for x in (a, b, c))
    result = run(a, b, c, *smallest, rule.fraction, rule.zero_exponent, KEPT_BITS[rule.accumulator])
    return result if result.shape == c.shape else np.ascontiguousarray(result[:, : c.shape[1]])


_doubles = types.Array(types.float64, 2, "C")


@compiled(types.void(_doubles, _doubles, _doubles))
def _fma_chain(a, b, result):
    for m in range(a.shape[0]):
        for k in range(a.shape[1]):
            for n in range(b.shape[1]):
                result[m, n] = fma(a[m, k], b[k, n], result[m, n])


def fma_chain(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """float64 c (M, N) plus a (M, K) times b (K, N), one fma to nearest even after the other, k ascending."""
    result = c.copy()
    _fma_chain(np.ascontiguousarray(a), np.ascontiguousarray(b), result)
    return result


def product(rule: Rule, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """D's codes (..., M, N) from codes a (..., M, K), b (..., K, N), c (..., M, N), for the rules that matrix.compilable
    names. With leading axes K is a multiple of the rule's length, if its algorithm is "fused"."""
    if c.ndim > 2:
        a, b = (np.broadcast_to(x, (*c.shape[:-2], *x.shape[-2:])).reshape(-1, *x.shape[-2:]) for x in (a, b))
        return _products(rule, a, b, c.reshape(-1, *c.shape[-2:])).reshape(c.shape)
    return _product(rule, a, b, c)


def _products(rule: Rule, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """D's codes of many items: a (items, M, K), b (items, K, N), c (items, M, N)."""
    items, m, n = c.shape
    k = a.shape[-1]
    if n >= STRIPE:
        return np.stack([_product(rule, *item) for item in zip(a, b, c)])
    at_once = max(1, AT_ONCE // (m * n * k))
    parts = []
    for first in range(0, items, at_once):
        some = slice(first, first + at_once)
        columns = len(a[some]) * n
        right, total = (x[some].transpose(1, 0, 2).reshape(-1, columns) for x in (b, c))
        found = _product(rule, a[some].reshape(-1, k), right, total, (m, n))
        parts.append(found.reshape(m, -1, n).transpose(1, 0, 2))
    return np.concatenate(parts)


def _product(
    rule: Rule, a: np.ndarray, b: np.ndarray, c: np.ndarray, item: tuple[int, int] | None = None
) -> np.ndarray:  # fmt: skip
    """product of matrices. `item` (m, n): A holds the rows of many items, one below the other, B and C their columns."""
    form, whole = rule.form, a.shape[1] // rule.length * rule.length
    left, right, total = numbers(a, form.a), numbers(b, form.b), numbers(c, form.c)

    def run(x: np.ndarray, y: np.ndarray, z: np.ndarray, smallest: tuple[int, int]) -> np.ndarray:
        missing = -x.shape[1] % rule.length
        if missing:
            x, y = np.pad(x, ((0, 0), (0, missing))), np.pad(y, ((0, missing), (0, 0)))
        x = np.ascontiguousarray(x)
        return chain(x if item is None else _spread(x, *item), y, z, smallest, rule)

    if rule.algorithm == "halves":  # 8-bit floats are never so small that zeros in a block would show
        total = halves(rule, left, right, total, lambda *x: run(*x, (-14, -14)))
    else:
        smallest = (1 - TYPES[form.a].bias, 1 - TYPES[form.b].bias)
        total = run(left[:, :whole], right[:whole], total, smallest)
        if whole < a.shape[1]:
            last = number_elements(total.astype(np.float16) if rule.accumulator == "f16" else total)
            total = fused.chain(decode(a[:, whole:], form.a), decode(b[whole:], form.b), last, rule)
        elif rule.accumulator == "f16":
            return f16_codes(total)
        elif form.d == "f32":
            return total.view(np.uint32)
    with np.errstate(all="ignore"):
        return encode(total, form.d)
