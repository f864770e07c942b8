"""What `ptxsim isa` shows: every form as the manual writes it, its words, targets, and whether it is executed."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from fnmatch import fnmatchcase

from ptxsim import instructions
from ptxsim.isa import registry
from ptxsim.isa.registry import Form
from ptxsim.types import parse_target

WIDTH = 100


def listing(pattern: str | None, target: str | None = None, missing: bool = False) -> Iterator[str]:
    """One paragraph a form, in order of names.

    `pattern` is a part of a name, a glob, or dotted words that a form has (`mma.m16n8k16.f16`); `missing` keeps what has
    no effect. Forms that only the assembler takes, spelt as one that is executed, are left out.
    """
    instructions.load_families()
    machine = parse_target(target) if target else None
    for name in registry.names():
        forms = registry.forms(name)
        executed = {form.notation for form in forms if form.definition.modeled}
        for form in reversed(forms):
            modeled = form.definition.modeled
            if modeled and missing or not modeled and form.notation in executed:
                continue
            if pattern and not _matches(form, pattern):
                continue
            needs = form.requires.alternatives
            if machine is None or not needs or any(not t or any(map(machine.meets, t)) for _, t in needs):
                yield paragraph(form)


def _matches(form: Form, pattern: str) -> bool:
    if fnmatchcase(form.name, pattern) or pattern in form.name:
        return True
    words = {word for slot in form.slots for word in slot.words}
    return all(
        part in form.name.split(".") or any(fnmatchcase(word, part) for word in words) for part in pattern.split(".")
    )


def paragraph(form: Form) -> str:
    """The notation, then the words of each slot and what the form needs, within 100 columns."""
    lines = [form.notation + ("" if form.definition.modeled else "    (not modeled)")]
    for slot in form.slots:
        if not slot.literal:
            words = " ".join(word if not needs.text else f"{word}({needs.text})" for word, needs in slot.words.items())
            lines += textwrap.wrap(f"{slot.name}: {words}", WIDTH, initial_indent="    ", subsequent_indent="        ")
    if form.requires.text:
        lines.append(f"    since {form.requires.text}")
    return "\n".join(lines)
