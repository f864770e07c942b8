"""Callbacks of the grammar that turn directives, declarations and functions into nodes."""

from __future__ import annotations

import re
from collections.abc import Callable
from sys import intern
from typing import Any

from msgspec.structs import replace

from ptxsim.spelling import nearest
from ptxsim.syntax import ast
from ptxsim.syntax.ast import Name
from ptxsim.syntax.build_instruction import InstructionBuilder, Mistake, read_size, text_of
from ptxsim.syntax.lark_parser import Token
from ptxsim.types import TYPES

# Types that registers and variables may have; the others are types of instructions only.
# PTX ISA, "Fundamental Types", "Restricted Use of Sub-Word Sizes", "Alternate Floating-Point Data Formats".
DECLARABLE = frozenset(
    ["pred", "b8", "b16", "b32", "b64", "b128", "u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64"]
    + ["f16", "f16x2", "f32", "f64", "texref", "samplerref", "surfref"]
)


_AFTER_NAME = re.compile(r"[^\w$%]")
# Brackets and scopes nested deeper than this are refused: nodes are walked recursively.
MAXIMUM_DEPTH = 100


def _count(token: Token) -> int:
    """How many elements or registers `[8]`, `[WARP_SZ]` or `<8>` declares."""
    return 32 if token.type == "WARP_SZ" else read_size(token)


def _not_declarable(token: Token) -> Mistake:
    known = TYPES.get(token[1:])
    if known is not None:
        message = f"`{token}` is a type of instructions; nothing can be declared with it"
        return Mistake(message, token, f"declare it as .b{max(8, known.bits)}")
    close = nearest(token[1:], sorted(DECLARABLE))
    meant = f".{close}" if close else None
    return Mistake(f"`{token}` is no type", token, f"did you mean `{meant}`?" if meant else None, meant)


def _argument(token: Token) -> str:
    """An argument of a directive as it is written; numbers are decimal whatever the text has."""
    return str(read_size(token)) if token.type == "INTEGER" else text_of(token)


