"""Addition, subtraction, multiplication and fused multiply-add of f64.

PTX ISA, "Floating Point Instructions": add, sub, mul, fma, mad.
"""

from __future__ import annotations

from typing import Any

from ptxsim import lanes
from ptxsim.instructions import folding
from ptxsim.isa.facts import Facts, Word
from ptxsim.isa.registry import Options, computes, instruction
from ptxsim.lanes import LaneValue
from ptxsim.numerics import scalar64

_DOUBLE: Options = {"rounding": "rn rz rm rp", "type": "f64", "cost": "fp64"}


# Of several NaN operands the GPU keeps b's, then c's, then a's.


def negated(x: LaneValue) -> Any:
    return lanes.bits(lanes.bits(x, "u64") ^ 1 << 63, "f64")


@instruction("add{.rounding}.type d, a, b", **_DOUBLE)
@computes("a + b", folds=folding.sum_or_product_of_doubles)
def add(a: LaneValue, b: LaneValue, *, rounding: Word) -> LaneValue:
    return scalar64.propagate(scalar64.add(a, b, rounding or "rn"), b, a)


@instruction("sub{.rounding}.type d, a, b", **_DOUBLE)
@computes("a - b", folds=folding.sum_or_product_of_doubles)
def sub(a: LaneValue, b: LaneValue, *, rounding: Word) -> LaneValue:
    return scalar64.propagate(scalar64.add(a, negated(b), rounding or "rn"), b, a)


def product(a: LaneValue, b: LaneValue, *, rounding: Word) -> tuple[LaneValue, ...]:
    return mul(a, b, rounding=rounding), a, b


@instruction("mul{.rounding}.type d, a, b", facts=Facts(factors=product), **_DOUBLE)
@computes("a * b", folds=folding.sum_or_product_of_doubles)
def mul(a: LaneValue, b: LaneValue, *, rounding: Word) -> LaneValue:
    return scalar64.propagate(scalar64.multiply(a, b, rounding or "rn"), b, a)


@instruction("fma.rounding.type d, a, b, c", **_DOUBLE)
@instruction("mad.rounding.type d, a, b, c", **_DOUBLE)
@computes("a * b + c")
def fma(a: LaneValue, b: LaneValue, c: LaneValue, *, rounding: Word) -> LaneValue:
    return scalar64.propagate(scalar64.fma(a, b, c, rounding), b, c, a)
