"""What `ptxsim isa` shows: every form as the manual writes it, its words, targets, and whether it is executed."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any

from ptxsim import instructions
from ptxsim.isa import registry
from ptxsim.isa.facts import ASSEMBLER
from ptxsim.isa.registry import Form
from ptxsim.profile.lowering.lower import has_cost
from ptxsim.spelling import nearest
from ptxsim.types import Target, parse_target

WIDTH = 100


def entries(pattern: str | None, target: str | None = None, missing: bool = False) -> Iterator[dict[str, Any]]:
    """Forms in order of names, as plain values: name, notation, words of each slot with what they need, needs of the form, whether modeled and
    why not, whether the cycle model knows what it costs.

    `pattern` is a part of a name, a glob, or dotted words that a form has (`mma.m16n8k16.f16`); `missing` keeps what has
    no effect; with `target` there are its forms and words only. Forms that only the assembler takes, spelt as one that
    is executed, are left out: what they differ in are kinds of operands.
    """
    instructions.load_families()
    machine = parse_target(target) if target else None
    for name in registry.names():
        forms = registry.forms(name)
        executed = {form.notation for form in forms if form.definition.modeled}
        for form in reversed(forms):
            modeled = form.definition.modeled
            odd = form.definition.facts.missing == ASSEMBLER and form.notation in executed
            if (modeled and missing) or odd:
                continue
            if pattern and not _matches(form, pattern):
                continue
            if (found := entry(form, machine)) is not None:
                yield found


def entry(form: Form, machine: Target | None = None) -> dict[str, Any] | None:
    """One form as `entries` gives it; None where `machine` has it not."""
    slots = {
        slot.name: {w: since.text for w, since in slot.words.items() if machine is None or since.on(machine)}
        for slot in form.slots
    }
    lacks = any(not slots[slot.name] and not slot.optional for slot in form.slots)
    if machine is not None and (lacks or not form.requires.on(machine)):
        return None
    choices = {slot.name: slots[slot.name] for slot in form.slots if not slot.literal}
    return {
        "name": form.name, "notation": form.notation, "words": choices, "needs": form.requires.text,
        "modeled": form.definition.modeled, "missing": form.definition.facts.missing, "costed": has_cost(form, machine),
    }  # fmt: skip


def nearest_pattern(pattern: str) -> str | None:
    """The name of an instruction that was most likely meant by a pattern that nothing matches; None where it matches something elsewhere."""
    if next(entries(pattern), None) is not None:
        return None
    return nearest(pattern.lower(), registry.names()) or nearest(pattern.lower().partition(".")[0], registry.names())


def _matches(form: Form, pattern: str) -> bool:
    if fnmatchcase(form.name, pattern) or pattern in form.name:
        return True
    slots = {slot.name for slot in form.slots}
    words = {word for slot in form.slots for word in slot.words}
    words |= {word for word in re.split(r"[.{}]+", form.notation.partition(" ")[0]) if word not in slots}
    words |= {piece for word in words for piece in word.split("::")}  # gather4 of tile::gather4
    return all(
        part in form.name.split(".") or any(fnmatchcase(word, part) for word in words) for part in pattern.split(".")
    )


def line(entry: dict[str, Any]) -> str:
    """The same as `paragraph` in one line, for programs that read lines."""
    words = [
        f"{slot}: {' '.join(word if not needs else f'{word}({needs})' for word, needs in choices.items())}"
        for slot, choices in entry["words"].items()
    ]
    needs = [f"since {entry['needs']}"] if entry["needs"] else []
    return "; ".join([_title(entry), *words, *needs])


def _title(entry: dict[str, Any]) -> str:
    """The notation, with what ptxsim does not know of the form."""
    if not entry["modeled"]:
        return f"{entry['notation']}    (not modeled{': ' * bool(entry['missing'])}{entry['missing']})"
    return entry["notation"] if entry["costed"] else f"{entry['notation']}    (cost unknown)"


def paragraph(entry: dict[str, Any]) -> str:
    """The notation, then the words of each slot and what the form needs, within 100 columns."""
    lines = textwrap.wrap(_title(entry), WIDTH, subsequent_indent="        ", break_on_hyphens=False)
    for slot, words in entry["words"].items():
        listed = " ".join(
            word if not needs else f"{word}({needs.replace(' ', chr(160))})" for word, needs in words.items()
        )
        wrapped = textwrap.wrap(
            f"{slot}: {listed}", WIDTH, initial_indent="    ", subsequent_indent="        ", break_on_hyphens=False
        )
        lines += [line.replace(chr(160), " ") for line in wrapped]
    if entry["needs"]:
        lines.append(f"    since {entry['needs']}")
    return "\n".join(lines)
