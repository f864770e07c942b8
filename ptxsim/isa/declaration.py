"""Static rules of declarations. PTX ISA, "State Spaces, Types, and Variables", "Performance-Tuning Directives: .pragma"."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence

from ptxsim.diagnostic import Finding
from ptxsim.syntax import ast
from ptxsim.types import TYPES, Version

# First .version of a type, and of a pragma by its first word.
TYPE_SINCE: dict[str, Version] = {"b128": (8, 3)}
PRAGMA_SINCE: dict[str, Version] = {
    "used_bytes_mask": (8, 3), "enable_smem_spilling": (8, 7), "frequency": (9, 0), "mma_throughput": (9, 3),
}  # fmt: skip
MASK_SINCE: Version = (7, 1)  # 0xff(name) in an initial value
VECTOR_BITS = 128
MEMORY = ("global", "const", "shared", "local")
OPAQUE = ("texref", "samplerref", "surfref")
WITHOUT_VALUES = ("f16", "f16x2")
# How many numbers an attribute has, and where it may stand.
ATTRIBUTES = {"managed": 0, "unified": 2}

Problem = tuple[str, str]


def problems(statements: Iterable[ast.Node], version: Version, known: Container[str] = ()) -> Iterator[Finding]:
    """What is wrong with the declarations and directives of a body, inner scopes included.

    `known`: names whose addresses may be initial values.
    """
    for statement in statements:
        if isinstance(statement, ast.Block):
            yield from problems(statement.statements, version, known)
            continue
        found = None
        if isinstance(statement, ast.Directive) and statement.name == "pragma":
            found = pragma_problem(statement, version)
        elif isinstance(statement, ast.Variable):
            found = variable_problem(statement, version, known)
            if statement.type in OPAQUE:
                found = (
                    "illegal-form",
                    f"{statement.name}: a .{statement.type} belongs to the module or a kernel's parameters",
                )
        elif isinstance(statement, ast.Prototype):
            found = _prototype_problem(statement)
        if found:
            yield placed(found, statement)


def _prototype_problem(prototype: ast.Prototype) -> Problem | None:
    if prototype.returns and any(directive.name == "noreturn" for directive in prototype.directives):
        return "illegal-form", f"{prototype.name}: a function that does not return has no results"
    return None


def placed(problem: Problem, node: ast.Node) -> Finding:
    return Finding(*problem, node.line, node.column)


def pragma_problem(directive: ast.Directive, version: Version) -> Problem | None:
    """A pragma that the file's version does not know. Others are hints, and unknown ones are ignored."""
    words = " ".join(directive.arguments).strip('"').split()
    since = PRAGMA_SINCE.get(words[0]) if words else None
    if since and version < since:
        return "wrong-version", f".pragma {words[0]} needs .version {since[0]}.{since[1]}"
    return None


def variable_problem(variable: ast.Variable, version: Version, known: Container[str]) -> Problem | None:
    """What is wrong with a variable wherever it is declared, or nothing."""
    since = TYPE_SINCE.get(variable.type)
    if since and version < since:
        return "wrong-version", f".{variable.type} needs .version {since[0]}.{since[1]}"
    text = type_problem(variable) or _size_problem(variable) or _attribute_problem(variable)
    if text is None and variable.initializer is not None:
        if missing := _unknown_name(variable.initializer, known):
            return "undeclared-name", f"nothing declares {missing}, whose address {variable.name} holds"
        if version < MASK_SINCE and _has_mask(variable.initializer):
            return "wrong-version", f"{variable.name}: bytes of addresses need .version {MASK_SINCE[0]}.{MASK_SINCE[1]}"
        text = _value_problem(variable)
    return ("illegal-form", f"{variable.name.partition('$')[0]}: {text}") if text else None


