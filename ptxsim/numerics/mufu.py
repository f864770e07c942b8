"""Every .approx instruction as operations of the special-function unit and the code that ptxas 13.0 adds on sm_90.

PTX ISA, "Floating Point Instructions" and "Half Precision Floating Point Instructions", the .approx forms.

Every function takes and gives lane values of unsigned codes as wide as the opcode's type.
"""

from __future__ import annotations

import numpy as np

from ptxsim.lanes import LaneValue, Operation, absolute, bits, cast, fma, where
from ptxsim.numerics import mufu_unit as unit
from ptxsim.numerics.mufu_unit import INFINITY, NAN, SIGN, choose

SMALLEST_NORMAL = 0x00800000
TWO_TO_126 = 0x7E800000
TURN = float.fromhex("0x1.45f306p-3")  # 1/(2 pi) as the hardware's f32


def number(x: LaneValue) -> LaneValue:
    """s64 bits as f32."""
    return bits(cast(x, "u32"), "f32")


def pattern(y: LaneValue) -> LaneValue:
    """An f32 as s64 bits, NaN canonical."""
    word = cast(bits(y, "u32"), "s64")
    return where((word & NAN) > INFINITY, NAN, word)


def times(x: LaneValue, factor: float) -> LaneValue:
    return pattern(number(x) * factor)


def tiny(x: LaneValue) -> LaneValue:
    return (x & NAN) < SMALLEST_NORMAL


def flush(x: LaneValue) -> LaneValue:
    """Subnormals as zeros of the same sign (.ftz)."""
    return where(tiny(x), x & SIGN, x)


# ---- f32: s64 bits in and out ---------------------------------------------------------------------------------------


def rcp(x: LaneValue) -> LaneValue:
    magnitude = x & NAN
    small, large = tiny(x), (magnitude > TWO_TO_126) & (magnitude <= INFINITY)

    def scaled(y: LaneValue) -> LaneValue:
        return choose(y, (small, times(y, 2.0**24)), (large, times(y, 0.25)))

    return scaled(unit.rcp(scaled(x)))


def sqrt(x: LaneValue) -> LaneValue:
    return where(tiny(x), times(unit.sqrt(times(x, 2.0**24)), 2.0**-12), unit.sqrt(x))


def rsqrt(x: LaneValue) -> LaneValue:
    return where(tiny(x), times(unit.rsqrt(times(x, 2.0**24)), 2.0**12), unit.rsqrt(x))


def lg2(x: LaneValue) -> LaneValue:
    return where(tiny(x), pattern(number(unit.lg2(times(x, 2.0**24))) - 24.0), unit.lg2(x))


def ex2(x: LaneValue) -> LaneValue:
    half = number(unit.ex2(times(x, 0.5)))
    return where(number(x) < -126.0, pattern(half * half), unit.ex2(x))


def _turns(x: LaneValue) -> LaneValue:
    """x / 2 pi rounded toward zero."""
    product = cast(number(x), "f64") * TURN  # 48 bits: exact
    nearest = cast(product, "f32")
    away = absolute(cast(nearest, "f64")) > absolute(product)
    return pattern(nearest) - cast(away, "s64")


def sin(x: LaneValue) -> LaneValue:
    return unit.sine(_turns(x))


def cos(x: LaneValue) -> LaneValue:
    return unit.sine(_turns(x), 1)


def _factors(a: LaneValue, b: LaneValue, flushed: bool, full: bool) -> tuple[LaneValue, LaneValue]:
    """a and rcp(b), both scaled where b would leave the range of rcp: a quotient is their product."""
    if flushed:
        a, b = flush(a), flush(b)
    else:
        small = tiny(b)
        a, b = where(small, times(a, 2.0**24), a), where(small, times(b, 2.0**24), b)
    if full:
        large = (b & NAN) > TWO_TO_126
        a, b = where(large, times(a, 0.25), a), where(large, times(b, 0.25), b)
        a = flush(a) if flushed else a
    return a, unit.rcp(b)


def _divide(a: LaneValue, b: LaneValue, flushed: bool, full: bool) -> LaneValue:
    a, reciprocal = _factors(a, b, flushed, full)
    quotient = pattern(number(a) * number(reciprocal))
    return flush(quotient) if flushed else quotient


# ---- f16, bf16 ------------------------------------------------------------------------------------------------------


def _from_f16(h: LaneValue) -> LaneValue:
    return pattern(cast(bits(cast(h, "u16"), "f16"), "f32"))


def _to_f16(y: LaneValue) -> LaneValue:
    """f32 bits to f16 bits toward zero, but infinity from 65536 on."""
    magnitude = y & NAN
    normal = (magnitude - 0x38000000) >> 13
    subnormal = unit.right(magnitude & unit.FRACTION | unit.HIDDEN, 126 - (magnitude >> 23))
    result = where(magnitude >= 0x38800000, normal, subnormal)
    return choose(
        result | y >> 16 & 0x8000, (magnitude > INFINITY, 0x7FFF), (magnitude >= 0x47800000, 0x7C00 | y >> 16 & 0x8000)
    )


def _to_bf16(y: LaneValue) -> LaneValue:
    return where((y & NAN) > INFINITY, 0x7FFF, y >> 16)


