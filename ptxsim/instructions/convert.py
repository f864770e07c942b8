"""Conversion between scalar types. PTX ISA, "Data Movement and Conversion Instructions": cvt.

Floats are rounded by way of float64, which holds every narrower float and every integer of up to 53 bits; longer
integers are the exact sum of two of its numbers.
"""

from __future__ import annotations

from typing import Any

from ptxsim import lanes
from ptxsim.instructions import folding
from ptxsim.isa.facts import Word, Words
from ptxsim.isa.operand import Reg, Value
from ptxsim.isa.registry import Kinds, Options, computes, instruction
from ptxsim.lanes import LaneValue
from ptxsim.numerics import scalar
from ptxsim.numerics.scalar import double, finish, flush
from ptxsim.types import ScalarType

_KINDS: Kinds = {"d": Reg("dtype", wide=True), "a": Value("atype", wide=True)}
INTEGERS = "u8 s8 u16 s16 u32 s32 u64 s64"
# The manual allows bf16 as a source or result of most conversions from here on.
BF16 = "7.8 sm_90"
FLOAT_ROUNDING = "rn rz rm rp"
INTEGER_ROUNDING = "rni rzi rmi rpi"


def cost(words: Words) -> str:
    """Integers to narrower or equal ones, and unsigned ones to wider, change no bits; the rest is one instruction."""
    to, source = words["dtype"], words["atype"]
    if to.is_integer and source.is_integer:
        is_copy = (
            32 <= to.bits <= source.bits
            or to.bits <= source.bits <= 16
            or (to.bits == 64 and source.bits == 32 and not source.is_signed)
        )
        return "free" if is_copy and not words.get("sat") else "alu"
    if 64 in (to.bits, source.bits):
        return "convert64"
    if to.name == "bf16" or to.is_integer:
        return "convert"
    if source.is_integer:
        return "convert" if to.name == "f16" or source.bits < 32 else "alu"
    if to.name == source.name == "f32":
        return "fma" if words.get("sat") else "convert"
    return "fma" if (to.name, source.name) == ("f32", "f16") else "alu"


CONVERT: Options = {"operands": _KINDS, "cost": cost}
# Beside bf16 no register is wider than its type.
BRAIN: Options = {"operands": {"d": Reg("dtype"), "a": Value("atype")}, "cost": cost}
ROUNDED, BRAIN_ROUNDED = ({**words, "rounding": FLOAT_ROUNDING} for words in (CONVERT, BRAIN))


# ---- integers ----


def saturation_needed(modifiers: Words) -> Any:
    low, high = modifiers["dtype"].limits
    source_low, source_high = modifiers["atype"].limits
    if low <= source_low and source_high <= high:
        return f".sat does nothing from .{modifiers['atype']} to .{modifiers['dtype']}, and the assembler refuses it"
    return None


@instruction("cvt.dtype.atype d, a", dtype=INTEGERS, atype=INTEGERS, **CONVERT)
@instruction(
    "cvt.sat.dtype.atype d, a", dtype=INTEGERS, atype=INTEGERS, implies={"sat": True}, rules=(saturation_needed,), **CONVERT
)  # fmt: skip
@computes("convert(a)", folds=True)
def integer_to_integer(a: LaneValue, *, dtype: ScalarType, atype: ScalarType, sat: Word) -> LaneValue:
    if sat:
        low, high = dtype.limits
        source_low, source_high = atype.limits
        if low > source_low:
            a = lanes.maximum(a, low)
        if high < source_high:
            a = lanes.minimum(a, high)
    return lanes.cast(a, dtype)


# ---- integers and floats ----


def halves(a: LaneValue, t: ScalarType) -> LaneValue:
    """An integer as two float64 numbers whose exact sum it is."""
    if t.bits < 64:
        return double(a), double(a ^ a)
    return double(a >> 32) * 2.0**32, double(lanes.cast(a & 0xFFFFFFFF, "u32"))


