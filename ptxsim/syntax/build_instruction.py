"""Callbacks of the grammar that turn an instruction and its constants into nodes."""

from __future__ import annotations

from sys import intern
from typing import Any

from msgspec.structs import replace

from ptxsim.syntax import ast, constant
from ptxsim.syntax.ast import Float, Integer, Name
from ptxsim.syntax.lark_parser import Token
from ptxsim.syntax.special import COMPONENT_REGISTERS

_LEVELS = ("||", "&&", "|", "^", "&", "== !=", "< <= > >=", "<< >>", "+ -", "* / %")
PRECEDENCE = {sign: level for level, signs in enumerate(_LEVELS) for sign in signs.split()}


class Mistake(Exception):
    """Something the grammar lets through and PTX does not. `place` is the token or node, `help` how to correct it."""

    def __init__(self, message: str, place: Any, help: str | None = None):
        super().__init__(message)
        self.message, self.place, self.help = message, place, help


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


class ConstantBuilder:
    """Callbacks of constant expressions."""

    def integer(self, children: list[Token]) -> Integer:
        return self._evaluate(children[0], constant.read_integer, str(children[0]))

    def float(self, children: list[Token]) -> Float:
        return self._evaluate(children[0], constant.read_float, str(children[0]))

    def warp_size(self, children: list[Token]) -> Integer:
        return Integer(32, line=children[0].line, column=children[0].column)

    def operation(self, children: list[Any]) -> Integer | Float:
        """`a + b * c ...`: what binds tighter is evaluated first, else what stands first."""
        values, signs = [children[0]], []
        for sign, value in zip([*children[1::2], None], [*children[2::2], None]):
            while signs and (sign is None or PRECEDENCE[signs[-1]] >= PRECEDENCE[sign]):
                right, left = values.pop(), values.pop()
                values.append(self._evaluate(left, constant.binary, left, str(signs.pop()), right))
            signs.append(sign)
            values.append(value)
        return values[0]

    def unary(self, children: list) -> Integer | Float:
        sign, value = children
        return self._evaluate(sign, constant.unary, str(sign), value)

    def cast(self, children: list) -> Integer:
        token, value = children
        if isinstance(value, Float):
            raise Mistake("a cast needs an integer", token)
        return self._evaluate(token, constant.integer, value.value, ".u64" in token)

    def ternary(self, children: list) -> Integer:
        for value in children:
            if isinstance(value, Float):
                raise Mistake("`?:` needs integers", value)
        condition, yes, no = children
        return yes if condition.value else no

    def offset(self, children: list) -> int:
        """Address arithmetic is modulo 2^64: a signed 64-bit number."""
        sign, value = children
        if isinstance(value, Float):
            raise Mistake("an offset must be an integer", sign)
        return constant.integer(value.value, unsigned=False).value

    def _evaluate(self, place: Any, function: Any, *arguments: Any) -> Any:
        try:
            value = function(*arguments)
        except ValueError as error:
            raise Mistake(str(error), place) from None
        return replace(value, line=place.line, column=place.column)


class InstructionBuilder(ConstantBuilder):
    """Callbacks of one instruction."""

    def instruction(self, children: list) -> ast.Instruction:
        guard = children.pop(0) if isinstance(children[0], ast.Guard) else None
        opcode = children.pop(0)
        # `column` points at the opcode, so that `length` characters from there are the opcode.
        return ast.Instruction(
            intern("".join(opcode.split())),
            tuple(children),
            guard,
            line=opcode.line,
            column=opcode.column,
        )

    def guard(self, children: list[Token]) -> ast.Guard:
        name = children[-1]
        return ast.Guard(text_of(name), len(children) == 2, line=name.line, column=name.column)

    def name(self, children: list[Token]) -> Name | ast.Sink | ast.Element:
        token = children[0]
        return read_name(text_of(token), token.line, token.column)

    def element(self, children: list) -> ast.Element:
        token, index = children
        base = self.name([token])
        if not isinstance(base, Name) or isinstance(index, Float):
            raise Mistake("only a name can have an index, and the index is an integer", token)
        if index.value < 0:
            raise Mistake("an index must not be negative", token)
        return ast.Element(base, str(index.value), line=token.line, column=token.column)

    def pair(self, children: list) -> ast.Pair:
        return ast.Pair(children[0], children[2], line=children[0].line, column=children[0].column)

    def negated(self, children: list) -> ast.Not:
        return ast.Not(children[1], line=children[0].line, column=children[0].column)

    def negative(self, children: list) -> ast.Negative:
        return ast.Negative(children[1], line=children[0].line, column=children[0].column)

    def shifted(self, children: list) -> ast.Offset:
        base, offset = children
        if not isinstance(base, Name):
            raise Mistake("an offset can only follow a name", base)
        return ast.Offset(base, offset, line=base.line, column=base.column)

    def vector(self, children: list) -> ast.Vector:
        return ast.Vector(tuple(children[1:]), line=children[0].line, column=children[0].column)

    def group(self, children: list) -> ast.Group:
        return ast.Group(tuple(children[1:]), line=children[0].line, column=children[0].column)

    def address(self, children: list) -> ast.Address:
        token, base, *rest = children
        offset = 0
        if isinstance(base, Float):
            raise Mistake("an address must be an integer", base)
        if isinstance(base, Integer):
            base, offset = None, constant.integer(base.value, unsigned=False).value
        elif not isinstance(base, Name):
            raise Mistake("an address starts with a name or a number", base)
        if rest and isinstance(rest[0], int):
            offset = rest.pop(0)
        return ast.Address(base, offset, tuple(rest), line=token.line, column=token.column)
