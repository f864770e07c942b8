"""Static rules of operands: number, kind, register type, vector size, range of immediates."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ptxsim.diagnostic import Finding
from ptxsim.isa.declaration import OPAQUE
from ptxsim.isa.names import Names
from ptxsim.isa.operand import (
    Addr,
    Args,
    Either,
    Imm,
    Kind,
    Nowhere,
    Pred,
    Reg,
    Symbol,
    Value,
    Vec,
    compatible,
    resolve_count,
    resolve_type,
)  # fmt: skip
from ptxsim.isa.registry import Form
from ptxsim.isa.special_registers import NARROW_ONCE, SPECIAL_REGISTERS
from ptxsim.isa.vector_operands import check_mixture
from ptxsim.syntax import ast, constant
from ptxsim.syntax.name_mistakes import declared
from ptxsim.types import TYPES, ScalarType


def check_operands(
    form: Form, modifiers: Mapping[str, object], statement: ast.Instruction, names: Names
) -> dict[str, ast.Operand] | Finding:
    """Operands by the names of the notation, or the first thing wrong."""
    given = statement.operands
    needed = sum(not operand.optional for operand in form.operands)
    if not needed <= len(given) <= len(form.operands):
        count = str(needed) if needed == len(form.operands) else f"{needed} to {len(form.operands)}"
        return _mismatch(
            statement, statement, f"{statement.opcode} takes {count} operands, here are {len(given)}", form
        )
    found: dict[str, ast.Operand] = {}
    for operand, value in zip(form.operands, given):
        parts = [(operand.name, value)]
        if isinstance(value, ast.Pair):
            if operand.second is None:
                return _mismatch(statement, value, f"operand {operand.name} takes no second destination after |", form)
            if isinstance(value.first, ast.Sink) and isinstance(value.second, ast.Sink):
                return _mismatch(statement, value, "one of two destinations must be a register", form)
            parts = [(operand.name, value.first), (operand.second, value.second)]
        elif operand.second is not None and not operand.second_optional:
            return _mismatch(
                statement, value, f"operand {operand.name} needs a pair {operand.name}|{operand.second}", form
            )
        for name, part in parts:
            problem = check(form.kinds[name], part, modifiers, names)
            if problem:
                if isinstance(problem, Finding):
                    return problem
                return _mismatch(statement, part, f"operand {name} {problem}", form)
            found[name] = part
    return found


def name_operands(form: Form, given: Sequence[ast.Operand]) -> dict[str, ast.Operand]:
    """Operands that are known to fit, by the names of the notation."""
    found: dict[str, ast.Operand] = {}
    for operand, value in zip(form.operands, given):
        if type(value) is ast.Pair and operand.second is not None:
            found[operand.name], found[operand.second] = value.first, value.second
        else:
            found[operand.name] = value
    return found


def split_part(kind: Kind, operand: ast.Operand) -> tuple[ast.Operand, str | None]:
    """The register and the part of `%r1.h0` or `-%r1.h0`, where the kind allows them; any other operand as it is."""
    if isinstance(operand, ast.Negative) and getattr(kind, "negatable", False):
        operand = operand.operand
    parts = getattr(kind, "parts", "")
    if parts and isinstance(operand, ast.Element) and re.fullmatch(parts, operand.component):
        return operand.base, operand.component
    return operand, None


def split_parts(form: Form, operands: Mapping[str, ast.Operand]) -> tuple[dict[str, ast.Operand], dict[str, object]]:
    """Operands without their parts and signs, and these as modifiers `a_part`, `a_negated`."""
    bare: dict[str, ast.Operand] = {}
    said: dict[str, object] = {}
    for name, operand in operands.items():
        kind = form.kinds[name]
        bare[name], part = split_part(kind, operand)
        if getattr(kind, "parts", ""):
            said[f"{name}_part"] = part
        if getattr(kind, "negatable", False):
            said[f"{name}_negated"] = isinstance(operand, ast.Negative)
    return bare, said


def check(kind: Kind, operand: ast.Operand, modifiers: Mapping[str, object], names: Names) -> str | Finding | None:
    """None if the operand is of the kind; else what is wrong, as the rest of a sentence "operand a ..."."""
    operand, _ = split_part(kind, operand)
    match kind:
        case Reg():
            return _check_register(kind, operand, resolve_type(kind.type, modifiers), names)
        case Value():
            return _check_value(kind, operand, resolve_type(kind.type, modifiers), names)
        case Pred():
            return _check_predicate(kind, operand, names)
        case Imm():
            return _check_immediate(kind, operand)
        case Vec():
            return _check_vector(kind, operand, modifiers, names)
        case Addr():
            return _check_address(kind, operand, modifiers, names)
        case Symbol():
            if not isinstance(operand, ast.Name) or names.register_type(operand.name) is not None:
                return f"must be a {kind.what}"
            declared = names.variable_space(operand.name)
            if declared is None:
                return undeclared(operand)
            return None if declared in kind.kinds else f"must be a {kind.what}, {operand.name} is none"
        case Either():
            problems = [check(k, operand, modifiers, names) for k in kind.kinds]
            # What is wrong with a literal says the kind that takes literals.
            is_literal = isinstance(operand, ast.Integer)
            meant = [why for k, why in zip(kind.kinds, problems) if isinstance(k, Imm) == is_literal]
            return None if None in problems else (meant or problems)[0]
        case Nowhere():
            return None if isinstance(operand, ast.Sink) else "must be the sink _"
        case Args():
            if not isinstance(operand, ast.Group):
                return "must be a parenthesised list"
            problems = [_check_passed(kind, element, names) for element in operand.elements]
            return next((problem for problem in problems if problem), None)
    raise AssertionError(kind)


def _check_passed(kind: Args, operand: ast.Operand, names: Names) -> str | Finding | None:
    """What a call passes: a register, a .param variable, a literal; where a result goes: one of the first two, or nowhere."""
    passes = f"holds registers{'' if kind.results else ', literals'} and .param variables only"
    match operand:
        case ast.Integer() | ast.Float():
            return passes if kind.results else None
        case ast.Sink():
            return None if kind.results else passes
        case ast.Vector(elements):  # a vector register: braces are no argument, and no special register is one
            return None if all(isinstance(e, ast.Name) and names.register_type(e.name) for e in elements) else passes
        case ast.Name(name) if "." not in name and name not in SPECIAL_REGISTERS:
            where = names.variable_space(name)
            if names.register_type(name) is not None or where in ("param", *OPAQUE):
                return None
            return f"{passes}, {name} is none" if where else undeclared(operand)
    return passes


def undeclared(operand: ast.Name) -> Finding:
    help = f"declare it, e.g. `.reg .b32 {operand.name};` for a register"
    return Finding("undeclared-name", f"{operand.name} is not declared", help=help, fixes=(declared(operand.name),)).at(
        operand
    )


def _check_register(kind: Reg, operand: ast.Operand, wanted: ScalarType, names: Names) -> str | Finding | None:
    if isinstance(operand, ast.Sink):
        return None if kind.sink else "may not be the sink _"
    if not isinstance(operand, ast.Name):
        return f"must be a register of type {wanted}"
    declared = names.register_type(operand.name)
    if declared is None:
        if names.variable_space(operand.name) or operand.name in SPECIAL_REGISTERS:
            return f"must be a register of type {wanted}, {operand.name} is none"
        return undeclared(operand)
    return _check_type(operand.name, TYPES[declared], wanted, kind)


def _check_type(name: str, declared: ScalarType, wanted: ScalarType, kind: Reg | Value) -> str | None:
    refused = declared.kind == "packed" and wanted.is_integer and (kind.unpacked or kind.type == wanted.name)
    if isinstance(kind, Reg) and kind.untyped and declared.kind != "bits":
        return f"is a register of untyped bits, {name} is declared {declared}"
    if compatible(declared, wanted, kind.wide) and not refused:
        return None
    if kind.integers and wanted.is_float and declared.is_integer and declared.bits == wanted.bits:
        return None
    return f"is of type {wanted}, register {name} is declared {declared}"


def _check_value(kind: Value, operand: ast.Operand, wanted: ScalarType, names: Names) -> str | Finding | None:
    match operand:
        case ast.Integer():
            if wanted.is_float:
                return f"is of type {wanted}, an integer literal is not; write {operand.value}.0"
            if wanted.kind == "predicate":
                return None
            if wanted.kind == "packed":
                return f"is of type {wanted}, which takes registers only"
            if kind.literals and not kind.literals[0] <= operand.value <= kind.literals[1]:
                return f"must be in {kind.literals[0]}..{kind.literals[1]}, here is {operand.value}"
            return None if _fits(operand.value) else f"{operand.value} does not fit {wanted}"
        case ast.Float():
            if kind.literals and not kind.literals[0] < constant.to_double(operand) <= kind.literals[1]:
                return f"must be above {kind.literals[0]} and at most {kind.literals[1]}"
            if kind.pattern and wanted.bits != operand.width:
                return f"is of type {wanted}; its literals are bits, such as 0f3F800000"
            if (wanted.is_float and wanted.bits >= 32) or (wanted.kind == "bits" and wanted.bits == operand.width):
                return None
            return f"is of type {wanted}, a floating literal is not"
        case ast.Name():
            if operand.name in SPECIAL_REGISTERS:
                return _check_special(operand.name, wanted, kind)
            declared = names.register_type(operand.name)
            if declared is not None:
                return _check_type(operand.name, TYPES[declared], wanted, kind)
            if names.variable_space(operand.name) is None:
                return undeclared(operand)
            return None if wanted.bits >= 32 and not wanted.is_float else f"cannot hold the address of {operand.name}"
        case ast.Offset():
            if operand.base.name in SPECIAL_REGISTERS:
                return f"is {operand.base.name}, a special register, to which no constant is added here"
            if (declared := names.register_type(operand.base.name)) is not None:
                return f"is {operand.base.name}, a register of type {declared}, to which no constant is added here"
            return None if names.variable_space(operand.base.name) else undeclared(operand.base)
        case ast.Vector(elements=[ast.Name(name=first), *_]) if first in SPECIAL_REGISTERS:
            return f"is the vector {first.partition('.')[0]}; write one of its components, such as {first}"
    return f"must be a register or an immediate of type {wanted}"


def _check_special(name: str, wanted: ScalarType, kind: Value) -> str | None:
    """Special registers are read in their own width; some, where the type is the statement's, in what it once was."""
    own = SPECIAL_REGISTERS[name]
    once = NARROW_ONCE.get(name.partition(".")[0], ()) if kind.type != wanted.name else ()
    fits = wanted.bits in (own.bits, *once) and not wanted.is_float
    fits = fits and (own.kind == "predicate") == (wanted.kind == "predicate")
    return None if fits else f"is of type {wanted}, {name} is {own}"


