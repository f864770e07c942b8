"""Products that the assembler fuses into the sum after them: mul and add (or sub) without a rounding modifier.

PTX ISA, "Floating Point Instructions: add": such sequences "may be optimized"; what ptxas 13.0 does was read from its machine
code. These are no instructions of their own: ptxsim.engine.analysis.ptxas.fma_contraction puts them in the place of the add or sub.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ptxsim.instructions import floating, floating_double, floating_half
from ptxsim.instructions.sign import negate
from ptxsim.isa.facts import Word
from ptxsim.lanes import LaneValue
from ptxsim.numerics import scalar64
from ptxsim.types import ScalarType


def single_sum(a: LaneValue, b: LaneValue, c: LaneValue, *, type: ScalarType, ftz: Word, sat: Word) -> LaneValue:
    """a * b + c"""
    return floating.fma(a, b, c, type=type, rounding="rn", ftz=ftz, sat=sat)


def single_difference(a: LaneValue, b: LaneValue, c: LaneValue, *, type: ScalarType, ftz: Word, sat: Word) -> LaneValue:
    """a * b - c"""
    return floating.fma(a, b, negate(c, type=type, ftz=None), type=type, rounding="rn", ftz=ftz, sat=sat)


def single_rest(a: LaneValue, b: LaneValue, c: LaneValue, *, type: ScalarType, ftz: Word, sat: Word) -> LaneValue:
    """c - a * b"""
    return floating.fma(negate(a, type=type, ftz=None), b, c, type=type, rounding="rn", ftz=ftz, sat=sat)


def single_negative(a: LaneValue, b: LaneValue, c: LaneValue, *, type: ScalarType, ftz: Word, sat: Word) -> LaneValue:
    """-(a * b) - c"""
    return single_difference(negate(a, type=type, ftz=None), b, c, type=type, ftz=ftz, sat=sat)


def half_sum(a: LaneValue, b: LaneValue, c: LaneValue, *, type: ScalarType, ftz: Word, sat: Word) -> LaneValue:
    """a * b + c"""
    return floating_half.fma(a, b, c, type=type, ftz=ftz, sat=sat, relu=None, oob=None)


def half_difference(a: LaneValue, b: LaneValue, c: LaneValue, *, type: ScalarType, ftz: Word, sat: Word) -> LaneValue:
    """a * b - c"""
    return half_sum(a, b, negate(c, type=type, ftz=None), type=type, ftz=ftz, sat=sat)


def half_rest(a: LaneValue, b: LaneValue, c: LaneValue, *, type: ScalarType, ftz: Word, sat: Word) -> LaneValue:
    """c - a * b"""
    return half_sum(negate(a, type=type, ftz=None), b, c, type=type, ftz=ftz, sat=sat)


def half_negative(a: LaneValue, b: LaneValue, c: LaneValue, *, type: ScalarType, ftz: Word, sat: Word) -> LaneValue:
    """-(a * b) - c"""
    return half_difference(negate(a, type=type, ftz=None), b, c, type=type, ftz=ftz, sat=sat)


def double_sum(a: LaneValue, b: LaneValue, c: LaneValue) -> LaneValue:
    """a * b + c"""
    return floating_double.fma(a, b, c, rounding="rn")


def double_difference(a: LaneValue, b: LaneValue, c: LaneValue) -> LaneValue:
    """a * b - c"""
    return scalar64.propagate(scalar64.fma(a, b, floating_double.negated(c), "rn"), b, c, a)


def double_rest(a: LaneValue, b: LaneValue, c: LaneValue) -> LaneValue:
    """c - a * b"""
    return scalar64.propagate(scalar64.fma(floating_double.negated(a), b, c, "rn"), b, c, a)


def double_negative(a: LaneValue, b: LaneValue, c: LaneValue) -> LaneValue:
    """-(a * b) - c"""
    negated = floating_double.negated
    return scalar64.propagate(scalar64.fma(negated(a), b, negated(c), "rn"), b, c, a)


# Whether the product is negated, whether the rest is: what is computed.
_SIGNS = {
    (False, False): "a * b + c", (False, True): "a * b - c", (True, False): "c - a * b", (True, True): "-(a * b) - c",
}  # fmt: skip
_SINGLE = dict(zip(_SIGNS, (single_sum, single_difference, single_rest, single_negative), strict=True))
_HALF = dict(zip(_SIGNS, (half_sum, half_difference, half_rest, half_negative), strict=True))
_DOUBLE = dict(zip(_SIGNS, (double_sum, double_difference, double_rest, double_negative), strict=True))
# By the type of an add or sub and by the signs: what computes the fused one.
FUSED: dict[str, dict[tuple[bool, bool], Callable[..., Any]]] = {
    **dict.fromkeys(("f32", "f32x2"), _SINGLE), **dict.fromkeys(("f16", "f16x2", "bf16", "bf16x2"), _HALF), "f64": _DOUBLE,
}  # fmt: skip
# What fused sums compute, by effect: the facts of the operation stay those of the add or sub that the text has.
FORMULAS: dict[object, str] = {
    effect: _SIGNS[signs] for by_signs in FUSED.values() for signs, effect in by_signs.items()
}
