"""Colours of the terminal, or none: NO_COLOR, pipes and files get plain text."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

WIDTH = 100

_CODES = {
    "error": "1;31", "warning": "1;33", "note": "1;36", "help": "1;32", "strong": "1", "faint": "2", "gutter": "34",
    "pass": "32",
}  # fmt: skip

# Given a style's name and a text, the text as it is printed.
Paint = Callable[[str, str], str]


def plain(style: str, text: str) -> str:
    """No colour at all."""
    return text


def coloured(style: str, text: str) -> str:
    """The text between ANSI codes."""
    return f"\x1b[{_CODES[style]}m{text}\x1b[0m" if text else text


def paint_for(stream: object = None) -> Paint:
    """Colours if `stream` (standard output) is a terminal that wants them."""
    stream = stream or sys.stdout
    is_terminal = bool(getattr(stream, "isatty", lambda: False)())
    wants = is_terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return coloured if wants else plain


def printable(text: str) -> str:
    """Text from a file, safe to print: tabs as four spaces, line ends as one, control characters as U+FFFD."""
    text = text.replace("\t", "    ").replace("\n", " ")
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
