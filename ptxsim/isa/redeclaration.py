"""Several declarations of one name in a module, and names that are left without a definition.

PTX ISA, "Linking Directives", "Kernel and Function Directives: .func".
"""

from __future__ import annotations

from collections.abc import Iterator

from ptxsim.diagnostic import Finding, Label
from ptxsim.isa.variable_layout import align_of
from ptxsim.syntax import ast


def problems(module: ast.Module) -> Iterator[Finding]:
    """Later declarations that do not agree with earlier ones, and functions that nothing defines."""
    seen: dict[str, ast.Variable | ast.Function] = {}
    for item in module.items:
        if not isinstance(item, ast.Variable | ast.Function):
            continue
        first = seen.get(item.name)
        if first is not None and (text := _conflict(first, item)):
            label = Label(first.line, "declared here", first.column, len(item.name))
            yield Finding(
                "illegal-form", f"{item.name} {text}", item.line, item.column, len(item.name), labels=(label,)
            )
        if first is None or _defines(item):
            seen[item.name] = item
    aliases = {item.name for item in module.items if isinstance(item, ast.Alias)}
    for name, item in seen.items():
        if (
            isinstance(item, ast.Function)
            and not _defines(item)
            and "extern" not in item.linkage
            and name not in aliases
        ):
            yield Finding(
                "undeclared-name", f"nothing defines {name}, which is declared here", item.line, item.column, len(name),
                help="give it a body; if another file has it, declare it .extern",
            )  # fmt: skip


def _defines(item: ast.Variable | ast.Function) -> bool:
    return item.body is not None if isinstance(item, ast.Function) else "extern" not in item.linkage


def _conflict(first: ast.Variable | ast.Function, second: ast.Variable | ast.Function) -> str | None:
    if isinstance(first, ast.Function) and isinstance(second, ast.Function):
        return _function_conflict(first, second)
    if isinstance(first, ast.Variable) and isinstance(second, ast.Variable):
        return _variable_conflict(first, second)
    return "is a function and a variable"


def _function_conflict(first: ast.Function, second: ast.Function) -> str | None:
    if first.is_entry != second.is_entry:
        return "is a kernel and a function"
    if first.body is not None:
        return "is declared again after its definition"
    if second.body is not None and "extern" in first.linkage:
        return "is declared .extern, so no definition may follow in the same file"
    if first.linkage != second.linkage and (second.linkage or "extern" in first.linkage):
        return f"is declared {_words(first.linkage)} and then {_words(second.linkage)}"
    if what := differing(first, second):
        return f"has other {what} than in its earlier declaration"
    return None


def differing(one: ast.Function, other: ast.Function) -> str | None:
    """Whether the results or the parameters of two functions differ, apart from their names, or whether they return."""
    for what, variables in (
        ("results", (one.returns, other.returns)),
        ("parameters", (one.parameters, other.parameters)),
    ):
        if len({tuple(map(_signature, each)) for each in variables}) > 1:
            return what
    return "ways to end (.noreturn)" if _returns(one) != _returns(other) else None


def _words(linkage: tuple[str, ...]) -> str:
    return " ".join(f".{word}" for word in linkage) or "without .visible"


def _signature(parameter: ast.Variable) -> tuple[object, ...]:
    return parameter.space, parameter.type, parameter.vector, parameter.shape, align_of(parameter)


def _returns(function: ast.Function) -> bool:
    return all(directive.name != "noreturn" for directive in function.directives)


def _variable_conflict(first: ast.Variable, second: ast.Variable) -> str | None:
    if "extern" in first.linkage and not second.linkage:
        return "is declared .extern, so its definition must be .visible, .weak or .common"
    if (first.type, first.vector) != (second.type, second.vector) or not _same_shape(first.shape, second.shape):
        return "has another type than in its earlier declaration"
    return None


def _same_shape(one: tuple[int | None, ...], other: tuple[int | None, ...]) -> bool:
    """An array may leave its first extent to its other declaration."""
    return len(one) == len(other) and one[1:] == other[1:] and (one == other or None in (one[0], other[0]))
