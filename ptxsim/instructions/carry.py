"""Arithmetic on numbers longer than a register.

PTX ISA, "Extended-Precision Integer Arithmetic Instructions": add.cc, addc, sub.cc, subc, mad.cc, madc. The flag CC.CF
is a mask that the effects take as `carry` and give back as their last result. A subtraction adds the complement, as the machine
does: after it the flag says that nothing was borrowed, also to an addition that reads it, and a subtraction reads it so, also
after an addition (machine code of ptxas for sm_90: IADD3 with -b, then IMAD.X with ~b, on one predicate).
"""

from __future__ import annotations

from typing import Any

from ptxsim import lanes
from ptxsim.instructions.costs import by_width
from ptxsim.isa.facts import Word
from ptxsim.isa.registry import Options, computes, instruction
from ptxsim.lanes import LaneValue
from ptxsim.types import ScalarType

WORDS = "u32 s32 u64 s64"
NARROWER = "u16 s16"


def sum_of(a: LaneValue, b: LaneValue, carry: LaneValue, t: ScalarType) -> LaneValue:
    """a + b + carry and the carry out of it."""
    kind = lanes.bits_type(t)
    x, y = lanes.bits(a, kind), lanes.bits(b, kind)
    partial = x + y
    total = partial if carry is None else partial + lanes.cast(carry, kind)
    out = partial < x if carry is None else (partial < x) | (total < partial)
    return lanes.bits(total, t), out


def difference_of(a: LaneValue, b: LaneValue, carry: Any, t: ScalarType) -> LaneValue:
    """a + ~b + carry, and the carry out of it: set where nothing is borrowed. Without a carry, a - b."""
    kind = lanes.bits_type(t)
    x, y = lanes.bits(a, kind), lanes.bits(b, kind)
    if carry is None:
        return lanes.bits(x - y, t), x >= y
    return sum_of(lanes.bits(x, t), lanes.bits(~y, t), carry, t)


@instruction("add.cc.type d, a, b", cost=by_width("iadd", "add.64"), type=WORDS, carry="w")
@computes("a + b", folds=True)
def add_cc(a: LaneValue, b: LaneValue, *, type: ScalarType) -> LaneValue:
    return sum_of(a, b, None, type)


@instruction("addc.type d, a, b", cost=by_width("iadd", "add.64"), type=f"{WORDS} {NARROWER}", carry="r")
def addc(a: LaneValue, b: LaneValue, carry: LaneValue, *, type: ScalarType) -> LaneValue:
    return sum_of(a, b, carry, type)[0]


@instruction("addc.cc.type d, a, b", cost=by_width("iadd", "add.64"), type=WORDS, carry="rw")
def addc_cc(a: LaneValue, b: LaneValue, carry: LaneValue, *, type: ScalarType) -> LaneValue:
    return sum_of(a, b, carry, type)


@instruction("sub.cc.type d, a, b", cost=by_width("iadd", "add.64"), type=WORDS, carry="w")
@computes("a - b", folds=True)
def sub_cc(a: LaneValue, b: LaneValue, *, type: ScalarType) -> LaneValue:
    return difference_of(a, b, None, type)


@instruction("subc.type d, a, b", cost=by_width("iadd", "add.64"), type=f"{WORDS} {NARROWER}", carry="r")
def subc(a: LaneValue, b: LaneValue, carry: LaneValue, *, type: ScalarType) -> LaneValue:
    return difference_of(a, b, carry, type)[0]


@instruction("subc.cc.type d, a, b", cost=by_width("iadd", "add.64"), type=WORDS, carry="rw")
def subc_cc(a: LaneValue, b: LaneValue, carry: LaneValue, *, type: ScalarType) -> LaneValue:
    return difference_of(a, b, carry, type)


def product(a: LaneValue, b: LaneValue, half: str) -> LaneValue:
    return a * b if half == "lo" else lanes.multiply_high(a, b)


for _half in ("lo", "hi"):
    _options: Options = {"implies": {"half": _half}}
    _cost = by_width("imad", "mul.64") if _half == "lo" else by_width("imad.hi", "mul.hi.64")

    @instruction(f"mad.{_half}.cc.type d, a, b, c", cost=_cost, name=f"mad.{_half}", type=WORDS, carry="w", **_options)
    @computes("a * b + c" if _half == "lo" else "", folds=True)
    def mad_cc(a: LaneValue, b: LaneValue, c: LaneValue, *, half: Word, type: ScalarType) -> LaneValue:
        return sum_of(product(a, b, half), c, None, type)

    @instruction(
        f"madc.{_half}.type d, a, b, c", name=f"madc.{_half}", type=f"{WORDS} {NARROWER}", carry="r", **_options
    )
    def madc(a: LaneValue, b: LaneValue, c: LaneValue, carry: LaneValue, *, half: Word, type: ScalarType) -> LaneValue:
        return sum_of(product(a, b, half), c, carry, type)[0]

    @instruction(f"madc.{_half}.cc.type d, a, b, c", name=f"madc.{_half}", type=WORDS, carry="rw", **_options)
    def madc_cc(
        a: LaneValue, b: LaneValue, c: LaneValue, carry: LaneValue, *, half: Word, type: ScalarType
    ) -> LaneValue:
        return sum_of(product(a, b, half), c, carry, type)
