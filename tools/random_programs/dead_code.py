"""Statements whose results nothing wants are taken out, as compilers take them out before the assembler sees a program."""

from __future__ import annotations

import re
from dataclasses import dataclass

STATEMENT = re.compile(r"^(?:@!?(%p\d+) )?([\w.:]+) (.*);$")
EFFECTS = ("st.", "stmatrix.", "red.", "bar.", ".pragma")
_REGISTER = re.compile(r"%[a-z]+\d*")
_RESULTS = re.compile(r"\{[^}]*\}|[^,]*")  # all before the first comma, or a vector
_CARRY = re.compile(r"\.cc\b|^(add|sub|mad)c\.")


@dataclass
class _Line:
    """What a line writes and needs, and where control goes on after it; `kept`: whatever becomes of its result."""

    writes: set[str]
    needs: set[str]
    following: list[int]
    kept: bool
    guarded: bool = False


def without_dead(lines: list[str]) -> list[str]:
    """Statements and labels of a body, one a line, without what is dead, and without branches over nothing."""
    while True:
        read = _read(lines)
        wanted: list[set[str]] = [set() for _ in range(len(lines) + 1)]
        changed = True
        while changed:
            changed = False
            for n in range(len(lines) - 1, -1, -1):
                line = read[n]
                before = set[str]().union(*(wanted[m] for m in line.following))
                if line.kept or line.writes & before:
                    before = (before if line.guarded else before - line.writes) | line.needs
                if before != wanted[n]:
                    wanted[n], changed = before, True
        live = [
            text for text, line in zip(lines, read, strict=True)
            if line.kept or line.writes & set[str]().union(*(wanted[m] for m in line.following))
        ]  # fmt: skip
        live = [
            text for n, text in enumerate(live) if f"{_target(text)}:" != (live[n + 1] if n + 1 < len(live) else "")
        ]
        named = {_target(text) for text in live}
        live = [text for text in live if not text.endswith(":") or text[:-1] in named]
        if live == lines:
            return lines
        lines = live


def _target(text: str) -> str | None:
    found = STATEMENT.match(text)
    return found[3] if found and found[2] == "bra" else None


def _read(lines: list[str]) -> list[_Line]:
    places = {text[:-1]: n for n, text in enumerate(lines) if text.endswith(":")}
    found = []
    for n, text in enumerate(lines):
        statement = STATEMENT.match(text)
        if statement is None:
            found.append(_Line(set(), set(), [n + 1], True))
            continue
        guard, opcode, rest = statement.groups()
        registers, needs = _REGISTER.findall(rest), {guard} - {None}
        if opcode == "bra":
            found.append(_Line(set(), needs, [places[rest], *([n + 1] if guard else [])], True))
        elif opcode.startswith(EFFECTS):
            found.append(_Line(set(), needs | set(registers), [n + 1], True))
        else:
            results = _RESULTS.findall(rest)[0]
            writes = set(_REGISTER.findall(results))
            own = writes if guard else set()
            reads = set(_REGISTER.findall(rest[len(results) :]))
            kept = opcode.startswith("atom") or _CARRY.search(opcode) is not None
            found.append(_Line(writes, needs | own | reads, [n + 1], kept, guarded=bool(guard)))
    return found
