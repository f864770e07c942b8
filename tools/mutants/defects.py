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
    """`code` replaces that of the function with this dotted name in the module; `shown` is the changed code, `text` its line as it was."""

    module: str
    function: str
    line: int
    text: str
    kind: str
    shown: str
    code: CodeType

    @property
    def name(self) -> str:
        """What stays the same while other lines change."""
        return f"{self.module.rpartition('.')[2]}.{self.function}: {self.kind}: {self.shown} in {self.text}"

    def __str__(self) -> str:
        return f"{self.name} (line {self.line})"

    def install(self) -> None:
        """Put it in, for good. Raises ValueError where the function would need other variables of what is around it."""
        found: Any = importlib.import_module(self.module)
        for name in self.function.split("."):
            found = vars(found)[name] if isinstance(found, type) else getattr(found, name)
        found = getattr(found, "fget", None) or (found.func if isinstance(found, cached_property) else found)
        while hasattr(found, "__wrapped__"):
            found = found.__wrapped__
        assert isinstance(found, FunctionType), self
        found.__code__ = self.code


def defects(module: str, source: str) -> Iterator[Defect]:
    """Every defect of a module's functions, in the order of the text."""
    tree, lines = ast.parse(source), source.splitlines()
    for name, function in _functions(tree):
        for node in _places(function):
            for kind, changed in _changes(node):
                shown = ast.unparse(node if kind == "statement dropped" else changed).partition("\n")[0][:100]
                code = _compiled(function, node, changed)
                if code is not None:
                    yield Defect(module, name, node.lineno, lines[node.lineno - 1].strip(), kind, shown, code)


def _functions(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef]]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from ((f"{node.name}.{each.name}", each) for each in node.body if isinstance(each, ast.FunctionDef))


def _places(function: ast.FunctionDef) -> Iterator[Any]:
    """Expressions and statements of a body, but for what only makes messages, names types or is documentation."""
    waiting: list[ast.AST] = [*function.body[ast.get_docstring(function) is not None :][::-1]]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Raise | ast.Assert | ast.FunctionDef):
            continue
        yield node
        annotation = node.annotation if isinstance(node, ast.AnnAssign) else None
        waiting += [child for child in ast.iter_child_nodes(node) if child is not annotation][::-1]


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


def _compiled(function: ast.FunctionDef, old: ast.AST, new: ast.AST) -> CodeType | None:
    """The code of a function with a node replaced; None where the result is no Python."""
    memo = {id(old): ast.copy_location(copy.deepcopy(new), old)}  # a copy that has this in the node's place
    changed = copy.deepcopy(function, memo)
    changed.decorator_list = []
    try:
        code = compile(ast.fix_missing_locations(ast.Module([changed], [])), "<defect>", "exec")
    except (SyntaxError, ValueError, TypeError):
        return None
    return next(each for each in code.co_consts if isinstance(each, CodeType) and each.co_name == function.name)
