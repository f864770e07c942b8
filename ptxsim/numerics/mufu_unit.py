"""The operations of the special-function unit, bit for bit as the H200 computes them (mufu.py has the PTX forms).

One interpolator serves all of them: a table slice i and low bits r of the reduced operand give
t = (C0[i] << s0) + (C1[i] r << s1) + (C2[i] S(u) << s2) + K, all exact integers; S is a squarer with cut partial
products. The functions below are written in the vocabulary of ptxsim.lanes on s64 lane values that hold bit patterns,
so numpy arrays and emitting values run the same text. Tables and constants were found from recorded results.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

from ptxsim.lanes import LaneValue, bits, cast, lookup, maximum, minimum, shift_left, shift_right, where

NAN, INFINITY, SIGN, ONE = 0x7FFFFFFF, 0x7F800000, 0x80000000, 0x3F800000
FRACTION = 0x7FFFFF
HIDDEN = 1 << 23


@cache
def tables() -> dict[str, np.ndarray]:
    """Coefficients by name, int64, and the squarer under "square"."""
    with np.load(Path(__file__).with_name("mufu_tables.npz")) as archive:
        found = {name: archive[name].astype(np.int64) for name in archive.files}
    u = np.arange(1 << 17, dtype=np.int64)
    found["square"] = sum((u >> i & 1) * (u >> (18 - i)) for i in range(1, 17)) >> 1
    return found


def choose(default: LaneValue, *cases: tuple[LaneValue, LaneValue]) -> LaneValue:
    """The value of the first case (condition, value) that holds, else the default."""
    for condition, value in reversed(cases):
        default = where(condition, value, default)
    return default


def left(x: LaneValue, n: LaneValue) -> LaneValue:
    """x << n for a lane value n, which counts as 0 where it is negative."""
    return shift_left(x, cast(maximum(n, 0), "u32"))


def right(x: LaneValue, n: LaneValue) -> LaneValue:
    """x >> n for a lane value n, which counts as 0 where it is negative."""
    return shift_right(x, cast(maximum(n, 0), "u32"))


# ---- the interpolator and the assembly of results -------------------------------------------------------------------


def interpolate(
    name: str, i: LaneValue, u: LaneValue, r: LaneValue, s0: LaneValue, s1: LaneValue, s2: int, k: int
) -> LaneValue:
    """The quadratic of slice i; s0 and s1 may be lane values, s2 is a number."""
    table = tables()
    c0, c1, c2 = (lookup(table[f"{name}_c{n}"], i) for n in range(3))
    constant = c0 << s0 if isinstance(s0, int) else left(c0, s0)
    linear = c1 * r << s1 if isinstance(s1, int) else left(c1 * r, s1)
    return constant + linear + (c2 * lookup(table["square"], u) << s2) + k


def pack(sign: LaneValue, exponent: LaneValue, significand: LaneValue) -> LaneValue:
    """f32 bits from a biased exponent and a significand in [2^23, 2^24]; subnormal results become zero."""
    up = significand >> 24
    significand, exponent = right(significand, up), exponent + up
    result = sign | exponent << 23 | significand & FRACTION
    return choose(result, (exponent <= 0, sign), (exponent >= 255, sign | INFINITY))


def leading_one(t: LaneValue) -> LaneValue:
    """Index of the highest set bit of a positive integer below 2^53: the exponent that a float64 gives it."""
    return (bits(cast(maximum(t, 1), "f64"), "s64") >> 52) - 1023


def cut_to_24_bits(sign: LaneValue, t: LaneValue, top: LaneValue) -> LaneValue:
    """f32 bits of t / 2^top, lower bits dropped; zero keeps the sign. top: a number or a lane value."""
    n = leading_one(t)
    significand = where(n >= 23, right(t, n - 23), left(t, 23 - n))
    return where(t == 0, sign, pack(sign, n + 127 - top, significand))


def split(x: LaneValue) -> tuple[LaneValue, LaneValue, LaneValue, LaneValue]:
    """Sign bit, magnitude bits, biased exponent, fraction."""
    magnitude = x & NAN
    return x & SIGN, magnitude, magnitude >> 23, magnitude & FRACTION


# ---- the operations of the unit: f32 bits in and out, subnormals as zero --------------------------------------------


def rcp(x: LaneValue) -> LaneValue:
    sign, magnitude, exponent, fraction = split(x)
    r = fraction & 0xFFFF
    t = interpolate("rcp", fraction >> 16, r << 1, r, 13, 0, 0, 0x47E7)
    result = pack(sign, 253 - exponent, t >> 15)
    infinite = sign | INFINITY
    return choose(result, (magnitude > INFINITY, NAN), (magnitude == INFINITY, sign), (exponent == 0, infinite))


def rsqrt(x: LaneValue) -> LaneValue:
    sign, magnitude, exponent, fraction = split(x)
    d = exponent - 127
    reduced = fraction | (d & 1) << 23
    r = reduced & 0x1FFFF
    t = interpolate("rsqrt", reduced >> 17, r, r, 14, 0, 2, 0x7FFF)
    result = pack(sign & 0, 126 - (d >> 1), where(reduced == 0, 1 << 24, t >> 16))
    return choose(
        result,
        (magnitude > INFINITY, NAN),
        (exponent == 0, sign | INFINITY),
        (sign != 0, NAN),
        (magnitude == INFINITY, 0),
    )


def sqrt(x: LaneValue) -> LaneValue:
    sign, magnitude, exponent, fraction = split(x)
    d = exponent - 127
    odd, r = d & 1, fraction & 0x1FFFF
    t = interpolate("sqrt", fraction >> 17 | odd << 6, r, r, 15, odd, 1, 0xFFFF)
    result = pack(sign & 0, (d >> 1) + 127, t >> 17)
    return choose(
        result, (magnitude > INFINITY, NAN), (exponent == 0, sign), (sign != 0, NAN), (magnitude == INFINITY, INFINITY)
    )


def ex2(x: LaneValue) -> LaneValue:
    sign, magnitude, exponent, fraction = split(x)
    significand = where(exponent == 0, 0, fraction | HIDDEN)
    # |x| as 7.23 fixed point, cut
    fixed = where(
        exponent >= 127, left(significand, minimum(exponent - 127, 6)), right(significand, minimum(127 - exponent, 31))
    )
    whole, fraction = fixed >> 23, fixed & FRACTION
    negative, broken = sign != 0, fraction != 0
    whole = where(negative, -whole - cast(broken, "s64"), whole)
    fraction = where(negative & broken, fraction ^ FRACTION, fraction)  # ones' complement
    r = fraction & 0x1FFFF
    t = interpolate("ex2", fraction >> 17, r, r, 13, 0, 0, 0x37E2)
    result = pack(sign & 0, whole + 127, t >> 15)
    far = exponent >= 134
    return choose(result, (magnitude > INFINITY, NAN), (far & negative, 0), (far, INFINITY))


def lg2(x: LaneValue) -> LaneValue:
    sign, magnitude, exponent, fraction = split(x)
    r = fraction & 0x1FFFF
    t = (interpolate("lg2", fraction >> 17, r, r, 12, 0, 1, 0x345) >> 2) + (exponent - 127) * (1 << 36)
    below = t < 0
    result = cut_to_24_bits(where(below, SIGN, sign & 0), where(below, ~t, t), 36)
    return choose(
        result,
        (magnitude > INFINITY, NAN),
        (exponent == 0, SIGN | INFINITY),
        (sign != 0, NAN),
        (magnitude == INFINITY, INFINITY),
        (magnitude == ONE, 0),
    )


def sine(x: LaneValue, quadrants: int = 0) -> LaneValue:
    """sin of x turns; with quadrants = 1 cos."""
    sign, magnitude, exponent, fraction = split(x)
    significand = where(exponent == 0, 0, fraction | HIDDEN)
    d = exponent - 125  # a turn is four quadrants of 2^23 steps
    steps = where(d >= 0, left(significand, minimum(d, 31)), right(significand, minimum(-d, 31)))
    steps = where(d >= 32, 0, steps)
    quadrant, fraction = (steps >> 23 & 3) + quadrants, steps & FRACTION
    sign = (sign & 0 if quadrants else sign) ^ (quadrant >> 1 & 1) << 31
    fraction = where((quadrant & 1) != 0, fraction ^ FRACTION, fraction)
    r = fraction & 0x1FFFF
    result = cut_to_24_bits(sign, interpolate("sincos", fraction >> 17, r, r, 12, 0, 0, 0), 37)
    return where(magnitude >= INFINITY, NAN, result)


def tanh(x: LaneValue) -> LaneValue:
    sign, magnitude, exponent, fraction = split(x)
    table = tables()
    binade = minimum(maximum(exponent - 119, 0), 10)
    reduced = right(fraction, 6 - lookup(table["tanh_slice_bits"], binade))
    r = reduced & 0x1FFFF
    slice_ = minimum(lookup(table["tanh_first"], binade) + (reduced >> 17), 50)
    t = interpolate("tanh", slice_, r, r, lookup(table["tanh_c0_shift"], binade), 0, 1, 0)
    result = cut_to_24_bits(sign, t, lookup(table["tanh_top"], binade))
    return choose(
        result, (magnitude > INFINITY, NAN), (magnitude < 0x3B800000, x), (magnitude >= 0x41000000, sign | ONE)
    )


def rcp64h(high: LaneValue) -> LaneValue:
    """The high word of 1/x from the high word of a float64."""
    sign, exponent, fraction = high & SIGN, high >> 20 & 0x7FF, high & 0xFFFFF
    y = rcp(ONE | fraction << 3)
    n = (y >> 23) - 127 + 2046 - exponent
    result = where(n <= 0, sign, sign | n << 20 | y >> 3 & 0xFFFFF)
    top = exponent == 2047
    return choose(result, (top & (fraction > 0), NAN), (top, sign), (exponent == 0, sign | 0x7FF00000))


def rsqrt64h(high: LaneValue) -> LaneValue:
    """The high word of 1/sqrt(x) from the high word of a float64."""
    sign, exponent, fraction = high & SIGN, high >> 20 & 0x7FF, high & 0xFFFFF
    d = exponent - 1023
    y = rsqrt((ONE + ((d & 1) << 23)) | fraction << 3)
    result = ((y >> 23) - 127 + 1023 - (d >> 1) << 20) | y >> 3 & 0xFFFFF
    top = exponent == 2047
    return choose(result, (top & (fraction > 0), NAN), (exponent == 0, sign | 0x7FF00000), (sign != 0, NAN), (top, 0))
