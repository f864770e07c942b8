"""From a function's source to LLVM IR: statements and functions."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Callable
from functools import cache
from typing import Any, NoReturn

from ptxsim.jit.arithmetic import Untranslatable
from ptxsim.jit.expressions import Expressions, Unit, result_type
from ptxsim.jit.function_text import Block
from ptxsim.jit.kinds import INT, Array, Kind, Known, Record, Scalar, Several, Struct, Value
from ptxsim.jit.memory import Spot

NOTHING = Several(())
SMALL = 40  # lines of a function's IR up to which a call of it takes as long as what it does


@cache
def functions_of(file: str) -> dict[int, ast.FunctionDef]:
    """The functions of a file by their first lines, decorators counted: what `__code__.co_firstlineno` says."""
    found, open_ = [], list[ast.stmt](ast.parse("".join(linecache.getlines(file))).body)
    while open_:  # statements alone: to visit every expression takes ten times as long
        node = open_.pop()
        open_ += [*getattr(node, "body", ()), *getattr(node, "orelse", ())]
        if isinstance(node, ast.FunctionDef):
            found.append(node)
    return {min([node.lineno, *(each.lineno for each in node.decorator_list)]): node for node in found}


@cache
def assigned_in(function: ast.FunctionDef) -> frozenset[str]:
    """Names that the statements of a function give values to; no expression of a body does."""
    found, open_ = set[str](), list[ast.AST](function.body)
    while open_:
        node = open_.pop()
        open_ += [*getattr(node, "body", ()), *getattr(node, "orelse", ())]
        targets = [*getattr(node, "targets", ()), *([node.target] if hasattr(node, "target") else ())]
        names = (each for target in targets for each in ast.walk(target) if isinstance(each, ast.Name))
        found.update(each.id for each in names if isinstance(each.ctx, ast.Store))
    return frozenset(found)


def enclosed(function: Callable[..., Any]) -> dict[str, Any]:
    """What a function reads of the functions around it."""
    return {name: cell.cell_contents for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ())}


class Translator(Expressions):
    """Writes one function for arguments of given kinds."""

    def __init__(self, unit: Unit, function: Callable[..., Any], kinds: tuple[Kind, ...]):
        super().__init__(unit, {**function.__globals__, **enclosed(function)})
        self.file = function.__code__.co_filename
        tree = functions_of(self.file)[function.__code__.co_firstlineno]
        arguments = tree.args
        if arguments.vararg or arguments.kwarg or arguments.kwonlyargs:
            self.refuse("arguments by name, and lists of them")
        self.tree, self.names = tree, [each.arg for each in (*arguments.posonlyargs, *arguments.args)]
        self.assigned = assigned_in(tree)
        self.kinds = kinds
        self.result: Kind | None = None
        self.loops: list[tuple[Block, Block]] = []  # where continue and break lead
        self.lists: set[str] = set()  # names of arrays on the stack

    def place(self) -> str:
        return f"{self.file}:{self.line}"

    def refuse(self, what: str) -> NoReturn:
        raise Untranslatable(f"{self.place()}: {what}")

    def write(self, name: str) -> str:
        """The function's text."""
        self.line = self.tree.lineno
        if len(self.kinds) != len(self.names):
            self.refuse(f"{len(self.names)} arguments are expected, not {len(self.kinds)}")
        head, place = [], 0
        for argument, kind in zip(self.names, self.kinds):
            operands = tuple(f"%a{place + n}" for n in range(len(kind.parts)))
            head += [f"{part} {operand}" for part, operand in zip(kind.parts, operands)]
            place += len(operands)
            if argument in self.assigned:
                variable = self.variables[argument] = self.variable(kind)
                self.put(variable, Value(kind, operands))
            else:
                self.arguments[argument] = Value(kind, operands)
        self.block_of(self.tree.body)
        if not self.here.closed:
            if self.result not in (None, NOTHING):
                self.refuse("the function ends without a result")
            self.end("ret void")
        self.result = self.result or NOTHING
        inlined = " alwaysinline" if self.is_small() else ""
        return self.text(f"internal {result_type(self.result)} @{name}({', '.join(head)}) #0{inlined}")

    def is_small(self) -> bool:
        """Whether a function is short and calls none."""
        lines = [*self.slots, *(line for block in self.blocks for line in block.lines)]
        return len(lines) < SMALL and not any(" call " in line and "@llvm." not in line for line in lines)

    # ---- statements ----

    def block_of(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            if self.here.closed:  # nothing comes here
                return
            self.line = statement.lineno
            handler = getattr(self, f"do_{type(statement).__name__}", None)
            if handler is None:
                self.refuse(f"no {type(statement).__name__} in a body")
            handler(statement)

    def do_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):
            self.expression(node.value)

    def do_Pass(self, node: ast.Pass) -> None:
        pass

    def do_Assign(self, node: ast.Assign) -> None:
        if len(node.targets) == 1 and isinstance(node.targets[0], ast.Tuple) and isinstance(node.value, ast.Tuple):
            items = [self.expression(each) for each in node.value.elts]
            self._unpack(node.targets[0], items)
            return
        value = self.expression(node.value)
        if isinstance(node.value, ast.Name) and node.value.id in self.lists:
            self.refuse("a list has one name")
        if isinstance(node.value, (ast.List, ast.BinOp, ast.Call)) and isinstance(value, Value):
            if isinstance(value.kind, Array):
                self.lists |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        for target in node.targets:
            self.assign(target, value)

    def do_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.assign(node.target, self.expression(node.value))

    def assign(self, target: ast.expr, value: Value | Known) -> None:
        if isinstance(target, ast.Name):
            name = target.id
            if name not in self.variables:
                self.variables[name] = self.variable(self.value(value).kind)
            self.put(self.variables[name], value)
        elif isinstance(target, ast.Tuple):
            if isinstance(value, Known):
                items: list[Value | Known] = [Known(each) for each in value.value]
            elif isinstance(value.kind, (Several, Struct)):
                items = [*self.members(value)]
            else:
                self.refuse(f"{value.kind.name} is not unpacked")
            self._unpack(target, items)
        else:
            self._write(self.target(target), value)

    def _unpack(self, target: ast.Tuple, items: list[Value | Known]) -> None:
        if len(items) != len(target.elts):
            self.refuse(f"{len(items)} values for {len(target.elts)} names")
        for each, item in zip(target.elts, items):
            self.assign(each, item)

    def target(self, node: ast.expr) -> Spot | Value:
        """Where an assignment to an element or a field writes."""
        if not isinstance(node, (ast.Subscript, ast.Attribute)):
            self.refuse(f"no assignment to {type(node).__name__}")
        base = self.expression(node.value)
        if isinstance(base, Known):
            self.refuse("constants do not change")
        return self.field(base, node.attr) if isinstance(node, ast.Attribute) else self.part(base, node.slice)

    def _write(self, place: Spot | Value, value: Value | Known) -> None:
        if isinstance(place, Spot):
            self.store(place, value)
        elif isinstance(value, Value) and isinstance(value.kind, (Array, Record)):
            self.copy(place, value)
        else:
            self.refuse("a whole row takes another row")

    def do_AugAssign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):
            changed = self.binary(node.op, self.on_Name(node.target), self.expression(node.value))
            self.put(self.variables[node.target.id], changed)
            return
        place = self.target(node.target)
        if not isinstance(place, Spot):
            self.refuse("arithmetic on rows")
        self.store(place, self.binary(node.op, self.load(place), self.expression(node.value)))

    def do_Return(self, node: ast.Return) -> None:
        value = Value(NOTHING, ()) if node.value is None else self.value(self._result(node.value))
        if self.result is None:
            self.result = value.kind
        if isinstance(self.result, Scalar):
            value = self.convert(value, self.result)
        elif value.kind != self.result:
            if not isinstance(value.kind, Several) or not isinstance(self.result, Several):
                self.refuse("results of different kinds")
            items = self.members(value)
            if len(items) != len(self.result.kinds):
                self.refuse("results of different kinds")
            whole = [self.convert(item, kind) for item, kind in zip(items, self.result.kinds)]
            value = Value(self.result, tuple(part for each in whole for part in each.parts))
        if any(not isinstance(kind, Scalar) for kind in getattr(self.result, "kinds", (self.result,))):
            self.refuse("results are numbers")
        if len(value.parts) < 2:
            self.end(f"ret {result_type(self.result)} {''.join(value.parts)}".rstrip())
            return
        whole_text, kind_text = "undef", result_type(self.result)
        for number, (part, operand) in enumerate(zip(value.kind.parts, value.parts)):
            whole_text = self.let(f"insertvalue {kind_text} {whole_text}, {part} {operand}, {number}")
        self.end(f"ret {kind_text} {whole_text}")

    def _result(self, node: ast.expr) -> Value | Known:
        found = self.expression(node)
        if isinstance(found, Known) and isinstance(found.value, tuple):
            values = [self.value(Known(each)) for each in found.value]
            parts = tuple(part for value in values for part in value.parts)
            return Value(Several(tuple(value.kind for value in values)), parts)
        return found

    def do_If(self, node: ast.If) -> None:
        condition = self.condition(node.test)
        if isinstance(condition, Known):
            self.block_of(node.body if condition.value else node.orelse)
            return
        yes, no, end = self.block("if"), self.block("else"), self.block("end")
        self.branch(condition.parts[0], yes, no if node.orelse else end)
        self.start(yes)
        self.block_of(node.body)
        self.jump(end)
        if node.orelse:
            self.start(no)
            self.block_of(node.orelse)
            self.jump(end)
        self._after(end)

    def do_While(self, node: ast.While) -> None:
        if node.orelse:
            self.refuse("no else of loops")
        again, body, end = self.block("while"), self.block("do"), self.block("end")
        self.jump(again)
        self.start(again)
        condition = self.condition(node.test)
        if isinstance(condition, Known):
            if not condition.value:
                return
            self.jump(body)
        else:
            self.branch(condition.parts[0], body, end)
        self.start(body)
        self._loop(node.body, again, end)
        self.jump(again)
        self._after(end)

    def _after(self, end: Block) -> None:
        """Go on after an `if` or a loop, unless nothing comes there."""
        self.start(end)
        if not end.reached:
            self.end("unreachable")

    def _loop(self, statements: list[ast.stmt], again: Block, end: Block) -> None:
        self.loops.append((again, end))
        self.block_of(statements)
        self.loops.pop()

    def do_Break(self, node: ast.Break) -> None:
        self.jump(self.loops[-1][1])

    def do_Continue(self, node: ast.Continue) -> None:
        self.jump(self.loops[-1][0])

    def do_For(self, node: ast.For) -> None:
        if node.orelse:
            self.refuse("no else of loops")
        if isinstance(node.iter, (ast.Tuple, ast.List)):
            table = self.on_List(ast.List(node.iter.elts, ast.Load(), lineno=node.lineno, col_offset=0))
            start, stop, step = self.value(Known(0)), self.value(Known(len(node.iter.elts))), self.value(Known(1))
        else:
            table = None
            start, stop, step = self._range(node.iter)
        counter = self.slot("i64")
        again, body, further, end = (self.block(name) for name in ("for", "do", "next", "end"))
        self.do(f"store i64 {start.parts[0]}, ptr {counter}, align 8")
        self.jump(again)
        self.start(again)
        number = self.let(f"load i64, ptr {counter}, align 8")
        inside = self.let(f"icmp slt i64 {number}, {stop.parts[0]}")
        distance = step.parts[0]
        if not distance.isdigit():
            up = self.let(f"icmp sgt i64 {distance}, 0")
            down = self.let(f"icmp sgt i64 {number}, {stop.parts[0]}")
            inside = self.let(f"select i1 {up}, i1 {inside}, i1 {down}")
        self.branch(inside, body, end)
        self.start(body)
        item = Value(INT, (number,))
        self.assign(node.target, item if table is None else self.read(self.index(table, [item])))
        self._loop(node.body, further, end)
        self.jump(further)
        self.start(further)
        now = self.let(f"load i64, ptr {counter}, align 8")
        after = self.let(f"add {'nsw ' if distance in ('1', '-1') else ''}i64 {now}, {distance}")
        self.do(f"store i64 {after}, ptr {counter}, align 8")
        self.jump(again)
        self.start(end)

    def _range(self, node: ast.expr) -> tuple[Value, Value, Value]:
        """Start, stop and step."""
        if not isinstance(node, ast.Call) or self.expression(node.func) != Known(range) or not 1 <= len(node.args) <= 3:
            self.refuse("loops go over range() or over a tuple written there")
        given = [self.convert(self.expression(each), INT) for each in node.args]
        zero, one = self.value(Known(0)), self.value(Known(1))
        return (zero, given[0], one) if len(given) == 1 else (given[0], given[1], given[2] if len(given) == 3 else one)
