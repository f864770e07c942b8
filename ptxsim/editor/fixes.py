"""Edits that apply what a finding's help says. The phrases are those of `spelling`, `syntax` and `isa`; a test has every one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ptxsim.diagnostic import Finding
from ptxsim.editor.document import Document

_MEANT = re.compile(r"did you mean `?([^`?]+)`?\?")
_DECLARE = re.compile(r"declare it before its first use, for example `(.+)`")
_WIDEN = re.compile(r"`([^`<]+)<\d+>` declares .*; `(\1<\d+>)` would declare it too")
_VERSION = re.compile(r"needs \.version (\d+\.\d+)")
_TARGETS = re.compile(r"needs target ([\w, ]+?)(?:, the module|$)")
_TARGET_LINE = re.compile(r"^([ \t]*\.target[ \t]+)(sm_\w+)", re.MULTILINE)
_VERSION_LINE = re.compile(r"^([ \t]*\.version[ \t]+)(\d+\.\d+)", re.MULTILINE)
_WORD = re.compile(r"[\w.:%$]+")


@dataclass(frozen=True, slots=True)
class Fix:
    """A title, and the text that takes the place of what lies between two offsets."""

    title: str
    start: int
    end: int
    text: str


def extent(document: Document, finding: Finding) -> tuple[int, int]:
    """Offsets of what a finding underlines: the whole word where only its start is known, its line where not even that."""
    line = document.lines[finding.line - 1] if 0 < finding.line <= len(document.lines) else ""
    start = min(max(finding.column - 1, 0), len(line))
    if finding.column == 1 and finding.length == 1:
        start = len(line) - len(line.lstrip())
    length = finding.length
    if length == 1 and (word := _WORD.match(line, start)):
        length = len(word[0])
    first = document.offset(finding.line - 1, start)
    return first, min(first + length, len(document.text))


def fixes(document: Document, finding: Finding) -> Iterator[Fix]:
    """What would correct a finding; the help is the first choice."""
    start, end = extent(document, finding)
    help = finding.help or ""
    if meant := _MEANT.search(help):
        yield _replace(document, finding, start, end, meant[1])
    if declare := _DECLARE.search(help):
        place = _declarations_end(document, start)
        yield Fix(f"Declare it: {declare[1]}", place, place, f"\n\t{declare[1]}")
    if widen := _WIDEN.search(help):
        family = document.tokens.scope_at(start).find(f"{widen[1]}0")
        text = document.text[family.start : family.statement_end] if family else ""
        if family and (old := re.match(rf"{re.escape(widen[1])}\s*<\s*\d+\s*>", text)):
            yield Fix(f"Declare {widen[2]}", family.start, family.start + len(old[0]), widen[2])
    if finding.name == "wrong-version" and (version := _VERSION.search(finding.message)):
        if line := _VERSION_LINE.search(document.text):
            yield Fix(f"Change .version to {version[1]}", line.start(2), line.end(2), version[1])
    if finding.name == "wrong-target" and (targets := _TARGETS.search(finding.message)):
        if line := _TARGET_LINE.search(document.text):
            for name in [word.partition("-")[0] for word in targets[1].split(", ")][:3]:
                yield Fix(f"Change .target to {name}", line.start(2), line.end(2), name)


def _replace(document: Document, finding: Finding, start: int, end: int, meant: str) -> Fix:
    """Of an opcode whose name is unknown, as many words as the name has; else all that is underlined."""
    old = document.text[start:end]
    if finding.name == "unknown-instruction":
        count = meant.count(".") + 1
        rest = old.split(".")[count:]
        meant = ".".join([meant, *rest])
    elif finding.name in ("wrong-version", "wrong-target") and old.startswith("."):
        line = _VERSION_LINE if finding.name == "wrong-version" else _TARGET_LINE
        if found := line.search(document.text):
            start, end = found.span(2)
            old = found[2]
    return Fix(f"Change {old} to {meant}", start, end, meant)


def _declarations_end(document: Document, offset: int) -> int:
    """Where a register can be declared for an offset: after the last declaration of its function, or its opening brace."""
    scope = document.tokens.scope_at(offset)
    ends = [s.statement_end for s in scope.symbols.values() if s.kind == "register" and s.start < offset]
    if ends:
        return max(ends)
    brace = document.text.find("{", scope.start)
    return brace + 1 if 0 <= brace < offset else offset
