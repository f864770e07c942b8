"""Defects for Python code: every function of a file with one operator, number, condition or statement changed."""

from __future__ import annotations

import ast
import copy
import importlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from types import CodeType, FunctionType
from typing import Any

from ptxsim.jit.translator import functions_of

OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.FloorDiv: ast.Mult, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.BitXor: ast.BitOr, ast.Mod: ast.Add,
}  # fmt: skip
RELATIONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.In: ast.NotIn,
    ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
# Words of LLVM IR, in text that is printed.
WORDS = {
    "add": "sub", "sub": "add", "mul": "add", "and": "or", "or": "and", "xor": "or", "shl": "lshr", "lshr": "shl", "ashr": "lshr",
    "eq": "ne", "ne": "eq", "ult": "ule", "ule": "ult", "ugt": "uge", "uge": "ugt", "slt": "sle", "sge": "sgt", "zext": "sext",
    "sext": "zext", "true": "false", "false": "true", "sitofp": "uitofp", "uitofp": "sitofp", "umin": "umax", "umax": "umin",
}  # fmt: skip
WORD = re.compile(r"(?<![\w.%@])(?:" + "|".join(WORDS) + r")(?![\w.=:])")
LAST_TWO = {"where"}  # calls whose second and third argument are alike


@dataclass(frozen=True)
class Defect:
    """`changed` takes the place of the function with this dotted name in the module; `shown` is the changed code, `text` its line as
    it was, `statement` the line where the statement begins that has it."""

    module: str
    function: str
    line: int
    statement: int
    text: str
    kind: str
    shown: str
    changed: ast.FunctionDef

    @property
    def name(self) -> str:
        """What stays the same while other lines change."""
        return f"{self.module.rpartition('.')[2]}.{self.function}: {self.kind}: {self.shown} in {self.text}"

    def __str__(self) -> str:
        return f"{self.name} (line {self.line})"

    def install(self) -> None:
        """Put it in, for good: into what Python calls, and into what bodies are translated from."""
        function = function_of(self.module, self.function)
        first, file = function.__code__.co_firstlineno, function.__code__.co_filename
        function.__code__ = compiled(self.changed, self.function, function.__code__)
        if (trees := functions_of(file) if file.endswith(".py") else {}).get(first) is not None:
            trees[first] = self.changed


def function_of(module: str, name: str) -> FunctionType:
    """The function with a dotted name in a module, whatever decorates it."""
    found: Any = importlib.import_module(module)
    for each in name.split("."):
        found = vars(found)[each] if isinstance(found, type) else getattr(found, each)
    found = getattr(found, "fget", None) or (found.func if isinstance(found, cached_property) else found)
    while hasattr(found, "__wrapped__"):
        found = found.__wrapped__
    assert isinstance(found, FunctionType), name
    return found


def defects(module: str, source: str) -> Iterator[Defect]:
    """Every defect of a module's functions, in the order of the text."""
    tree, lines = ast.parse(source), source.splitlines()
    for name, function in functions(tree):
        for node, statement in _places(function):
            for kind, new in _changes(node):
                shown = ast.unparse(node if kind == "statement dropped" else new).partition("\n")[0][:100]
                changed = _replaced(function, node, new)
                if _is_python(changed):
                    text = lines[node.lineno - 1].strip()
                    yield Defect(module, name, node.lineno, statement, text, kind, shown, changed)


def functions(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef]]:
    """Functions of a module and methods of its classes, with their dotted names."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from ((f"{node.name}.{each.name}", each) for each in node.body if isinstance(each, ast.FunctionDef))


def _places(function: ast.FunctionDef) -> Iterator[tuple[Any, int]]:
    """Expressions and statements of a body, each with the line of its statement; but for what only makes messages, guards against
    a caller's mistake, names types or is documentation."""
    waiting: list[tuple[ast.AST, int]] = [(node, node.lineno) for node in _statements(function)[::-1]]
    while waiting:
        node, statement = waiting.pop()
        if isinstance(node, ast.Raise | ast.Assert) or (isinstance(node, ast.keyword) and node.arg == "strict"):
            continue
        if isinstance(node, ast.stmt):
            statement = node.lineno
        if isinstance(node, ast.FunctionDef):
            waiting += [(child, statement) for child in _statements(node)[::-1]]
            continue
        yield node, statement
        annotation = node.annotation if isinstance(node, ast.AnnAssign) else None
        waiting += [(child, statement) for child in ast.iter_child_nodes(node) if child is not annotation][::-1]


