"""Integer addition, subtraction, division, extrema and signs.

PTX ISA, "Integer Arithmetic Instructions": add, sub, div, rem, abs, neg, min, max, sad.
"""

from __future__ import annotations

import operator
from typing import Any

from ptxsim import lanes
from ptxsim.instructions import folding
from ptxsim.instructions.costs import by_type, by_width
from ptxsim.isa.facts import Facts, Word, Words
from ptxsim.isa.registry import Options, computes, instruction
from ptxsim.lanes import LaneValue, Operation
from ptxsim.types import TYPES, ScalarType

INTEGERS = "u16 u32 u64 s16 s32 s64"
# Both halves of a word at once, all its bytes.
PAIRS = "u16x2@8.0:sm_90 s16x2@8.0:sm_90"
BYTES = "u8x4@9.2:sm_120f|9.4:sm_107f s8x4@9.2:sm_120f|9.4:sm_107f"
SATURATED = "s32 u32@9.2:sm_120f|9.4:sm_107f u16x2@9.2:sm_120f|9.4:sm_107f s16x2@9.2:sm_120f|9.4:sm_107f"


def saturate(wide: Any, t: ScalarType) -> LaneValue:
    """A 64-bit signed lane value clamped to the range of the integer type t of at most 32 bits."""
    low, high = t.limits
    return lanes.cast(lanes.minimum(lanes.maximum(wide, low), high), t)


def saturated(operation: Operation, t: ScalarType) -> Operation:
    """An operation in 64 bits, its result clamped to the range of t."""
    return lambda x, y: saturate(operation(lanes.cast(x, "s64"), lanes.cast(y, "s64")), t)


def sum_cost(words: Words) -> str | None:
    """Both halves of a word are added by the integer multiplier."""
    return "imad" if words["type"].lanes == 2 else by_width("iadd", "add.64")(words)


def quotient_cost(words: Words) -> str:
    t = words["type"]
    return "div.64" if t.bits == 64 else "div.s32" if t.is_signed else "div.u32"


def element(t: ScalarType) -> ScalarType:
    return TYPES[t.element] if t.element else t


@instruction("add.type d, a, b", cost=sum_cost, type=f"{INTEGERS} {PAIRS} {BYTES}")
@instruction("add.sat.type d, a, b", cost=sum_cost, type=f"{SATURATED} {BYTES}", implies={"sat": True})
@computes("a + b", folds=folding.plain)
def add(a: LaneValue, b: LaneValue, *, type: ScalarType, sat: Word) -> LaneValue:
    return lanes.per_element(saturated(operator.add, element(type)) if sat else operator.add, type, a, b)


@instruction("sub.type d, a, b", cost=by_width("iadd", "add.64"), type=f"{INTEGERS} {BYTES}")
@instruction("sub.sat.type d, a, b", cost=by_width("iadd", "add.64"), type=f"s32 {BYTES}", implies={"sat": True})
@computes("a - b", folds=True)
def sub(a: LaneValue, b: LaneValue, *, type: ScalarType, sat: Word) -> LaneValue:
    return lanes.per_element(saturated(operator.sub, element(type)) if sat else operator.sub, type, a, b)


# The assembler branches in all but those of unsigned words.
_QUOTIENT: Options = {
    "cost": quotient_cost,
    "type": INTEGERS,
    "facts": Facts(branches=lambda words: words["type"].name != "u32"),
}


@instruction("div.type d, a, b", **_QUOTIENT)
@computes("a / b")
def div(a: LaneValue, b: LaneValue) -> LaneValue:
    return lanes.divide(a, b)


@instruction("rem.type d, a, b", **_QUOTIENT)
@computes("a % b")
def rem(a: LaneValue, b: LaneValue) -> LaneValue:
    # Of a division by zero the manual says nothing; the GPU gives all ones, as for the quotient.
    return lanes.where(b == 0, ~(b ^ b), a - lanes.divide(a, b) * b)


@instruction("abs.type d, a", cost=by_type(s16="alu", s32="alu"), type="s16 s32 s64")
@computes("abs(a)", folds=True)
def absolute(a: LaneValue) -> LaneValue:
    return lanes.absolute(a)


@instruction("neg.type d, a", cost=by_width("iadd", "add.64"), type="s16 s32 s64 s8x4@9.2:sm_120f|9.4:sm_107f")
@computes("-a", folds=True)
def negate(a: LaneValue, *, type: ScalarType) -> LaneValue:
    return lanes.per_element(lambda x: -x, type, a)


RECTIFIED = "s32 s16x2 s8x4@9.2:sm_120f|9.4:sm_107f"


EXTREMA: Options = {"cost": by_width("alu", "minmax.64")}
RELU: Options = {**EXTREMA, "type": RECTIFIED, "requires": "8.0 sm_90", "implies": {"relu": True}}


@instruction("min.type d, a, b", type=f"{INTEGERS} {PAIRS} {BYTES}", **EXTREMA)
@instruction("min.relu.type d, a, b", **RELU)
@computes("min(a, b)", folds=folding.plain)
def minimum(a: LaneValue, b: LaneValue, *, type: ScalarType, relu: Word) -> LaneValue:
    return lanes.per_element(lambda x, y: rectify(lanes.minimum(x, y), relu), type, a, b)


@instruction("max.type d, a, b", type=f"{INTEGERS} {PAIRS} {BYTES}", **EXTREMA)
@instruction("max.relu.type d, a, b", **RELU)
@computes("max(a, b)", folds=folding.plain)
def maximum(a: LaneValue, b: LaneValue, *, type: ScalarType, relu: Word) -> LaneValue:
    return lanes.per_element(lambda x, y: rectify(lanes.maximum(x, y), relu), type, a, b)


def rectify(x: LaneValue, relu: Word) -> Any:
    return lanes.maximum(x, 0) if relu else x


@instruction("sad.type d, a, b, c", cost=by_type(u16="alu", s16="alu", u32="alu", s32="alu"), type=INTEGERS)
def sum_of_absolute_difference(a: LaneValue, b: LaneValue, c: LaneValue) -> LaneValue:
    return c + lanes.where(a < b, b - a, a - b)