class ModuleBuilder(InstructionBuilder):
    """Callbacks of the whole grammar. `read_instruction` parses the text of one instruction token."""

    def __init__(self, read_instruction: Callable[[Token], ast.Instruction | None]):
        self.read_instruction = read_instruction
        self.depth = 0  # of open brackets

    # ---- words ----

    def _open(self, token: Token) -> Token:
        self.depth += 1
        if self.depth > MAXIMUM_DEPTH:
            raise Mistake("the text is nested too deeply", token, "use fewer `{` or `(` inside each other")
        return token

    def _close(self, token: Token) -> Token:
        self.depth -= 1
        return token

    BRACE = BRACKET = PARENTHESIS = _open
    RBRACE = RSQB = RPAR = _close

    def INSTRUCTION(self, token: Token) -> ast.Instruction | None:
        return self.read_instruction(token)

    def LABEL(self, token: Token) -> ast.Label:
        # Blanks and comments may stand before the colon.
        return ast.Label(intern(_AFTER_NAME.split(token, 1)[0]), line=token.line, column=token.column)

    # ---- module level ----

    def module(self, children: list[Any]) -> list[Any]:
        return children

    def version(self, children: list[Token]) -> tuple[str, Any]:
        major, _, minor = children[1].partition(".")
        return "version", ((int(major), int(minor)), children[0].line)

    def target(self, children: list[Token]) -> tuple[str, Any]:
        return "target", (tuple(map(text_of, children[1:])), children[0].line)

    def address_size(self, children: list[Token]) -> tuple[str, Any]:
        return "address_size", read_size(children[0])

    def _directive(self, children: list[Token]) -> ast.Directive:
        first = children[0]
        arguments = tuple(_argument(token) for token in children[1:] if token != "+")
        return ast.Directive(first[1:], arguments, line=first.line, column=first.column)

    line_file = pragma = language = _directive

    def location(self, children: list[Token]) -> ast.Directive:
        first, *rest = children
        if rest:
            return self._directive(children)
        name, *arguments = re.split(r"[\s,+]+", first)
        return ast.Directive(name[1:], tuple(map(intern, arguments)), line=first.line, column=first.column)

    def alias(self, children: list[Token]) -> ast.Alias:
        word, name, target = children
        return ast.Alias(text_of(name), text_of(target), line=word.line, column=word.column)

    def section(self, children: list[Token]) -> ast.Section:
        token = children[0]
        if token.startswith("@@"):
            return ast.Section("@@DWARF", token[7:].strip(), line=token.line, column=token.column)
        head, _, text = token.partition("{")
        return ast.Section(head.split()[1], text[:-1].strip(), line=token.line, column=token.column)

    # ---- functions ----

    def entry(self, children: list[Any]) -> ast.Function:
        linkage, _, *rest = children
        return self._function(linkage, rest, is_entry=True)

    def func(self, children: list[Any]) -> ast.Function:
        linkage, _, *rest = children
        return self._function(linkage, rest, is_entry=False)

    def _function(self, linkage: tuple[str, ...], parts: list[Any], is_entry: bool) -> ast.Function:
        returns: tuple[ast.Variable, ...] = ()
        parameters: tuple[ast.Variable, ...] = ()
        directives: list[ast.Directive] = []
        body = None
        for part in parts:
            match part:
                case Token():
                    name = part
                case ("results", variables):
                    returns = variables
                case ("parameters", variables):
                    parameters = variables
                case ast.Directive():
                    directives.append(part)
                case ast.Block(statements):
                    body = statements
        return ast.Function(
            text_of(name), is_entry, parameters, returns, linkage, tuple(directives), body, line=name.line,
            column=name.column,
        )  # fmt: skip

    def results(self, children: list[Any]) -> tuple[str, Any]:
        return "results", tuple(children)

    def parameters(self, children: list[Any]) -> tuple[str, Any]:
        return "parameters", tuple(children)

    def parameter(self, children: list[Any]) -> ast.Variable:
        at = next(index for index, child in enumerate(children) if index and isinstance(child, Token))
        (variable,) = self._variables((), [*children[:at], self.variable(children[at:])])
        return variable

    def header(self, children: list[Any]) -> ast.Directive:
        return children[0] if isinstance(children[0], ast.Directive) else self._directive(children)

    def function_attribute(self, children: list[Any]) -> ast.Directive:
        word, attributes = children
        return ast.Directive("attribute", attributes, line=word.line, column=word.column)

    # ---- variables ----

    def linkage(self, children: list[Token]) -> tuple[str, ...]:
        return tuple(intern(token[1:]) for token in children)

    def variables(self, children: list[Any]) -> list[ast.Variable]:
        linkage, *rest = children
        return self._variables(linkage, rest)

    def local_variables(self, children: list[Any]) -> list[ast.Variable]:
        return self._variables((), children)

    def _variables(self, linkage: tuple[str, ...], children: list[Any]) -> list[ast.Variable]:
        common: dict[str, Any] = {"linkage": linkage}
        variables = []
        for part in children:
            if isinstance(part, ast.Variable):
                variables.append(replace(part, **common))
            elif isinstance(part, Token):
                common["space"] = intern(part[1:])
            else:
                common.update([part])
        return variables

    def align(self, children: list[Token]) -> tuple[str, Any]:
        return "align", read_size(children[1])

    def vector_size(self, children: list[Token]) -> tuple[str, Any]:
        return "vector", int(children[0][2:])

    def type(self, children: list[Token]) -> tuple[str, Any]:
        token = children[0]
        if token[1:] not in DECLARABLE:
            raise _not_declarable(token)
        return "type", intern(token[1:])

    def pointer(self, children: list[Token]) -> tuple[str, Any]:
        space, align = "", None
        for token in children[1:]:
            if token.type == "SPACE":
                space = intern(token[1:])
            elif token.type == "INTEGER":
                align = read_size(token)
        return "pointer", (space, align)

    def attributes(self, children: list[Any]) -> tuple[str, Any]:
        return "attributes", children[1]

    def attribute_list(self, children: list[Any]) -> tuple[str, ...]:
        return tuple(children)

    def attribute(self, children: list[Token]) -> str:
        word, *values = children
        return word[1:] + (f"({', '.join(values)})" if values else "")

    def variable(self, children: list[Any]) -> ast.Variable:
        name, *parts = children
        details: dict[str, Any] = {}
        shape: tuple[int | None, ...] = ()
        for part in parts:
            match part:
                case ("range", count):
                    details["count"] = count
                case ("shape", size):
                    shape += (size,)
                case _:
                    details["initializer"] = part
        return ast.Variable(text_of(name), "", "", shape=shape, **details, line=name.line, column=name.column)

    def range(self, children: list[Any]) -> tuple[str, Any]:
        return "range", _count(children[0])

    def shape(self, children: list[Token]) -> tuple[str, Any]:
        return "shape", _count(children[0]) if children else None

    def initializer_list(self, children: list[Any]) -> tuple[Any, ...]:
        return tuple(children[1:])

    def symbol(self, children: list[Any]) -> Name | ast.Offset:
        token, *offset = children
        name = Name(text_of(token), line=token.line, column=token.column)
        return ast.Offset(name, *offset, line=token.line, column=token.column) if offset else name

    def generic_symbol(self, children: list[Any]) -> ast.MaskedAddress:
        word, *symbol = children
        if word != "generic":
            raise Mistake(f"`{word}(...)` is no initialiser", word, "write generic(name), or a mask such as 0xff(name)")
        return ast.MaskedAddress(self.symbol(symbol), line=word.line, column=word.column)

    def masked_symbol(self, children: list[Any]) -> ast.MaskedAddress:
        mask, operand = children
        return ast.MaskedAddress(operand, read_size(mask), line=mask.line, column=mask.column)

    def setting(self, children: list[Token]) -> ast.Setting:
        name, value = children
        return ast.Setting(text_of(name), text_of(value), line=name.line, column=name.column)

    # ---- statements ----

    def body(self, children: list[Any]) -> tuple[ast.Statement, ...]:
        return self._flat(children)

    def block(self, children: list[Any]) -> ast.Block:
        brace, *statements = children
        return ast.Block(self._flat(statements), line=brace.line, column=brace.column)

    def _flat(self, children: list[Any]) -> tuple[ast.Statement, ...]:
        if list in map(type, children):
            flat: list[Any] = []
            for child in children:
                flat.extend(child) if isinstance(child, list) else flat.append(child)
            children = flat
        return tuple(child for child in children if child is not None)

    def table(self, children: list[Any]) -> ast.Targets:
        label, kind, *names = children
        return ast.Targets(label.name, kind[1:], tuple(map(text_of, names)), line=label.line, column=label.column)

    def prototype(self, children: list[Any]) -> ast.Prototype:
        label, _, *parts = children
        function = self._function((), parts, is_entry=False)
        return ast.Prototype(
            label.name, function.returns, function.parameters, function.directives, line=label.line, column=label.column
        )
