"""Minimum and maximum of floats.

PTX ISA, "Floating Point Instructions" and "Half Precision Floating Point Instructions": min, max.
"""

from __future__ import annotations

import functools
from typing import Any

from ptxsim import lanes
from ptxsim.instructions import folding
from ptxsim.instructions.costs import by_width
from ptxsim.isa.facts import Word, Words
from ptxsim.isa.registry import Options, computes, instruction
from ptxsim.lanes import LaneValue
from ptxsim.numerics import scalar
from ptxsim.types import TYPES, ScalarType


def absolute(x: LaneValue, t: ScalarType) -> LaneValue:
    return lanes.bits(scalar.magnitude(x, t), t)


def ordered_word(word: LaneValue, t: ScalarType) -> LaneValue:
    """Bit patterns as signed numbers in the order of the floats, -0 below +0."""
    sign = scalar.sign_bit(t)
    negative = word & sign != 0
    integer = f"s{t.bits}"
    return lanes.bits(lanes.where(negative, word ^ sign - 1, word), integer)


def extreme(a: LaneValue, b: LaneValue, t: ScalarType, greater: bool, NaN: Word, xorsign: Word) -> LaneValue:
    """The lesser or greater of two values of the float type t.

    A number beats a NaN, unless NaN is asked for. xorsign compares magnitudes and gives the result the product's sign.
    """
    x, y = scalar.words(a, t), scalar.words(b, t)
    magnitude = scalar.sign_bit(t) - 1
    a_nan, b_nan = x & magnitude > scalar.infinity(t), y & magnitude > scalar.infinity(t)
    sign = (x ^ y) & scalar.sign_bit(t)
    if xorsign:
        x, y = x & magnitude, y & magnitude
    first = ordered_word(x, t) > ordered_word(y, t) if greater else ordered_word(x, t) < ordered_word(y, t)
    word = lanes.where(b_nan | first & ~a_nan, x, y)
    if xorsign:
        word = word | sign
    nan = a_nan | b_nan if NaN else a_nan & b_nan
    # Of two f64 NaN the second stays, quiet.
    made = y | 1 << t.mantissa - 1 if t.bits == 64 else scalar.CANONICAL_NAN[t.name]
    return lanes.bits(lanes.where(nan, made, word), t)


def operate(
    operands: Any, t: ScalarType, greater: bool, ftz: Word = None, NaN: Word = None, abs: Word = None,
    xorsign: Word = None,
) -> LaneValue:  # fmt: skip
    element = TYPES[t.element or t.name]

    def one(*values: LaneValue) -> LaneValue:
        if ftz:
            values = tuple(scalar.flush(x, element) for x in values)
        if abs and not xorsign:
            values = tuple(absolute(x, element) for x in values)
        return functools.reduce(lambda a, b: extreme(a, b, element, greater, NaN, xorsign), values)

    return lanes.per_element(one, t, *operands)


def sign_with_magnitude(modifiers: Words) -> Any:
    if bool(modifiers.get("xorsign")) != bool(modifiers.get("abs")):
        return ".xorsign and .abs go together"
    return None


_SIGNED: Options = {"xorsign": "xorsign@7.2:sm_86", "abs": "abs@7.2:sm_86", "rules": (sign_with_magnitude,)}

for _name, _greater in (("min", False), ("max", True)):
    _options: Options = {"implies": {"greater": _greater}, "cost": by_width("alu", "min.f64")}

    @instruction(
        f"{_name}{{.ftz}}{{.NaN}}{{.xorsign}}{{.abs}}.type d, a, b", type="f32", NaN="NaN@7.0:sm_80", **_options, **_SIGNED
    )  # fmt: skip
    @instruction(
        f"{_name}{{.ftz}}{{.NaN}}{{.xorsign}}{{.abs}}.type d, a, b", type="f16 f16x2", requires="7.0 sm_80", **_options,
        **_SIGNED,
    )  # fmt: skip
    @instruction(
        f"{_name}{{.NaN}}{{.xorsign}}{{.abs}}.type d, a, b", type="bf16 bf16x2", requires="7.0 sm_80", **_options, **_SIGNED
    )  # fmt: skip
    @instruction(f"{_name}.type d, a, b", type="f64", **_options)
    @computes(f"{_name}(a, b)", folds=folding.extremum)
    def of_two(
        a: LaneValue, b: LaneValue, *, type: ScalarType, greater: Word, ftz: Word, NaN: Word, abs: Word, xorsign: Word
    ) -> LaneValue:
        return operate((a, b), type, greater, ftz, NaN, abs, xorsign)

    @instruction(
        f"{_name}{{.ftz}}{{.NaN}}{{.abs}}.type d, a, b, c", type="f32", requires="8.8 sm_100", **_options
    )  # fmt: skip
    @computes(f"{_name}(a, b, c)")
    def of_three(
        a: LaneValue, b: LaneValue, c: LaneValue, *, type: ScalarType, greater: Word, ftz: bool, NaN: bool, abs: bool
    ) -> LaneValue:
        return operate((a, b, c), type, greater, ftz, NaN, abs)
