"""Static rules of declarations. PTX ISA, "State Spaces, Types, and Variables", "Performance-Tuning Directives: .pragma"."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from ptxsim.diagnostic import Finding
from ptxsim.isa.availability import remedies
from ptxsim.syntax import ast
from ptxsim.types import TYPES, Version

# First .version of a type, and of a pragma by its first word.
TYPE_SINCE: dict[str, Version] = {"b128": (8, 3)}
PRAGMA_SINCE: dict[str, Version] = {
    "used_bytes_mask": (8, 3), "enable_smem_spilling": (8, 7), "frequency": (9, 0), "mma_throughput": (9, 3),
}  # fmt: skip
MASK_SINCE: Version = (7, 1)  # 0xff(name) in an initial value
VECTOR_BITS = 128
PASSED_ALIGNMENT = 128
MEMORY = ("global", "const", "shared", "local")
OPAQUE = ("texref", "samplerref", "surfref")
WITHOUT_VALUES = ("f16", "f16x2")
# What initial values may be: addresses, their bytes, and where what they name lies.
ADDRESSES, BYTES_OF_ADDRESSES, ADDRESSED = ("u32", "u64"), ("u8", "u32", "u64"), ("global", "const", "func")
NO_NAMES = ("_", "WARP_SZ")
# How many numbers an attribute has, and where it may stand.
ATTRIBUTES = {"managed": 0, "unified": 2}

Problem = tuple[str, str]
SpaceOf = Callable[[str], "str | None"]


def problems(statements: Iterable[ast.Node], version: Version, space_of: SpaceOf) -> Iterator[Finding]:
    """What is wrong with the declarations and directives of a body, inner scopes included.

    `space_of`: the state space of a variable by its name, "func" for a function, None for what nothing declares.
    """
    for statement in statements:
        if isinstance(statement, ast.Block):
            yield from problems(statement.statements, version, space_of)
            continue
        found = None
        if isinstance(statement, ast.Directive) and statement.name == "pragma":
            found = pragma_problem(statement, version)
        elif isinstance(statement, ast.Variable):
            found = variable_problem(statement, version, space_of) or passed_problem(statement)
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
    return Finding(*problem, node.line, node.column, fixes=tuple(remedies(problem[1])))


def pragma_problem(directive: ast.Directive, version: Version) -> Problem | None:
    """A pragma that the file's version does not know. Others are hints, and unknown ones are ignored."""
    words = " ".join(directive.arguments).strip('"').split()
    since = PRAGMA_SINCE.get(words[0]) if words else None
    if since and version < since:
        return "wrong-version", f".pragma {words[0]} needs .version {since[0]}.{since[1]}"
    return None


def variable_problem(variable: ast.Variable, version: Version, space_of: SpaceOf) -> Problem | None:
    """What is wrong with a variable wherever it is declared, or nothing."""
    since = TYPE_SINCE.get(variable.type)
    if since and version < since:
        return "wrong-version", f".{variable.type} needs .version {since[0]}.{since[1]}"
    text = type_problem(variable) or _size_problem(variable) or _attribute_problem(variable)
    if text is None and variable.initializer is not None:
        for name in _named(variable.initializer):
            if space_of(name) is None:
                return "undeclared-name", f"nothing declares {name}, whose address {variable.name} holds"
        if version < MASK_SINCE and _has_mask(variable.initializer):
            return "wrong-version", f"{variable.name}: bytes of addresses need .version {MASK_SINCE[0]}.{MASK_SINCE[1]}"
        text = _value_problem(variable, space_of)
    return ("illegal-form", f"{variable.name.partition('$')[0]}: {text}") if text else None


def type_problem(variable: ast.Variable) -> str | None:
    """Types, vectors and alignment."""
    if variable.name in NO_NAMES:
        return "is no name that can be declared"
    if variable.space == "tex":
        return "there is no .tex memory since PTX 1.5; textures are .global .texref variables"
    if variable.type in OPAQUE and variable.vector > 1:
        return f"there are no vectors of .{variable.type}"
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
    if variable.space == "param" and variable.type == "f16x2":
        return "no parameter has the type .f16x2; declare it as .b32"
    return None


