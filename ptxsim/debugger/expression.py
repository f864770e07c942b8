"""Watch expressions and conditions: `%r5 + 4`, `lane == 3 && %r5 > 10`, `%r7:f16`, by lane.

Registers by name, with or without %, and after a colon as another type of their width; lane, warp, cta; C's or Python's
operators.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ptxsim.lanes import LANES
from ptxsim.spelling import did_you_mean

_NAME = re.compile(r"[%$_A-Za-z][\w$%.]*(?::\w+)?|0[xX][0-9a-fA-F]+|\d[\w.]*")
_C = {"&&": " and ", "||": " or ", "true": "True", "false": "False"}
_OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.BitAnd: operator.and_, ast.BitOr: operator.or_,
    ast.BitXor: operator.xor, ast.LShift: operator.lshift, ast.RShift: operator.rshift, ast.Eq: operator.eq,
    ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
}  # fmt: skip
_KEYWORDS = {"and", "or", "not", "True", "False"}


class ExpressionError(Exception):
    """The message says what cannot be read, and what may have been meant."""


class Expression:
    """An expression that has been read. Raises ExpressionError."""

    def __init__(self, text: str):
        self.text = text
        self._names: dict[str, str] = {}
        plain = re.sub(r"!(?!=)", " not ", text.replace("&&", " and ").replace("||", " or "))
        plain = _NAME.sub(self._named, plain)
        try:
            self._tree = ast.parse(plain.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise ExpressionError(f"{text!r} is no expression: write for example `lane == 3 && %r5 > 10`") from None

    def _named(self, match: re.Match[str]) -> str:
        word = match[0]
        if word in _KEYWORDS or word[0].isdigit():
            return word
        name = f"n{len(self._names)}"
        self._names[name] = _C.get(word, word)
        return name

    def evaluate(self, values: Callable[[str], Any], known: Mapping[str, Any]) -> np.ndarray:
        """Its value by lane. `values` gives what a register holds by lane; `known` are other names. Raises ExpressionError."""

        def find(name: str) -> Any:
            if name in known:
                return known[name]
            return values(name)

        try:
            with np.errstate(all="ignore"):
                result = self._value(self._tree, find)
            return np.broadcast_to(np.asarray(result), (LANES,))
        except (TypeError, ValueError, OverflowError, ZeroDivisionError, RecursionError) as problem:
            raise ExpressionError(f"{self.text!r} has no value: {problem}") from None

    def _value(self, node: ast.expr, find: Callable[[str], Any]) -> Any:
        match node:
            case ast.Constant(value=bool() | int() | float() as value):
                return value
            case ast.Name(id=name):
                return _wide(find(self._names.get(name, name)))
            case ast.UnaryOp(op=ast.Not(), operand=inner):
                return np.logical_not(self._value(inner, find))
            case ast.UnaryOp(op=ast.USub(), operand=inner):
                return -self._value(inner, find)
            case ast.UnaryOp(op=ast.Invert(), operand=inner):
                return ~self._value(inner, find)
            case ast.BoolOp(op=op, values=parts):
                combine = np.logical_and if isinstance(op, ast.And) else np.logical_or
                found = [self._value(part, find) for part in parts]
                result = found[0]
                for part in found[1:]:
                    result = combine(result, part)
                return result
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
                return _OPERATORS[type(op)](self._value(left, find), self._value(right, find))
            case ast.Compare(left=left, ops=ops, comparators=rights) if all(type(op) in _OPERATORS for op in ops):
                sides = [self._value(side, find) for side in (left, *rights)]
                result = np.bool_(True)
                for compare, one, other in zip(ops, sides, sides[1:]):
                    result = np.logical_and(result, _OPERATORS[type(compare)](one, other))
                return result
        raise ExpressionError(f"{self.text!r}: {ast.unparse(node)} is not understood")


def _wide(value: Any) -> Any:
    """Integers of up to 32 bits as ones that do not wrap around."""
    is_narrow = isinstance(value, np.ndarray) and value.dtype.kind in "ui" and value.dtype.itemsize < 8
    return value.astype(np.int64) if is_narrow else value


def unknown(name: str, choices: list[str]) -> ExpressionError:
    """Nothing has this name."""
    return ExpressionError(f"nothing is called {name}; {did_you_mean(name, choices)}")
