"""The nearest spelling of an unknown word, for messages."""

from __future__ import annotations

from collections.abc import Iterable

_LISTED = 12


def nearest(word: str, choices: Iterable[str]) -> str | None:
    """The choice that looks most like `word`, or None if none comes close."""
    from difflib import get_close_matches  # 2 ms that only a mistake needs to cost

    found = get_close_matches(word, list(choices), n=1)
    return found[0] if found else None


def did_you_mean(word: str, choices: Iterable[str]) -> str:
    """A help sentence: the nearest choice if one comes close, else the choices, as far as one line holds them."""
    choices = list(choices)
    best = nearest(word.lower(), choices)
    if best:
        return f"did you mean {best}?"
    if not choices:
        return "there is none"
    return "known: " + ", ".join(choices[:_LISTED]) + (", ..." if len(choices) > _LISTED else "")
