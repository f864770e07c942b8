"""Arithmetic of expectations: numbers exactly within 64 bits, arrays as numpy does, and no more of either than a run may cost."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

MOST = 1 << 25  # elements of what an expression makes that is larger than what it is made of
PRODUCT = 1 << 37  # multiplications of a matrix product: some seconds
INTEGER_PRODUCT = 1 << 33  # of integers, which no library multiplies quickly
_WORD = 64


class TooMuch(ArithmeticError):
    """A result that no 64-bit number holds, or that costs more than an expectation may."""


def bound(*sides: Any) -> None:
    """Raise TooMuch where what numpy makes of several arrays, element by element, is far larger than each of them."""
    import numpy as np

    if np.broadcast(*sides).size > max(MOST, *(np.size(side) for side in sides)):
        raise TooMuch("the result would be too large")


def unify(left: Any, right: Any) -> tuple[Any, Any]:
    """Operands ready for arithmetic: bits become integers; u64 beside s64 wraps instead of turning into floats."""
    import numpy as np

    left, right = (
        value.astype(np.int64) if value.dtype == bool else value for value in (np.asarray(left), np.asarray(right))
    )
    if {left.dtype.name, right.dtype.name} == {"int64", "uint64"}:
        left, right = left.astype(np.uint64), right.astype(np.uint64)
    return left, right


def arithmetic(operator: type[ast.operator], left: Any, right: Any) -> Any:
    """`left operator right`. Two integers give an exact result; integers of arrays wrap at 64 bits, as those of kernels do.

    Raises TooMuch; ValueError where shapes do not fit; TypeError for bits of fractions; ZeroDivisionError.
    """
    import numpy as np

    whole = [int(side) for side in (left, right) if np.ndim(side) == 0 and np.asarray(side).dtype.kind in "iub"]
    if len(whole) == 2 and (operator in _EXACT or (operator is ast.Pow and whole[1] >= 0)):
        return _number(_exact(operator, *whole))
    left, right = unify(left, right)
    if operator is ast.MatMult:
        _bound_product(left, right)
    else:
        bound(left, right)
    if operator in (ast.LShift, ast.RShift) and right.dtype.kind in "iu" and np.any((right < 0) | (right >= _WORD)):
        raise TooMuch(f"a shift of 64 bits is by 0 to {_WORD - 1}")
    return _OPERATORS[operator](left, right)


def _number(value: int) -> Any:
    """An integer as numpy has it."""
    import numpy as np

    if not -(1 << _WORD - 1) <= value < 1 << _WORD:
        raise TooMuch("the result has more than 64 bits")
    return np.uint64(value) if value >= 1 << _WORD - 1 else np.int64(value)


def _exact(operator: type[ast.operator], left: int, right: int) -> int:
    if operator in (ast.LShift, ast.RShift) and not 0 <= right < _WORD:
        raise TooMuch(f"a shift of 64 bits is by 0 to {_WORD - 1}")
    if operator is ast.Pow:
        if abs(left) > 1 and right > _WORD:
            raise TooMuch("the result has more than 64 bits")
        return int(left**right)
    return _EXACT[operator](left, right)


def _bound_product(left: Any, right: Any) -> None:
    import numpy as np

    if np.ndim(left) == 0 or np.ndim(right) == 0:
        return
    inner = left.shape[-1]
    rows, columns = left.size // max(inner, 1), right.size // max(inner, 1)
    most = PRODUCT if left.dtype.kind == "f" and right.dtype.kind == "f" else INTEGER_PRODUCT
    if rows * columns > MOST or rows * columns * max(inner, 1) > most:
        raise TooMuch("the product would be too large")


def _power(base: Any, exponent: Any) -> Any:
    """A power. Of integers, one that no 64 bits hold is refused: what wraps says nothing of a result."""
    import numpy as np

    if base.dtype.kind not in "iu" or exponent.dtype.kind not in "iu":
        return base**exponent
    if np.any(exponent < 0):
        return base.astype(np.float64) ** exponent
    if base.size and exponent.size:
        # An approximate power is enough: what is so near to the limit does not fit as a signed number.
        largest = np.float64(max(int(base.max()), -int(base.min()))) ** float(exponent.max())
        if not largest < 2.0**_WORD:
            raise TooMuch("the result has more than 64 bits")
    return base**exponent


_OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Mod: lambda a, b: a % b,
    ast.Pow: _power,
    ast.MatMult: lambda a, b: a @ b,
    ast.BitAnd: lambda a, b: a & b,
    ast.BitOr: lambda a, b: a | b,
    ast.BitXor: lambda a, b: a ^ b,
    ast.LShift: lambda a, b: a << b,
    ast.RShift: lambda a, b: a >> b,
}
_EXACT: dict[type, Callable[[int, int], int]] = {
    kind: _OPERATORS[kind]
    for kind in (
        ast.Add,
        ast.Sub,
        ast.Mult,
        ast.FloorDiv,
        ast.Mod,
        ast.BitAnd,
        ast.BitOr,
        ast.BitXor,
        ast.LShift,
        ast.RShift,
    )
}

COMPARISONS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Eq: lambda a, b: a == b,
    ast.NotEq: lambda a, b: a != b,
    ast.Lt: lambda a, b: a < b,
    ast.LtE: lambda a, b: a <= b,
    ast.Gt: lambda a, b: a > b,
    ast.GtE: lambda a, b: a >= b,
}
