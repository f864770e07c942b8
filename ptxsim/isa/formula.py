"""What an arithmetic instruction computes, where one short expression of its sources says it: `a * b + c`."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

_OPERATORS: dict[type[ast.operator | ast.unaryop], tuple[str, Callable[..., Any]]] = {
    ast.Add: ("+", operator.add), ast.Sub: ("-", operator.sub), ast.Mult: ("*", operator.mul),
    ast.Div: ("/", operator.truediv), ast.Mod: ("%", operator.mod), ast.LShift: ("<<", operator.lshift),
    ast.RShift: (">>", operator.rshift), ast.BitAnd: ("&", operator.and_), ast.BitOr: ("|", operator.or_),
    ast.BitXor: ("^", operator.xor), ast.Invert: ("~", operator.invert), ast.USub: ("neg", operator.neg),
}  # fmt: skip


@cache
def _parsed(formula: str) -> ast.expr:
    return ast.parse(formula, mode="eval").body


@cache
def operators(formula: str) -> tuple[str, ...]:
    """The operators and functions of a formula, each as often as it stands there; a minus sign is "neg"."""
    found = []
    for node in ast.walk(_parsed(formula)) if formula else ():
        match node:
            case ast.BinOp(op=op) | ast.UnaryOp(op=op):
                found.append(_OPERATORS[type(op)][0])
            case ast.Call(func=ast.Name(id=name)):
                found.append(name)
    return tuple(found)


def evaluate(formula: str, values: Mapping[str, Any], functions: Mapping[str, Callable[..., Any]]) -> Any:
    """A formula of values that have Python's operators. Raises TypeError for an operator that they have not, KeyError for a
    function that is not given."""

    def value(node: ast.expr) -> Any:
        match node:
            case ast.Name(id=name):
                return values[name]
            case ast.BinOp(left=left, op=op, right=right):
                return _OPERATORS[type(op)][1](value(left), value(right))
            case ast.UnaryOp(op=op, operand=operand):
                return _OPERATORS[type(op)][1](value(operand))
            case ast.Call(func=ast.Name(id=name), args=arguments):
                return functions[name](*map(value, arguments))
        raise TypeError(f"no formula: {ast.unparse(node)}")

    return value(_parsed(formula))
