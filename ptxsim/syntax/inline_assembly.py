"""PTX as it stands in CUDA C++ inline assembly: string pieces, escapes, `%%` and `%[name]`."""

from __future__ import annotations

import re

_STARTS = re.compile(r"\s*(?:__asm__|asm|\"|R\"\()")
_PIECE = re.compile(r'R"\((?P<raw>.*?)\)"|"(?P<text>(?:[^"\\\n]|\\.)*)"|//[^\n]*|/\*.*?\*/|(?P<colon>:)|.', re.DOTALL)
_LINE_COMMENT = re.compile(r"//(?:(?!\\n).)*", re.DOTALL)
_ESCAPES = re.compile(r"\\[ntr]|\\(?=\r?\n|\Z)")
# `%%` is a percent sign, `%{` a brace, `%=` a number, `%[name]` an operand.
_MARKS = re.compile(r"%(?:%|\{|\||\}|=|\[(\w+)\])")


def unquote(text: str) -> str:
    """Plain PTX of the same length, every character where it was; text that is plain already stays as it is."""
    if _STARTS.match(text):
        text = _take_pieces(text)
    if "\\" in text:
        text = _ESCAPES.sub(_blank, text)
    return _MARKS.sub(_plain_mark, text) if "%" in text else text


def _blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match[0])


def _take_pieces(text: str) -> str:
    """Only what stands in strings, up to the colon where the operands of `asm` begin."""
    result: list[str] = []
    end = len(text)
    for match in _PIECE.finditer(text):
        if match["colon"]:
            end = match.start()
            break
        inner = match.lastgroup
        if inner is None:
            result.append(_blank(match))
        else:
            before, after = match.start(inner) - match.start(), match.end() - match.end(inner)
            result.append(" " * before + _LINE_COMMENT.sub(_blank, match[inner]) + " " * after)
    return "".join(result) + re.sub(r"[^\n]", " ", text[end:])


def _plain_mark(match: re.Match[str]) -> str:
    if match[1]:
        return f" %{match[1]} "
    return {"%%": " %", "%{": " {", "%|": " |", "%}": " }", "%=": "__"}[match[0]]
