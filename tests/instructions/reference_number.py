"""Numbers of the scalar types on Python's integers and fractions, and the table of references (tests/instructions/reference.py).

A number of a float type is (negative, size), where the size is a fraction, infinity or NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction

from ptxsim.types import TYPES, ScalarType
from tests.instructions.rounding import round_to, value

# Any NaN to or from f64, whose payloads recordings judge.
ANY_NAN = object()
_NAN = {"f16": 0x7FFF, "bf16": 0x7FFF, "f32": 0x7FFFFFFF}
REFERENCES: dict[str, Callable] = {}
Modifiers = Mapping[str, object]


def reference(*names: str):
    def keep(function):
        REFERENCES.update(dict.fromkeys(names, function))
        return function

    return keep


# ---- integers ----


def number(bits: int, t: ScalarType) -> int:
    bits &= (1 << t.bits) - 1
    return bits - (1 << t.bits) if t.is_signed and bits >> t.bits - 1 else bits


def limits(t: ScalarType) -> tuple[int, int]:
    return (-(1 << t.bits - 1), (1 << t.bits - 1) - 1) if t.is_signed else (0, (1 << t.bits) - 1)


def clamp(x: int, t: ScalarType) -> int:
    low, high = limits(t)
    return max(low, min(high, x))


def each(function, t: ScalarType, *operands: int) -> int:
    """`function` of the elements of packed words, or of the operands where the type is not packed."""
    if t.lanes == 1:
        return function(t, *operands)
    element = TYPES[t.element]
    mask = (1 << element.bits) - 1
    parts = [function(element, *(x >> i * element.bits & mask for x in operands)) for i in range(t.lanes)]
    if ANY_NAN in parts:
        return ANY_NAN
    return sum((part & mask) << i * element.bits for i, part in enumerate(parts))


def split(word: int, bits: int, count: int) -> tuple[int, ...]:
    return tuple(word >> i * bits & (1 << bits) - 1 for i in range(count))


# ---- floats ----

INFINITE = math.inf
Number = tuple[bool, Fraction | float]
UNKNOWN: Number = (False, math.nan)


def of(bits: int, t: ScalarType) -> Number:
    return bool(bits >> t.bits - 1), value(bits & (1 << t.bits - 1) - 1, t.name)


def is_nan(x: Number) -> bool:
    return x[1] != x[1]


def plus(x: Number, y: Number, mode: str) -> Number:
    if is_nan(x) or is_nan(y) or (x[1] == y[1] == INFINITE and x[0] != y[0]):
        return UNKNOWN
    if INFINITE in (x[1], y[1]):
        return x if x[1] == INFINITE else y
    total = (-x[1] if x[0] else x[1]) + (-y[1] if y[0] else y[1])
    if total == 0:
        return (x[0] if x[0] == y[0] else mode == "rm"), Fraction(0)
    return total < 0, abs(total)


def minus(x: Number) -> Number:
    return not x[0], x[1]


def times(x: Number, y: Number) -> Number:
    if is_nan(x) or is_nan(y) or {x[1], y[1]} == {0, INFINITE}:
        return UNKNOWN
    return x[0] != y[0], INFINITE if INFINITE in (x[1], y[1]) else x[1] * y[1]


def over(x: Number, y: Number) -> Number:
    if is_nan(x) or is_nan(y) or (x[1] == y[1] and x[1] in (0, INFINITE)):
        return UNKNOWN
    size = INFINITE if x[1] == INFINITE or y[1] == 0 else Fraction(0) if y[1] == INFINITE else x[1] / y[1]
    return x[0] != y[0], size


def root(x: Number) -> Number:
    """Cut after 80 bits, with one more bit where something was cut off: as good as the root to whoever rounds it."""
    if is_nan(x) or (x[0] and x[1] != 0):
        return UNKNOWN
    if x[1] in (0, INFINITE):
        return x
    up = 160 + 2 * max(0, x[1].denominator.bit_length() - x[1].numerator.bit_length())
    scaled = (x[1].numerator << up) // x[1].denominator
    found = math.isqrt(scaled)
    exact = found * found == scaled and scaled * x[1].denominator == x[1].numerator << up
    return False, (Fraction(found) + (0 if exact else Fraction(1, 2))) / (1 << up // 2)


def flushed(bits: int, t: ScalarType) -> int:
    return bits & 1 << t.bits - 1 if bits >> t.mantissa & (1 << t.exponent) - 1 == 0 else bits


def code(x: Number, t: ScalarType, mode: str) -> int:
    """The bits of a number, rounded."""
    if is_nan(x):
        return _NAN.get(t.name, ANY_NAN)
    sign = x[0] << t.bits - 1
    if x[1] == INFINITE:
        return sign | ((1 << t.exponent) - 1) << t.mantissa
    if x[1] == 0:
        return sign
    return round_to(-x[1] if x[0] else x[1], t.name, mode)


def finished(bits: int, m: Modifiers, t: ScalarType) -> int:
    """Flushing, saturation to 0..1, rectification, satfinite."""
    if bits is ANY_NAN:
        return 0 if m.get("sat") else bits
    if m.get("ftz") and t.bits < 64:
        bits = flushed(bits, t)
    x = of(bits, t)
    if m.get("sat"):
        return 0 if is_nan(x) or x[0] else bits if x[1] < 1 else code((False, Fraction(1)), t, "rn")
    if m.get("relu") and x[0] and not is_nan(x):
        return 0
    if m.get("satfinite") and x[1] == INFINITE:
        return bits - 1
    return bits


WIDE = TYPES["f32"]


def floating(m: Modifiers, function, *operands: int, types=None) -> int:
    """`function` of the mode and of numbers, rounded once, for every element."""
    mode = m.get("rounding") or "rn"

    def one(t, *words):
        if m.get("ftz") and t.bits < 64:  # rcp.rz.ftz.f64 is assembled as rcp.rz.f64 is
            words = [flushed(x, t) for x in words]
        result = finished(code(function(mode, *(of(x, t) for x in words)), t, mode), m, t)
        # A tensor load's NaN for what lies outside: a product with it is zero.
        return 0 if m.get("oob") and any(x & 0x7FFF == 0x7FF7 for x in words[:2]) else result

    if m.get("stype") is not None:  # mixed precision: the halves become f32
        widened = [code(of(x, m["stype"]), WIDE, "rn") for x in operands[:-1]]
        return one(WIDE, *widened, operands[-1])
    return each(one, m["type"], *operands)
