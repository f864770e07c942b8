"""Matches an opcode with the forms it may be, whatever the target and version."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from ptxsim.isa import registry
from ptxsim.isa.notation import assign
from ptxsim.isa.registry import Form
from ptxsim.types import TYPES


@dataclass(frozen=True, slots=True)
class Candidate:
    """A form whose modifiers an opcode matches."""

    form: Form
    modifiers: Mapping[str, object]


@lru_cache(maxsize=8192)
def match_forms(opcode: str, count: int) -> tuple[tuple[Candidate, ...], tuple[str, ...]]:
    """Forms that an opcode's words fill, on whatever target, and what rules say against others.

    `count` is how many forms the name has: names may get more while they are being declared.
    """
    name, words = registry.split_opcode(opcode)
    different = frozenset(words)
    candidates, against = [], []
    for form in registry.forms(name):
        if not form.vocabulary.may_be(different):
            continue
        candidate = match_form(form, words)
        if isinstance(candidate, str):
            against.append(candidate)
        elif candidate is not None:
            candidates.append(candidate)
    return tuple(candidates), tuple(against)


def match_form(form: Form, words: list[str]) -> Candidate | str | None:
    """A candidate if the words fill the form's slots; None if they do not; a text if a rule of the form refuses them."""
    taken, left, missing = assign(form.slots, words)
    if left or missing:
        return None
    modifiers: dict[str, object] = dict(form.implies)
    for slot in form.slots:
        word = taken.get(slot.name)
        if slot.flag:
            modifiers[slot.name] = word is not None
        elif slot.group == "type" and word is not None:
            modifiers[slot.name] = TYPES[word]
        else:
            modifiers[slot.name] = word
    for rule in form.rules:
        problem = rule(modifiers)
        if problem:
            return problem
    return Candidate(form, modifiers)
