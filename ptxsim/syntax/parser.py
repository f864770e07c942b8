"""PTX text to nodes. `parse` reads a module, `parse_body` the statements of a snippet."""

from __future__ import annotations

import re
import threading
from functools import cache
from typing import Any

from ptxsim.diagnostic import Finding, PtxError
from ptxsim.source import Source
from ptxsim.syntax import ast, quoted
from ptxsim.syntax.build import InstructionBuilder, Mistake, ModuleBuilder
from ptxsim.syntax.machine import Machine, Unexpected
from ptxsim.syntax.shape import ShapeReader
from ptxsim.syntax.tables import load_tables

# After this many findings the rest of a text is not looked at.
MAXIMUM_FINDINGS = 20
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
            if len(self.findings) >= MAXIMUM_FINDINGS:
                raise
            self.findings.append(self.explain(problem, text, self.instruction, line, column))
            return None

    def explain(self, problem: Exception, text: str, machine: Machine, line: int = 1, column: int = 1) -> Finding:
        from ptxsim.syntax import mistakes

        return mistakes.explain(problem, text, machine, self.instruction, line, column)

    def run(self, source: Source, start: str, text: str) -> Any:
        """What the grammar makes of `text`. Raises PtxError with every finding.

        A statement that cannot be read is blanked out and the text read again, so that a second mistake shows too.
        """
        with self.lock:
            found: dict[tuple[int, int], Finding] = {}
            for _ in range(MAXIMUM_ROUNDS):
                self.findings = []
                result, rest = self._attempt(start, text)
                found |= {(finding.line, finding.column): finding for finding in self.findings}
                if rest is None:
                    break
                text = rest
            if found:
                raise PtxError([found[place].of(source) for place in sorted(found)])
            return result

    def _attempt(self, start: str, text: str) -> tuple[Any, str | None]:
        """The result, and the text to try next if it could not be read."""
        try:
            return self.module.parse(text, start), None
        except Unexpected as problem:
            self.findings.append(self.explain(problem, text, self.module))
            begin = problem.position
            end = max(_REST_OF_STATEMENT.match(text, begin).end(), begin + 1)
            if not problem.found:
                return None, None
            return None, text[:begin] + " " * (end - begin) + text[end:]
        except Mistake as problem:
            self.findings.append(self.explain(problem, text, self.module))
            return None, None


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
            header.setdefault(*item)
        elif isinstance(item, list):
            rest.extend(item)
        else:
            rest.append(item)
    for word, example in (("version", ".version 8.0"), ("target", ".target sm_90a")):
        if word not in header:
            message = f"the file has no .{word}"
            raise PtxError(Finding("syntax-error", message, 1, help=f"start it with `{example}`").of(source))
    size = header.get("address_size", 64)
    return ast.Module(header["version"], header["target"], size, tuple(rest), line=1, column=1)


def parse_body(source: Source | str) -> tuple[ast.Statement, ...]:
    """Read statements without a module around them; inline assembly of CUDA C++ is taken as it stands.

    Places are those in the given text. Raises PtxError with findings named syntax-error.
    """
    source = source if isinstance(source, Source) else Source(source)
    return _parser().run(source, "body", quoted.unquote(source.text))
