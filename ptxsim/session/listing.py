"""What `ptxsim isa` shows: every form as the manual writes it, its words, targets, and whether it is executed."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase

from ptxsim import instructions
from ptxsim.isa import registry
from ptxsim.isa.registry import Form
from ptxsim.types import parse_target


def listing(pattern: str | None, target: str | None = None, missing: bool = False) -> Iterator[str]:
    """One line a form, in order of names. `pattern` is a part of the name or a glob; `missing` keeps what has no effect."""
    instructions.load_families()
    machine = parse_target(target) if target else None
    for name in registry.names():
        if pattern and not (fnmatchcase(name, pattern) or pattern in name):
            continue
        for form in reversed(registry.forms(name)):
            if missing and form.definition.modeled:
                continue
            if machine is not None and form.requires.alternatives:
                needs = form.requires.alternatives
                if not any(not targets or any(machine.meets(t) for t in targets) for _, targets in needs):
                    continue
            yield line(form)


def line(form: Form) -> str:
    """`add{.sat}.type d, a, b   type: s32   since 7.0 sm_80   not modeled`."""
    parts = [form.notation]
    for slot in form.slots:
        if not slot.literal:
            words = " ".join(word if not needs.text else f"{word}({needs.text})" for word, needs in slot.words.items())
            parts.append(f"{slot.name}: {words}")
    if form.requires.text:
        parts.append(f"since {form.requires.text}")
    if not form.definition.modeled:
        parts.append("not modeled")
    return "  |  ".join(parts)
