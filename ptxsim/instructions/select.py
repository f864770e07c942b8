"""Selection. PTX ISA, "Comparison and Selection Instructions": selp, slct."""

from __future__ import annotations

from ptxsim import lanes
from ptxsim.instructions.costs import by_width
from ptxsim.isa.facts import Facts, Word
from ptxsim.isa.operand import Pred, Reg, Value
from ptxsim.isa.registry import Kinds, computes, instruction
from ptxsim.lanes import LaneValue
from ptxsim.numerics.scalar import flush
from ptxsim.types import ScalarType

SELECTABLE = "b16 b32 b64 u16 u32 u64 s16 s32 s64 f32 f64"


@instruction(
    "selp.type d, a, b, c", cost=by_width("alu", "select.64"), type=SELECTABLE, facts=Facts(copies=True),
    operands={"c": Pred(negatable=True, immediate=True)},
)  # fmt: skip
@computes("select(a, b, c)", folds=True)
def by_predicate(a: LaneValue, b: LaneValue, c: LaneValue) -> LaneValue:
    return lanes.where(c, a, b)


_BY_SIGN: Kinds = {"d": Reg("dtype"), "a": Value("dtype"), "b": Value("dtype"), "c": Value("stype")}


@instruction("slct.dtype.stype d, a, b, c", cost="alu", dtype=SELECTABLE, stype="s32", operands=_BY_SIGN)
@instruction("slct{.ftz}.dtype.stype d, a, b, c", cost="alu", dtype=SELECTABLE, stype="f32", operands=_BY_SIGN)
@computes(folds=True)
def by_sign(a: LaneValue, b: LaneValue, c: LaneValue, *, stype: ScalarType, ftz: Word) -> LaneValue:
    if ftz:
        c = flush(c, stype)
    return lanes.where(c >= 0, a, b)
