"""One block of one output in float64, for any values: what the vectorised blocks of chains.py leave out."""

from __future__ import annotations

import numpy as np
from numba import njit

from ptxsim.numerics.float_codes import NAN, ZERO
from ptxsim.numerics.numba_support import double_of_word, float_of_word, word_of_double, word_of_float

i32, f32, f64 = np.int32, np.float32, np.float64


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
    """One block of one output in float64. x: (L,), y: (L, lanes); `largest` is the products' largest exponent."""
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
