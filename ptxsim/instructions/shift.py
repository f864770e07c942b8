"""Shifts. PTX ISA, "Logic and Shift Instructions": shf, shl, shr."""

from __future__ import annotations

from ptxsim import lanes
from ptxsim.instructions.costs import by_width
from ptxsim.isa.facts import Word
from ptxsim.isa.operand import Value
from ptxsim.isa.registry import Kinds, Options, computes, instruction
from ptxsim.lanes import LaneValue

_COUNT: Kinds = {"b": Value("u32")}


@instruction("shl.type d, a, b", cost=by_width("alu", "shift.64"), type="b16 b32 b64", operands=_COUNT)
@computes("a << b", folds=True)
def left(a: LaneValue, b: LaneValue) -> LaneValue:
    return lanes.shift_left(a, b)


@instruction(
    "shr.type d, a, b", cost=by_width("alu", "shift.64"), type="b16 b32 b64 u16 u32 u64 s16 s32 s64", operands=_COUNT
)
@computes("a >> b", folds=True)
def right(a: LaneValue, b: LaneValue) -> LaneValue:
    return lanes.shift_right(a, b)


def funnel_count(c: LaneValue, mode: Word) -> LaneValue:
    return c & 31 if mode == "wrap" else lanes.minimum(c, 32)


_FUNNEL: Options = {"mode": "clamp wrap", "operands": {"c": Value("u32")}, "implies": {"type": "b32"}}


@instruction("shf.l.mode.b32 d, a, b, c", cost="alu", name="shf.l", **_FUNNEL)
@computes(folds=True)
def funnel_left(a: LaneValue, b: LaneValue, c: LaneValue, *, mode: Word) -> LaneValue:
    n = funnel_count(c, mode)
    return lanes.shift_left(b, n) | lanes.shift_right(a, 32 - n)


@instruction("shf.r.mode.b32 d, a, b, c", cost="alu", name="shf.r", **_FUNNEL)
@computes(folds=True)
def funnel_right(a: LaneValue, b: LaneValue, c: LaneValue, *, mode: Word) -> LaneValue:
    n = funnel_count(c, mode)
    return lanes.shift_left(b, 32 - n) | lanes.shift_right(a, n)
