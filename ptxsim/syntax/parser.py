"""PTX text to nodes. `parse` reads a module, `parse_body` the statements of a snippet."""

from __future__ import annotations

import gc
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from ptxsim.diagnostic import Finding, PtxError
from ptxsim.source import Source
from ptxsim.syntax import ast, quoted
from ptxsim.syntax.build_instruction import InstructionBuilder, Mistake
from ptxsim.syntax.build_module import ModuleBuilder
from ptxsim.syntax.declared import find_redefinitions
from ptxsim.syntax.instruction_templates import ShapeReader
from ptxsim.syntax.machine import Machine, Unexpected
from ptxsim.syntax.tables import load_tables

MAXIMUM_FINDINGS = 20
# A text is read again behind a mistake a few times, a long one fewer times: characters in all, and rounds.
MAXIMUM_CHARACTERS = 4_000_000
MAXIMUM_ROUNDS = 5
_REST_OF_STATEMENT = re.compile(r"[^;}\n]*;?")


class Parser:
    """Both grammars, tied together: the module's hands every instruction to the instruction's."""

    def __init__(self) -> None:
        tables = load_tables()
        self.instruction = Machine(tables["instruction"], InstructionBuilder())
        self.shapes = ShapeReader(self.instruction)
        self.module = Machine(tables["module"], ModuleBuilder(self.read_instruction))
        self.lock = threading.Lock()
        self.findings: list[Finding] = []

    def read_instruction(self, text: str, line: int, column: int) -> ast.Instruction | None:
        """One instruction, or None and a finding: the statements behind it are still read."""
        try:
            return self.shapes.read(text, line, column)
        except (Unexpected, Mistake) as problem:
            if len(self.findings) < MAXIMUM_FINDINGS:
                self.findings.append(self.explain(problem, text, self.instruction, line, column))
            return None

    def explain(self, problem: Exception, text: str, machine: Machine, line: int = 1, column: int = 1) -> Finding:
        from ptxsim.syntax import mistakes

        return mistakes.explain(problem, text, machine, self.instruction, line, column)

    def run(self, source: Source, start: str, text: str) -> Any:
        """What the grammar makes of `text`. Raises PtxError with every finding.

        A statement that cannot be read is blanked out and the text read again, so that a second mistake shows too.
        """
        with self.lock, _no_collection():
            found: dict[tuple[int, int], Finding] = {}
            for attempt in range(max(1, min(MAXIMUM_ROUNDS, MAXIMUM_CHARACTERS // (len(text) + 1)))):
                self.findings = []
                result, problem = self._attempt(start, text)
                found |= {(finding.line, finding.column): finding for finding in self.findings}
                if problem is None:
                    break
                # Behind a first mistake, a bracket or an end that does not fit is most likely its consequence.
                if not (attempt and problem.found in ("", "}")):
                    finding = self.explain(problem, text, self.module)
                    found[finding.line, finding.column] = finding
                if not problem.found or problem.too_deep or "{" not in text[: problem.position]:
                    break
                text = _without_statement(text, problem.position)
            if found:
                raise PtxError([found[place].of(source) for place in sorted(found)])
            return result

    def _attempt(self, start: str, text: str) -> tuple[Any, Unexpected | None]:
        try:
            return self.module.parse(text, start), None
        except Unexpected as problem:
            return None, problem
        except Mistake as problem:
            self.findings.append(self.explain(problem, text, self.module))
            return None, None


@contextmanager
def _no_collection() -> Iterator[None]:
    """Nodes make no cycles: looking for garbage among them would take a third of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _without_statement(text: str, position: int) -> str:
    """Blanks in place of the statement around `position`."""
    begin = 1 + max(text.rfind(mark, 0, position) for mark in ";{}")
    end = max(_REST_OF_STATEMENT.match(text, position).end(), position + 1)
    return text[:begin] + re.sub(r"[^\n]", " ", text[begin:end]) + text[end:]


@cache
def _parser() -> Parser:
    return Parser()


def parse(source: Source | str) -> ast.Module:
    """Read a whole PTX file. Raises PtxError with findings named syntax-error."""
    source = source if isinstance(source, Source) else Source(source)
    items = _parser().run(source, "module", source.text)
    header: dict[str, Any] = {}
    rest: list = []
    for item in items:
        if isinstance(item, tuple):
            header.update([item])
        elif isinstance(item, list):
            rest.extend(item)
        else:
            rest.append(item)
    size = header.get("address_size", 64)
    (version, line), (targets, target_line) = header["version"], header["target"]
    module = ast.Module(version, targets, size, tuple(rest), line=line, column=1, target_line=target_line)
    findings = find_redefinitions(module)
    if findings:
        raise PtxError([finding.of(source) for finding in findings])
    return module


def parse_body(text: str, source: Source | None = None) -> tuple[ast.Statement, ...]:
    """Read statements without a module around them; inline assembly of CUDA C++ is taken as it stands.

    Places are those in `text`; `source` is what findings are tied to. Raises PtxError with findings named syntax-error.
    """
    return _parser().run(source or Source(text), "body", quoted.unquote(text))
