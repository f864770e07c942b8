"""Callbacks of the grammar that turn an instruction and its constants into nodes."""

from __future__ import annotations

from collections.abc import Callable
from sys import intern
from typing import Any, TypeVar

from msgspec.structs import replace

from ptxsim.syntax import ast, constant
from ptxsim.syntax.ast import Float, Integer, Name
from ptxsim.syntax.constant import Number
from ptxsim.syntax.lark_parser import Token
from ptxsim.syntax.special_names import COMPONENT_REGISTERS

N = TypeVar("N", bound=Number)
# Operators from the one that binds least, as in C.
_LEVELS = ("||", "&&", "|", "^", "&", "== !=", "< <= > >=", "<< >>", "+ -", "* / %")
PRECEDENCE = {sign: level for level, signs in enumerate(_LEVELS) for sign in signs.split()}


class Mistake(Exception):
    """Something the grammar lets through and PTX does not. `place` is the token or node, `help` how to correct it, `meant` the right word."""

    def __init__(self, message: str, place: Any, help: str | None = None, meant: str | None = None):
        super().__init__(message)
        self.message, self.place, self.help, self.meant = message, place, help, meant


def text_of(token: Token) -> str:
    """A plain string, one object for equal texts: names repeat a lot."""
    return intern(str(token))


def read_name(text: str, line: int, column: int) -> Name | ast.Sink | ast.Element:
    """What a word among the operands is: the sink `_`, an element `%v.x`, or a name."""
    if text == "_":
        return ast.Sink(line=line, column=column)
    base, dot, component = text.rpartition(".")
    if dot and base not in COMPONENT_REGISTERS:
        return ast.Element(Name(intern(base), line=line, column=column), intern(component), line=line, column=column)
    return Name(text, line=line, column=column)


def read_size(token: Token) -> int:
    """The value of an integer literal."""
    try:
        return constant.read_integer(str(token)).value
    except ValueError as error:
        raise Mistake(str(error), token) from None


def _evaluate(place: Token | ast.Node, function: Callable[..., N], *arguments: object) -> N:
    """A constant with a place; what it cannot be computed from is a mistake there."""
    try:
        value = function(*arguments)
    except ValueError as error:
        raise Mistake(str(error), place) from None
    return replace(value, line=place.line, column=place.column)


class ConstantBuilder:
    """Callbacks of constant expressions."""

    def integer(self, children: list[Token]) -> Integer:
        return _evaluate(children[0], constant.read_integer, str(children[0]))

    def float(self, children: list[Token]) -> Float:
        return _evaluate(children[0], constant.read_float, str(children[0]))

    def warp_size(self, children: list[Token]) -> Integer:
        return Integer(32, line=children[0].line, column=children[0].column)

    def operation(self, children: list[Any]) -> Number:
        """Operands and the signs between them: what binds tighter is evaluated first, else what stands first."""
        values: list[Number] = []
        signs: list[str] = []
        for value, sign in zip(children[::2], [*children[1::2], ""]):
            values.append(value)
            while signs and PRECEDENCE[signs[-1]] >= PRECEDENCE.get(sign, -1):
                right, left = values.pop(), values.pop()
                values.append(_evaluate(left, constant.binary, left, signs.pop(), right))
            signs.append(str(sign))
        return values[0]

    def unary(self, children: list[Any]) -> Number:
        sign, value = children
        return _evaluate(sign, constant.unary, str(sign), value)

    def cast(self, children: list[Any]) -> Integer:
        token, value = children
        if isinstance(value, Float):
            raise Mistake("a cast needs an integer", token)
        return _evaluate(token, constant.integer, value.value, ".u64" in token)

    def ternary(self, children: list[Any]) -> Integer:
        for value in children:
            if isinstance(value, Float):
                raise Mistake("`?:` needs integers", value)
        condition, yes, no = children
        chosen: Integer = yes if condition.value else no
        return chosen

    def offset(self, children: list[Any]) -> int:
        """Address arithmetic is modulo 2^64: a signed 64-bit number."""
        sign, value = children
        if isinstance(value, Float):
            raise Mistake("an offset must be an integer", sign)
        return constant.integer(value.value, unsigned=False).value


class InstructionBuilder(ConstantBuilder):
    """Callbacks of one instruction."""

    def instruction(self, children: list[Any]) -> ast.Instruction:
        guard = children.pop(0) if isinstance(children[0], ast.Guard) else None
        opcode = children.pop(0)
        # `column` points at the opcode, so that `length` characters from there are the opcode.
        return ast.Instruction(
            intern("".join(opcode.split())), tuple(children), guard, line=opcode.line, column=opcode.column
        )

    def guard(self, children: list[Token]) -> ast.Guard:
        name = children[-1]
        return ast.Guard(text_of(name), len(children) == 2, line=name.line, column=name.column)

    def name(self, children: list[Token]) -> Name | ast.Sink | ast.Element:
        token = children[0]
        return read_name(text_of(token), token.line, token.column)

    def element(self, children: list[Any]) -> ast.Element:
        token, index = children
        base = self.name([token])
        if not isinstance(base, Name) or isinstance(index, Float):
            raise Mistake("only a name can have an index, and the index is an integer", token)
        if index.value < 0:
            raise Mistake("an index must not be negative", token)
        return ast.Element(base, str(index.value), line=token.line, column=token.column)

    def pair(self, children: list[Any]) -> ast.Pair:
        return ast.Pair(children[0], children[2], line=children[0].line, column=children[0].column)

    def negated(self, children: list[Any]) -> ast.Not:
        return ast.Not(children[1], line=children[0].line, column=children[0].column)

    def negative(self, children: list[Any]) -> ast.Negative:
        return ast.Negative(children[1], line=children[0].line, column=children[0].column)

    def shifted(self, children: list[Any]) -> ast.Offset:
        base, offset = children
        if not isinstance(base, Name):
            raise Mistake("an offset can only follow a name", base)
        return ast.Offset(base, offset, line=base.line, column=base.column)

    def vector(self, children: list[Any]) -> ast.Vector:
        return ast.Vector(tuple(children[1:]), line=children[0].line, column=children[0].column)

    def group(self, children: list[Any]) -> ast.Group:
        return ast.Group(tuple(children[1:]), line=children[0].line, column=children[0].column)

    def address(self, children: list[Any]) -> ast.Address:
        token, start, *rest = children
        base, offset = None, 0
        match start:
            case Name():
                base = start
            case Integer():
                offset = constant.integer(start.value, unsigned=False).value
            case Float():
                raise Mistake("an address must be an integer", start)
            case _:
                raise Mistake("an address starts with a name or a number", start)
        if rest and isinstance(rest[0], int):
            offset = rest.pop(0)
        return ast.Address(base, offset, tuple(rest), line=token.line, column=token.column)
