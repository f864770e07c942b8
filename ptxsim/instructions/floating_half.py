"""Addition, subtraction, multiplication and fused multiply-add of f16, bf16 and their pairs.

PTX ISA, "Half Precision Floating Point Instructions": add, sub, mul, fma.
"""

from __future__ import annotations

from typing import Any

from ptxsim import lanes
from ptxsim.instructions.costs import FLOATING
from ptxsim.isa.facts import ASSEMBLER, Facts, Word
from ptxsim.isa.registry import Options, computes, declare, instruction
from ptxsim.lanes import LaneValue, Operation
from ptxsim.numerics import scalar
from ptxsim.numerics.scalar import double, finish, flush
from ptxsim.types import TYPES, ScalarType

HALF = "f16 f16x2"
BRAIN = "bf16 bf16x2"
# The NaN that a load beyond the bounds of a tensor leaves, of either sign and in both formats (found by trying all);
# .oob makes the result zero where a factor is one.
OUT_OF_BOUNDS_NAN = 0x7FF7


def operate(
    function: Operation, t: ScalarType, operands: Any, ftz: Word = None, sat: Word = None, relu: Word = None,
    oob: Word = None,
) -> LaneValue:  # fmt: skip
    """`function` of float64 operands for each element, with what comes before and after the arithmetic."""
    element = TYPES[t.element or t.name]

    def one(*values: LaneValue) -> LaneValue:
        if ftz:
            values = tuple(flush(x, element) for x in values)
        result = finish(function(*map(double, values), element), element, ftz, sat, relu)
        if not oob:
            return result
        outside = [scalar.magnitude(x, element) == OUT_OF_BOUNDS_NAN for x in values[:2]]
        word = scalar.words(result, element)
        return lanes.bits(lanes.where(outside[0] | outside[1], word ^ word, word), element)

    return lanes.per_element(one, t, *operands)


_HALF: Options = {"rounding": "rn", "type": HALF, "cost": FLOATING}
_BRAIN: Options = {"rounding": "rn", "type": BRAIN, "cost": FLOATING, "requires": "7.8 sm_90"}


@instruction("add{.rounding}{.ftz}{.sat}.type d, a, b", **_HALF)
@instruction("add{.rounding}.type d, a, b", **_BRAIN)
@computes("a + b")
def add(a: LaneValue, b: LaneValue, *, type: ScalarType, ftz: Word, sat: Word) -> LaneValue:
    return operate(lambda x, y, t: scalar.add(x, y, t, "rn"), type, (a, b), ftz, sat)


@instruction("sub{.rounding}{.ftz}{.sat}.type d, a, b", **_HALF)
@instruction("sub{.rounding}.type d, a, b", **_BRAIN)
@computes("a - b")
def sub(a: LaneValue, b: LaneValue, *, type: ScalarType, ftz: Word, sat: Word) -> LaneValue:
    return operate(lambda x, y, t: scalar.add(x, -y, t, "rn"), type, (a, b), ftz, sat)


def product(a: LaneValue, b: LaneValue, *, type: ScalarType, ftz: Word, sat: Word) -> tuple[LaneValue, ...]:
    return mul(a, b, type=type, ftz=ftz, sat=sat), a, b


@instruction("mul{.rounding}{.ftz}{.sat}.type d, a, b", facts=Facts(factors=product), **_HALF)
@instruction("mul{.rounding}.type d, a, b", facts=Facts(factors=product), **_BRAIN)
@computes("a * b")
def mul(a: LaneValue, b: LaneValue, *, type: ScalarType, ftz: Word, sat: Word) -> LaneValue:
    return operate(lambda x, y, t: scalar.narrow(x * y, t), type, (a, b), ftz, sat)


@instruction("fma.rounding{.ftz}{.sat}.type d, a, b, c", **_HALF)
@instruction("fma.rounding{.ftz}.relu.type d, a, b, c", relu="relu", requires="7.0 sm_80", **_HALF)
@instruction("fma.rounding.oob{.sat}.type d, a, b, c", oob="oob", requires="8.1 sm_90", **_HALF)
@instruction("fma.rounding.oob.relu.type d, a, b, c", oob="oob", relu="relu", requires="8.1 sm_90", **_HALF)
@instruction(
    "fma.rounding{.oob}{.relu}.type d, a, b, c", cost=FLOATING, rounding="rn", oob="oob@8.1:sm_90", type=BRAIN, requires="7.0 sm_80",
)  # fmt: skip
@computes("a * b + c")
def fma(
    a: LaneValue, b: LaneValue, c: LaneValue, *, type: ScalarType, ftz: Word, sat: Word, relu: Word, oob: Word
) -> LaneValue:
    return operate(lambda x, y, z, t: scalar.add(x * y, z, t, "rn"), type, (a, b, c), ftz, sat, relu, oob)


# Beside the manual's .rn the assembler takes the other roundings and then ignores them for the pair and computes in f16
# for the single value (seen on the GPU): no meaning to model.
declare(
    "fma.rounding{.oob}{.relu}.type d, a, b, c", missing=ASSEMBLER, rounding="rz rm rp", oob="oob@8.1:sm_90", type=BRAIN, requires="7.0 sm_80",
)  # fmt: skip
