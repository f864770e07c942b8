"""Types for registers that a snippet uses without declaring them: each takes the type of its operand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from ptxsim import instructions
from ptxsim.diagnostic import Finding, PtxError
from ptxsim.isa.bind import Binder
from ptxsim.isa.check_operand import check_operands
from ptxsim.isa.operand import Addr, Either, Imm, Kind, Pred, Reg, Value, Vec, resolve_type
from ptxsim.isa.registry import Form
from ptxsim.syntax import ast
from ptxsim.types import TYPES

Modifiers = Mapping[str, object]


class _Guess(str):
    """A type that any other use of a register overrules."""


ADDRESS = _Guess("b64")  # of a register that is used as an address


class KnownNames:
    """Declared registers plus guesses (isa.check_operand.Names)."""

    def __init__(self, declared: Mapping[str, str], spaces: Mapping[str, str], guesses: Mapping[str, str]):
        self.declared, self.spaces, self.guesses = declared, spaces, guesses

    def register_type(self, name: str) -> str | None:
        return self.declared.get(name) or self.guesses.get(name)

    def variable_space(self, name: str) -> str | None:
        return self.spaces.get(name)

    def parameter_role(self, name: str) -> str | None:
        return None


def infer(
    statements: Iterable[ast.Statement], undeclared: set[str], declared: Mapping[str, str], spaces: Mapping[str, str], binder: Binder,
    given: Mapping[str, str], constants: Mapping[str, int],
) -> tuple[dict[str, str], dict[tuple[int, int], ast.Instruction]]:  # fmt: skip
    """Register name to type name for every undeclared name; and, by place, the statements in which a name stands for a
    literal ("n" operands of inline assembly: `constants` are their values). Raises PtxError where an instruction is no PTX.

    A name used with several types of one width becomes untyped bits of that width; what is only an address is 64 bits wide. `given`
    are types that are known from outside.
    """
    instructions.offer_families()
    wanted: dict[str, set[str]] = {name: {given[name]} if name in given else set() for name in undeclared}
    findings = []
    literal: dict[tuple[int, int], ast.Instruction] = {}
    for statement in statements:
        if not isinstance(statement, ast.Instruction):
            continue
        if statement.guard and statement.guard.name in wanted:
            wanted[statement.guard.name].add("pred")
        candidates = binder.match(statement.opcode)
        if isinstance(candidates, Finding):
            findings.append(candidates.at(statement))
            continue
        problem = None
        for candidate in candidates:
            filled = _with_literals(candidate.form, statement, constants)
            guesses = _guess(candidate.form, candidate.modifiers, filled, undeclared)
            known = KnownNames(declared, spaces, guesses)
            result = check_operands(candidate.form, candidate.modifiers, filled, known)
            if not isinstance(result, Finding):
                if filled is not statement:
                    literal[statement.line, statement.column] = filled
                for name, t in guesses.items():
                    if t is not ADDRESS:
                        wanted[name].add(t)
                break
            problem = problem or result
        else:
            if problem is not None:
                findings.append(problem)
    if findings:
        raise PtxError(findings)
    return {name: _unify(types) for name, types in wanted.items()}, literal


def _with_literals(form: Form, statement: ast.Instruction, constants: Mapping[str, int]) -> ast.Instruction:
    """The statement with the values of constants where the form wants an integer literal."""
    operands = list(statement.operands)
    for i, (operand, value) in enumerate(zip(form.operands, operands)):
        if isinstance(form.kinds[operand.name], Imm) and isinstance(value, ast.Name) and value.name in constants:
            operands[i] = ast.Integer(constants[value.name], line=value.line, column=value.column)
    return statement if operands == list(statement.operands) else replace(statement, operands=tuple(operands))


def _unify(types: set[str]) -> str:
    if not types:
        return ADDRESS
    if len(types) == 1:
        return next(iter(types))
    return f"b{max(TYPES[t].bits for t in types)}"


def _guess(form: Form, modifiers: Modifiers, statement: ast.Instruction, undeclared: set[str]) -> dict[str, str]:
    guesses: dict[str, str] = {}
    for operand, value in zip(form.operands, statement.operands):
        parts = [(operand.name, value)]
        if isinstance(value, ast.Pair) and operand.second:
            parts = [(operand.name, value.first), (operand.second, value.second)]
        for name, part in parts:
            _collect(form.kinds[name], part, modifiers, undeclared, guesses)
    return guesses


def _collect(
    kind: Kind, operand: ast.Operand, modifiers: Modifiers, undeclared: set[str], guesses: dict[str, str]
) -> None:
    match operand:
        case ast.Not(inner):
            _collect(kind, inner, modifiers, undeclared, guesses)
        case ast.Vector(elements):
            each = _vector_kind(kind)
            if each is not None:
                for element in elements:
                    _collect(each, element, modifiers, undeclared, guesses)
        case ast.Address(base, _, extra):
            if base is not None and base.name in undeclared:
                guesses.setdefault(base.name, ADDRESS)
            address = kind if isinstance(kind, Addr) else None
            for part, wanted in zip(extra, address.extra if address else ()):
                _collect(wanted, part, modifiers, undeclared, guesses)
        case ast.Name(name) if name in undeclared:
            t = _type(kind, modifiers)
            if t is not None:
                known = guesses.get(name, ADDRESS)
                guesses[name] = t if known in (ADDRESS, t) else f"b{max(TYPES[t].bits, TYPES[known].bits)}"


def _vector_kind(kind: Kind) -> Kind | None:
    if isinstance(kind, Vec):
        return kind.element
    if isinstance(kind, Either):
        return next((k.element for k in kind.kinds if isinstance(k, Vec)), None)
    return None


def _type(kind: Kind, modifiers: Modifiers) -> str | None:
    match kind:
        case Reg() | Value():
            t = resolve_type(kind.type, modifiers)
            if t.kind in ("packed", "opaque") or t.name in ("tf32", "bf16") or t.bits < 16:
                return f"b{max(t.bits, 16)}"
            return t.name
        case Pred():
            return "pred"
        case Vec():
            return _type(kind.element, modifiers) if kind.bare else None
        case Either():
            return next((t for t in (_type(k, modifiers) for k in kind.kinds) if t), None)
    return None
