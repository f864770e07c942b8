"""A PTX text with a line mark before each instruction, so that the machine code says which instruction it comes from."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ptxsim.engine.program.operation import Op

_LINES = re.compile(r"^[ \t]*\.(?:loc|file)\b[^\n]*", re.MULTILINE)
_DEBUG = re.compile(r"\.section\s+\.debug_\w+\s*\{[^}]*\}")
_GUARD = re.compile(r"@\s*!?\s*[%$\w]+\s*$")


def marked(text: str, ops: Iterable[Op]) -> tuple[str, dict[int, list[int]]]:
    """(the text with marks for its own, mark -> sites of the operations at that place)."""
    text = _DEBUG.sub(_blank, _LINES.sub(_blank, text))
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    sites: dict[int, list[int]] = {}
    for op in ops:
        if 0 < op.line < len(starts):
            place = starts[op.line - 1] + op.column - 1
            if text.startswith(op.opcode, place):  # a statement, none that the decoder has made
                sites.setdefault(place, []).append(op.site)
    parts: list[str] = []
    before = 0
    found: dict[int, list[int]] = {}
    for mark, (place, here) in enumerate(sorted(sites.items()), 1):
        begin = text.rfind("\n", 0, place) + 1
        guard = _GUARD.search(text, begin, place)
        at = guard.start() if guard else place
        parts += [text[before:at], f"\n.loc 1 {mark} 0\n"]
        before, found[mark] = at, here
    return "".join(parts) + text[before:] + '\n.file 1 "ptx"\n', found


def _blank(match: re.Match[str]) -> str:
    """Spaces in place of what is left out: places in the text stay the same."""
    return re.sub(r"[^\n]", " ", match[0])
