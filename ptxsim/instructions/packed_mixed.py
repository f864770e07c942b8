"""Packed floats of several types in one statement, which PTX 9.4 added. Those that give halves are bound only.

PTX ISA, "Release Notes", "Packed Floating Point Data Types", "Mixed Precision Floating Point Instructions". Of four
narrow floats in a register, the results and what is added have eight bits each; what else is read has any narrow type.
"""

from __future__ import annotations

from typing import Any

from ptxsim import lanes
from ptxsim.instructions.convert_packed import decode, element_of, pack, unpack
from ptxsim.instructions.floating import operate, rounded_fma, rounded_sum
from ptxsim.isa.facts import UNPUBLISHED, Word
from ptxsim.isa.operand import Reg, Value
from ptxsim.isa.registry import Kinds, Options, computes, declare, instruction
from ptxsim.lanes import LaneValue, Operation
from ptxsim.numerics import narrow
from ptxsim.numerics.scalar import F32, add_to_odd, double, single_to_odd
from ptxsim.types import TYPES, ScalarType

F32X2 = TYPES["f32x2"]

WIDEST, NARROW = "e4m3x4 e5m2x4", "e4m3x4 e5m2x4 e2m3x4 e3m2x4 e2m1x4 e2m1p4x4 ue8m0x4"
FOUR: Options = {"dtype": WIDEST, "atype": NARROW, "requires": "9.4 sm_100a sm_103a"}
RESULT, FACTORS = Reg("dtype"), {"a": Value("atype"), "b": Value("btype")}
SUM: Options = {"operands": {**FACTORS, "d": RESULT, "b": Value("dtype")}, **FOUR}
PRODUCT: Options = {"operands": {**FACTORS, "d": RESULT, "c": Value("dtype")}, "btype": NARROW, **FOUR}


def each(
    function: Operation, dtype: ScalarType, satfinite: Word, *operands: tuple[LaneValue, ScalarType]
) -> LaneValue:  # fmt: skip
    """`function` of the float64 values of each element, rounded once, to nearest even.

    That a result is the exact one rounded once is what .rn and fma say everywhere in PTX, and what programs with a path for older
    targets rely on in products of FP4 and FP8. NaN, and results beyond the range, are as in cvt.
    """
    columns = zip(*([double(decode(x, element_of(t))) for x in unpack(word, t)] for word, t in operands), strict=True)
    results = (single_to_odd(function(*values)) for values in columns)
    return pack([narrow.encode(x, element_of(dtype), "rn", satfinite) for x in results], dtype)


@instruction("add{.rn}{.satfinite}.dtype.atype d, a, b", **SUM)
@computes("a + b")
def add_four(a: LaneValue, b: LaneValue, *, dtype: ScalarType, atype: ScalarType, satfinite: Word) -> LaneValue:
    return each(add_to_odd, dtype, satfinite, (a, atype), (b, dtype))


@instruction("sub{.rn}{.satfinite}.dtype.atype d, a, b", **SUM)
@computes("a - b")
def sub_four(a: LaneValue, b: LaneValue, *, dtype: ScalarType, atype: ScalarType, satfinite: Word) -> LaneValue:
    return each(lambda x, y: add_to_odd(x, -y), dtype, satfinite, (a, atype), (b, dtype))


@instruction("mul{.rn}{.satfinite}.dtype.atype.btype d, a, b", **PRODUCT)
@computes("a * b")
def mul_four(
    a: LaneValue, b: LaneValue, *, dtype: ScalarType, atype: ScalarType, btype: ScalarType, satfinite: Word
) -> LaneValue:
    return each(lambda x, y: x * y, dtype, satfinite, (a, atype), (b, btype))


@instruction("fma{.rn}{.satfinite}.dtype.atype.btype d, a, b, c", **PRODUCT)
@computes("a * b + c")
def fma_four(
    a: LaneValue,
    b: LaneValue,
    c: LaneValue,
    *,
    dtype: ScalarType,
    atype: ScalarType,
    btype: ScalarType,
    satfinite: Word,
) -> LaneValue:
    return each(lambda x, y, z: add_to_odd(x * y, z), dtype, satfinite, (a, atype), (b, btype), (c, dtype))


# ---- two floats of 16 bits with two of 32 ----------------------------------------------------------------------------

TWO: Options = {"requires": "9.4 sm_107f"}
HALVES: Options = {"rounding": "rn rz rm rp", "atype": "f16x2 bf16x2", **TWO}


def widened(pair: Any, t: ScalarType) -> LaneValue:
    """The two halves of an f16x2 or bf16x2 as f32x2: exact."""
    return lanes.join([lanes.cast(half, F32) for half in lanes.split(pair, t)], F32X2)


SINGLES: Kinds = {"d": Reg("f32x2"), "a": Value("atype"), "b": Value("f32x2"), "c": Value("f32x2")}


@instruction("add{.rounding}.f32x2.atype.f32x2 d, a, b", operands=SINGLES, cost="half2", **HALVES)
@computes("a + b")
def add(a: LaneValue, b: LaneValue, *, atype: ScalarType, rounding: Word) -> LaneValue:
    return operate(rounded_sum, F32X2, (widened(a, atype), b), rounding, None)


@instruction("sub{.rounding}.f32x2.atype.f32x2 d, a, b", operands=SINGLES, cost="half2", **HALVES)
@computes("a - b")
def sub(a: LaneValue, b: LaneValue, *, atype: ScalarType, rounding: Word) -> LaneValue:
    return operate(lambda x, y, mode: rounded_sum(x, -y, mode), F32X2, (widened(a, atype), b), rounding, None)


@instruction("fma.rounding.f32x2.atype.f32x2.f32x2 d, a, b, c", operands=SINGLES, cost="half2", **HALVES)
@computes("a * b + c")
def fma(a: LaneValue, b: LaneValue, c: LaneValue, *, atype: ScalarType, rounding: Word) -> LaneValue:
    return operate(rounded_fma, F32X2, (widened(a, atype), b, c), rounding, None)


for name in ("add", "sub", "mul"):
    for result in ("ftz.f16x2", "bf16x2"):
        operands: Kinds = {**SINGLES, "d": Reg(result.rpartition(".")[2]), "a": Value("f32x2")}
        declare(f"{name}.rz.{result}.f32x2.f32x2 d, a, b", operands=operands, missing=UNPUBLISHED, **TWO)
for one, other in (("f16x2", "bf16x2"), ("bf16x2", "f16x2")):
    operands = {"d": Reg(one), "a": Value(one), "b": Value(other)}
    declare(f"mul.{one}.{one}.{other} d, a, b", operands=operands, missing=UNPUBLISHED, **TWO)
