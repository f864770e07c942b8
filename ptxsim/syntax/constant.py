"""Literals and constant expressions. PTX ISA, "Literals", "Constant Expressions", "Integer Constant Expression Evaluation"."""

from __future__ import annotations

import operator
import struct
from collections.abc import Callable

from ptxsim.syntax.ast import Float, Integer

MASK = (1 << 64) - 1
Number = Integer | Float


def integer(value: int, unsigned: bool) -> Integer:
    """`value` brought into 64 bits: [0, 2^64) if unsigned, else [-2^63, 2^63)."""
    value &= MASK
    if not unsigned and value >> 63:
        value -= 1 << 64
    return Integer(value, unsigned)


def read_integer(text: str) -> Integer:
    """An integer literal: decimal, 0x, 0b, octal with a leading 0, U behind it. Raises ValueError."""
    digits = text.rstrip("U")
    prefix = digits[:2].lower()
    is_octal = digits[0] == "0" and digits.isdigit() and digits != "0"
    if is_octal and set(digits) & {"8", "9"}:
        raise ValueError(f"`{text}` is no octal number")
    value = int(digits, 0) if prefix in ("0x", "0b") else int(digits, 8 if is_octal else 10)
    if value > MASK:
        raise ValueError(f"`{text}` does not fit in 64 bits")
    return Integer(value, len(digits) < len(text) or value >> 63 == 1)


def read_float(text: str) -> Float:
    """A floating literal: 0f and eight hex digits (f32), 0d and sixteen (f64), or decimal (f64)."""
    prefix = text[:2].lower()
    if prefix == "0f":
        return Float(int(text[2:], 16), 32)
    if prefix == "0d":
        return Float(int(text[2:], 16), 64)
    return from_double(float(text))


def from_double(value: float) -> Float:
    return Float(struct.unpack("<Q", struct.pack("<d", value))[0], 64)


def to_double(number: Number) -> float:
    if isinstance(number, Integer):
        return float(number.value)
    if number.width == 32:
        return struct.unpack("<f", struct.pack("<I", number.bits))[0]
    return struct.unpack("<d", struct.pack("<Q", number.bits))[0]


def read_literal(text: str) -> Number:
    """An integer or floating literal by its spelling. Raises ValueError."""
    prefix = text[:2].lower()
    if prefix in ("0f", "0d") or (prefix != "0x" and not text.rstrip("U").isdigit() and prefix != "0b"):
        return read_float(text)
    return read_integer(text)


def _divide(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": _divide, "%": lambda a, b: a - b * _divide(a, b),
    "&": operator.and_, "|": operator.or_, "^": operator.xor,
}  # fmt: skip
COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip
FLOATING: dict[str, Callable[[float, float], float]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
}  # fmt: skip


def binary(left: Number, sign: str, right: Number) -> Number:
    """`left sign right`. Integers are unsigned if either is; shifts take the left one's type. Raises ValueError."""
    if isinstance(left, Float) or isinstance(right, Float):
        return _binary_float(left, sign, right)
    a, b, unsigned = left.value, right.value, left.unsigned or right.unsigned
    if sign in ("<<", ">>"):
        count = min(b & MASK, 64)
        return integer(a << count if sign == "<<" else a >> count, left.unsigned)
    if sign in ("&&", "||"):
        return Integer(int(bool(a) and bool(b) if sign == "&&" else bool(a) or bool(b)))
    if unsigned:
        a, b = a & MASK, b & MASK
    if sign in COMPARISONS:
        return Integer(int(COMPARISONS[sign](a, b)))
    if sign in "/%" and b == 0:
        raise ValueError("a constant expression divides by zero")
    return integer(ARITHMETIC[sign](a, b), unsigned)


def _binary_float(left: Number, sign: str, right: Number) -> Number:
    if isinstance(left, Integer) or isinstance(right, Integer):
        raise ValueError(f"`{sign}` stands between an integer and a floating number")
    a, b = to_double(left), to_double(right)
    if sign in COMPARISONS:
        return Integer(int(COMPARISONS[sign](a, b)))
    if sign not in FLOATING:
        raise ValueError(f"`{sign}` needs integers")
    try:
        return from_double(FLOATING[sign](a, b))
    except (ZeroDivisionError, OverflowError):
        raise ValueError("a constant expression divides by zero") from None


def unary(sign: str, value: Number) -> Number:
    """`+ - ~ !` on a number. Raises ValueError."""
    if isinstance(value, Float):
        if sign == "-":
            return Float(value.bits ^ 1 << value.width - 1, value.width)
        if sign == "+":
            return value
        raise ValueError(f"`{sign}` needs an integer")
    if sign == "!":
        return Integer(int(value.value == 0))
    return integer({"-": -value.value, "+": value.value, "~": ~value.value}[sign], value.unsigned)
