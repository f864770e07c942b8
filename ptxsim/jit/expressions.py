"""Expressions of bodies, node by node of the syntax tree."""

from __future__ import annotations

import ast
import builtins
import types
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

import numpy as np

from ptxsim.jit.function_text import Block
from ptxsim.jit.kinds import BOOL, FLOAT, INT, Array, Kind, Known, Scalar, Several, Value
from ptxsim.jit.memory import Memory, Slots, Spot

_CASTS = (int, float, bool, np.int64, np.uint64)
_DTYPES = {INT: np.dtype(np.int64), FLOAT: np.dtype(np.float64), BOOL: np.dtype(np.bool_)}


class Unit(Protocol):
    """What the functions of one module share."""

    checked: bool
    prefix: str  # of the names of functions outside

    def function(self, function: Callable[..., Any], kinds: tuple[Kind, ...]) -> tuple[str, Kind]: ...

    def constant(self, values: np.ndarray[Any, Any]) -> str: ...

    def declare(self, name: str, text: str) -> None: ...

    def note(self, place: str) -> int: ...


class Operation:
    """A function that has code of its own in compiled bodies."""

    def emit(self, at: Expressions, arguments: list[Value | Known]) -> Value:
        raise NotImplementedError


class Expressions(Memory):
    """Expressions in the scope of a function."""

    def __init__(self, unit: Unit, outer: Mapping[str, Any]):
        super().__init__()
        self.unit, self.outer, self.checked = unit, outer, unit.checked
        self.assigned: frozenset[str] = frozenset()  # names
        self.arguments: dict[str, Value] = {}  # that are not assigned
        self.variables: dict[str, Slots] = {}
        self.line = 0

    def place(self) -> str:
        """File and line that are being translated."""
        raise NotImplementedError

    def guard(self, holds: str) -> None:
        if self.checked:
            self.do(f"call void @note(i1 {holds}, i64 {self.unit.note(self.place())})")

    def hole(self) -> str:
        self.unit.declare("hole", "@hole = internal global [1048576 x i8] zeroinitializer")
        return "@hole"

    def expression(self, node: ast.expr) -> Value | Known:
        self.line = node.lineno
        handler = getattr(self, f"on_{type(node).__name__}", None)
        if handler is None:
            self.refuse(f"no {type(node).__name__} in a body")
        found: Value | Known = handler(node)
        return found

    def on_Constant(self, node: ast.Constant) -> Known:
        return Known(node.value)

    def on_Name(self, node: ast.Name) -> Value | Known:
        if node.id in self.variables:
            return self.get(self.variables[node.id])
        if node.id in self.arguments:
            return self.arguments[node.id]
        if node.id in self.assigned:
            self.refuse(f"{node.id} is read before it is assigned")
        if node.id in self.outer:
            return Known(self.outer[node.id])
        if hasattr(builtins, node.id):
            return Known(getattr(builtins, node.id))
        self.refuse(f"{node.id} is not defined")

    def on_Attribute(self, node: ast.Attribute) -> Value | Known:
        base = self.expression(node.value)
        if isinstance(base, Known):
            if not isinstance(base.value, (types.ModuleType, type)) or not hasattr(base.value, node.attr):
                self.refuse(f"no attribute {node.attr} here")
            return Known(getattr(base.value, node.attr))
        if node.attr == "shape":
            sizes = tuple(Value(INT, (size,)) for size in self.sizes(base)) if isinstance(base.kind, Array) else ()
            return Value(Several((INT,) * len(sizes)), tuple(part for size in sizes for part in size.parts))
        return self.read(self.field(base, node.attr))

    def read(self, found: Spot | Value) -> Value:
        return self.load(found) if isinstance(found, Spot) else found

    def on_Subscript(self, node: ast.Subscript) -> Value | Known:
        base = self.expression(node.value)
        if isinstance(base, Known):
            inner = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            indices = [self.expression(each) for each in inner]
            if all(isinstance(each, Known) for each in indices):
                keys = tuple(each.value for each in indices if isinstance(each, Known))
                return Known(base.value[keys if len(keys) > 1 else keys[0]])
            table = np.asarray(base.value)
            if table.dtype.kind not in "iufb":
                self.refuse("a table of constants is of numbers")
            return self.read(self.index(Value(Array(table.dtype, table.shape), (self.unit.constant(table),)), indices))
        return self.read(self.part(base, node.slice))

    def part(self, base: Value, key: ast.expr) -> Spot | Value:
        """What a subscript names: a field by its name, an element or a row by numbers."""
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            return self.field(base, key.value)
        return self.index(base, [self.expression(each) for each in (key.elts if isinstance(key, ast.Tuple) else [key])])

    def on_Tuple(self, node: ast.Tuple) -> Value | Known:
        items = [self.expression(each) for each in node.elts]
        if all(isinstance(each, Known) for each in items):
            return Known(tuple(each.value for each in items if isinstance(each, Known)))
        values = [self.value(each) for each in items]
        kinds = Several(tuple(value.kind for value in values))
        return Value(kinds, tuple(part for value in values for part in value.parts))

    def on_List(self, node: ast.List) -> Value:
        return self.scratch([self.value(self.expression(each)) for each in node.elts], len(node.elts))

    def scratch(self, given: list[Value], size: int) -> Value:
        """A list of numbers: an array on the stack. One value fills all of it."""
        kind = given[0].kind if given else INT
        if kind not in _DTYPES or any(value.kind != kind for value in given):
            self.refuse("a list is of numbers of one kind")
        array = self.room(_DTYPES[kind], (size,))
        if len(given) == 1 and given[0].parts[0] in ("0", "0x0000000000000000", "false"):
            return self.cleared(array)
        for number in range(size):
            spot = self.index(array, [Known(number)])
            assert isinstance(spot, Spot)
            self.store(spot, given[number % len(given)])
        return array

    # ---- operators ----

    def on_BinOp(self, node: ast.BinOp) -> Value | Known:
        if isinstance(node.left, ast.List) and isinstance(node.op, ast.Mult):
            items, times = [self.value(self.expression(each)) for each in node.left.elts], self.expression(node.right)
            if not isinstance(times, Known):
                self.refuse("a list of a size that is not constant")
            return self.scratch(items, len(items) * times.value)
        left, right = self.expression(node.left), self.expression(node.right)
        return self.binary(node.op, left, right)

    def on_UnaryOp(self, node: ast.UnaryOp) -> Value | Known:
        negates = isinstance(node.op, ast.Not)
        return self.unary(node.op, self.condition(node.operand) if negates else self.expression(node.operand))

    def on_Compare(self, node: ast.Compare) -> Value | Known:
        left = self.expression(node.left)
        steps: list[Callable[[], Value | Known]] = []
        held = [left]

        def step(op: ast.cmpop, node: ast.expr) -> Value | Known:
            left = held[0]
            if isinstance(op, (ast.In, ast.NotIn)):
                return self._among(left, node, isinstance(op, ast.NotIn))
            held[0] = self.expression(node)
            return self.compare(op, left, held[0])

        for op, operand in zip(node.ops, node.comparators):
            steps.append(partial(step, op, operand))
        return steps[0]() if len(steps) == 1 else self.short(steps, stop=False)

    def _among(self, value: Value | Known, node: ast.expr, negated: bool) -> Value | Known:
        items: list[Value | Known]
        if isinstance(node, (ast.Tuple, ast.List)):
            items = [self.expression(each) for each in node.elts]
        else:
            known = self.expression(node)
            if not isinstance(known, Known):
                self.refuse("`in` looks into constants or a tuple written there")
            items = [Known(each) for each in known.value]
        found: Value | Known = Known(False)
        for each in items:
            same = self.compare(ast.Eq(), value, each)
            found = same if found == Known(False) else self.binary(ast.BitOr(), found, same)
        return self.unary(ast.Not(), found) if negated else found

    def on_BoolOp(self, node: ast.BoolOp) -> Value | Known:
        return self.short([partial(self.expression, each) for each in node.values], isinstance(node.op, ast.Or))

    def short(self, steps: Sequence[Callable[[], Value | Known]], stop: bool, truth: bool = False) -> Value | Known:
        """`or` (stop at True) and `and` (at False) of bools; with `truth`, of whatever is true or false."""
        end, word = self.block("end"), "true" if stop else "false"
        ways: list[tuple[str, Block]] = []
        for number, step in enumerate(steps):
            found = step()
            if isinstance(found, Known) and isinstance(found.value, (bool, np.bool_)):
                if bool(found.value) != stop and number < len(steps) - 1:
                    continue  # says nothing
                if bool(found.value) == stop and not ways:
                    return found
            value = self.value(found)
            if value.kind != BOOL and not truth:
                self.refuse("`and`, `or` and chains give bools only")
            condition = self.truth(value)
            if number == len(steps) - 1:
                if not ways:
                    return Value(BOOL, (condition,))
                ways.append((condition, self.here))
                self.jump(end)
            else:
                ways.append((word, self.here))
                more = self.block("more")
                self.branch(condition, *((end, more) if stop else (more, end)))
                self.start(more)
        self.start(end)
        return Value(BOOL, (self.phi("i1", *ways),))

    def condition(self, node: ast.expr) -> Value | Known:
        """Whether an expression is true, as `if` asks."""
        if isinstance(node, ast.BoolOp):
            steps = [partial(self.condition, each) for each in node.values]
            return self.short(steps, isinstance(node.op, ast.Or), truth=True)
        found = self.expression(node)
        return Known(bool(found.value)) if isinstance(found, Known) else Value(BOOL, (self.truth(found),))

    def on_IfExp(self, node: ast.IfExp) -> Value | Known:
        condition = self.condition(node.test)
        if isinstance(condition, Known):
            return self.expression(node.body if condition.value else node.orelse)
        yes, no, end = self.block("yes"), self.block("no"), self.block("end")
        self.branch(condition.parts[0], yes, no)
        self.start(yes)
        first = self.expression(node.body)
        yes = self.here
        self.start(no)
        second = self.expression(node.orelse)
        kind: Kind = self.value(second).kind
        if isinstance(kind, Scalar):
            kind = self.common(first, second)
            other = self.convert(second, kind)
        else:
            other = self.value(second)
        no = self.here
        self.jump(end)
        self.here = yes
        one = self.convert(first, kind)
        self.jump(end)
        self.start(end)
        ways = zip(kind.parts, one.parts, other.parts)
        return Value(kind, tuple(self.phi(part, (a, yes), (b, no)) for part, a, b in ways))

    # ---- calls ----

    def on_Call(self, node: ast.Call) -> Value | Known:
        if node.keywords or any(isinstance(each, ast.Starred) for each in node.args):
            self.refuse("arguments by name, and lists of them")
        if isinstance(node.func, ast.Attribute) and node.func.attr == "bit_count":
            number = self.absolute(self.expression(node.func.value))
            operand = self.value(number).parts[0]
            return Value(INT, (self.let(f"call i64 @llvm.ctpop.i64(i64 {operand})"),))
        target = self.expression(node.func)
        function = target.value if isinstance(target, Known) else self.refuse("a call of what is no function")
        given = [self.expression(each) for each in node.args]
        self.line = node.lineno
        return self.call(getattr(function, "function", function), given)

    def call(self, function: Any, given: list[Value | Known]) -> Value | Known:
        if isinstance(function, Operation):
            return function.emit(self, given)
        if function in (min, max):
            return self.extreme(function, given)
        if function is abs:
            return self.absolute(*given)
        if function in _CASTS:
            return self.cast(function, *given)
        if function is len:
            (array,) = given
            return Known(len(array.value)) if isinstance(array, Known) else Value(INT, (self.sizes(array)[0],))
        if function in (np.zeros, np.empty):
            return self._room(function is np.zeros, *given)
        if not isinstance(function, types.FunctionType):
            self.refuse(f"no call of {getattr(function, '__name__', function)}")
        return self.invoke(function, [self.value(each) for each in given])

    def _room(self, zero: bool, shape: Value | Known, dtype: Value | Known) -> Value:
        if not isinstance(shape, Known) or not isinstance(dtype, Known):
            self.refuse("an array of a size that is not constant")
        sizes = shape.value if isinstance(shape.value, tuple) else (shape.value,)
        array = self.room(np.dtype(dtype.value), tuple(int(size) for size in sizes))
        if zero:
            self.cleared(array)
        return array

    def invoke(self, function: types.FunctionType, given: list[Value]) -> Value:
        """Call another function of the language; it is compiled for the kinds given here."""
        defaults = function.__defaults__ or ()
        missing = function.__code__.co_argcount - len(given)
        if not 0 <= missing <= len(defaults):
            self.refuse(f"{function.__name__} takes {function.__code__.co_argcount} arguments")
        given = given + [self.value(Known(each)) for each in defaults[len(defaults) - missing :]]
        name, kind = self.unit.function(function, tuple(value.kind for value in given))
        arguments = ", ".join(
            f"{part} {operand}" for value in given for part, operand in zip(value.kind.parts, value.parts)
        )
        if not kind.parts:
            self.do(f"call void @{name}({arguments})")
            return Value(kind, ())
        result = self.let(f"call {result_type(kind)} @{name}({arguments})")
        if len(kind.parts) == 1:
            return Value(kind, (result,))
        parts = range(len(kind.parts))
        return Value(kind, tuple(self.let(f"extractvalue {result_type(kind)} {result}, {n}") for n in parts))


def result_type(kind: Kind) -> str:
    """The LLVM type of a function's result."""
    parts = kind.parts
    return "void" if not parts else parts[0] if len(parts) == 1 else "{ " + ", ".join(parts) + " }"