def _f16(function: Operation) -> Operation:
    return lambda h: _to_f16(function(_from_f16(h)))


def _bf16(function: Operation) -> Operation:
    return lambda h: _to_bf16(function(h << 16))


# ---- f64 ------------------------------------------------------------------------------------------------------------


def _high(function: Operation) -> Operation:
    """A f64 form that looks at the high word only."""
    return lambda x: cast(function(cast(x >> 32, "s64")), "u64") << 32


def _rsqrt_f64(x: LaneValue) -> LaneValue:
    """One refinement of RSQ64H; a NaN keeps its sign and payload, quieted."""
    magnitude = x & 0x7FFFFFFFFFFFFFFF
    negative = x > magnitude
    small = magnitude < 1 << 52
    value = where(small, bits(x, "f64") * 2.0**54, bits(x, "f64"))
    estimate = bits(_high(unit.rsqrt64h)(bits(value, "u64")), "f64")
    zero = cast(x & 0, "f64")
    error = fma(-(estimate * estimate), value, zero + 1.0)
    refined = fma(fma(error, zero + 0.375, zero + 0.5), estimate * error, estimate)
    result = bits(where(small, refined * 2.0**27, refined), "u64")
    return choose(
        result,
        (magnitude > 0x7FF0000000000000, x | 1 << 51),
        (magnitude == 0, x | 0x7FF0000000000000),
        (negative, 0xFFF8000000000000),
        (magnitude == 0x7FF0000000000000, 0),
    )


# ---- the forms ------------------------------------------------------------------------------------------------------


def _wide(function: Operation, kind: str) -> Operation:
    """Unsigned codes in and out around a function of s64 bits."""
    return lambda *operands: cast(function(*(cast(x, "s64") for x in operands)), kind)


def _pair(function: Operation) -> Operation:
    """Both halves of a packed word."""

    def both(x: LaneValue) -> LaneValue:
        x = cast(x, "s64")
        return cast(function(x & 0xFFFF) | function(x >> 16) << 16, "u32")

    return both


_OF_F32: dict[str, Operation] = {
    "rcp.approx.f32": rcp,
    "rcp.approx.ftz.f32": unit.rcp,
    "sqrt.approx.f32": sqrt,
    "sqrt.approx.ftz.f32": unit.sqrt,
    "rsqrt.approx.f32": rsqrt,
    "rsqrt.approx.ftz.f32": unit.rsqrt,
    "ex2.approx.f32": ex2,
    "ex2.approx.ftz.f32": unit.ex2,
    "lg2.approx.f32": lg2,
    "lg2.approx.ftz.f32": unit.lg2,
    "sin.approx.f32": sin,
    "sin.approx.ftz.f32": sin,
    "cos.approx.f32": cos,
    "cos.approx.ftz.f32": cos,
    "tanh.approx.f32": unit.tanh,
    "div.approx.f32": lambda a, b: _divide(a, b, flushed=False, full=False),
    "div.approx.ftz.f32": lambda a, b: _divide(a, b, flushed=True, full=False),
    "div.full.f32": lambda a, b: _divide(a, b, flushed=False, full=True),
    "div.full.ftz.f32": lambda a, b: _divide(a, b, flushed=True, full=True),
}
FORMS: dict[str, Operation] = {name: _wide(function, "u32") for name, function in _OF_F32.items()}
for _name, _function, _convert in [
    ("tanh.approx.f16", unit.tanh, _f16),
    ("tanh.approx.bf16", unit.tanh, _bf16),
    ("ex2.approx.f16", unit.ex2, _f16),
    ("ex2.approx.ftz.bf16", unit.ex2, _bf16),
]:
    FORMS[_name] = _wide(_convert(_function), "u16")
    FORMS[_name + "x2"] = _pair(_convert(_function))
FORMS["rcp.approx.ftz.f64"] = _high(unit.rcp64h)
FORMS["rsqrt.approx.ftz.f64"] = _high(unit.rsqrt64h)
FORMS["rsqrt.approx.f64"] = _rsqrt_f64


def factors(a: LaneValue, b: LaneValue, *, flushed: bool, full: bool) -> tuple[LaneValue, LaneValue]:
    """What div.approx and div.full of f32 multiply, as u32 codes: the dividend and the reciprocal of the divisor."""
    found = _factors(cast(a, "s64"), cast(b, "s64"), flushed, full)
    return cast(found[0], "u32"), cast(found[1], "u32")


def evaluate(opcode: str, *operands: np.ndarray) -> np.ndarray:
    """One .approx instruction (div.full too) on numpy arrays of bit patterns, all of one shape.

    Operands and result are unsigned codes of the opcode's last type: uint32 for f32, f16x2 and bf16x2, uint16 for
    f16 and bf16, uint64 for f64; wider integers are taken too. Raises KeyError for an opcode that FORMS does not have.
    """
    function = FORMS[opcode]
    width = {"f64": 64, "f16": 16, "bf16": 16}.get(opcode.rsplit(".", 1)[1], 32)
    shape = np.shape(operands[0])
    with np.errstate(all="ignore"):
        result = function(*(np.asarray(x).astype(f"u{width // 8}").ravel() for x in operands))
    return np.reshape(result, shape)
