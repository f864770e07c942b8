"""What may come next: modifiers that keep an opcode legal, names that are visible, directives."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ptxsim import instructions
from ptxsim.editor.document import Document
from ptxsim.isa import registry
from ptxsim.isa.bind import Binder
from ptxsim.isa.match_opcode import match_form
from ptxsim.isa.notation import assign
from ptxsim.isa.registry import Form
from ptxsim.isa.special_registers import SPECIAL_REGISTERS
from ptxsim.types import TYPES

_OPCODE = re.compile(r"(?:^|[;{}:]|@!?[\w%$]+)\s*([A-Za-z][\w.:]*)$")
_DIRECTIVE = re.compile(r"(?:^|[;{}])\s*\.(\w*)$")
_NAME = re.compile(r"[%$_A-Za-z][\w$%.]*$")
_DECLARATION = re.compile(r"^\s*\.(?:reg|shared|global|const|local|param|extern|visible|weak)\b[^;=]*\.(\w*)$")
_STATEMENT = ("reg", "shared", "local", "param", "global", "const", "pragma", "loc", "branchtargets", "callprototype")
_MODULE = (
    "version",
    "target",
    "address_size",
    "visible",
    "extern",
    "weak",
    "entry",
    "func",
    "global",
    "const",
    "shared",
)


@dataclass(frozen=True, slots=True)
class Completion:
    """A word for what stands between `start` and the cursor. `kind`: instruction, modifier, name, special or directive."""

    text: str
    start: int
    kind: str
    detail: str = ""
    order: int = 0


def complete(document: Document, offset: int) -> list[Completion]:
    """What may stand at an offset."""
    start = document.text.rfind("\n", 0, offset) + 1
    before = document.text[start:offset]
    if "//" in before:
        return []
    if found := _DECLARATION.search(before):
        words = [*sorted(TYPES), "align", "v2", "v4"]
        return [Completion(word, start + found.start(1), "modifier") for word in words]
    if found := _DIRECTIVE.search(before):
        inside = document.tokens.scope_at(offset).parent is not None
        words = [*_STATEMENT] if inside else [*_MODULE]
        return [Completion(word, start + found.start(1), "directive") for word in words]
    if found := _OPCODE.search(before):
        return list(_opcodes(document, found[1], start + found.start(1)))
    return list(_names(document, before, offset))


def _opcodes(document: Document, typed: str, start: int) -> Iterator[Completion]:
    """Names of instructions while the first word is typed, then the words that may follow."""
    instructions.load_families()
    done, dot, part = typed.rpartition(".")
    if not dot:
        for name in dict.fromkeys(name.partition(".")[0] for name in registry.names()):
            yield Completion(name, start, "instruction")
        return
    place = start + len(done) + 1
    seen: dict[str, Completion] = {}
    for form in _relatives(done, document.binder):
        for word, order in _next(form, done, document.binder):
            if word not in seen or seen[word].order > order:
                seen[word] = Completion(word, place, "modifier", form.notation, order)
    yield from seen.values()


def _relatives(done: str, binder: Binder) -> list[Form]:
    """Forms whose names begin an opcode, or that it may yet begin."""
    words = done.split(".")
    found = []
    for name in registry.names():
        own = name.split(".")
        if own == words[: len(own)] or own[: len(words)] == words:
            found += [f for f in registry.forms(name) if f.requires.problem(binder.version, binder.target) is None]
    return found


def _next(form: Form, done: str, binder: Binder) -> Iterator[tuple[str, int]]:
    """Words that may follow `done` in a form, with their places in the notation."""
    words, own = done.split("."), form.name.split(".")
    if len(words) < len(own):
        yield own[len(words)], 0
        return
    taken, left, _ = assign(form.slots, words[len(own) :])
    if left:
        return
    first = min((i for i, slot in enumerate(form.slots) if not slot.optional and slot.name not in taken), default=99)
    for place, slot in enumerate(form.slots):
        if slot.name in taken:
            continue
        for word, since in slot.words.items():
            if since.problem(binder.version, binder.target) is not None:
                continue
            more = [*words[len(own) :], word]
            _, refused, missing = assign(form.slots, more)
            if refused or (not missing and isinstance(match_form(form, more), str)):
                continue
            yield word, abs(place - first)


def _names(document: Document, before: str, offset: int) -> Iterator[Completion]:
    """Registers, variables, labels and functions that are visible, and special registers."""
    part = _NAME.search(before)
    start = offset - len(part[0]) if part else offset
    statement = document.tokens.statement_at(offset)
    is_branch = statement is not None and statement.opcode.partition(".")[0] in ("bra", "brx")
    for symbol in document.tokens.scope_at(offset).visible():
        if (symbol.kind == "label") != is_branch:
            continue
        if symbol.count is None:
            yield Completion(symbol.name, start, "name", symbol.text)
            continue
        for number in range(min(symbol.count, 64)):
            yield Completion(f"{symbol.name}{number}", start, "name", symbol.text, number)
    if not is_branch and (part is None or part[0].startswith("%")):
        for name in SPECIAL_REGISTERS:
            yield Completion(name, start, "special", "special register")
