"""Addition, subtraction, multiplication and fused multiply-add of f32.

PTX ISA, "Floating Point Instructions": add, sub, mul, fma, mad; "Mixed Precision Floating Point Instructions".
"""

from __future__ import annotations

from typing import Any

from ptxsim import lanes
from ptxsim.instructions import folding
from ptxsim.isa.facts import Facts, Word
from ptxsim.isa.operand import Reg, Value
from ptxsim.isa.registry import Kinds, Options, computes, instruction
from ptxsim.lanes import LaneValue, Operation
from ptxsim.numerics import scalar
from ptxsim.numerics.scalar import F32, double, finish, flush
from ptxsim.types import ScalarType

ROUNDING = "rn rz rm rp"
BLACKWELL = "8.6 sm_100"


def rounded_sum(a: LaneValue, b: LaneValue, mode: Word) -> LaneValue:
    """a + b of f32 values; so the next two: product, fused multiply-add."""
    return a + b if mode in (None, "rn") else scalar.add(double(a), double(b), F32, mode)


def rounded_product(a: LaneValue, b: LaneValue, mode: Word) -> LaneValue:
    return a * b if mode in (None, "rn") else scalar.narrow(double(a) * double(b), F32, mode)


def rounded_fma(a: LaneValue, b: LaneValue, c: LaneValue, mode: Word) -> LaneValue:
    return lanes.fma(a, b, c) if mode in (None, "rn") else scalar.add(double(a) * double(b), double(c), F32, mode)


def operate(
    function: Operation, t: ScalarType, operands: Any, rounding: Word, ftz: Word, sat: Word = None
) -> LaneValue:
    """`function` of f32 operands (of each half of f32x2), with flushing before and after."""

    def single(*values: LaneValue) -> LaneValue:
        if ftz:
            values = tuple(flush(x, F32) for x in values)
        return finish(function(*values, rounding), F32, ftz, sat)

    return lanes.per_element(single, t, *operands)


_SINGLE: Options = {"rounding": ROUNDING, "type": "f32", "cost": "fma"}
_PAIR: Options = {"rounding": ROUNDING, "type": "f32x2", "requires": BLACKWELL}


@instruction("add{.rounding}{.ftz}{.sat}.type d, a, b", **_SINGLE)
@instruction("add{.rounding}{.ftz}.type d, a, b", **_PAIR)
@computes("a + b", folds=folding.sum_or_product)
def add(a: LaneValue, b: LaneValue, *, type: ScalarType, rounding: Word, ftz: bool, sat: Word) -> LaneValue:
    return operate(rounded_sum, type, (a, b), rounding, ftz, sat)


@instruction("sub{.rounding}{.ftz}{.sat}.type d, a, b", **_SINGLE)
@instruction("sub{.rounding}{.ftz}.type d, a, b", **_PAIR)
@computes("a - b", folds=folding.sum_or_product)
def sub(a: LaneValue, b: LaneValue, *, type: ScalarType, rounding: Word, ftz: bool, sat: Word) -> LaneValue:
    return operate(lambda x, y, mode: rounded_sum(x, -y, mode), type, (a, b), rounding, ftz, sat)


def product(
    a: LaneValue, b: LaneValue, *, type: ScalarType, rounding: Word, ftz: bool, sat: Word
) -> tuple[LaneValue, ...]:
    return mul(a, b, type=type, rounding=rounding, ftz=ftz, sat=sat), a, b


@instruction("mul{.rounding}{.ftz}{.sat}.type d, a, b", facts=Facts(factors=product), **_SINGLE)
@instruction("mul{.rounding}{.ftz}.type d, a, b", facts=Facts(factors=product), **_PAIR)
@computes("a * b", folds=folding.sum_or_product)
def mul(a: LaneValue, b: LaneValue, *, type: ScalarType, rounding: Word, ftz: bool, sat: Word) -> LaneValue:
    return operate(rounded_product, type, (a, b), rounding, ftz, sat)


@instruction("fma.rounding{.ftz}{.sat}.type d, a, b, c", **_SINGLE)
@instruction("mad.rounding{.ftz}{.sat}.type d, a, b, c", **_SINGLE)
@instruction("fma.rounding{.ftz}.type d, a, b, c", **_PAIR)
@computes("a * b + c")
def fma(
    a: LaneValue, b: LaneValue, c: LaneValue, *, type: ScalarType, rounding: Word, ftz: bool, sat: Word
) -> LaneValue:
    return operate(rounded_fma, type, (a, b, c), rounding, ftz, sat)


_MIXED: Options = {
    "rounding": ROUNDING, "stype": "f16 bf16", "requires": BLACKWELL, "implies": {"type": F32},
}  # fmt: skip
_HALF_AND_SINGLE: Kinds = {"d": Reg("f32"), "a": Value("stype"), "b": Value("f32")}
_HALVES_AND_SINGLE: Kinds = {"d": Reg("f32"), "a": Value("stype"), "b": Value("stype"), "c": Value("f32")}


@instruction("add{.rounding}{.sat}.f32.stype d, a, b", operands=_HALF_AND_SINGLE, **_MIXED)
@computes("a + b")
def add_mixed(a: LaneValue, b: LaneValue, *, type: Word, rounding: Word, sat: bool) -> LaneValue:
    return operate(rounded_sum, type, (lanes.cast(a, F32), b), rounding, None, sat)


@instruction("sub{.rounding}{.sat}.f32.stype d, a, b", operands=_HALF_AND_SINGLE, **_MIXED)
@computes("a - b")
def sub_mixed(a: LaneValue, b: LaneValue, *, type: Word, rounding: Word, sat: bool) -> LaneValue:
    return operate(rounded_sum, type, (lanes.cast(a, F32), -b), rounding, None, sat)


@instruction("fma.rounding{.sat}.f32.stype d, a, b, c", operands=_HALVES_AND_SINGLE, **_MIXED)
@computes("a * b + c")
def fma_mixed(a: LaneValue, b: LaneValue, c: LaneValue, *, type: Word, rounding: Word, sat: bool) -> LaneValue:
    return operate(rounded_fma, type, (lanes.cast(a, F32), lanes.cast(b, F32), c), rounding, None, sat)
