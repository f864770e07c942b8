"""Division, reciprocal and square root with IEEE rounding. PTX ISA, "Floating Point Instructions": div, rcp, sqrt."""

from __future__ import annotations

from typing import Any

from ptxsim import lanes
from ptxsim.instructions.costs import by_width
from ptxsim.isa.facts import Facts, Word, always
from ptxsim.isa.registry import Options, computes, instruction
from ptxsim.lanes import LaneValue, Operation
from ptxsim.numerics import scalar, scalar64
from ptxsim.numerics.scalar import F32, F64, double, finish, flush

_SINGLE: Options = {"rounding": "rn rz rm rp", "type": "f32"}


# The operands that the machine's short code takes, by their exponents as they are stored: found on an H200 by the cycles of each of them. As the
# routine's code has it, it returns at once for zeros, infinite operands, NaNs and roots of what is negative.
def _exponent(x: LaneValue) -> LaneValue:
    return lanes.bits(x, "u32") >> 23 & 255


def _is_special(x: LaneValue) -> LaneValue:
    """Zero, infinite or no number."""
    return (lanes.bits(x, "u32") << 1 == 0) | (_exponent(x) == 255)


def _routine(far: LaneValue, early: LaneValue) -> LaneValue:
    """As facts.detour has it, of lanes that need the routine, and those among them for which it returns at once."""
    return (lanes.cast(far, "u32") << 1) - lanes.cast(early, "u32")


def _far_quotient(a: LaneValue, b: LaneValue) -> LaneValue:
    """Which lanes' quotient, or what leads to it, may be too large or too small for the short code."""
    above, below = _exponent(a), _exponent(b)
    far = (above + 124 < below) | (above > below + 126)
    far = far | (above < 25) | (above > 254) | (below < 2) | (below > 251)
    return _routine(far, _is_special(a) | _is_special(b))


def _far_reciprocal(a: LaneValue) -> LaneValue:
    return _routine((_exponent(a) < 1) | (_exponent(a) > 252), _is_special(a))


def _far_root(a: LaneValue) -> LaneValue:
    word = lanes.bits(a, "u32")
    special = (word << 1 == 0) | (word >= 255 << 23)  # and negative numbers
    return _routine((word < 26 << 23) | special, special)


_DOUBLE: Options = {"rounding": "rn rz rm rp", "type": "f64", "facts": Facts(branches=always)}


# A quotient or root of f32 numbers that is no f32 itself, nor halfway between two, is farther from all of those than
# float64 rounds it: so rounding it a second time is right.
def single(function: Operation, operands: Any, rounding: Word, ftz: Word) -> Any:
    if ftz:
        operands = [flush(x, F32) for x in operands]
    result = scalar.narrow(function(*map(double, operands)), F32, rounding)
    return finish(result, F32, ftz)


def one(like: Any) -> Any:
    """1.0 in every lane."""
    return lanes.bits((lanes.bits(like, "u64") & 0) + (0x3FF << 52), F64)


@instruction(
    "div.rounding{.ftz}.type d, a, b", cost="div.rn.f32", facts=Facts(detour=_far_quotient, branches=always), **_SINGLE
)
@computes("a / b")
def div(a: LaneValue, b: LaneValue, *, rounding: Word, ftz: bool) -> LaneValue:
    return single(lambda x, y: x / y, (a, b), rounding, ftz)


@instruction(
    "rcp.rounding{.ftz}.type d, a", cost=by_width("rcp.rn.f32", "rcp.f64"), facts=Facts(detour=_far_reciprocal, branches=always), **_SINGLE
)  # fmt: skip
def rcp(a: LaneValue, *, rounding: Word, ftz: bool) -> LaneValue:
    return single(lambda x: one(x) / x, (a,), rounding, ftz)


@instruction(
    "sqrt.rounding{.ftz}.type d, a", cost="sqrt.rn.f32", facts=Facts(detour=_far_root, branches=always), **_SINGLE
)
def sqrt(a: LaneValue, *, rounding: Word, ftz: bool) -> LaneValue:
    return single(lanes.square_root, (a,), rounding, ftz)


@instruction("div.rounding.type d, a, b", cost="div.f64", **_DOUBLE)
@computes("a / b")
def div_double(a: LaneValue, b: LaneValue, *, rounding: Word) -> LaneValue:
    return scalar64.propagate(scalar64.divide(a, b, rounding), a, b)


@instruction("rcp.rounding{.ftz}.type d, a", cost=by_width("rcp.rn.f32", "rcp.f64"), **_DOUBLE)
def rcp_double(a: LaneValue, *, rounding: Word) -> LaneValue:
    return scalar64.propagate(scalar64.divide(one(a), a, rounding), a)


@instruction("sqrt.rounding.type d, a", cost="sqrt.f64", **_DOUBLE)
def sqrt_double(a: LaneValue, *, rounding: Word) -> LaneValue:
    return scalar64.propagate(scalar64.square_root(a, rounding), a)
