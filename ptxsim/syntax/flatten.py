"""Name resolution of a function body: scopes become one flat list in which every name is unique.

PTX ISA, "Identifiers", "Instruction Statements", "Scoping" under "Variable Declarations", "Parameterized Variable Names".
"""

from __future__ import annotations

from itertools import count
from typing import Any

from msgspec.structs import replace

from ptxsim.diagnostic import Finding, Label, PtxError
from ptxsim.syntax import ast
from ptxsim.syntax.ast import Name, Node, Operand, Variable
from ptxsim.syntax.name_mistakes import declared_twice, suggest
from ptxsim.syntax.register_sums import with_sums
from ptxsim.syntax.registers import DIGITS, Registers, family_of
from ptxsim.syntax.scope import FlatBody, Scope
from ptxsim.syntax.special_names import is_special_register
from ptxsim.syntax.vectors import COMPONENTS, SPECIAL_VECTORS, registers_of
from ptxsim.types import TYPES


class Flattener:
    def __init__(self, function: ast.Function, module: ast.Module):
        self.findings: list[Finding] = []
        self.statements: list[ast.Instruction | ast.Label | ast.Directive] = []
        self.registers = Registers()
        # The registers that a vector register is made of, special ones too.
        self.vectors: dict[str, tuple[str, ...]] = dict(SPECIAL_VECTORS)
        self.variables: list[Variable] = []
        self.scopes: dict[str, tuple[int, ...]] = {}  # of those in inner scopes
        self.targets: dict[str, ast.Targets] = {}
        self.prototypes: dict[str, ast.Prototype] = {}
        self.ahead: dict[str, Node] = {}  # tables and prototypes that are still to come
        self.undeclared: dict[str, Name] = {}
        self.labels_meant: set[str] = set()  # undeclared names that a branch goes to
        self.taken: set[str] = set()
        self.lowest_member: dict[str, int] = {}  # of taken names that end in digits: stem to lowest number
        self.taken_labels: set[str] = set()
        self.module_scope = Scope()
        self.later: dict[str, Node] = {}  # what the module declares after the function, which does not see it
        scope, aside = self.module_scope, Scope()
        for item in module.items:
            if isinstance(item, Variable | ast.Function | ast.Alias) and not (
                item.name in self.module_scope.names or item.name in aside.names
            ):
                self._take(scope, item.name)
                if scope is aside:
                    self.later[item.name] = item
            if item is function:
                scope = aside
        self.module_variables = [item for item in module.items if isinstance(item, Variable)]
        self.outer = Scope(self.module_scope)
        for parameter in (*function.returns, *function.parameters):
            # A parameter hides a name of the module in the whole body, so it can keep its own.
            self.taken.discard(parameter.name)
            self._declare(self.outer, parameter, hoist=parameter.space == "reg")
        self.function = function

    # ---- declarations ----

    def _take(self, scope: Scope, name: str) -> str:
        """Enter `name` into `scope` under a flat name that nothing else has."""
        flat, number = name, 2
        while flat in self.taken or flat in self.taken_labels or flat in self.registers:
            flat, number = f"{name}${number}", number + 1
        self.taken.add(flat)
        self._note_member(flat)
        scope.names[name] = flat
        return flat

    def _note_member(self, name: str) -> None:
        """Remember `t12` as member 12 of a family `t`, should one be declared."""
        stem = name.rstrip(DIGITS)
        if stem != name:
            number = int(name[len(stem) :])
            self.lowest_member[stem] = min(number, self.lowest_member.get(stem, number))

    def _declare(self, scope: Scope, variable: Variable, hoist: bool = True) -> None:
        name = variable.name
        if name == "_":
            return
        first = self._declared_here(scope, variable)
        if first is not None:
            self.findings.append(declared_twice(name, variable, first, "in one scope"))
            return
        scope.known.clear()
        if variable.count is None:
            scope.places[name] = variable
            flat = self._take(scope, name)
        else:
            flat = self._take_family(scope, variable, variable.count)
        if not hoist:
            return
        if flat != name:
            variable = replace(variable, name=flat)
        if variable.space == "reg" and variable.vector > 1:
            self._add_vectors(variable)
        elif variable.space == "reg":
            self.vectors.pop(flat, None)  # a register may be called %tid
            self.registers.add(variable)
        else:
            self.variables.append(variable)
            if scope.path:
                self.scopes[flat] = scope.path

    def _add_vectors(self, variable: Variable) -> None:
        """A vector register `v` is the registers v.x, v.y, ... PTX ISA, "Vectors as Operands"."""
        members = [variable.name] if variable.count is None else [f"{variable.name}{i}" for i in range(variable.count)]
        for name in members:
            self.vectors[name] = registers_of(replace(variable, name=name))
            for part in self.vectors[name]:
                self.registers.add(replace(variable, name=part, vector=1, count=None))

    def _declared_here(self, scope: Scope, variable: Variable) -> Node | None:
        """An earlier declaration of the same name, or of a member of the same family, in the same scope."""
        name = variable.name
        if variable.count is None:
            return scope.places.get(name) or scope.label_places.get(name) or family_of(name, scope.families)
        if name in scope.families:
            return scope.families[name]
        members = (other for other in scope.places if family_of(other, {name: variable}))
        # A register r01 that is declared before a family r is another one than its r1.
        return next((scope.places[other] for other in members if not other[len(name) :][:-1].startswith("0")), None)

    def _take_family(self, scope: Scope, variable: Variable, count: int) -> str:
        flat, number = variable.name, 2
        while self._family_collides(flat, count):
            flat, number = f"{variable.name}${number}_", number + 1
        self.lowest_member[flat] = 0
        self._note_member(flat + "0")
        scope.families[variable.name] = variable
        if flat != variable.name:
            scope.renamed_families[variable.name] = flat
        return flat

    def _family_collides(self, name: str, count: int) -> bool:
        return self.lowest_member.get(name, count) < count or f"{name}0" in self.registers

    def _declare_labels(self, scope: Scope, statements: tuple[ast.Statement, ...]) -> None:
        for statement in statements:
            if type(statement) is ast.Instruction or not isinstance(statement, ast.Label | ast.Targets | ast.Prototype):
                continue
            name = statement.name
            first = scope.label_places.get(name) or scope.places.get(name)
            if first is not None:
                scope.labels.setdefault(name, name)
                self.findings.append(declared_twice(name, statement, first, "in one scope"))
                continue
            scope.label_places[name] = statement
            flat, number = name, 2
            while flat in self.taken_labels or flat in self.taken:
                flat, number = f"{name}${number}", number + 1
            self.taken_labels.add(flat)
            scope.labels[name] = flat
            if not isinstance(statement, ast.Label):
                self.ahead[flat] = statement

    # ---- statements ----

    def run(self) -> None:
        """Walk the body with an explicit stack: scopes may be nested deeply."""
        body = self.function.body or ()
        self._declare_labels(self.outer, body)
        stack, inner_scopes = [(self.outer, iter(body))], count(1)
        while stack:
            scope, statements = stack[-1]
            for statement in statements:
                if type(statement) is ast.Block:
                    inner = Scope(scope, (*scope.path, next(inner_scopes)))
                    self._declare_labels(inner, statement.statements)
                    stack.append((inner, iter(statement.statements)))
                    break
                self._statement(scope, statement)
            else:
                stack.pop()

    def _statement(self, scope: Scope, statement: ast.Statement) -> None:
        match statement:
            case ast.Instruction():
                self.statements += with_sums(self._instruction(scope, statement), self.registers)
            case Variable():
                self._declare(scope, statement)
            case ast.Label(name):
                flat = scope.labels[name]
                self.statements.append(statement if flat == name else replace(statement, name=flat))
            case ast.Targets(name, kind, names):
                resolve = scope.resolve_label if kind == "branchtargets" else scope.resolve
                flat_names = tuple(resolve(n) or self._missing(scope, n, statement) for n in names)
                flat = scope.labels[name]
                self.ahead.pop(flat, None)
                self.targets[flat] = replace(statement, name=flat, names=flat_names)
            case ast.Prototype(name):
                flat = scope.labels[name]
                self.ahead.pop(flat, None)
                self.prototypes[flat] = replace(statement, name=flat)
            case ast.Directive():
                self.statements.append(statement)

    def _instruction(self, scope: Scope, instruction: ast.Instruction) -> ast.Instruction:
        is_branch = instruction.mnemonic in ("bra", "brx")
        operands = instruction.operands
        renamed = tuple([self._operand(scope, operand, is_branch) for operand in operands])
        changes: dict[str, Any] = {}
        if any(new is not old for new, old in zip(renamed, operands)):
            if instruction.mnemonic in ("ld", "st"):
                renamed = tuple(_as_address(new, old) for new, old in zip(renamed, operands))
            changes["operands"] = renamed
        if self.ahead:
            self._find_ahead(renamed)
        guard = instruction.guard
        if guard is not None:
            flat = scope.resolve(guard.name) or self._missing(scope, guard.name, guard)
            if flat != guard.name:
                changes["guard"] = replace(guard, name=flat)
        return replace(instruction, **changes) if changes else instruction

    def _find_ahead(self, operands: tuple[Operand, ...]) -> None:
        """Tables and prototypes come before the statements that name them."""
        for operand in operands:
            if type(operand) is Name and operand.name in self.ahead:
                self.findings.append(_declared_later(operand, self.ahead[operand.name], "declare it first"))

    def _operand(self, scope: Scope, operand: Operand, is_branch: bool = False) -> Operand:
        """The operand with flat names; the same object where nothing changes."""
        if type(operand) is Name:
            name = self._name(scope, operand, is_branch)
            return self._vector(name) if name.name in self.vectors else name
        if type(operand) is ast.Address:
            base = operand.base and self._name(scope, operand.base, False)
            extra = self._operands(scope, operand.extra)
            changed = base is not operand.base or extra is not operand.extra
            return replace(operand, base=base, extra=extra) if changed else operand
        if type(operand) is ast.Vector or type(operand) is ast.Group:
            elements = self._operands(scope, operand.elements)
            return operand if elements is operand.elements else replace(operand, elements=elements)
        if type(operand) is ast.Not or type(operand) is ast.Negative:
            inner = self._operand(scope, operand.operand)
            return operand if inner is operand.operand else replace(operand, operand=inner)
        if type(operand) is ast.Pair:
            first, second = self._operand(scope, operand.first), self._operand(scope, operand.second)
            changed = first is not operand.first or second is not operand.second
            return replace(operand, first=first, second=second) if changed else operand
        if type(operand) is ast.Element:
            return self._element(scope, operand)
        if type(operand) is ast.Offset:
            base = self._name(scope, operand.base, False)
            return operand if base is operand.base else replace(operand, base=base)
        return operand

    def _element(self, scope: Scope, operand: ast.Element) -> Operand:
        """An element of a vector register is a register, one of an array an address; other elements keep their base."""
        base = self._name(scope, operand.base, False)
        parts = self.vectors.get(base.name, ())
        index = next((c.index(operand.component) for c in COMPONENTS if operand.component in c), len(parts))
        if index < len(parts):
            return replace(base, name=parts[index])
        array = next((v for v in (*self.variables, *self.module_variables) if v.name == base.name), None)
        if array is not None and len(array.shape) == 1 and operand.component.isdigit():
            size = TYPES[array.type].bytes * array.vector
            return ast.Offset(base, int(operand.component) * size, line=operand.line, column=operand.column)
        return operand if base is operand.base else replace(operand, base=base)

    def _vector(self, name: Name) -> ast.Vector:
        parts = [Name(part, line=name.line, column=name.column) for part in self.vectors[name.name]]
        return ast.Vector(tuple(parts), line=name.line, column=name.column)

    def _operands(self, scope: Scope, operands: tuple[Operand, ...]) -> tuple[Operand, ...]:
        if not operands:
            return operands
        renamed = tuple([self._operand(scope, operand) for operand in operands])
        return renamed if any(new is not old for new, old in zip(renamed, operands)) else operands

    def _name(self, scope: Scope, name: Name, is_branch: bool) -> Name:
        text = name.name
        flat = (scope.resolve_label(text) if is_branch else None) or scope.resolve(text)
        if flat is None:
            if is_special_register(text):
                scope.known[text] = text
                return name
            if is_branch and not text.startswith("%"):
                self.labels_meant.add(text)
            flat = scope.resolve_label(text) or self._missing(scope, text, name)
        return name if flat == text else replace(name, name=flat)

    def _missing(self, scope: Scope, name: str, place: Node) -> str:
        """Remember an undeclared name, once."""
        if name not in self.undeclared:
            self.undeclared[name] = Name(name, line=place.line, column=place.column)
        return name

    def undeclared_findings(self) -> list[Finding]:
        declared = [*self.outer.names, *self.module_scope.names, *self.taken_labels]
        declared += [f"{d.name}{d.count - 1}" for d in self.registers.declarations if d.count]
        findings = []
        for name in self.undeclared.values():
            later = self.later.get(name.name)
            if later:
                help = "declare it first; a function without its body will do"
                findings.append(_declared_later(name, later, help))
            else:
                help, fixes = suggest(name.name, declared, self.registers, name.name in self.labels_meant)
                found = Finding("undeclared-name", f"nothing declares `{name.name}`", help=help, fixes=fixes)
                findings.append(found.at(name))
        return findings


