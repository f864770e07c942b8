"""Rounding, special values and flushing of scalar floats, as expressions over lane values.

Every function takes and returns lane values (ptxsim.lanes), so the interpreter and the compiled engine run the same text.
float64 carries the narrower formats: their products are exact in it, and a sum rounded to odd there may be rounded
once more to 24 bits or fewer without harm (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums").
"""

from __future__ import annotations

from typing import TypeAlias

from ptxsim import lanes
from ptxsim.lanes import LaneValue
from ptxsim.types import TYPES, ScalarType

Modifier: TypeAlias = str | bool | None  # of an instruction: its text or True where it is given

F32, F64 = TYPES["f32"], TYPES["f64"]
# The NaN that the GPU generates.
CANONICAL_NAN = {"f16": 0x7FFF, "bf16": 0x7FFF, "f32": 0x7FFFFFFF, "f64": 0xFFF8000000000000}


def words(x: LaneValue, t: ScalarType) -> LaneValue:
    """The bit pattern of a float lane value."""
    return lanes.bits(x, lanes.bits_type(t))


def sign_bit(t: ScalarType) -> int:
    return 1 << (t.bits - 1)


def infinity(t: ScalarType) -> int:
    """The bit pattern of +infinity; greater magnitudes are NaN."""
    return ((1 << t.exponent) - 1) << t.mantissa


def magnitude(x: LaneValue, t: ScalarType) -> LaneValue:
    """The bit pattern without its sign: ordered as the absolute values are."""
    return words(x, t) & (sign_bit(t) - 1)


def flush(x: LaneValue, t: ScalarType) -> LaneValue:
    """Subnormal numbers become zero and keep their sign."""
    word = words(x, t)
    tiny = (word & (sign_bit(t) - 1)) < (1 << t.mantissa)
    return lanes.bits(lanes.where(tiny, word & sign_bit(t), word), t)


def canonical(x: LaneValue, t: ScalarType) -> LaneValue:
    """Every NaN becomes the canonical one."""
    word = words(x, t)
    is_nan = x != x if t.bits >= 32 else (word & (sign_bit(t) - 1)) > infinity(t)
    return lanes.bits(lanes.where(is_nan, CANONICAL_NAN[t.name], word), t)


def carry_nan(result: LaneValue, x: LaneValue, source: ScalarType, t: ScalarType) -> LaneValue:
    """`result` of type t; where x was NaN, that NaN: its sign and as much payload as fits, quiet."""
    word = words(x, source)
    is_nan = (word & (sign_bit(source) - 1)) > infinity(source)
    wide_word = lanes.cast(word, "u64")
    negative = lanes.cast((word & sign_bit(source)) != 0, "u64")
    shift = t.mantissa - source.mantissa
    payload = wide_word << shift if shift >= 0 else wide_word >> -shift
    quiet = infinity(t) | 1 << t.mantissa - 1
    nan = negative << t.bits - 1 | payload & ((1 << t.mantissa) - 1) | quiet
    return lanes.bits(lanes.where(is_nan, lanes.cast(nan, lanes.bits_type(t)), words(result, t)), t)


def saturate(x: LaneValue, t: ScalarType) -> LaneValue:
    """Clamped to 0..1; NaN and -0 become +0."""
    word, one = words(x, t), ((1 << t.exponent - 1) - 1) << t.mantissa
    is_nan = (word & (sign_bit(t) - 1)) > infinity(t)
    negative = (word & sign_bit(t)) != 0
    inside = lanes.where(is_nan | negative, word & 0, lanes.minimum(word, one))
    return lanes.bits(inside, t)


def rectify(x: LaneValue, t: ScalarType) -> LaneValue:
    """Negative numbers become +0; NaN stays."""
    word = words(x, t)
    is_nan = (word & (sign_bit(t) - 1)) > infinity(t)
    negative = (word & sign_bit(t)) != 0
    return lanes.bits(lanes.where(negative & ~is_nan, word & 0, word), t)


def finish(x: LaneValue, t: ScalarType, ftz: Modifier = None, sat: Modifier = None, relu: Modifier = None) -> LaneValue:
    """The steps after rounding: flushing, saturation, rectification, the canonical NaN."""
    if ftz:
        x = flush(x, t)
    if sat:
        return saturate(x, t)
    if relu:
        x = rectify(x, t)
    return canonical(x, t)


def wide(x: LaneValue, t: ScalarType) -> LaneValue:
    """x in a type the host computes in: f16 and bf16 become f32."""
    return x if t.bits >= 32 else lanes.cast(x, F32)


def double(x: LaneValue) -> LaneValue:
    return lanes.cast(x, F64)


# ---- sums and products in float64 ----


def two_sum(x: LaneValue, y: LaneValue) -> tuple[LaneValue, LaneValue]:
    """x + y rounded to nearest, and the exact error (NaN where the sum is not finite)."""
    total = x + y
    back = total - x
    return total, (x - (total - back)) + (y - back)


