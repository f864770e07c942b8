"""A text in an editor: its tokens, its findings, and how its places are counted."""

from __future__ import annotations

import bisect
import re
from dataclasses import dataclass, field
from functools import cached_property

from ptxsim import instructions
from ptxsim.diagnostic import Finding
from ptxsim.editor.symbols import Statement
from ptxsim.editor.tokens import Tokens
from ptxsim.isa import registry
from ptxsim.isa.bind import Binder
from ptxsim.isa.check_operand import name_operands
from ptxsim.isa.match_opcode import Candidate
from ptxsim.session.ptxfile.check import check_file
from ptxsim.source import Source
from ptxsim.syntax import ast
from ptxsim.types import NEWEST, TARGETS, parse_target, parse_version

_VERSION = re.compile(r"^\s*\.version\s+(\d+\.\d+)", re.MULTILINE)
_TARGET = re.compile(r"^\s*\.target\s+[^\n]*?\b(sm_\w+)", re.MULTILINE)
DEFAULT_TARGET = "sm_90a"  # of a text that does not say one yet


@dataclass
class Document:
    """One version of a text. `name` is what findings call the file; lines and columns count from 0 here."""

    text: str
    name: str = "<text>"
    findings: list[Finding] = field(default_factory=list)
    version: int | None = None  # as the editor counts them

    @cached_property
    def tokens(self) -> Tokens:
        return Tokens(self.text)

    @cached_property
    def lines(self) -> list[str]:
        return self.text.split("\n")

    @cached_property
    def _starts(self) -> list[int]:
        starts = [0]
        for line in self.lines:
            starts.append(starts[-1] + len(line) + 1)
        return starts

    def offset(self, line: int, column: int) -> int:
        """Where a place lies in the text; a column past the end of its line is that end."""
        line = min(max(line, 0), len(self.lines) - 1)
        return self._starts[line] + min(max(column, 0), len(self.lines[line]))

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset."""
        line = bisect.bisect_right(self._starts, offset, hi=len(self.lines)) - 1
        return line, offset - self._starts[line]

    def extent(self, finding: Finding) -> tuple[int, int]:
        """Offsets of what a finding underlines."""
        number = min(max(finding.line - 1, 0), len(self.lines) - 1)
        start, end = finding.columns(self.lines[number])
        return self._starts[number] + start, min(self._starts[number] + end, len(self.text))

    @cached_property
    def binder(self) -> Binder:
        """What finds forms for the version and target that the text says, or the newest where it says none."""
        instructions.offer_families()
        version, target = _VERSION.search(self.text), _TARGET.search(self.text)
        name = target[1] if target and target[1] in TARGETS else DEFAULT_TARGET
        return Binder(parse_target(name), parse_version(version[1]) if version else NEWEST)

    def check(self) -> list[Finding]:
        """Parse and bind the text, as `ptxsim check` does."""
        self.findings = check_file(Source(self.text, self.name))
        return self.findings

    def candidates(self, opcode: str) -> list[Candidate]:
        """The forms that an opcode may be here; of other targets where this one has none."""
        found = self.binder.match(opcode)
        if not isinstance(found, Finding):
            return found
        from ptxsim.isa.match_opcode import match_forms

        return list(match_forms(opcode, len(registry.forms(registry.split_opcode(opcode)[0])))[0])

    def operands(self, statement: Statement) -> tuple[Candidate, dict[str, ast.Operand]] | None:
        """An instruction's form and its operands by name, whose columns count from the opcode; None for what is no instruction."""
        from ptxsim.diagnostic import PtxError
        from ptxsim.syntax.parser import parse_body

        candidates = self.candidates(statement.opcode)
        text = " ".join(self.text[statement.start : statement.end].split("\n")).rstrip("; ") + ";"
        try:
            (read,) = parse_body(text)
        except (PtxError, ValueError):
            return None
        if not isinstance(read, ast.Instruction):
            return None
        fitting = [one for one in candidates if len(one.form.operands) >= len(read.operands)] or candidates
        return (fitting[0], name_operands(fitting[0].form, read.operands)) if fitting else None