@instruction("cvt.rounding{.sat}.dtype.atype d, a", dtype="f16 f64", atype=INTEGERS, **ROUNDED)
@instruction("cvt.rounding{.ftz}{.sat}.dtype.atype d, a", dtype="f32", atype=INTEGERS, **ROUNDED)
@instruction(
    "cvt.rounding.dtype.atype d, a", dtype="bf16", atype="u16 s16 u32 s32 u64 s64", requires=BF16, **BRAIN_ROUNDED
)
@computes(folds=folding.integer_to_float)
def integer_to_float(a: LaneValue, *, dtype: ScalarType, atype: ScalarType, rounding: Word, sat: Word) -> LaneValue:
    high, low = halves(a, atype)
    result = scalar.add_double(high, low, rounding) if dtype.bits == 64 else scalar.add(high, low, dtype, rounding)
    return finish(result, dtype, sat=sat)


@instruction(
    "cvt.rounding{.sat}.dtype.atype d, a", rounding=INTEGER_ROUNDING, dtype=INTEGERS, atype="f16 f64", **CONVERT
)
@instruction(
    "cvt.rounding{.ftz}{.sat}.dtype.atype d, a", rounding=INTEGER_ROUNDING, dtype=INTEGERS, atype="f32", **CONVERT
)
@instruction(
    "cvt.rounding.dtype.atype d, a", rounding=INTEGER_ROUNDING, dtype="u16 s16 u32 s32 u64 s64", atype="bf16", requires=BF16,
    **BRAIN,
)  # fmt: skip
@computes(folds=folding.float_to_integer)
def float_to_integer(a: LaneValue, *, dtype: ScalarType, atype: ScalarType, rounding: Word, ftz: Word) -> LaneValue:
    if ftz:
        a = flush(a, atype)
    result = lanes.float_to_int(lanes.round_to_integral(double(a), rounding[:2]), dtype)
    if max(atype.bits, dtype.bits) < 64:
        return result
    # With 64 bits on either side the GPU makes the top bit of a NaN, else zero.
    return lanes.where(a != a, dtype.limits[0] if dtype.is_signed else 1 << dtype.bits - 1, result)


# ---- floats ----


@instruction("cvt{.rounding}{.sat}.dtype.atype d, a", rounding=INTEGER_ROUNDING, dtype="f16", atype="f16", **CONVERT)
@instruction("cvt{.rounding}{.sat}.dtype.atype d, a", rounding=INTEGER_ROUNDING, dtype="f64", atype="f64", **CONVERT)
@instruction(
    "cvt{.rounding}{.ftz}{.sat}.dtype.atype d, a", rounding=INTEGER_ROUNDING, dtype="f32", atype="f32", **CONVERT
)
@instruction(
    "cvt{.rounding}.dtype.atype d, a", rounding=INTEGER_ROUNDING, dtype="bf16", atype="bf16", requires=BF16, **BRAIN
)  # fmt: skip
@computes(folds=folding.float_to_integral)
def float_to_integral(a: LaneValue, *, dtype: ScalarType, rounding: Word, ftz: Word, sat: Word) -> LaneValue:
    """The same type: rounding to a whole number, flushing, saturating, or only a move."""
    if ftz:
        a = flush(a, dtype)
    result = a
    if rounding:
        whole = lanes.round_to_integral(double(a), rounding[:2])
        result = whole if dtype.bits == 64 else lanes.cast(lanes.cast(whole, "f32"), dtype)
    if sat:
        return scalar.saturate(result, dtype)
    if dtype.bits == 64:
        return scalar.carry_nan(result, a, dtype, dtype) if rounding else a
    return scalar.canonical(result, dtype) if rounding or ftz or dtype.bits == 16 else a


