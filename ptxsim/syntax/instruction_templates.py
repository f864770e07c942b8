"""Instructions by their shape: texts that differ only in names and numbers pass the grammar once.

`add.s32 %r1, %r2, -4;` and `add.s32 %r7, %r8, -16;` have one shape. The grammar reads the first; its nodes become a
template in which every name and number is a slot, and the second only fills the slots. What a template cannot say
(constant expressions, comments, several lines) is read by the grammar each time; the result is the same either way.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from itertools import accumulate
from string import ascii_letters, digits
from sys import intern

from ptxsim.syntax import ast, constant
from ptxsim.syntax.ast import Address, Float, Integer, Name, Operand
from ptxsim.syntax.build_instruction import read_name

Texts = list[str]
Columns = list[int]
Maker = Callable[[Texts, Columns, int], Operand]

_HEAD = re.compile(
    r"(?:@[ \t]*(!?)[ \t]*(%[\w$]+|[A-Za-z_$][\w$]*)[ \t]+)?([A-Za-z]\w*(?:(?:\.|::)\w+)*+)(?![\w$%.:])", re.ASCII
)
# A leaf: a name, its component, or a number. What stands between leaves belongs to the shape.
_LEAF = re.compile(r"(%[\w$]++|[A-Za-z_$][\w$]*+|\.?[0-9](?:[eE][+-][0-9]|[\w.])*+)", re.ASCII)
# Of a leaf the shape keeps what its first character says: a number, a name, or a name that may be the sink.
_CLASSES = str.maketrans(digits + ascii_letters, "0" * len(digits) + "a" * len(ascii_letters))
_LIMIT = 20_000


class _NoTemplate(Exception):
    """The nodes hold something that is no slot."""


class ShapeReader:
    """Reads instructions and remembers shapes; `parse(text, line, column)` reads what has a new shape."""

    def __init__(self, parse: Callable[[str, int, int], ast.Instruction]):
        self.parse = parse
        self.templates: dict[tuple[str, ...], tuple[Maker, ...] | None] = {}

    def read(self, text: str, line: int, column: int) -> ast.Instruction:
        """The instruction that `text` is; its first character stands at `line`, `column` of the file.

        Raises what `parse` raises.
        """
        head = _HEAD.match(text)
        if head is None or "\n" in text or "WARP_SZ" in text:
            return self.parse(text, line, column)
        bang, guard, opcode = head.groups("")
        parts = _LEAF.split(text[head.end() :])
        texts = [intern(leaf) for leaf in parts[1::2]]
        columns = list(accumulate(map(len, parts), initial=column + head.end()))[1::2]
        classes = "".join([leaf[0] for leaf in texts]).translate(_CLASSES)
        key = (bang + guard[:1], opcode, "\n".join(parts[::2]), classes)
        makers = self.templates.get(key)
        if makers is None:
            if key in self.templates:
                return self.parse(text, line, column)
            return self._learn(key, text, texts, columns, line, column)
        try:
            operands = tuple([make(texts, columns, line) for make in makers])
        except ValueError:
            return self.parse(text, line, column)
        condition = None
        if guard:
            condition = ast.Guard(intern(guard), bang == "!", line=line, column=column + head.start(2))
        return ast.Instruction(intern(opcode), operands, condition, line=line, column=column + head.start(3))

    def _learn(
        self, key: tuple[str, ...], text: str, texts: Texts, columns: Columns, line: int, column: int
    ) -> ast.Instruction:
        instruction = self.parse(text, line, column)
        try:
            template = _Template(text, texts, columns, column)
            makers = tuple([template.maker(operand) for operand in instruction.operands])
            template.check_complete()
        except _NoTemplate:
            makers = None
        except ValueError:
            return instruction  # only this text's numbers fit no slot
        if len(self.templates) >= _LIMIT:
            self.templates.clear()
        self.templates[key] = makers
        return instruction


class _Template:
    """Finds, for each node of an instruction, the leaf of the text that it came from."""

    def __init__(self, text: str, texts: Texts, columns: Columns, column: int):
        self.text = text
        self.texts = texts
        self.columns = columns
        self.column = column  # of the first character of `text`
        self.index = {place: number for number, place in enumerate(columns)}
        self.used: set[int] = set()

    def check_complete(self) -> None:
        if len(self.used) != len(self.texts):
            raise _NoTemplate

    def maker(self, operand: Operand) -> Maker:
        match operand:
            case ast.Name() | ast.Sink():
                return self._name(operand)
            case ast.Element() if not operand.component.isdigit():
                return self._name(operand)
            case Integer() | Float():
                return self._number(operand)
            case ast.Vector() | ast.Group():
                return self._sequence(operand)
            case Address():
                return self._absolute(operand) if operand.base is None else self._address(operand, operand.base)
            case ast.Offset():
                return self._offset(operand)
            case ast.Pair():
                return self._pair(operand)
            case ast.Not() | ast.Negative():
                return self._signed(operand)
        raise _NoTemplate

    def _use(self, column: int) -> int:
        """The number of the leaf that starts at `column`."""
        number = self.index.get(column)
        if number is None or number in self.used:
            raise _NoTemplate
        self.used.add(number)
        return number

    def _after_blanks(self, column: int) -> int:
        """The column of the next character that is no blank."""
        rest = self.text[column - self.column :]
        return column + len(rest) - len(rest.lstrip(" \t"))

    def _end(self, number: int) -> int:
        """Where in the text leaf `number` ends."""
        return self.columns[number] + len(self.texts[number]) - self.column

    def _separator(self, number: int) -> str:
        """What stands between leaf `number` and the next, without blanks."""
        is_last = number + 1 == len(self.texts)
        end = len(self.text) if is_last else self.columns[number + 1] - self.column
        return "".join(self.text[self._end(number) : end].split())

    def _name(self, operand: Name | ast.Sink | ast.Element) -> Maker:
        k = self._use(operand.column)
        if isinstance(operand, ast.Element) or "." in getattr(operand, "name", ""):
            component = self._use(self.columns[k] + len(self.texts[k]) + 1)
            return lambda texts, columns, line: read_name(_dotted(texts[k], texts[component]), line, columns[k])
        if self.texts[k][0] == "_":
            return lambda texts, columns, line: read_name(texts[k], line, columns[k])
        return lambda texts, columns, line: Name(texts[k], line=line, column=columns[k])

    def _number(self, operand: Integer | Float) -> Maker:
        place = operand.column
        negative = self.text[place - self.column] == "-"
        if negative:
            place = self._after_blanks(place + 1)
        k = self._use(place)
        back = place - operand.column
        read = _read_negative if negative else _read_literal
        if read(self.texts[k]) != operand:
            raise _NoTemplate

        def make(texts: Texts, columns: Columns, line: int) -> Operand:
            number = read(texts[k])
            if isinstance(number, Integer):
                return Integer(number.value, number.unsigned, line=line, column=columns[k] - back)
            return Float(number.bits, number.width, line=line, column=columns[k] - back)

        return make

    def _sequence(self, operand: ast.Vector | ast.Group) -> Maker:
        if not operand.elements:
            raise _NoTemplate
        kind = type(operand)
        number = self.index.get(self._after_blanks(operand.column + 1), 0)
        back = self.columns[number] - operand.column
        makers = [self.maker(element) for element in operand.elements]
        return lambda texts, columns, line: kind(
            tuple([make(texts, columns, line) for make in makers]), line=line, column=columns[number] - back
        )

    def _step(self, base: int, offset: int) -> Callable[[Texts], int]:
        """How the offset after leaf `base` follows from the text: nothing, or one literal, which may have a sign."""
        separator = self._separator(base)
        if separator[:1] != "+":
            if offset:
                raise _NoTemplate
            return lambda texts: 0
        k = self._use(self.columns[base + 1])
        sign = {"+": 1, "+-": -1}.get(separator)
        ends = self._separator(k)[:1] in (",", "]", ";")
        if sign is None or not ends or sign * _read_offset(self.texts[k]) != offset:
            raise _NoTemplate
        return lambda texts: sign * _read_offset(texts[k])

    def _base(self, name: Name) -> Callable[[Texts, Columns, int], Name]:
        """The name that an address starts with: `_` and elements are none."""
        if "." in name.name:
            raise _NoTemplate
        k = self._use(name.column)

        def make(texts: Texts, columns: Columns, line: int) -> Name:
            if texts[k] == "_":
                raise ValueError("`_` has no address")
            return Name(texts[k], line=line, column=columns[k])

        return make

    def _address(self, operand: Address, name: Name) -> Maker:
        back = name.column - operand.column
        number = self.index.get(name.column, 0)
        base = self._base(name)
        step = self._step(number, operand.offset)
        extra = [self.maker(one) for one in operand.extra]
        return lambda texts, columns, line: Address(
            base(texts, columns, line),
            step(texts),
            tuple([make(texts, columns, line) for make in extra]),
            line=line,
            column=columns[number] - back,
        )

    def _absolute(self, operand: Address) -> Maker:
        place = self._after_blanks(operand.column + 1)
        k = self._use(place)
        back = place - operand.column
        if operand.extra or _read_offset(self.texts[k]) != operand.offset:
            raise _NoTemplate
        return lambda texts, columns, line: Address(None, _read_offset(texts[k]), line=line, column=columns[k] - back)

    def _offset(self, operand: ast.Offset) -> Maker:
        number = self.index.get(operand.column, 0)
        base = self._base(operand.base)
        step = self._step(number, operand.offset)
        return lambda texts, columns, line: ast.Offset(
            base(texts, columns, line), step(texts), line=line, column=columns[number]
        )

    def _pair(self, operand: ast.Pair) -> Maker:
        first, second = self.maker(operand.first), self.maker(operand.second)

        def make(texts: Texts, columns: Columns, line: int) -> Operand:
            one = first(texts, columns, line)
            return ast.Pair(one, second(texts, columns, line), line=line, column=one.column)

        return make

    def _signed(self, operand: ast.Not | ast.Negative) -> Maker:
        kind = type(operand)
        back = operand.operand.column - operand.column
        inner = self.maker(operand.operand)

        def make(texts: Texts, columns: Columns, line: int) -> Operand:
            name = inner(texts, columns, line)
            return kind(name, line=line, column=name.column - back)

        return make


def _dotted(name: str, component: str) -> str:
    if "$" in component:
        raise ValueError(f"`{component}` is no component")
    return intern(f"{name}.{component}")


@lru_cache(4096)
def _read_literal(text: str) -> Integer | Float:
    return constant.read_literal(text)


@lru_cache(4096)
def _read_negative(text: str) -> Integer | Float:
    if text[:2].lower() in ("0f", "0d"):
        raise ValueError("bit patterns have no sign")
    return constant.unary("-", constant.read_literal(text))


@lru_cache(4096)
def _read_offset(text: str) -> int:
    """An offset literal within the range where its sign cannot change its meaning."""
    value = constant.read_integer(text).value
    if value >> 62:
        raise ValueError(f"`{text}` is a large offset")
    return value
