"""Literals and constant expressions. PTX ISA, "Literals", "Constant Expressions", "Integer Constant Expression Evaluation"."""

from __future__ import annotations

import operator
import re
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


_INTEGER = re.compile(r"(0[xX][0-9a-fA-F]+|0[bB][01]+|[0-9]+)(U?)\Z", re.ASCII)
_MOST_DIGITS = 2 + 64  # 0b and so many binary ones
_FLOAT = re.compile(r"0[fF][0-9a-fA-F]{8}\Z|0[dD][0-9a-fA-F]{16}\Z|(?:[0-9]+\.[0-9]*|\.?[0-9]+)(?:[eE][+-]?[0-9]+)?\Z")


def read_integer(text: str) -> Integer:
    """An integer literal: decimal, 0x, 0b, octal with a leading 0, then U or not. Raises ValueError."""
    match = _INTEGER.match(text)
    if match is None:
        raise ValueError(f"`{text}` is no integer")
    digits, suffix = match.groups()
    if len(digits.lstrip("0")) > _MOST_DIGITS:
        raise ValueError(f"a literal of {len(digits)} digits does not fit in 64 bits")
    if digits[0] == "0" and digits.isdigit():
        if set(digits) & {"8", "9"}:
            raise ValueError(f"`{text}` starts with 0, so it is octal, and has a digit above 7")
        value = int(digits, 8)
    else:
        value = int(digits, 0)
    if value > MASK + 1:  # the assembler takes 2^64 and makes it 0
        raise ValueError(f"`{text}` does not fit in 64 bits")
    value &= MASK
    return Integer(value, suffix == "U" or value >> 63 == 1)


def read_float(text: str) -> Float:
    """0f and eight hex digits (f32), 0d and sixteen (f64), or decimal (f64). Raises ValueError."""
    if not _FLOAT.match(text):
        raise ValueError(f"`{text}` is no floating number")
    if text[:2] in ("0f", "0F"):
        return Float(int(text[2:], 16), 32)
    if text[:2] in ("0d", "0D"):
        return Float(int(text[2:], 16), 64)
    value = float(text)
    if value == float("inf"):
        raise ValueError(f"`{text}` is larger than any f64")
    return from_double(value)


def from_double(value: float) -> Float:
    return Float(struct.unpack("<Q", struct.pack("<d", value))[0], 64)


def to_double(number: Number) -> float:
    if isinstance(number, Integer):
        return float(number.value)
    value: float
    if number.width == 32:
        (value,) = struct.unpack("<f", struct.pack("<I", number.bits))
    else:
        (value,) = struct.unpack("<d", struct.pack("<Q", number.bits))
    return value


def read_literal(text: str) -> Number:
    """An integer or floating literal by its spelling. Raises ValueError."""
    return read_integer(text) if _INTEGER.match(text) else read_float(text)


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
        count = b & 63  # as the assembler does it
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