def _statements(function: ast.FunctionDef) -> list[ast.stmt]:
    return function.body[ast.get_docstring(function) is not None :]


def _changes(node: Any) -> Iterator[tuple[str, ast.AST]]:
    """Kinds of defects and what takes the place of a node."""

    def changed(change: Callable[[Any], object]) -> ast.AST:
        new: ast.AST = copy.deepcopy(node)
        change(new)
        return new

    match node:
        case ast.BinOp(left=left, op=op, right=right):
            if other := OPERATORS.get(type(op)):
                yield "operator", changed(lambda new: setattr(new, "op", other()))
            if isinstance(op, ast.Sub | ast.LShift | ast.RShift):
                yield "operands swapped", ast.BinOp(right, op, left)
            if isinstance(op, ast.BitAnd | ast.BitOr):
                yield "operand dropped", left
                yield "operand dropped", right
        case ast.Compare(ops=[op]):
            yield "comparison", changed(lambda new: setattr(new, "ops", [RELATIONS[type(op)]()]))
        case ast.Constant(value=bool(value)):
            yield "constant", ast.Constant(not value)
        case ast.Constant(value=int(value)):
            yield "constant", ast.Constant(value + 1)
        case ast.Constant(value=str(text)):
            for found in WORD.finditer(text):
                yield "word of IR", ast.Constant(text[: found.start()] + WORDS[found[0]] + text[found.end() :])
        case ast.UnaryOp(op=ast.Invert() | ast.Not(), operand=operand):
            yield "inversion dropped", operand
        case ast.If() | ast.IfExp():
            yield "condition", changed(lambda new: setattr(new, "test", ast.UnaryOp(ast.Not(), new.test)))
        case ast.Call(func=ast.Attribute(attr=name), args=[first, a, b]) if name in LAST_TWO:
            yield "operands swapped", changed(lambda new: setattr(new, "args", [first, b, a]))
        case ast.Expr(value=ast.Call()) | ast.AugAssign() | ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield "statement dropped", ast.Expr(ast.Constant(None))


def _replaced(function: ast.FunctionDef, old: ast.AST, new: ast.AST) -> ast.FunctionDef:
    """A copy of a function that has another node in a node's place."""
    memo = {id(old): ast.copy_location(copy.deepcopy(new), old)}
    return ast.fix_missing_locations(copy.deepcopy(function, memo))


def _is_python(function: ast.FunctionDef) -> bool:
    try:
        compiled(function, "f")
    except (SyntaxError, ValueError, TypeError):
        return False
    return True


def compiled(function: ast.FunctionDef, name: str, place: CodeType | None = None) -> CodeType:
    """The code of a function, with the place of another code; `name` tells whether it is a method, which may name its class."""
    plain = copy.copy(function)
    plain.decorator_list = []
    if place is not None and "__class__" in place.co_freevars:  # also where `super()` is not called any more
        plain.body = [*function.body, *ast.parse("if False: __class__").body]
    outer: ast.stmt = plain
    if "." in name:
        outer = ast.copy_location(ast.ClassDef(name.partition(".")[0], [], [], [plain], []), function)
    code = compile(ast.Module([outer], []), "<defect>", "exec")
    for _ in name.split("."):
        code = next(each for each in code.co_consts if isinstance(each, CodeType))
    return code.replace(co_firstlineno=place.co_firstlineno, co_filename=place.co_filename) if place else code
