"""Integer products: low half, high half, whole, and with 24-bit operands.

PTX ISA, "Integer Arithmetic Instructions": mul, mad, mul24, mad24.
"""

from __future__ import annotations

from ptxsim import lanes
from ptxsim.instructions.costs import by_type, by_width
from ptxsim.instructions.integer import INTEGERS, saturate
from ptxsim.isa.facts import Word, Words
from ptxsim.isa.operand import Reg, Value
from ptxsim.isa.registry import computes, instruction
from ptxsim.lanes import LaneValue
from ptxsim.types import TYPES, ScalarType

NARROW = "u16 u32 s16 s32"
WHOLE = by_type(u16="imad", s16="imad", u32="imad.wide", s32="imad.wide")


def doubled(modifiers: Words) -> str:
    """The type of twice the width of the slot `type`, of the same signedness."""
    t = modifiers["type"]
    return f"{t.name[0]}{2 * t.bits}"


def whole(a: LaneValue, b: LaneValue, t: ScalarType) -> LaneValue:
    """The full product of two values of the integer type t, in twice the width."""
    wide = TYPES[doubled({"type": t})]
    return lanes.cast(a, wide) * lanes.cast(b, wide)


@instruction(
    "mul.lo.type d, a, b", cost=by_width("imad", "mul.64"), name="mul.lo", type=INTEGERS, implies={"half": "lo"}
)
@computes("a * b", folds=True)
def multiply_low(a: LaneValue, b: LaneValue) -> LaneValue:
    return a * b


@instruction(
    "mul.hi.type d, a, b", cost=by_width("imad.hi", "mul.hi.64"), name="mul.hi", type=INTEGERS, implies={"half": "hi"}
)
@computes(folds=lambda words: bool(words["type"].bits < 64))
def multiply_high(a: LaneValue, b: LaneValue) -> LaneValue:
    return lanes.multiply_high(a, b)


@instruction(
    "mul.wide.type d, a, b", cost=WHOLE, name="mul.wide", type=NARROW, implies={"half": "wide"}, operands={"d": Reg(doubled)}
)  # fmt: skip
@computes("a * b", folds=True)
def multiply_wide(a: LaneValue, b: LaneValue, *, type: ScalarType) -> LaneValue:
    return whole(a, b, type)


@instruction(
    "mad.lo.type d, a, b, c", cost=by_width("imad", "mul.64"), name="mad.lo", type=INTEGERS, implies={"half": "lo"}
)
@computes("a * b + c", folds=True)
def multiply_add_low(a: LaneValue, b: LaneValue, c: LaneValue) -> LaneValue:
    return a * b + c


@instruction(
    "mad.hi.type d, a, b, c", cost=by_width("imad.hi", "mul.hi.64"), name="mad.hi", type=INTEGERS,
    implies={"half": "hi"},
)  # fmt: skip
@computes(folds=lambda words: bool(words["type"].bits == 16))
def multiply_add_high(a: LaneValue, b: LaneValue, c: LaneValue) -> LaneValue:
    return lanes.multiply_high(a, b) + c


@instruction("mad.hi.sat.s32 d, a, b, c", cost="imad.hi", name="mad.hi", implies={"type": TYPES["s32"], "half": "hi"})
def multiply_add_high_saturating(a: LaneValue, b: LaneValue, c: LaneValue, *, type: Word) -> LaneValue:
    return saturate(lanes.cast(lanes.multiply_high(a, b), "s64") + lanes.cast(c, "s64"), type)


@instruction(
    "mad.wide.type d, a, b, c", cost=WHOLE, name="mad.wide", type=NARROW, implies={"half": "wide"},
    operands={"d": Reg(doubled), "c": Value(doubled)},
)  # fmt: skip
@computes("a * b + c", folds=True)
def multiply_add_wide(a: LaneValue, b: LaneValue, c: LaneValue, *, type: ScalarType) -> LaneValue:
    return whole(a, b, type) + c


def product_24(a: LaneValue, b: LaneValue, t: ScalarType, half: Word) -> LaneValue:
    """Bits 0..31 ("lo") or 16..47 ("hi") of the product of the low 24 bits of a and b."""
    wide = "s64" if t.is_signed else "u64"
    x, y = (lanes.shift_right(lanes.shift_left(lanes.cast(v, wide), 40), 40) for v in (a, b))
    product = x * y
    return lanes.cast(product if half == "lo" else product >> 16, t)


for _half in ("lo", "hi"):

    @instruction(
        f"mul24.{_half}.type d, a, b", cost="mul24", name=f"mul24.{_half}", type="u32 s32", implies={"half": _half}
    )  # fmt: skip
    @computes(folds=True)
    def multiply_24(a: LaneValue, b: LaneValue, *, type: ScalarType, half: Word) -> LaneValue:
        return product_24(a, b, type, half)

    @instruction(
        f"mad24.{_half}.type d, a, b, c", cost="mul24", name=f"mad24.{_half}", type="u32 s32", implies={"half": _half}
    )  # fmt: skip
    @computes(folds=True)
    def multiply_add_24(a: LaneValue, b: LaneValue, c: LaneValue, *, type: ScalarType, half: Word) -> LaneValue:
        return product_24(a, b, type, half) + c


@instruction("mad24.hi.sat.s32 d, a, b, c", cost="mul24", name="mad24.hi", implies={"type": TYPES["s32"]})
@computes(folds=True)
def multiply_add_24_saturating(a: LaneValue, b: LaneValue, c: LaneValue, *, type: Word) -> LaneValue:
    return saturate(lanes.cast(product_24(a, b, type, "hi"), "s64") + lanes.cast(c, "s64"), type)
