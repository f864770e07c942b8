"""The tensor core's fused dot product, on numpy arrays of any size.

One block adds L exact products and an accumulator: every term is cut toward zero at 2^(largest exponent - F), the sum
of the cut terms is exact, and one rounding makes the result. Float64 holds all of it exactly: a product of two
significands has at most 22 bits, a cut term is an integer below 2^(F + 2), and F is at most 35. Infinities and NaN
follow from the float64 arithmetic itself.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

import numpy as np

from ptxsim.numerics.formats import ZERO_EXPONENT, Elements, decode, encode, floats, number_elements
from ptxsim.numerics.parameters import Rule

Chain: TypeAlias = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]

# Products are formed for as many k at once as keep a temporary array in the second-level cache.
CHUNK = 1 << 15
KEPT_BITS = {"f32": 23, "e8m13": 13, "f16": 10}  # fraction bits by accumulator

# Compiled code (fused_numba.py, engine.compiled.tensor.dot) computes in float32 while an output's largest exponent is
# within these. Its exponents are those of zeros, and of infinities and NaN: sums of two fit int16 and tell them apart.
LOWEST, HIGHEST = -100, 125
ZERO, SPECIAL = -8000, 16000


def power_of_two(exponent: np.ndarray) -> np.ndarray:
    """2^exponent as float64, for exponents -1022 to 1023."""
    bits = exponent.astype(np.int64)
    bits += 1023
    bits <<= 52
    return bits.view(np.float64)


def add_products(x: Elements, y: Elements, c: Elements, rule: Rule) -> tuple[np.ndarray, np.ndarray]:
    """The exact sum of the products x * y and c, each cut toward zero at 2^(largest exponent - F); not yet rounded.

    x and y (terms, ...) broadcast to (terms, *c's shape). Returns float64 values and a bool array that says where every
    term is a zero (there the value's sign is that of the zero: -0 only if every term is -0).
    """
    step = max(1, CHUNK // max(1, c.value.size))
    pieces = [slice(k, k + step) for k in range(0, len(x.value), step)]
    largest = c.exponent
    for piece in pieces:
        largest = np.maximum(largest, (x.exponent[piece] + y.exponent[piece]).max(axis=0))
    all_zero = largest <= ZERO_EXPONENT // 2
    largest = np.maximum(largest, np.int16(rule.zero_exponent))
    scale = power_of_two(rule.fraction - largest)

    total = np.trunc(c.value * scale)
    for piece in pieces:
        terms = x.value[piece] * y.value[piece]
        terms *= scale
        np.trunc(terms, out=terms)
        total += np.add.reduce(terms, axis=0, initial=-0.0)
    total *= power_of_two(largest - rule.fraction)
    return total, all_zero


def round_f32(values: np.ndarray, all_zero: np.ndarray, kept_bits: int = 23) -> np.ndarray:
    """float64 to float32 toward zero; from 2^128 on infinity. With kept_bits below 23 the lower fraction bits are 0.

    A zero result is +0 unless all_zero says that no term was anything else.
    """
    result = values.astype(np.float32)
    bits = result.view(np.int32)
    magnitude = np.abs(values)
    bits -= (np.abs(result) > magnitude) & (magnitude < 2.0**128)  # the cast rounded away from zero: one step back
    if kept_bits < 23:
        bits &= np.where(np.isnan(values), -1, -1 << (23 - kept_bits)).astype(np.int32)
    return _fix_zeros(result, all_zero)


def round_f16(values: np.ndarray, all_zero: np.ndarray) -> np.ndarray:
    """float64 to float16, nearest even; from 65520 on infinity. Zeros as in round_f32."""
    return _fix_zeros(values.astype(np.float16), all_zero)


def _fix_zeros(result: np.ndarray, all_zero: np.ndarray) -> np.ndarray:
    underflow = (result == 0) & ~all_zero
    if underflow.any():
        result[underflow] = 0
    return result


def rounded(values: np.ndarray, all_zero: np.ndarray, output: str) -> np.ndarray:
    """The result of add_products as float32 ("f32", "e8m13") or float16 ("f16") numbers."""
    if output == "f16":
        return round_f16(values, all_zero)
    return round_f32(values, all_zero, KEPT_BITS[output])


def product(rule: Rule, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Codes of D from codes a (..., M, K), b (..., K, N), c (..., M, N), for the algorithms "fused" and "halves"."""
    left, right = decode(a, rule.form.a), decode(b, rule.form.b)
    if rule.algorithm == "halves":
        x, y = (v.value.astype(np.float32) for v in (left, right))
        result = halves(rule, x, y, floats(c, rule.form.c), partial(_chain_f16, rule))
    else:
        result = chain(left, right, accumulator(rule, c), rule)
    with np.errstate(all="ignore"):
        return encode(result, rule.form.d)


def accumulator(rule: Rule, c: np.ndarray) -> Elements:
    """C as it enters the first block."""
    return decode(c, rule.form.c) if rule.c_type == rule.form.c else number_elements(floats(c, rule.form.c))


def _chain_f16(rule: Rule, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    left, right = (number_elements(x.astype(np.float16)) for x in (a, b))
    return chain(left, right, number_elements(c.astype(np.float16) if rule.accumulator == "f16" else c), rule)


def k_first(a: Elements, b: Elements) -> tuple[Elements, Elements]:
    """A (..., M, K) as (K, ..., M, 1) and B (..., K, N) as (K, ..., 1, N): sums over k run along planes of outputs."""
    return (
        Elements(*(np.moveaxis(x, -1, 0)[..., None] for x in a)),
        Elements(*(np.moveaxis(x, -2, 0)[..., None, :] for x in b)),
    )


def blocks(x: Elements, y: Elements, c: Elements, rule: Rule, length: int) -> np.ndarray:
    """Blocks of `length` terms x * y (see add_products), in order, each rounded to the accumulator's type."""
    with np.errstate(all="ignore"):
        for k in range(0, len(x.value), length):
            x_part, y_part = (Elements(*(v[k : k + length] for v in z)) for z in (x, y))
            result = rounded(*add_products(x_part, y_part, c, rule), rule.accumulator)
            if k + length < len(x.value):
                c = number_elements(result)
    return result


def chain(a: Elements, b: Elements, c: Elements, rule: Rule) -> np.ndarray:
    """Blocks of rule.length products in ascending k. a: (..., M, K), b: (..., K, N), c: (..., M, N).

    Returns float32 or float16 numbers.
    """
    return blocks(*k_first(a, b), c, rule, rule.length)


def halves(rule: Rule, a: np.ndarray, b: np.ndarray, c: np.ndarray, chain: Chain) -> np.ndarray:
    """8-bit floats on the f16 unit: D = C + (two blocks from zero), the last addition an ordinary one.

    float32 numbers a (..., M, K), b (..., K, N), c (..., M, N); `chain` runs the blocks on such numbers. Returns
    float32 numbers.
    """
    narrow = rule.accumulator == "f16"
    for start in range(0, a.shape[-1], 2 * rule.length):
        k = np.arange(start, min(start + 2 * rule.length, a.shape[-1]))
        order = np.concatenate([k[k % 4 < 2], k[k % 4 >= 2]])
        part = chain(a[..., order], b[..., order, :], np.zeros(c.shape, np.float32))
        with np.errstate(all="ignore"):
            c = c + part.astype(np.float32)
            c = c.astype(np.float16).astype(np.float32) if narrow else c
    return c