def _fits(value: int) -> bool:
    return -(1 << 63) <= value < (1 << 64)  # the low bits are what counts


def _check_predicate(kind: Pred, operand: ast.Operand, names: Names) -> str | Finding | None:
    if isinstance(operand, ast.Not):
        if not kind.negatable:
            return "may not be negated"
        operand = operand.operand
    if isinstance(operand, ast.Sink):
        return None if kind.sink else "may not be the sink _"
    if isinstance(operand, ast.Integer):
        return None if kind.immediate else "must be a predicate register"
    if not isinstance(operand, ast.Name):
        return "must be a predicate register"
    declared = names.register_type(operand.name)
    if declared is None:
        return undeclared(operand) if names.variable_space(operand.name) is None else "must be a predicate register"
    return None if declared == "pred" else f"must be a predicate register, {operand.name} is declared {declared}"


def _check_immediate(kind: Imm, operand: ast.Operand) -> str | None:
    if not isinstance(operand, ast.Integer):
        return "must be an integer literal"
    if kind.choices and operand.value not in kind.choices:
        one_of = "one of " if len(kind.choices) > 1 else ""
        return f"must be {one_of}{', '.join(map(str, kind.choices))}, here is {operand.value}"
    if operand.value % kind.multiple:
        return f"must be a multiple of {kind.multiple}, here is {operand.value}"
    if not kind.low <= operand.value <= kind.high:
        return f"must be in {kind.low}..{kind.high}, here is {operand.value}"
    return None


