"""Static rules of declarations and directives. PTX ISA, "State Spaces, Types, and Variables", "Directives"."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ptxsim.diagnostic import Finding
from ptxsim.syntax import ast
from ptxsim.types import TYPES, Version

# First .version of a register type, and of a pragma by its first word.
REGISTER_SINCE: dict[str, Version] = {"b128": (8, 3)}
PRAGMA_SINCE: dict[str, Version] = {"used_bytes_mask": (8, 3)}
VECTOR_BITS = 128


def problems(statements: Iterable[ast.Node], version: Version) -> Iterator[Finding]:
    """What is wrong with the declarations and directives of a body, inner scopes included."""
    for statement in statements:
        if isinstance(statement, ast.Block):
            yield from problems(statement.statements, version)
        elif found := problem(statement, version):
            yield found


def problem(statement: ast.Node, version: Version) -> Finding | None:
    """What is wrong with a variable or a directive in a function body, or nothing."""
    text = name = None
    if isinstance(statement, ast.Directive) and statement.name == "pragma":
        words = " ".join(statement.arguments).strip('"').split()
        since = PRAGMA_SINCE.get(words[0]) if words else None
        if since and version < since:
            name, text = "wrong-version", f".pragma {words[0]} needs .version {since[0]}.{since[1]}"
    elif isinstance(statement, ast.Variable):
        name, text = _variable_problem(statement, version)
    if text is None:
        return None
    return Finding(name, text, statement.line, statement.column)


def _variable_problem(variable: ast.Variable, version: Version) -> tuple[str, str | None]:
    since = REGISTER_SINCE.get(variable.type) if variable.space == "reg" else None
    if since and version < since:
        return "wrong-version", f".{variable.type} registers need .version {since[0]}.{since[1]}"
    name, text = variable.name.partition("$")[0], None
    if variable.vector > 1 and variable.vector * TYPES[variable.type].bits > VECTOR_BITS:
        text = f"{name}: .v{variable.vector} .{variable.type} has more than {VECTOR_BITS} bits"
    elif variable.type == "pred" and (variable.space != "reg" or variable.vector > 1):
        text = f"{name}: predicates are single registers"
    elif variable.space == "reg" and variable.shape:
        text = f"{name}: registers are no arrays; {name}<n> declares n of them"
    elif variable.align is not None and (variable.align < 1 or variable.align & (variable.align - 1)):
        text = f"{name}: the alignment {variable.align} is no power of two"
    elif variable.initializer is not None and variable.space not in ("global", "const"):
        text = f"{name}: no initial value in .{variable.space}, only in .global and .const"
    return "illegal-form", text