def _declared_later(name: Name, later: Node, help: str) -> Finding:
    """A name is used before its declaration."""
    label = Label(later.line, "declared here", later.column, name.length)
    return Finding("undeclared-name", f"`{name.name}` is declared after its use", help=help, labels=(label,)).at(name)


def _as_address(operand: Operand, written: Operand) -> Operand:
    """`array[3]` is the memory that ld and st access, and the address of it elsewhere. PTX ISA, "Arrays as Operands"."""
    if not (isinstance(operand, ast.Offset) and isinstance(written, ast.Element)):
        return operand
    return ast.Address(operand.base, operand.offset, line=operand.line, column=operand.column)


def flatten(function: ast.Function, module: ast.Module, *, strict: bool = True) -> FlatBody:
    """Resolve every name of `function`'s body.

    Scopes disappear: shadowed or repeated registers and variables get unique names, labels become unique and every
    jump names the right one. Raises PtxError with undeclared-name and syntax-error (declared twice) findings; with
    `strict` off, undeclared names are listed in the result instead.
    """
    flattener = Flattener(function, module)
    flattener.run()
    findings = flattener.findings
    if strict:
        findings = findings + flattener.undeclared_findings()
    if findings:
        raise PtxError(sorted(findings, key=lambda finding: (finding.line, finding.column)))
    return FlatBody(
        tuple(flattener.statements), flattener.registers, tuple(flattener.variables), flattener.targets,
        flattener.prototypes, tuple(flattener.undeclared.values()), flattener.scopes,
    )  # fmt: skip
