"""Scopes of a function body: which name means what. PTX ISA, "Scoping" under "Variable Declarations", "Parameterized Variable Names"."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ptxsim.syntax import ast
from ptxsim.syntax.ast import Name, Node, Variable
from ptxsim.syntax.registers import Registers, family_of


@dataclass(frozen=True, slots=True)
class FlatBody:
    """A function body without scopes. Names are unique: those that were not carry a suffix `$2`, `$3`, ...

    `variables` are the body's own .shared, .local, .param, .global and .const ones, from inner scopes too.
    `scopes` says in which `{ }` those of inner scopes are: numbers from the outermost on. `undeclared` are the names that nothing
    declares, each at its first use (empty unless `strict` was off).
    """

    statements: tuple[ast.Instruction | ast.Label | ast.Directive, ...]
    registers: Registers
    variables: tuple[Variable, ...] = ()
    targets: Mapping[str, ast.Targets] = field(default_factory=dict)
    prototypes: Mapping[str, ast.Prototype] = field(default_factory=dict)
    undeclared: tuple[Name, ...] = ()
    scopes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)


class Scope:
    """Names of one `{ }`: as written to as they will be. `path`: numbers of the inner scopes that it is in, and its own."""

    def __init__(self, parent: Scope | None = None, path: tuple[int, ...] = ()):
        self.parent, self.path = parent, path
        self.names: dict[str, str] = {}
        self.families: dict[str, Variable] = {}
        self.renamed_families: dict[str, str] = {}
        self.labels: dict[str, str] = {}
        self.label_places: dict[str, Node] = {}
        self.places: dict[str, Node] = {}
        self.known: dict[str, str | None] = {}

    def resolve(self, name: str) -> str | None:
        """The flat name of a register, variable or function; None if nothing declares it."""
        try:
            return self.known[name]
        except KeyError:
            self.known[name] = flat = self._resolve(name)
            return flat

    def _resolve(self, name: str) -> str | None:
        flat = self.names.get(name)
        if flat is None and self.families:
            family = family_of(name, self.families)
            if family is not None:
                # %r04 is %r4.
                flat = f"{self.renamed_families.get(family.name, family.name)}{int(name[len(family.name) :])}"
        if flat is None and self.parent is not None:
            flat = self.parent.resolve(name)
        return flat

    def resolve_label(self, name: str) -> str | None:
        scope: Scope | None = self
        while scope is not None:
            if name in scope.labels:
                return scope.labels[name]
            scope = scope.parent
        return None
