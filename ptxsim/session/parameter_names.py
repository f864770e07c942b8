"""What the author of a CUDA kernel called its parameters. PTX keeps their order alone."""

from __future__ import annotations

import re

from ptxsim.demangle import demangle
from ptxsim.source import Source
from ptxsim.syntax import ast

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_LAST_WORD = re.compile(r"([A-Za-z_]\w*)\s*(?:\[[^\]]*\]\s*)*$")


def names_at_hand(source: Source, kernel: ast.Function) -> dict[str, str]:
    """Names by those of the PTX, where the text that it was made from is at hand."""
    text = source.made_from
    if text is None:
        origin = source.line_table.after(kernel.line)
        text = source.original(list(origin.chain())[-1].file) if origin is not None else None
    names = written_names(text.text, kernel.name) if text is not None else []
    own = [parameter.name for parameter in kernel.parameters]
    return dict(zip(own, names)) if len(names) == len(own) else {}


def written_names(text: str, kernel: str) -> list[str]:
    """Names of a kernel's parameters in the text of a .cu file; empty where it has no such kernel, or leaves one without a name."""
    name = demangle(kernel).partition("(")[0].partition("<")[0].rpartition("::")[2]
    text = _COMMENT.sub(" ", text)
    for found in re.finditer(rf"\b{re.escape(name)}\s*\(", text):
        declared = text.rfind("__global__", 0, found.start())
        if declared < 0 or any(end in text[declared : found.start()] for end in ";{}"):
            continue
        words = [_LAST_WORD.search(part.partition("=")[0].strip()) for part in _parts(text, found.end())]
        if all(words):
            return [word[1] for word in words if word]
    return []


def _parts(text: str, start: int) -> list[str]:
    """What stands between commas from `start` to the parenthesis that closes there."""
    parts, depth = [""], 0
    for character in text[start:]:
        if character == ")" and depth == 0:
            break
        depth += {"(": 1, "<": 1, "[": 1, ")": -1, ">": -1, "]": -1}.get(character, 0)
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part for part in parts if part.strip()]
