"""Signs and classes of floats. PTX ISA, "Floating Point Instructions": neg, abs, copysign, testp."""

from __future__ import annotations

from typing import Any

from ptxsim import lanes
from ptxsim.instructions import folding
from ptxsim.isa.facts import NOTHING, Word
from ptxsim.isa.operand import Pred
from ptxsim.isa.registry import Options, computes, declare, instruction
from ptxsim.lanes import LaneValue, Operation
from ptxsim.numerics import scalar, scalar64
from ptxsim.types import TYPES, ScalarType


def with_sign(a: LaneValue, t: ScalarType, ftz: Word, change: Operation) -> LaneValue:
    """Each element with its sign changed by `change` of its bit pattern, flushed if asked, NaN as the GPU writes it."""
    element = TYPES[t.element or t.name]

    def one(x: LaneValue) -> Any:
        if ftz:
            x = scalar.flush(x, element)
        word = change(scalar.words(x, element), scalar.sign_bit(element))
        if element.bits == 64:
            return scalar64.propagate(lanes.bits(word, element), x)
        return scalar.canonical(lanes.bits(word, element), element)

    return lanes.per_element(one, t, a)


_HALF: Options = {"type": "f16 f16x2"}
_BRAIN: Options = {"type": "bf16 bf16x2", "requires": "7.0 sm_80"}


@instruction("neg{.ftz}.type d, a", cost="alu", type="f32")
@instruction("neg.type d, a", cost="alu", type="f64")
@instruction("neg{.ftz}.type d, a", cost="alu", **_HALF)
@instruction("neg.type d, a", cost="alu", **_BRAIN)
@computes("-a", folds=lambda words: folding.sign(words) and words["type"].name != "bf16x2")
def negate(a: LaneValue, *, type: ScalarType, ftz: Word) -> LaneValue:
    return with_sign(a, type, ftz, lambda word, sign: word ^ sign)


@instruction("abs{.ftz}.type d, a", cost="alu", type="f32")
@instruction("abs.type d, a", cost="alu", type="f64")
@instruction("abs{.ftz}.type d, a", cost="alu", requires="6.5", **_HALF)
@instruction("abs.type d, a", cost="alu", **_BRAIN)
@computes("abs(a)", folds=lambda words: folding.sign(words) and not words["type"].name.startswith("bf16"))
def absolute(a: LaneValue, *, type: ScalarType, ftz: Word) -> LaneValue:
    return with_sign(a, type, ftz, lambda word, sign: word & sign - 1)


@instruction("copysign.type d, a, b", cost="alu", type="f32 f64")
def copy_sign(a: LaneValue, b: LaneValue, *, type: ScalarType) -> LaneValue:
    """b with the sign of a."""
    sign = scalar.sign_bit(type)
    return lanes.bits(scalar.words(b, type) & sign - 1 | scalar.words(a, type) & sign, type)


@instruction(
    "testp.op.type d, a", cost="alu", op="finite infinite number notanumber normal subnormal", type="f32 f64", operands={"d": Pred()}
)  # fmt: skip
@computes(folds=True)
def test_property(a: LaneValue, *, op: Word, type: ScalarType) -> LaneValue:
    size, infinity, smallest = scalar.magnitude(a, type), scalar.infinity(type), 1 << type.mantissa
    match op:
        case "finite":
            return size < infinity
        case "infinite":
            return size == infinity
        case "number":
            return size <= infinity
        case "notanumber":
            return size > infinity
        case "normal":
            # Zero counts as normal.
            return (size >= smallest) & (size < infinity) | (size == 0)
    return (size > 0) & (size < smallest)


# The assembler takes testp without a question too, and emits nothing for it: `d` holds what it held.
declare("testp.type d, a", missing=NOTHING, type="f32 f64", operands={"d": Pred()})
