"""Bitwise logic and logic on predicates. PTX ISA, "Logic and Shift Instructions": and, or, xor, not, cnot, lop3."""

from __future__ import annotations

from ptxsim import lanes
from ptxsim.instructions.costs import by_width
from ptxsim.isa.facts import Word
from ptxsim.isa.operand import Pred, Reg
from ptxsim.isa.registry import Kinds, computes, instruction
from ptxsim.lanes import LaneValue
from ptxsim.types import ScalarType

BITS = "b16 b32 b64"
_PREDICATES: Kinds = {"d": Pred(), "a": Pred(negatable=True, immediate=True), "b": Pred(negatable=True, immediate=True)}


@instruction("and.type d, a, b", cost=by_width("alu", "logic.64"), type=BITS)
@instruction("and.pred d, a, b", cost="alu", operands=_PREDICATES)
@computes("a & b", folds=True)
def conjunction(a: LaneValue, b: LaneValue) -> LaneValue:
    return a & b


@instruction("or.type d, a, b", cost=by_width("alu", "logic.64"), type=BITS)
@instruction("or.pred d, a, b", cost="alu", operands=_PREDICATES)
@computes("a | b", folds=True)
def disjunction(a: LaneValue, b: LaneValue) -> LaneValue:
    return a | b


@instruction("xor.type d, a, b", cost=by_width("alu", "logic.64"), type=BITS)
@instruction("xor.pred d, a, b", cost="alu", operands=_PREDICATES)
@computes("a ^ b", folds=True)
def exclusive_or(a: LaneValue, b: LaneValue) -> LaneValue:
    return a ^ b


@instruction("not.type d, a", cost=by_width("alu", "logic.64"), type=BITS)
@instruction("not.pred d, a", cost="alu", operands={"d": Pred(), "a": Pred(negatable=True, immediate=True)})
@computes("~a", folds=True)
def complement(a: LaneValue) -> LaneValue:
    return ~a


@instruction("cnot.type d, a", type=BITS)
@computes(folds=True)
def logical_negation(a: LaneValue, *, type: ScalarType) -> LaneValue:
    return lanes.cast(a == 0, type)


def lookup(a: LaneValue, b: LaneValue, c: LaneValue, table: int) -> LaneValue:
    """The bitwise function of three inputs whose value for bits (x, y, z) is bit 4x + 2y + z of the table."""
    result = a ^ a
    for row in range(8):
        if table >> row & 1:
            result = result | (a if row & 4 else ~a) & (b if row & 2 else ~b) & (c if row & 1 else ~c)
    return result


@instruction("lop3.b32 d, a, b, c, imm", cost="alu", implies={"type": "b32"})
def logic_of_three(a: LaneValue, b: LaneValue, c: LaneValue, imm: LaneValue) -> LaneValue:
    return lookup(a, b, c, imm)


@instruction(
    "lop3.bool.b32 d|p, a, b, c, imm, q", cost="alu", bool="and or", requires="8.2 sm_70", implies={"type": "b32"},
    operands={"d": Reg("b32", sink=True), "p": Pred(), "q": Pred(negatable=True)},
)  # fmt: skip
def logic_of_three_tested(
    a: LaneValue, b: LaneValue, c: LaneValue, imm: LaneValue, q: LaneValue, *, bool: Word
) -> LaneValue:
    result = lookup(a, b, c, imm)
    test = result != 0
    return result, test & q if bool == "and" else test | q
