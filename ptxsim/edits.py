"""Changes of a text that would correct what a finding says, and where they stand in it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

Where = Literal["here", "before", "after", "statement", "declaration", "version", "target"]

_GUARD = re.compile(r"@!?[\w%$]+\s+$")
_PIECE = re.compile(r"//[^\n]*|/\*.*?\*/|\"[^\"\n]*\"|[;{}]", re.DOTALL)
_REGISTERS = re.compile(r"^\s*\.reg\b[^;\n]*;")
_HEADS = {
    "version": re.compile(r"^[ \t]*\.version[ \t]+(\d+\.\d+)", re.MULTILINE),
    "target": re.compile(r"^[ \t]*\.target[ \t]+(sm_\w+)", re.MULTILINE),
}


@dataclass(frozen=True, slots=True)
class Edit:
    """`text` at a place; line and column count from 1, line 0 is the place of the finding.

    where: `here` puts it in place of `length` characters, `statement` in place of the statement there (nothing takes it out),
    `before` and `after` on a line of its own beside that statement; `declaration` where registers are declared for that place;
    `version` and `target` in place of what the file says.
    """

    text: str
    where: Where = "here"
    line: int = 0
    column: int = 1
    length: int = 1


@dataclass(frozen=True, slots=True)
class Fix:
    """What may correct a finding. `tried` says what a run of the changed text found; empty where there was none."""

    title: str
    edits: tuple[Edit, ...]
    tried: str = ""


class Change(NamedTuple):
    """What takes the place of the text between two offsets."""

    start: int
    end: int
    text: str


def instead(old: str, new: str, where: Where = "here") -> Fix:
    """Another word for what a finding underlines, or for what the file says."""
    return Fix(f"Change {old} to {new}", (Edit(new, where),))


def changed(text: str, changes: Iterable[Change]) -> str:
    """A text after changes of it that do not overlap."""
    for change in sorted(changes, reverse=True):
        text = text[: change.start] + change.text + text[change.end :]
    return text


def changes(text: str, edits: Sequence[Edit], own: tuple[int, int]) -> list[Change]:
    """What edits change in a text; own: offsets of what the finding underlines. Empty where one has no place."""
    found = []
    for edit in edits:
        start, end = own if not edit.line else (_offset(text, edit), _offset(text, edit) + edit.length)
        change = _change(text, edit, start, end)
        if change is None:
            return []
        found.append(change)
    return found


def _offset(text: str, edit: Edit) -> int:
    start = 0
    for _ in range(edit.line - 1):
        start = text.find("\n", start) + 1
    return min(start + edit.column - 1, len(text))


def _change(text: str, edit: Edit, start: int, end: int) -> Change | None:
    if edit.where == "here":
        return Change(start, end, edit.text)
    if edit.where == "declaration":
        place = _declarations_end(text, start)
        return Change(place, place, f"\n\t{edit.text}")
    if edit.where in _HEADS:
        head = _HEADS[edit.where].search(text)
        return Change(*head.span(1), edit.text) if head else None
    first, last = _statement(text, start)
    line = text.rfind("\n", 0, first) + 1
    indent = text[line:first] if not text[line:first].strip() else "\t"
    rest = text.find("\n", last)
    rest = len(text) if rest < 0 else rest
    is_alone = not text[line:first].strip() and not re.sub(r"//.*", "", text[last:rest]).strip()
    if edit.where == "statement":
        if edit.text or not is_alone:
            return Change(first, last, edit.text)
        return Change(line, min(rest + 1, len(text)), "")
    if edit.where == "before":
        return Change(first, first, f"{edit.text}\n{indent}")
    place = rest if is_alone else last
    return Change(place, place, f"\n{indent}{edit.text}")


def _statement(text: str, place: int) -> tuple[int, int]:
    """Where the statement whose opcode stands at a place begins, its guard included, and ends, its semicolon included."""
    line = text.rfind("\n", 0, place) + 1
    guard = _GUARD.search(text, line, place)
    depth = 0
    for piece in _PIECE.finditer(text, place):
        depth += (piece[0] == "{") - (piece[0] == "}")
        if piece[0] == ";" and depth == 0:
            return (guard.start() if guard else place), piece.end()
    return (guard.start() if guard else place), len(text)


def _declarations_end(text: str, place: int) -> int:
    """The end of the last declaration of registers in the braces around a place, else their opening."""
    end = text.rfind("\n", 0, place)
    depth = 0
    while end > 0:
        start = text.rfind("\n", 0, end) + 1
        line = text[start:end].partition("//")[0]
        if depth == 0 and (found := _REGISTERS.match(line)):
            return start + found.end()
        depth += line.count("}") - line.count("{")
        if depth < 0:
            return start + line.rindex("{") + 1
        end = start - 1
    return place