def type_problem(variable: ast.Variable) -> str | None:
    """Types, vectors and alignment."""
    if variable.name == "_" and variable.space == "reg":
        return "the sink needs no declaration"
    if variable.vector not in (1, 2, 4):
        return f"vectors of variables have two or four elements, not {variable.vector}"
    if variable.vector > 1 and variable.vector * TYPES[variable.type].bits > VECTOR_BITS:
        return f".v{variable.vector} .{variable.type} has more than {VECTOR_BITS} bits"
    if variable.type == "pred" and (variable.space != "reg" or variable.vector > 1):
        return "predicates are single registers"
    if variable.space == "reg" and variable.shape:
        return f"registers are no arrays; {variable.name}<n> declares n of them"
    if variable.align is not None and (variable.align < 1 or variable.align & (variable.align - 1)):
        return f"the alignment {variable.align} is no power of two"
    return None


def _size_problem(variable: ast.Variable) -> str | None:
    first, *inner = variable.shape or (1,)
    open_ended = first in (None, 0) and variable.initializer is None and "extern" not in variable.linkage
    if variable.space in MEMORY and (open_ended or None in inner):
        return "the array has no size; only .extern ones and those with initial values may leave their first one out"
    return None


def _attribute_problem(variable: ast.Variable) -> str | None:
    for attribute in variable.attributes:
        word, _, numbers = attribute.partition("(")
        count = len(numbers.split(",")) if numbers else 0
        if word not in ATTRIBUTES:
            return f"no attribute is called .{word}; there are {', '.join(ATTRIBUTES)}"
        if count != ATTRIBUTES[word]:
            return f"the attribute .{word} takes {ATTRIBUTES[word]} numbers, here are {count}"
        if variable.space != "global":
            return f".{word} variables are in .global memory"
    return None


# ---- initial values ---------------------------------------------------------------------------------------------------


def _value_problem(variable: ast.Variable) -> str | None:
    if variable.space not in ("global", "const"):
        return f"no initial value in .{variable.space}, only in .global and .const"
    if "extern" in variable.linkage:
        return "no initial value for an .extern variable; another file defines it"
    if variable.type in WITHOUT_VALUES:
        return f"no initial value of type .{variable.type}; declare it as .b{TYPES[variable.type].bits}"
    if variable.type in OPAQUE:
        return None
    sizes = [*variable.shape, *([variable.vector] if variable.vector > 1 else [])]
    return _nesting_problem(variable.initializer, sizes) or _element_problem(variable.initializer, variable.type)


def _nesting_problem(value: object, sizes: Sequence[int | None]) -> str | None:
    """Braces as deep as the array has dimensions, with no more values than fit."""
    if not sizes:
        return "braces hold the initial values of arrays and vectors" if isinstance(value, tuple) else None
    if not isinstance(value, tuple):
        return "the initial values of an array or a vector stand in braces"
    if sizes[0] and len(value) > sizes[0]:
        return f"{len(value)} initial values in braces for {sizes[0]}"
    return next(filter(None, (_nesting_problem(one, sizes[1:]) for one in value)), None)


def _element_problem(value: object, type_name: str) -> str | None:
    match value:
        case tuple():
            return next(filter(None, (_element_problem(one, type_name) for one in value)), None)
        case ast.Integer() if TYPES[type_name].is_float:
            return f"the initial value {value.value} of a .{type_name} is an integer; write {value.value}.0"
        case ast.MaskedAddress(_, mask) if mask is not None and TYPES[type_name].bits == 16:
            return "a byte of an address is the initial value of a .b8, .u8 or .s8"
        case ast.Offset(_, offset) if offset < 0:
            return "the offset of an address in an initial value is not negative"
    return None


def _has_mask(value: object) -> bool:
    if isinstance(value, tuple):
        return any(map(_has_mask, value))
    return isinstance(value, ast.MaskedAddress) and value.mask is not None


def _unknown_name(value: object, known: Container[str]) -> str | None:
    """A name in an initial value that nothing declares."""
    match value:
        case tuple():
            return next(filter(None, (_unknown_name(one, known) for one in value)), None)
        case ast.Name(name):
            return None if name in known else name
        case ast.Offset(base, _) | ast.MaskedAddress(base, _):
            return _unknown_name(base, known)
    return None
