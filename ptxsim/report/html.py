"""Painted text as HTML."""

from __future__ import annotations

import re
from html import escape

_STYLE = re.compile("\ue000(\\w+)\ue001(.*?)\ue002", re.S)


def mark(style: str, text: str) -> str:
    """A style as private characters, which pass through escaping."""
    return f"\ue000{style}\ue001{text}\ue002"


def coloured(text: str) -> str:
    """HTML of a text that `mark` has painted."""
    return _STYLE.sub(r'<span class="\1">\2</span>', escape(text))
