"""What the assembler makes of min, max and selp of equal operands, of neg and abs that only some lanes execute, and of reciprocals of approximations.

Read from the machine code of ptxas 13.0 for sm_90: the former copy, so that a NaN keeps its bits; the latter are a selection (FSEL), which
changes the sign and nothing else. These are no instructions of their own: ptxsim.engine.analysis.ptxas.copies puts them in their place.
They take the operands that the instruction has.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ptxsim import lanes
from ptxsim.instructions import contraction
from ptxsim.instructions.sign import with_sign
from ptxsim.instructions.transcendental import approximate
from ptxsim.isa.facts import Word
from ptxsim.lanes import LaneValue
from ptxsim.numerics import scalar
from ptxsim.types import ScalarType


def kept(a: LaneValue, b: LaneValue) -> LaneValue:
    return a


def chosen(a: LaneValue, b: LaneValue, c: LaneValue) -> LaneValue:
    return a


def flushed(a: LaneValue, b: LaneValue, *, type: ScalarType) -> LaneValue:
    """A copy by an addition of -0, with .ftz."""
    return with_sign(a, type, True, lambda word, _: word)


def sign_flipped(a: LaneValue, *, type: ScalarType) -> LaneValue:
    return lanes.bits(scalar.words(a, type) ^ scalar.sign_bit(type), type)


def sign_cleared(a: LaneValue, *, type: ScalarType) -> LaneValue:
    return lanes.bits(scalar.magnitude(a, type), type)


def of_operand(a: LaneValue) -> LaneValue:
    """The reciprocal of a reciprocal."""
    return a


def exponential_of_negative(a: LaneValue, *, type: ScalarType) -> LaneValue:
    """The reciprocal of an exponential."""
    return approximate("ex2", "approx", True, type, sign_flipped(a, type=type))


def kept_operand(a: LaneValue, *, name: Word, type: ScalarType) -> tuple[LaneValue, ...]:
    """An approximation, and what it is of."""
    return approximate(str(name), "approx", True, type, a), a


PLAIN_COPIES: tuple[Callable[..., Any], ...] = (kept, chosen)
EFFECTS: tuple[Callable[..., Any], ...] = (
    *PLAIN_COPIES,
    flushed,
    sign_flipped,
    sign_cleared,
    of_operand,
    exponential_of_negative,
    kept_operand,
)
# What operations compute to which the assembler has given another effect: their facts stay those of the text.
FORMULAS: dict[object, str] = {
    **contraction.FORMULAS, kept: "a", chosen: "a", flushed: "a", sign_flipped: "-a", sign_cleared: "abs(a)", of_operand: "a",
}  # fmt: skip