def _check_vector(
    kind: Vec, operand: ast.Operand, modifiers: Mapping[str, object], names: Names
) -> str | Finding | None:
    count = resolve_count(kind.count, modifiers)
    if not isinstance(operand, ast.Vector):
        if kind.bare and count == 1:
            return check(kind.element, operand, modifiers, names)
        return f"must be {count} register{'s' * (count > 1)} in braces"
    if len(operand.elements) != count:
        return f"has {len(operand.elements)} registers in braces, this form takes {count}"
    for index, element in enumerate(operand.elements):
        problem = check(kind.of(index), element, modifiers, names)
        if problem:
            return problem
    return None if kind.each else check_mixture(operand, names)


def _check_address(
    kind: Addr, operand: ast.Operand, modifiers: Mapping[str, object], names: Names
) -> str | Finding | None:
    if not isinstance(operand, ast.Address):
        return "must be an address in brackets"
    if len(operand.extra) != len(kind.extra):
        return f"must have {len(kind.extra) + 1} parts in the brackets, here are {len(operand.extra) + 1}"
    for part, wanted in zip(operand.extra, kind.extra):
        problem = check(wanted, part, modifiers, names)
        if problem:
            return problem
    if operand.offset and (kind.extra or kind.space in ("tex", "surf")):
        return "takes no offset"
    named = str(modifiers[kind.space] or "generic") if kind.space in modifiers else kind.space
    if named == "space":  # the form has no choice of spaces; it may name one
        named = "global" if modifiers.get("global") else "generic"
    space = named.partition("::")[0]
    if operand.base is None:
        known = space in ("generic", "global", "shared", "const", "param")
        return "may be a number in .local memory only" if known else None
    if not isinstance(operand.base, ast.Name) or "." in operand.base.name:
        return "starts with a register, a variable or a number, not with a part of one"
    declared = names.register_type(operand.base.name)
    if declared is None:
        if kind.register and space != "generic":
            return f"is an address in a register where .{named} is named"
        return _check_variable(operand.base, space, names) or _check_parameter(operand.base, kind, named, names)
    if named == "param::func":
        return "is a parameter by its name, for .param::func"
    register = TYPES[declared]
    if kind.untyped and register.kind != "bits":
        return f"is an address in a register of untyped bits, {operand.base.name} is declared {declared}"
    if space in _NARROW and register.bits != 32:
        return f"is {_NARROW[space]}, register {operand.base.name} is declared {declared}"
    if space in _OPAQUE and register.bits < 64:
        return f"is the 64-bit address of a .{_OPAQUE[space][0]}, register {operand.base.name} is declared {declared}"
    narrow = register.bits < 32 and kind.whole
    if register.kind in ("float", "packed", "predicate") or register.bits > 64 or narrow:
        return f"is an address, register {operand.base.name} is declared {declared}"
    return None


