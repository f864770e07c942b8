"""Flat bodies of a module's functions, and which functions a kernel can reach."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from ptxsim.syntax import ast
from ptxsim.syntax.flatten import flatten
from ptxsim.syntax.scope import FlatBody


def referenced(statements: Iterable[object]) -> list[str]:
    """Every name that the operands of statements mention, once."""
    found: dict[str, None] = {}
    stack: list[Any] = [operand for s in statements if isinstance(s, ast.Instruction) for operand in s.operands]
    while stack:
        operand = stack.pop()
        if type(operand) is ast.Name:
            found[operand.name] = None
            continue
        match operand:
            case ast.Offset(base, _) | ast.Element(base, _):
                stack.append(base)
            case ast.Address(base, _, extra):
                stack.extend([base, *extra])
            case ast.Vector(elements) | ast.Group(elements):
                stack.extend(elements)
            case ast.Not(inner) | ast.Negative(inner):
                stack.append(inner)
            case ast.Pair(first, second):
                stack.extend([first, second])
    return list(found)


class Bodies:
    """Flat bodies of a module's functions, made once; and which functions a kernel can reach."""

    def __init__(self, module: ast.Module):
        self.module = module
        self.functions = {f.name: f for f in module.functions() if f.body is not None}
        self.declared = {f.name: f for f in module.functions()}
        for item in module.items:
            if isinstance(item, ast.Alias) and item.target in self.functions:
                self.functions[item.name] = self.functions[item.target]
        self._flat: dict[str, FlatBody] = {}
        self._referenced: dict[str, list[str]] = {}

    def flat(self, function: ast.Function) -> FlatBody:
        if function.name not in self._flat:
            self._flat[function.name] = flatten(function, self.module)
        return self._flat[function.name]

    def referenced(self, function: ast.Function) -> list[str]:
        """Every name the operands of a function mention."""
        if function.name not in self._referenced:
            self._referenced[function.name] = referenced(self.flat(function).statements)
        return self._referenced[function.name]

    def reachable(self, kernel: ast.Function) -> list[ast.Function]:
        """The kernel and every function it mentions, directly or through others or through tables in memory.

        In the same order in every process: what one remembers of a program another one uses.
        """
        found, queue = {kernel.name: kernel}, [kernel]
        queue_names = self._in_tables()
        while queue or queue_names:
            if queue:
                function = queue.pop()
                queue_names.extend(self.referenced(function))
                for table in self.flat(function).targets.values():
                    queue_names.extend(table.names)
            while queue_names:
                called = self.functions.get(queue_names.pop())
                if called is not None and called.name not in found and not called.is_entry:
                    found[called.name] = called
                    queue.append(called)
        return list(found.values())

    def _in_tables(self) -> list[str]:
        """What initialisers of variables mention."""
        tables = (_names_in(item.initializer) for item in self.module.items if isinstance(item, ast.Variable))
        return list(dict.fromkeys(chain.from_iterable(tables)))

    def by_address(self, functions: Iterable[ast.Function]) -> set[str]:
        """What these functions may call by address: names in tables, and in other instructions than calls."""
        found = set(self._in_tables())
        for function in functions:
            body = self.flat(function)
            found.update(referenced(s for s in body.statements if getattr(s, "mnemonic", "call") != "call"))
            found.update(chain.from_iterable(table.names for table in body.targets.values()))
        return found


def _names_in(value: object) -> Iterator[str]:
    if isinstance(value, tuple):
        for item in value:
            yield from _names_in(item)
    elif isinstance(value, ast.Name):
        yield value.name
    elif isinstance(value, ast.Offset | ast.MaskedAddress):
        yield from _names_in(value.base if isinstance(value, ast.Offset) else value.operand)