@instruction("cvt{.ftz}{.sat}.dtype.atype d, a", dtype="f32", atype="f16", **CONVERT)
@instruction("cvt{.sat}.dtype.atype d, a", dtype="f64", atype="f32", **CONVERT)
@instruction("cvt.ftz{.sat}.dtype.atype d, a", dtype="f64", atype="f32", implies={"ftz": True}, **BRAIN)
@instruction("cvt{.sat}.dtype.atype d, a", dtype="f64", atype="f16", **CONVERT)
@instruction(
    "cvt{.rounding}{.ftz}.dtype.atype d, a", ftz="ftz@7.8:sm_90", dtype="f32", atype="bf16", requires="7.1 sm_80",
    **BRAIN_ROUNDED,
)  # fmt: skip
@instruction("cvt{.rounding}.dtype.atype d, a", dtype="f64", atype="bf16", requires=BF16, **BRAIN_ROUNDED)
@computes(folds=folding.widened)
def widen(a: LaneValue, *, dtype: ScalarType, atype: ScalarType, ftz: Word, sat: Word) -> LaneValue:
    if ftz and atype.name != "f16":  # what is subnormal as f16 is a normal f32
        a = finish(a, atype, ftz=True)
    result = lanes.cast(a, dtype)
    if sat:
        return scalar.saturate(result, dtype)
    if dtype.bits == 64:
        return scalar.carry_nan(result, a, atype, dtype)
    if atype.name == "bf16" and not ftz:  # bf16 is the upper half of an f32: only moved, NaN included
        return lanes.bits(lanes.cast(lanes.bits(a, "u16"), "u32") << 16, dtype)
    return scalar.canonical(result, dtype)


_SINGLE_TO_HALF: Options = {"atype": "f32"} | CONVERT


@instruction("cvt.rounding{.ftz}{.sat}.dtype.atype d, a", rounding=FLOAT_ROUNDING, dtype="f16", **_SINGLE_TO_HALF)
@instruction(
    "cvt.rounding{.relu}{.satfinite}.dtype.atype d, a", rounding="rn rz", relu="relu@7.0:sm_80", satfinite="satfinite@8.1",
    dtype="f16", **_SINGLE_TO_HALF,
)  # fmt: skip
@instruction("cvt.rounding{.ftz}.dtype.atype d, a", dtype="bf16", requires="7.0 sm_80", atype="f32", **BRAIN_ROUNDED)
@instruction(
    "cvt.rounding{.relu}{.satfinite}.dtype.atype d, a", rounding="rn rz", satfinite="satfinite@8.1", dtype="bf16",
    requires="7.0 sm_80", atype="f32", **BRAIN,
)  # fmt: skip
@instruction("cvt.rounding{.sat}.dtype.atype d, a", dtype="f32", atype="f64", **ROUNDED)
# Flushing is done by another instruction, which takes no wider register.
@instruction(
    "cvt.rounding.ftz{.sat}.dtype.atype d, a", dtype="f32", atype="f64", implies={"ftz": True}, **BRAIN_ROUNDED
)
@instruction("cvt.rounding{.sat}.dtype.atype d, a", dtype="f16", atype="f64", **ROUNDED)
@instruction("cvt.rounding.dtype.atype d, a", dtype="bf16", atype="f64", requires=BF16, **BRAIN_ROUNDED)
@instruction("cvt{.rounding}.dtype.atype d, a", dtype="bf16", atype="f16", requires=BF16, **BRAIN_ROUNDED)
@instruction("cvt{.rounding}.dtype.atype d, a", dtype="f16", atype="bf16", requires=BF16, **BRAIN_ROUNDED)
@computes(folds=folding.narrowed)
def narrow(
    a: LaneValue, *, dtype: ScalarType, atype: ScalarType, rounding: Word, ftz: Word, sat: Word, relu: Word,
    satfinite: Word,
) -> LaneValue:  # fmt: skip
    if ftz and dtype.name == "bf16":  # for f16 the GPU ignores .ftz
        a = flush(a, atype)
    result = scalar.narrow(double(a), dtype, rounding or "rn")
    if ftz and dtype.bits == 32:  # what counts is whether the source is below the smallest normal f32
        zero = lanes.bits(scalar.words(result, dtype) & scalar.sign_bit(dtype), dtype)
        result = lanes.where(lanes.absolute(a) < 2.0**-126, zero, result)
    if satfinite:
        result = scalar.keep_finite(result, dtype)
    if atype.bits == 64 and not sat:
        return scalar.carry_nan(result, a, atype, dtype)
    return finish(result, dtype, sat=sat, relu=relu)
