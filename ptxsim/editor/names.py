"""Definitions, references and new names of registers, variables, labels and functions."""

from __future__ import annotations

from ptxsim.editor.document import Document
from ptxsim.editor.symbols import Occurrence, Symbol
from ptxsim.editor.tokens import NAME
from ptxsim.edits import Change
from ptxsim.syntax.special_names import is_special_register


class CannotRename(Exception):
    """The message says why."""


def definition(document: Document, offset: int) -> Symbol | None:
    """What declares the name at an offset."""
    found = document.tokens.at(offset)
    return found.symbol if found else None


def references(document: Document, offset: int, with_declaration: bool = True) -> list[Occurrence]:
    """Where the name at an offset is used; of a member of a family, where that register is."""
    found = document.tokens.at(offset)
    if found is None or found.symbol is None:
        return []
    symbol = found.symbol
    member = found.name if symbol.count is not None and found.start != symbol.start else None
    uses = document.tokens.of(symbol, member)
    return [one for one in uses if with_declaration or one.start != symbol.start]


def rename(document: Document, offset: int, new: str) -> list[Change]:
    """The edits that give the name at an offset another one. Raises CannotRename.

    At its declaration a family `%r<4>` gets another stem. A register of it that gets a name of its own is declared after it.
    """
    found = document.tokens.at(offset)
    if found is None or found.symbol is None:
        raise CannotRename("here is no name that the file declares")
    symbol = found.symbol
    if not NAME.fullmatch(new) or is_special_register(new):
        raise CannotRename(f"{new} is no name that PTX allows")
    uses = references(document, offset)
    is_member = symbol.count is not None and found.start != symbol.start
    for use in uses:
        other = use.scope.find(new)
        if other is not None and other is not symbol:
            raise CannotRename(f"{new} is declared already, at line {document.place(other.start)[0] + 1}")
    taken = symbol.scope.find(new) if symbol.scope else None
    if taken is not None or _hides(document, symbol, new):
        raise CannotRename(f"{new} is used already where {symbol.name} is visible")
    if not is_member:
        changes = []
        for use in uses:
            digits = use.name[len(symbol.name) :]  # of a member of a family
            changes.append(Change(use.start, use.end, new + digits))
        return changes
    changes = [Change(use.start, use.end, new) for use in uses]
    place = symbol.statement_end
    line = document.lines[document.place(symbol.start)[0]]
    indent = line[: len(line) - len(line.lstrip())]
    return [*changes, Change(place, place, f"\n{indent}.reg .{symbol.type} {new};")]


def _hides(document: Document, symbol: Symbol, new: str) -> bool:
    """Whether braces within the symbol's declare the new name, and name the symbol too."""
    inner = {id(use.scope) for use in document.tokens.of(symbol)}
    return any(id(scope) in inner and new in scope.symbols for scope in document.tokens.scopes)