def passed_problem(variable: ast.Variable) -> Problem | None:
    """What is wrong with a variable that a call passes, and with what a function takes."""
    if variable.space == "param" and (variable.align or 0) > PASSED_ALIGNMENT:
        why = f"the alignment {variable.align} is more than the {PASSED_ALIGNMENT} that parameters of functions have"
        return "illegal-form", f"{variable.name}: {why}"
    return None


def _size_problem(variable: ast.Variable) -> str | None:
    first, *inner = variable.shape or (1,)
    open_ended = first in (None, 0) and variable.initializer is None and "extern" not in variable.linkage
    if variable.space in MEMORY and (open_ended or None in inner or 0 in inner):
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


def _value_problem(variable: ast.Variable, space_of: SpaceOf) -> str | None:
    if variable.space not in ("global", "const"):
        return f"no initial value in .{variable.space}, only in .global and .const"
    if "extern" in variable.linkage:
        return "no initial value for an .extern variable; another file defines it"
    if variable.type in WITHOUT_VALUES:
        return f"no initial value of type .{variable.type}; declare it as .b{TYPES[variable.type].bits}"
    if variable.type in OPAQUE:
        return None
    if variable.shape[:1] == (None,) and not variable.initializer:
        return "empty braces say no size"
    return _nesting_problem(variable.initializer, variable.shape, variable.vector) or next(
        filter(None, (_element_problem(one, variable.type, space_of) for one in _leaves(variable.initializer))), None
    )


def _nesting_problem(value: object, sizes: Sequence[int | None], vector: int) -> str | None:
    """Braces as deep as the array has dimensions, with no more values than fit; a vector has all of its own."""
    if not sizes and vector == 1:
        return "braces hold the initial values of arrays and vectors" if isinstance(value, tuple) else None
    if not isinstance(value, tuple):
        return "the initial values of an array or a vector stand in braces"
    if not sizes:
        if len(value) != vector:
            return f"{len(value)} initial values in braces for a vector of {vector}"
        sizes, vector = (vector,), 1
    if sizes[0] and len(value) > sizes[0]:
        return f"{len(value)} initial values in braces for {sizes[0]}"
    return next(filter(None, (_nesting_problem(one, sizes[1:], vector) for one in value)), None)


def _leaves(value: object) -> Iterator[object]:
    """The initial values in all braces."""
    if isinstance(value, tuple):
        for one in value:
            yield from _leaves(one)
    else:
        yield value


def _element_problem(value: object, type_name: str, space_of: SpaceOf) -> str | None:
    match value:
        case ast.Integer():
            is_float = TYPES[type_name].is_float
            return f"the initial value {value.value} of a .{type_name} is an integer; write {value.value}.0" * is_float
        case ast.Float():
            return f"a floating initial value is none of type .{type_name}" * TYPES[type_name].is_integer
        case ast.MaskedAddress(_, mask) if mask is not None:
            if type_name not in BYTES_OF_ADDRESSES:
                return f"a byte of an address is an initial value of type {_one_of(BYTES_OF_ADDRESSES)}"
            if not any(mask == 0xFF << 8 * byte for byte in range(8)):
                return f"{mask:#x} before an address takes no byte of it; 0xff, 0xff00, ... do"
        case ast.Name() | ast.Offset() | ast.MaskedAddress() if type_name not in ADDRESSES:
            return f"an address is an initial value of type {_one_of(ADDRESSES)}"
    return next(filter(None, (_place_problem(value, name, space_of(name)) for name in _named(value))), None)


def _one_of(types: Sequence[str]) -> str:
    return " or ".join(f".{name}" for name in types)


def _place_problem(value: object, name: str, space: str | None) -> str | None:
    """What is wrong with the address of `name` as an initial value."""
    if space not in ADDRESSED:
        return f"the address of {name} is no initial value; only .global and .const variables and functions have one"
    address = value.operand if isinstance(value, ast.MaskedAddress) and value.mask is not None else value
    if space == "func" and not isinstance(address, ast.Name):
        return f"{name} is a function, whose address has no offset and is not made generic"
    return None


def _has_mask(value: object) -> bool:
    return any(isinstance(one, ast.MaskedAddress) and one.mask is not None for one in _leaves(value))


def _named(value: object) -> Iterator[str]:
    """The names whose addresses are initial values."""
    for one in _leaves(value):
        while isinstance(one, ast.Offset | ast.MaskedAddress):
            one = one.base if isinstance(one, ast.Offset) else one.operand
        if isinstance(one, ast.Name):
            yield one.name
