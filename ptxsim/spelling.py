"""The nearest spelling of a word that nobody knows, for messages."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_LISTED = 12


def nearest(word: str, choices: Iterable[str]) -> str | None:
    """The choice that looks most like `word`, or None if none comes close."""
    found = difflib.get_close_matches(word.lower(), list(choices), n=1, cutoff=0.6)
    return found[0] if found else None


def did_you_mean(word: str, choices: Iterable[str]) -> str:
    """A help sentence: the nearest choice if one comes close, else the choices, as far as one line holds them."""
    choices = list(choices)
    best = nearest(word, choices)
    if best:
        return f"did you mean {best}?"
    if not choices:
        return "there is none"
    return "known: " + ", ".join(choices[:_LISTED]) + (", ..." if len(choices) > _LISTED else "")
