"""Dot products of packed bytes. PTX ISA, "Integer Arithmetic Instructions": dp4a, dp2a."""

from __future__ import annotations

from typing import Any

from ptxsim import lanes
from ptxsim.isa.facts import Word, Words
from ptxsim.isa.operand import Reg, Value
from ptxsim.isa.registry import Kinds, Options, instruction
from ptxsim.lanes import LaneValue
from ptxsim.types import TYPES, ScalarType


def result_type(modifiers: Words) -> str:
    signed = modifiers["atype"].is_signed or modifiers["btype"].is_signed
    return "s32" if signed else "u32"


_KINDS: Kinds = {
    "d": Reg(result_type, unpacked=True),
    "a": Value("atype"),
    "b": Value("btype"),
    "c": Value(result_type, unpacked=True),
}
_TYPES: Options = {"atype": "u32 s32", "btype": "u32 s32", "operands": _KINDS, "requires": "5.0 sm_61"}


def field(word: LaneValue, t: ScalarType, bits: int, index: int) -> LaneValue:
    """The element of `bits` bits at `index` of a word, by the signedness of its type, in s32."""
    word = lanes.bits(word, t)
    return lanes.cast(word << 32 - bits * (index + 1) >> 32 - bits, "s32")


def accumulate(c: LaneValue, products: Any, t: ScalarType) -> LaneValue:
    """Sum of c and the products, modulo 2^32."""
    total = lanes.cast(c, "s32")
    for product in products:
        total = total + product
    return lanes.cast(total, t)


@instruction("dp4a.atype.btype d, a, b, c", cost="imad", **_TYPES)
def dp4a(a: LaneValue, b: LaneValue, c: LaneValue, *, atype: ScalarType, btype: ScalarType) -> LaneValue:
    products = (field(a, atype, 8, i) * field(b, btype, 8, i) for i in range(4))
    return accumulate(c, products, TYPES[result_type({"atype": atype, "btype": btype})])


for _half, _first in (("lo", 0), ("hi", 2)):

    @instruction(
        f"dp2a.{_half}.atype.btype d, a, b, c", cost="imad", name=f"dp2a.{_half}", implies={"first": _first}, **_TYPES
    )
    def dp2a(
        a: LaneValue, b: LaneValue, c: LaneValue, *, atype: ScalarType, btype: ScalarType, first: Word
    ) -> LaneValue:
        products = (field(a, atype, 16, i) * field(b, btype, 8, first + i) for i in range(2))
        return accumulate(c, products, TYPES[result_type({"atype": atype, "btype": btype})])
