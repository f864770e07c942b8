"""Declared names, the scopes that they are visible in, where they stand, and instructions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ptxsim.syntax.registers import DIGITS


@dataclass(slots=True, eq=False)
class Symbol:
    """A declared name. `kind`: register, variable, parameter, label or function; `text`: how it is declared.

    A family `%r<4>` is one symbol with `count` 4; its occurrences are those of all its members.
    """

    name: str
    kind: str
    start: int
    text: str
    type: str = ""
    count: int | None = None
    scope: Scope | None = None
    statement_end: int = 0  # where a declaration may be added after this one


@dataclass(slots=True, eq=False)
class Scope:
    """Braces with names of their own; the module has no parent."""

    parent: Scope | None = None
    start: int = 0
    end: int = 1 << 60
    symbols: dict[str, Symbol] = field(default_factory=dict)

    def find(self, name: str) -> Symbol | None:
        """The declaration that a name means here."""
        scope: Scope | None = self
        stem = name.rstrip(DIGITS)
        while scope is not None:
            found = scope.symbols.get(name)
            if found is not None and found.count is None:
                return found
            family = scope.symbols.get(stem) if stem != name else None
            if family is not None and family.count is not None and int(name[len(stem) :]) < family.count:
                return family
            scope = scope.parent
        return None

    def visible(self) -> Iterator[Symbol]:
        """Every symbol that may be named here, the inner ones first."""
        scope: Scope | None = self
        while scope is not None:
            yield from scope.symbols.values()
            scope = scope.parent


@dataclass(slots=True, eq=False)
class Occurrence:
    """A name in the text; `symbol` is None for special registers and for what nothing declares."""

    name: str
    start: int
    scope: Scope
    symbol: Symbol | None = None

    @property
    def end(self) -> int:
        return self.start + len(self.name)


@dataclass(slots=True, eq=False)
class Statement:
    """An instruction: its opcode with all modifiers, and where it ends (its semicolon, or what stands in for it)."""

    opcode: str
    start: int
    end: int
    scope: Scope

    @property
    def opcode_end(self) -> int:
        return self.start + len(self.opcode)
