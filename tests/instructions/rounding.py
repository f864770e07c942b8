"""Rounding of exact fractions, by the definition: the reference of the floating-point tests."""

from __future__ import annotations

import math
from fractions import Fraction

from ptxsim.types import TYPES, ScalarType


def value(bits: int, name: str) -> Fraction | float:
    """The number a code stands for: a Fraction, or a float for infinities and NaN. -0 is Fraction(0)."""
    t = TYPES[name]
    size = bits & (1 << t.bits - 1) - 1
    field, mantissa = size >> t.mantissa, size & (1 << t.mantissa) - 1
    sign = -1 if bits >> t.bits - 1 & 1 else 1
    if field == (1 << t.exponent) - 1 and not t.finite:
        return math.nan if mantissa else sign * math.inf
    if field == 0:
        return sign * Fraction(mantissa) * Fraction(2) ** (1 - t.bias - t.mantissa)
    return sign * Fraction(mantissa + (1 << t.mantissa)) * Fraction(2) ** (field - t.bias - t.mantissa)


def round_to(exact: Fraction, name: str, mode: str) -> int:
    """The code of `exact` (not 0) in a format with infinities: rn, rz, rm or rp."""
    t = TYPES[name]
    negative, size = exact < 0, abs(exact)
    code = _magnitude(size, t, mode, negative)
    top = ((1 << t.exponent) - 1) << t.mantissa
    if code >= top:
        away = mode == "rn" or mode == ("rm" if negative else "rp")
        code = top if away else top - 1
    return code | (1 << t.bits - 1 if negative else 0)


def _magnitude(size: Fraction, t: ScalarType, mode: str, negative: bool) -> int:
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if Fraction(2) ** exponent > size:
        exponent -= 1
    exponent = max(exponent, 1 - t.bias)
    scaled = size / Fraction(2) ** (exponent - t.mantissa)
    kept = scaled.numerator // scaled.denominator
    rest = scaled - kept
    if mode == "rn":
        kept += rest > Fraction(1, 2) or (rest == Fraction(1, 2) and kept & 1 == 1)
    elif mode == ("rm" if negative else "rp"):
        kept += rest > 0
    return kept + ((exponent + t.bias - 1) << t.mantissa)
