"""Refusals that help: the nearest legal form and the reason."""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Sequence
from functools import lru_cache

from ptxsim.diagnostic import Finding
from ptxsim.isa import registry
from ptxsim.isa.notation import assign
from ptxsim.isa.registry import Form


def unknown_instruction(opcode: str) -> Finding:
    """No instruction has this name; the help names the nearest spelling."""
    words = opcode.split(".")
    close: list[str] = []
    for count in (3, 2, 1):
        close = close or difflib.get_close_matches(".".join(words[:count]), registry.names(), 1, 0.6)
    help_text = f"did you mean {close[0]}?" if close else "see `ptxsim isa` for the names ptxsim knows"
    return Finding("unknown-instruction", f"no instruction is called {words[0]}", help=help_text)


def refused(opcode: str, kind: str, why: str) -> Finding:
    return Finding(kind, f"{opcode}: {why}")


@lru_cache(maxsize=4096)
def illegal_form(opcode: str) -> Finding:
    """Say what does not fit and name the legal opcode with the fewest changed words. The same for every target."""
    name, words = registry.split_opcode(opcode)
    forms = registry.forms(name)
    best = min(forms, key=lambda form: _distance(form, words))
    taken, left, missing = assign(best.slots, list(words))
    known = {word for form in forms for slot in form.slots for word in slot.words}
    legal = nearest_opcode(name, words, best)
    changed = [w for w in words if w not in legal.split(".")]
    unknown = [w for w in left if w not in known]
    if unknown:
        message = f"no .{unknown[0]} for {name}"
    elif len(words) != len(set(words)) and any(words.count(w) > legal.split(".").count(w) for w in words):
        repeated = next(w for w in words if words.count(w) > legal.split(".").count(w))
        message = f".{repeated} stands once too often in {opcode}"
    elif changed or left:
        message = f"no {opcode}: .{(changed or left)[0]} does not go with the other modifiers"
    elif missing:
        choice = " or ".join(f".{w}" for w in itertools.islice(missing[0].words, 6))
        message = f"{opcode} lacks {choice}"
    else:
        message = f"no target has the form {opcode}"
    return Finding("illegal-form", message, help=f"did you mean {legal}?")


def nearest_opcode(name: str, words: Sequence[str], form: Form) -> str:
    """The legal opcode of a form that keeps as many of the given words as it can."""
    taken, left, _ = assign(form.slots, list(words))
    parts = [name]
    for slot in form.slots:
        if slot.name in taken:
            parts.append(taken[slot.name])
        elif not slot.optional:
            close = [w for word in left for w in difflib.get_close_matches(word, list(slot.words), 1, 0.5)]
            parts.append(close[0] if close else next(iter(slot.words)))
    return ".".join(parts)


def _distance(form: Form, words: Sequence[str]) -> float:
    taken, left, missing = assign(form.slots, list(words))
    similar = sum(max((_similarity(word, w) for slot in missing for w in slot.words), default=0.0) for word in left)
    return 2 * len(left) + len(missing) - similar


@lru_cache(maxsize=65536)
def _similarity(word: str, other: str) -> float:
    return difflib.SequenceMatcher(None, word, other).ratio()
