"""What the assembler makes of min, max and selp of equal operands, and of neg and abs that only some lanes execute.

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


PLAIN_COPIES: tuple[Callable[..., Any], ...] = (kept, chosen)
EFFECTS: tuple[Callable[..., Any], ...] = (*PLAIN_COPIES, flushed, sign_flipped, sign_cleared)
# What operations compute to which the assembler has given another effect: their facts stay those of the text.
FORMULAS: dict[object, str] = {
    **contraction.FORMULAS, kept: "a", chosen: "a", flushed: "a", sign_flipped: "-a", sign_cleared: "abs(a)",
}  # fmt: skip
