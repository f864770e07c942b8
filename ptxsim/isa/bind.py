"""From a statement to a form: which definition it is, with which modifiers and operands, or why it is none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from ptxsim.diagnostic import Finding
from ptxsim.isa import refusals, registry
from ptxsim.isa.availability import advice, remedies
from ptxsim.isa.check_operand import check_operands, name_operands, split_parts
from ptxsim.isa.match_opcode import Candidate, match_forms
from ptxsim.isa.names import Names
from ptxsim.isa.operand import Imm, Kind, Value, Vec
from ptxsim.isa.registry import Definition, Form
from ptxsim.isa.special_registers import SPECIAL_READERS, SPECIAL_REGISTERS, availability
from ptxsim.syntax import ast
from ptxsim.types import Target, Version

# Instructions that may take the address of a variable or function by its bare name.
ADDRESS_READERS = ("mov", "cvta", "mapa", "getctarank")

# What binding asks about a statement, and how many of these a binder remembers.
Shape = tuple[object, ...]
SHAPES = 20_000


@dataclass(frozen=True, slots=True)
class Bound:
    """A statement bound to its form. `modifiers` maps slot names to words, types or flags; `operands` names to operands."""

    form: Form
    modifiers: Mapping[str, object]
    operands: Mapping[str, ast.Operand]
    statement: ast.Instruction

    @property
    def definition(self) -> Definition:
        return self.form.definition


class Binder:
    """Binds statements for one target and version; remembers every opcode it has seen."""

    def __init__(self, target: Target, version: Version):
        self.target, self.version = target, version
        self._opcodes: dict[str, list[Candidate] | Finding] = {}
        self._shapes: dict[Shape, Candidate] = {}

    def bind(self, statement: ast.Instruction, names: Names) -> Bound | Finding:
        """The bound statement, or the finding that says what is wrong with it."""
        shape = shape_of(statement, names)
        known = self._shapes.get(shape) if shape else None
        if known is not None:
            return Bound(known.form, known.modifiers, name_operands(known.form, statement.operands), statement)
        bound = self._find(statement, names)
        if shape is not None and isinstance(bound, Bound):
            if len(self._shapes) >= SHAPES:
                self._shapes.clear()
            self._shapes[shape] = Candidate(bound.form, bound.modifiers)
        return bound

    def _find(self, statement: ast.Instruction, names: Names) -> Bound | Finding:
        candidates = self._opcodes.get(statement.opcode)
        if candidates is None:
            candidates = self._opcodes[statement.opcode] = self.match(statement.opcode)
        if isinstance(candidates, Finding):
            return _placed(candidates, statement)
        problems = []
        for candidate in candidates:
            operands = check_operands(candidate.form, candidate.modifiers, statement, names)
            if not isinstance(operands, Finding):
                operands = self._names_as_values(candidate, operands, names) or operands
            if not isinstance(operands, Finding):
                operands, parts = split_parts(candidate.form, operands)
                modifiers = {**candidate.modifiers, **parts} if parts else candidate.modifiers
                against = next((why for rule in candidate.form.rules if parts and (why := rule(modifiers))), None)
                if against is None:
                    return Bound(candidate.form, modifiers, operands, statement)
                operands = _placed(refusals.forbidden(statement.opcode, against), statement)
            problems.append(operands)
        return _of_all_forms(max(problems, key=lambda finding: finding.column), statement, candidates)

    def match(self, opcode: str) -> list[Candidate] | Finding:
        """The forms an opcode may be, on this target and version; else a finding (without a place)."""
        name, _ = registry.split_opcode(opcode)
        found = registry.forms(name)
        if not found:
            return refusals.unknown_instruction(opcode)
        candidates, against = match_forms(opcode, len(found))
        matched, refused = [], [("illegal-form", why) for why in against]
        for candidate in candidates:
            problem = self._availability(candidate.form, candidate.modifiers)
            if problem is None:
                matched.append(candidate)
            else:
                refused.insert(0, problem)
        if matched:
            return matched
        if refused:
            kind, why = min(refused, key=lambda r: ("wrong-version", "wrong-target", "illegal-form").index(r[0]))
            if kind == "illegal-form":
                return refusals.forbidden(opcode, why)
            return refusals.refused(opcode, kind, why, self.target, self.version)
        return refusals.illegal_form(opcode)

    def _names_as_values(
        self, candidate: Candidate, operands: Mapping[str, ast.Operand], names: Names
    ) -> Finding | None:
        """What is wrong with special registers and variables that stand for a value, if anything."""
        for name, operand in operands.items():
            for part in operand.elements if isinstance(operand, ast.Vector) else (operand,):
                if isinstance(part, ast.Name) and part.name != "WARP_SZ":
                    problem = self._name_as_value(candidate, candidate.form.kinds[name], part.name, names)
                    if problem is not None:
                        what, why, help = problem
                        return Finding(what, why, help=help, fixes=tuple(remedies(why))).at(part)
        return None

    def _name_as_value(
        self, candidate: Candidate, kind: Kind, name: str, names: Names
    ) -> tuple[str, str, str | None] | None:
        """Finding, message and help, if `name` cannot stand for a value of this kind."""
        form, space = candidate.form, str(candidate.modifiers.get("space") or "").partition("::")[0]
        if name in SPECIAL_REGISTERS:
            if form.name not in SPECIAL_READERS:
                why = f"{form.name} cannot read the special register {name}"
                return "operand-mismatch", why, "mov it into a register first"
            problem = availability(name).problem(self.version, self.target)
            return (problem[0], f"{name} {problem[1]}", advice(problem[1])) if problem else None
        if not _is_value(kind) or names.register_type(name) is not None:
            return None
        if form.name not in ADDRESS_READERS:
            why = f"{form.name} cannot take the address of {name}"
            return "operand-mismatch", why, "mov the address into a register first"
        if names.parameter_role(name) == "call":
            return "operand-mismatch", f"{name} is a parameter of a call and has no address", None
        where = names.variable_space(name)
        if space and where != space:
            why = f"{form.name}.{space} takes the address of a .{space} variable, {name} is in .{where}"
            return "operand-mismatch", why, None
        return None

    def _availability(self, form: Form, modifiers: Mapping[str, object]) -> tuple[str, str] | None:
        problem = form.requires.problem(self.version, self.target)
        if problem:
            return problem
        for slot in form.slots:
            word = modifiers.get(slot.name)
            needed = slot.words.get(str(word)) if word else None
            if needed:
                problem = needed.problem(self.version, self.target)
                if problem:
                    return problem[0], f".{word} {problem[1]}"
        return None


def shape_of(statement: ast.Instruction, names: Names) -> Shape | None:
    """All that binding asks about a statement: statements of equal shape are bound alike. None for operands without one.

    Registers count with their types, variables with their state spaces, literals with their values.
    """
    shape: list[object] = [statement.opcode]
    return tuple(shape) if _add_shapes(shape, statement.operands, names) else None


def _add_shapes(shape: list[object], operands: Iterable[ast.Operand], names: Names) -> bool:
    """Append what the operands are; False where one is of no simple shape."""
    for operand in operands:
        if type(operand) is ast.Name:
            declared = names.register_type(operand.name)
            if declared is not None:
                shape.append(declared)
                continue
            space = names.variable_space(operand.name)
            if space is None or operand.name in SPECIAL_REGISTERS:
                return False
            shape += (".", space, names.parameter_role(operand.name))
        elif type(operand) is ast.Integer:
            shape.append(operand.value)
        elif type(operand) is ast.Float:
            shape += ("f", operand.width)
        elif type(operand) is ast.Address:
            shape += ("[", len(operand.extra))
            if operand.base is None or not _add_shapes(shape, (operand.base, *operand.extra), names):
                return False
        elif type(operand) is ast.Vector:
            shape += ("{", len(operand.elements))
            if not _add_shapes(shape, operand.elements, names):
                return False
        elif type(operand) is ast.Pair:
            shape.append("|")
            if not _add_shapes(shape, (operand.first, operand.second), names):
                return False
        elif type(operand) is ast.Not:
            shape.append("!")
            if not _add_shapes(shape, (operand.operand,), names):
                return False
        elif type(operand) is ast.Sink:
            shape.append("_")
        else:
            return False
    return True


def _is_value(kind: Kind) -> bool:
    """Whether an operand of this kind is a number, not a name or an address."""
    return isinstance(kind, Value) or (isinstance(kind, Vec) and isinstance(kind.element, Value))


def _of_all_forms(finding: Finding, statement: ast.Instruction, candidates: Iterable[Candidate]) -> Finding:
    """A literal that one form refuses is refused with what the others would take in its place: `must be one of 4, 8, 16`."""
    given = statement.operands
    for number, operand in enumerate(given):
        if not isinstance(operand, ast.Integer) or (operand.line, operand.column) != (finding.line, finding.column):
            continue
        forms = [one.form for one in candidates if len(one.form.operands) == len(given)]
        names = {form.operands[number].name for form in forms}
        kinds = [form.kinds[form.operands[number].name] for form in forms]
        taken = sorted({choice for kind in kinds if isinstance(kind, Imm) for choice in kind.choices or ()})
        if len(names) == 1 and len(taken) > 1 and operand.value not in taken:
            listed = ", ".join(map(str, taken))
            return replace(finding, message=f"operand {names.pop()} must be one of {listed}, here is {operand.value}")
    return finding


def _placed(finding: Finding, statement: ast.Instruction) -> Finding:
    return replace(finding, line=statement.line, column=statement.column, length=statement.length)