# What lies in 32 bits where other addresses have 64.
_NARROW = {"tensor": "a 32-bit address in tensor memory", "fabric": "a 32-bit endpoint"}
# Types of variables that texture and surface instructions take by name.
_OPAQUE = {"tex": ("texref", "samplerref"), "surf": ("surfref",)}


def _check_variable(base: ast.Name, space: str, names: Names) -> str | Finding | None:
    """Whether a variable may be addressed in a state space; generic addresses are global, shared or local."""
    where = names.variable_space(base.name)
    if where is None:
        return undeclared(base)
    if space in _OPAQUE:
        return (
            None if where in _OPAQUE[space] else f"must be a .{_OPAQUE[space][0]} or its address, {base.name} is none"
        )
    wrong = where in ("const", "param") if space == "generic" else where != space
    if wrong and {where, space} <= {"global", "shared", "local", "const", "param", "generic"}:
        return (
            f"is in .{space} memory, {base.name} is a .{where} variable"
            if space != "generic"
            else (f"is a generic address, {base.name} is a .{where} variable")
        )
    return None


# What may not be done with a parameter of each role, and why. PTX ISA, "Parameter State Space".
_REFUSED_ACCESS = {
    ("write", "entry"): "a parameter of a kernel is only read",
    ("write", "input"): "an argument of a function is only read",
    ("read", "result"): "a result of a function is only written",
    ("address", "call"): "a parameter of a call has no address",
}
_REFUSED_SPACE = {("param::func", "entry"): "a kernel", ("param::entry", "call"): "a call"}


def _check_parameter(base: ast.Name, kind: Addr, space: str, names: Names) -> str | None:
    """Whether what is done with a parameter may be done with one of its role."""
    role = names.parameter_role(base.name)
    if role is None or not kind.access:
        return None
    if (space, role) in _REFUSED_SPACE:
        return f"is in .{space}, {base.name} is a parameter of {_REFUSED_SPACE[space, role]}"
    why = _REFUSED_ACCESS.get((kind.access, role))
    return f"cannot be {base.name}: {why}" if why else None


def _mismatch(statement: ast.Instruction, place: ast.Node, message: str, form: Form) -> Finding:
    line, column = (place.line, place.column) if place.line else (statement.line, statement.column)
    return Finding("operand-mismatch", message, line, column, help=f"the form is `{form.notation}`")
