"""The infinitely precise matrix product, rounded once: what `numerics="exact"` computes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ptxsim.numerics.fma import round_integer
from ptxsim.numerics.formats import CANONICAL_NAN, Elements, decode, encode
from ptxsim.numerics.forms import Form


def exact_product(form: Form, a: np.ndarray, b: np.ndarray, c: np.ndarray, scales: Sequence[Elements]) -> np.ndarray:
    """D = A*B + C without rounding, then to the nearest even number of D's type. Shapes as in matrix.product.

    `scales` are the block scales of A and B, decoded, or empty. Infinities and NaN follow IEEE 754; an exact zero is +0.
    """
    left, right, addend = _numbers(a, form.a), _numbers(b, form.b), _numbers(c, form.c)
    if scales:
        scale_a, scale_b = (x.value for x in scales)
        left = left * np.repeat(scale_a, left.shape[-1] // scale_a.shape[-1], axis=-1)
        right = right * np.repeat(scale_b, right.shape[-2] // scale_b.shape[-2], axis=-2)
    integers, exponents = zip(*(_integers(x) for x in (left, right, addend)))
    low = min(exponents[0] + exponents[1], exponents[2])
    total = np.matmul(integers[0], integers[1]) * (1 << exponents[0] + exponents[1] - low)
    total = total + integers[2] * (1 << exponents[2] - low)
    bits = {"f16": 11, "f32": 24, "f64": 53}[form.d]
    smallest = {"f16": -24, "f32": -149, "f64": -1074}[form.d]
    touched = (
        _special(left).any(axis=-1, keepdims=True) | _special(right).any(axis=-2, keepdims=True) | _special(addend)
    )
    with np.errstate(all="ignore"):
        result = np.vectorize(lambda n: _nearest(int(n), low, bits, smallest), otypes=[np.float64])(total)
        if touched.any():
            result = np.where(touched, np.matmul(_signs(left), _signs(right)) + _signs(addend), result)
        if form.d == "f64":
            return np.where(np.isnan(result), np.uint64(CANONICAL_NAN["f64"]), result.view(np.uint64))
        return encode(result, form.d)


def _numbers(codes: np.ndarray, name: str) -> np.ndarray:
    if name == "f64":
        return np.ascontiguousarray(codes, np.uint64).view(np.float64)
    return decode(codes, name).value


def _special(values: np.ndarray) -> np.ndarray:
    special: np.ndarray = ~np.isfinite(values)
    return special


def _signs(values: np.ndarray) -> np.ndarray:
    """-1, 0, 1, and infinities and NaN as they are: enough to find what special values make of a sum."""
    return np.where(_special(values), values, np.sign(values))


def _integers(values: np.ndarray) -> tuple[np.ndarray, int]:
    """Finite float64 numbers as Python integers (an object array) times one power of two; special ones as 0."""
    fraction, exponent = np.frexp(np.where(_special(values), 0.0, values))
    significand = (fraction * 2.0**53).astype(np.int64)
    low = int(exponent[significand != 0].min(initial=0))
    shift = np.where(significand == 0, 0, exponent - low)
    return significand.astype(object) << shift.astype(object), low - 53


def _nearest(total: int, exponent: int, bits: int, smallest: int) -> float:
    """total * 2^exponent, to nearest even at `bits` significant bits and no finer than 2^smallest."""
    drop = max(abs(total).bit_length() - bits, smallest - exponent)
    if drop > 0:
        magnitude = abs(total)
        kept, lost, half = magnitude >> drop, magnitude & ((1 << drop) - 1), 1 << drop - 1
        kept += lost > half or (lost == half and kept & 1)
        total, exponent = -kept if total < 0 else kept, exponent + drop
    return round_integer(total, exponent, "rn")
