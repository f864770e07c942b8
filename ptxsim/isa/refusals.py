"""Refusals that help: the nearest legal form and the reason."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache

from ptxsim.diagnostic import Finding
from ptxsim.edits import instead
from ptxsim.isa import registry
from ptxsim.isa.availability import Availability, advice, remedies
from ptxsim.isa.match_opcode import match_forms
from ptxsim.isa.notation import assign
from ptxsim.isa.registry import Form
from ptxsim.spelling import nearest
from ptxsim.types import Target, Version

# How many forms, those that share most words with an opcode, are compared with it word by word.
COMPARED = 12


@lru_cache(maxsize=4096)
def unknown_instruction(opcode: str) -> Finding:
    """No instruction has this name; the help names the nearest spelling."""
    words = opcode.split(".")
    given = dict.fromkeys(".".join(words[:count]) for count in (3, 2, 1))
    found = [(_similarity(word, other), other) for word in given if (other := nearest(word, registry.names()))]
    # Where names have the first word, as wgmma and mbarrier, the typing error is in a later one.
    _, close = max(found, key=lambda pair: (pair[1].split(".")[0] == words[0], pair[0])) if found else (0.0, None)
    help_text = f"did you mean {close}?" if close else "see `ptxsim isa` for the names ptxsim knows"
    whole = ".".join([close, *words[close.count(".") + 1 :]]) if close else ""
    fixes = (instead(opcode, whole),) if close else ()
    called = ".".join(words[: close.count(".") + 1]) if close and close.split(".")[0] == words[0] else words[0]
    return Finding("unknown-instruction", f"no instruction is called {called}", help=help_text, fixes=fixes)


def refused(opcode: str, kind: str, why: str, target: Target, version: Version) -> Finding:
    """A form that other targets or versions have; the help names the nearest one that the module may use."""
    name, _ = registry.split_opcode(opcode)
    forms = _relatives_here(name, len(registry.forms(name)), target, version)
    _, legal = _best(opcode, forms) if forms else (None, opcode)
    other = legal != opcode
    help = f"did you mean {legal}?" if other else advice(why)
    return Finding(kind, f"{opcode}: {why}", help=help, fixes=(*[instead(opcode, legal)] * other, *remedies(why)))


def forbidden(opcode: str, why: str) -> Finding:
    """A combination of modifiers that a rule refuses on every target."""
    return Finding("illegal-form", f"{opcode}: {why}")


@lru_cache(maxsize=4096)
def illegal_form(opcode: str) -> Finding:
    """Say what does not fit and name the legal opcode with the fewest changed words. The same for every target."""
    name, words = registry.split_opcode(opcode)
    forms = _relatives(opcode)
    best, legal = _best(opcode, forms)
    words = _without_name(opcode, best)
    _, left, missing = assign(best.slots, words)
    known = {word for form in forms for word in (*form.vocabulary.known, *form.name.split("."))}
    rest = legal.split(".")
    changed = [word for word in words if word not in rest]
    repeated = [word for word in words if words.count(word) > rest.count(word) > 0]
    if unknown := [word for word in left if word not in known]:
        message = f"no .{unknown[0]} for {name}"
    elif changed:
        message = f"no {opcode}: .{changed[0]} does not go with the other modifiers"
    elif repeated:
        message = f".{repeated[0]} stands once too often in {opcode}"
    elif best.name != name and not opcode.startswith(best.name):
        choices = [form.name[len(name) :] for form in forms if not _without_name(opcode, form)[len(words) :]]
        message = f"{opcode} lacks {_alternatives(dict.fromkeys(c for c in choices if c))}"
    elif left:
        message = f"no {opcode}: .{left[0]} does not go with the other modifiers"
    elif missing:
        message = f"{opcode} lacks {_alternatives(f'.{word}' for word in missing[0].words)}"
    else:
        message = f"no target has the form {opcode}"
    return Finding("illegal-form", message, help=f"did you mean {legal}?", fixes=(instead(opcode, legal),))


def nearest_opcode(opcode: str, form: Form) -> str:
    """The legal opcode of a form that keeps as many of the given words as it can, and changes the others least."""
    taken, left, missing = assign(form.slots, _without_name(opcode, form))
    for word in left:
        free = [slot for slot in form.slots if slot.name not in taken]
        pairs = (
            (_similarity(word, other) + 0.1 * (slot in missing), slot.name, other)
            for slot in free
            for other in slot.words
        )
        likeness, name, other = max(pairs, default=(0.0, "", ""))
        if likeness >= 0.6:
            taken[name] = other
    for slot in missing:
        taken.setdefault(slot.name, next(iter(slot.words)))
    return ".".join([form.name, *(taken[slot.name] for slot in form.slots if slot.name in taken)])


@lru_cache(maxsize=1024)
def _relatives_here(name: str, count: int, target: Target, version: Version) -> tuple[Form, ...]:
    """The forms of `_relatives` that a target and version have, with the words they have there."""

    def has(since: Availability) -> bool:
        return since.problem(version, target) is None

    found = []
    for form in _relatives(name):
        if has(form.requires):
            words = [{word: since for word, since in slot.words.items() if has(since)} for slot in form.slots]
            if all(left or slot.optional for left, slot in zip(words, form.slots)):
                slots = tuple(replace(slot, words=left) for left, slot in zip(words, form.slots))
                found.append(replace(form, slots=slots))
    return tuple(found)


def _relatives(opcode: str) -> list[Form]:
    """Forms of the opcode's name and of the longer names that begin with it (mul: mul.lo, mul.hi, mul.wide)."""
    name, _ = registry.split_opcode(opcode)
    names = [other for other in registry.names() if other == name or other.startswith(f"{name}.")]
    return [form for other in names for form in registry.forms(other)]