def add_to_odd(x: LaneValue, y: LaneValue) -> LaneValue:
    """The float64 sum, rounded to odd: a last bit of 1 where it is not exact."""
    total, error = two_sum(x, y)
    word = lanes.bits(total, "s64")
    inexact = ((error < 0) | (error > 0)) & ((word & 1) == 0)
    outward = (error > 0) == (total > 0)
    return lanes.bits(lanes.where(inexact, lanes.where(outward, word + 1, word - 1), word), F64)


# ---- from float64 to narrower formats ----


def step(rounded: LaneValue, exact: LaneValue, t: ScalarType, mode: str) -> LaneValue:
    """`rounded` is the float64 `exact` rounded to nearest in type t; returns it rounded by `mode` instead."""
    back = lanes.bits(double(rounded), "u64") & (sign_bit(F64) - 1)
    true = lanes.bits(exact, "u64") & (sign_bit(F64) - 1)
    finite = true < infinity(F64)
    word = words(rounded, t)
    one = lanes.cast(finite & (back > true), lanes.bits_type(t))
    toward_zero = word - one
    if mode == "rz":
        return lanes.bits(toward_zero, t)
    away = word + lanes.cast(finite & (back < true), lanes.bits_type(t))
    negative = (word & sign_bit(t)) != 0
    outward = negative if mode == "rm" else ~negative
    return lanes.bits(lanes.where(outward, away, toward_zero), t)


def single_to_odd(x: LaneValue) -> LaneValue:
    """float64 to float32, rounded to odd."""
    rounded = lanes.cast(x, F32)
    cut = words(step(rounded, x, F32, "rz"), F32)
    inexact = double(lanes.bits(cut, F32)) < x
    inexact = inexact | (double(lanes.bits(cut, F32)) > x)
    return lanes.bits(cut | lanes.cast(inexact, "u32"), F32)


def narrow(x: LaneValue, t: ScalarType, mode: str = "rn") -> LaneValue:
    """A float64 (exact, or rounded to odd) to f16, bf16 or f32, rounded once: rn, rz, rm or rp."""
    rounded = lanes.cast(x, F32) if t.bits == 32 else lanes.cast(single_to_odd(x), t)
    return rounded if mode == "rn" else step(rounded, x, t, mode)


def negative_zero_sum(x: LaneValue, y: LaneValue, total: LaneValue) -> LaneValue:
    """Rounding down, an exact zero sum is -0 unless both terms are +0."""
    signs = (lanes.bits(x, "u64") | lanes.bits(y, "u64")) & sign_bit(F64)
    return lanes.bits(lanes.where(total == 0, signs, lanes.bits(total, "u64")), F64)


def add(x: LaneValue, y: LaneValue, t: ScalarType, mode: str) -> LaneValue:
    """The float64 values x + y, rounded once to t of at most 32 bits."""
    total = add_to_odd(x, y)
    return narrow(negative_zero_sum(x, y, total) if mode == "rm" else total, t, mode)


def keep_finite(x: LaneValue, t: ScalarType) -> LaneValue:
    """Infinities become the largest number of their sign; NaN stays."""
    word = words(x, t)
    is_infinite = (word & (sign_bit(t) - 1)) == infinity(t)
    return lanes.bits(lanes.where(is_infinite, word - 1, word), t)


# ---- float64 with directed rounding ----


def nudge(nearest: LaneValue, error: LaneValue, mode: str) -> LaneValue:
    """float64 `nearest` + `error`, where the first is the sum rounded to nearest, rounded as `mode` says.

    Only the sign of the error counts.
    """
    word = lanes.bits(nearest, "u64")
    negative = (word & sign_bit(F64)) != 0
    inward = lanes.where(negative, error > 0, error < 0)
    outward = lanes.where(negative, error < 0, error > 0)
    toward_zero = word - lanes.cast(inward, "u64")
    if mode == "rz":
        return lanes.bits(toward_zero, F64)
    away = word + lanes.cast(outward, "u64")
    return lanes.bits(lanes.where(negative if mode == "rm" else ~negative, away, toward_zero), F64)


def is_finite(x: LaneValue) -> LaneValue:
    return lanes.absolute(x) < float("inf")


def add_double(x: LaneValue, y: LaneValue, mode: str) -> LaneValue:
    """x + y of float64 values, rounded once: rn, rz, rm or rp."""
    total, error = two_sum(x, y)
    if mode == "rn":
        return total
    # A finite sum beyond the range is less than the infinity that rounding to nearest made of it.
    beyond = ~is_finite(total) & is_finite(x) & is_finite(y)
    result = nudge(total, lanes.where(beyond, -total, error), mode)
    return negative_zero_sum(x, y, result) if mode == "rm" else result
