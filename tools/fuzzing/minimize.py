"""The least of an input that fails alike: lines, then tokens left out as long as the same thing happens."""

from __future__ import annotations

from collections.abc import Callable

from fuzzing.judge import TEXTS, generator, judge_text
from fuzzing.texts import TOKEN


def minimize(kind: str, seed: int) -> str:
    """A text that fails as the input of this kind and number does; the whole one where it does not fail."""
    text = TEXTS[kind](generator(kind, seed))

    def cause(tried: str) -> str | None:
        rng = generator(kind, seed)
        TEXTS[kind](rng)  # what is drawn after the text is the same again
        problem = judge_text(tried, rng)
        return problem.cause if problem else None

    wanted = cause(text)
    if wanted is None:
        return text
    lines = _least(text.split("\n"), lambda parts: cause("\n".join(parts)) == wanted)
    tokens = _least(TOKEN.findall("\n".join(lines)), lambda parts: cause("".join(parts)) == wanted)
    return "".join(tokens)


def _least(parts: list[str], still: Callable[[list[str]], bool]) -> list[str]:
    """Leave out ever smaller pieces as long as `still` holds (delta debugging)."""
    size = max(1, len(parts) // 2)
    while True:
        place, before = 0, len(parts)
        while place < len(parts):
            tried = parts[:place] + parts[place + size :]
            if still(tried):
                parts = tried
            else:
                place += size
        if size == 1 and len(parts) == before:
            return parts
        size = max(1, size // 2)