def _without_name(opcode: str, form: Form) -> list[str]:
    """The words of an opcode that are no words of the form's name."""
    words = opcode.split(".")
    for word in form.name.split("."):
        if word in words:
            words.remove(word)
    return words


def _best(opcode: str, forms: Sequence[Form]) -> tuple[Form, str]:
    """The form that is most like the opcode and a legal opcode of it; rules of the form are obeyed where that can be."""
    words = frozenset(opcode.split("."))

    def shared(form: Form) -> tuple[int, float]:
        known = form.vocabulary.known | set(form.name.split("."))
        return -len(words & known), -_name_likeness(words - known, form)

    alike = sorted(forms, key=shared)
    ordered = sorted(alike[:COMPARED], key=lambda form: _distance(form, opcode))
    suggested = [(form, nearest_opcode(opcode, form)) for form in ordered]
    return next(
        (pair for pair in suggested if match_forms(pair[1], len(registry.forms(pair[0].name)))[0]), suggested[0]
    )


def _distance(form: Form, opcode: str) -> float:
    _, left, missing = assign(form.slots, _without_name(opcode, form))
    absent = [word for word in form.name.split(".") if word not in opcode.split(".")]
    wanted = [*absent, *(word for slot in missing for word in slot.words)]
    similar = sum(max((_similarity(word, w) for w in wanted), default=0.0) for word in left)
    types = sum(slot.group == "type" for slot in missing)
    return 2 * len(left) + len(missing) + 0.1 * types + len(absent) - 1.6 * similar


def _name_likeness(left: Iterable[str], form: Form) -> float:
    """How much a word that the form does not have is like one of its name: `wait_al`, of cp.async.wait_all."""
    return max((_similarity(word, other) for word in left for other in form.name.split(".")), default=0.0)


@lru_cache(maxsize=65536)
def _similarity(word: str, other: str) -> float:
    """0..1; words that differ in their numbers alone (x3 and x4, shapes) are the more alike the nearer those are."""
    from difflib import SequenceMatcher

    likeness = SequenceMatcher(None, word, other).ratio()
    if re.sub(r"\d+", "0", word) == re.sub(r"\d+", "0", other) and any(c.isdigit() for c in word):
        pairs = zip(map(int, re.findall(r"\d+", word)), map(int, re.findall(r"\d+", other)))
        nearness = 0.7 + 0.3 / (1 + sum(abs(a - b) for a, b in pairs))
        return (
            max(nearness, likeness) if other.startswith(word) else nearness
        )  # u3, of u32, is one that is not finished
    return likeness


def _alternatives(words: Iterable[str]) -> str:
    return " or ".join(itertools.islice(words, 6))
