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
from ptxsim.syntax import ast
from ptxsim.syntax.build_instruction import Mistake
from ptxsim.syntax.build_module import ModuleBuilder
from ptxsim.syntax.inline_assembly import unquote
from ptxsim.syntax.instruction_templates import ShapeReader
from ptxsim.syntax.lark_parser import Lark_StandAlone, TextSlice, Token, UnexpectedInput
from ptxsim.syntax.mistakes import Unexpected, explain, locate
from ptxsim.syntax.name_mistakes import find_redefinitions

MAXIMUM_FINDINGS = 20
# A text is read again after a mistake a few times, a long one fewer times: characters in all, and rounds.
MAXIMUM_CHARACTERS = 4_000_000
MAXIMUM_ROUNDS = 5
_REST_OF_STATEMENT = re.compile(r"[^;}\n]*;?")


class Parser:
    """Lark's parser with the callbacks that build nodes; the module's hand every instruction back to it."""

    def __init__(self) -> None:
        self.builder = ModuleBuilder(self.read_token)
        self.lark = Lark_StandAlone(transformer=self.builder)
        self.shapes = ShapeReader(self.read_instruction)
        self.lock = threading.Lock()
        self.findings: list[Finding] = []

    def read_instruction(self, text: str, line: int, column: int) -> ast.Instruction:
        """One instruction whose first character stands at `line`, `column`. Raises UnexpectedInput and Mistake."""
        depth = self.builder.depth
        try:
            instruction: ast.Instruction = self.lark.parse(_placed(text, line, column), "instruction")
            return instruction
        finally:
            self.builder.depth = depth

    def read_token(self, token: Token) -> ast.Instruction | None:
        """One instruction of a module, or None and a finding: the statements after it are still read."""
        try:
            return self.shapes.read(token, token.line, token.column)
        except (UnexpectedInput, Mistake) as problem:
            if len(self.findings) < MAXIMUM_FINDINGS:
                text = _placed(token, token.line, token.column)
                self.findings.append(explain(_find(problem, text, "instruction")))
            return None

    def run(self, source: Source, start: str, text: str) -> Any:
        """What the grammar makes of `text`. Raises PtxError with every finding.

        A statement that cannot be read is blanked out and the text read again, so that a second mistake shows too.
        """
        with self.lock, no_collection():
            found: dict[tuple[int, int], Finding] = {}
            whole, earlier = text, list[int]()  # the text as it came, and where it was refused
            for attempt in range(max(1, min(MAXIMUM_ROUNDS, MAXIMUM_CHARACTERS // (len(text) + 1)))):
                result, problem = self._attempt(start, text)
                found |= {(finding.line, finding.column): finding for finding in self.findings}
                if problem is None:
                    break
                # After a first mistake, a bracket or an end that does not fit is most likely its consequence.
                # So is what else is refused in the statement of a mistake.
                is_known = False
                if isinstance(problem, Unexpected):
                    place = problem.position
                    is_known = any(";" not in whole[min(place, p) : max(place, p)] for p in earlier)
                    earlier.append(place)
                if not is_known and not (attempt and isinstance(problem, Unexpected) and problem.found in ("", "}")):
                    finding = explain(problem)
                    found[finding.line, finding.column] = finding
                if isinstance(problem, Mistake) or not problem.found or "{" not in text[: problem.position]:
                    break
                text = _without_statement(text, problem.position)
            if found:
                raise PtxError([found[place].of(source) for place in sorted(found)])
            return result

    def _attempt(self, start: str, text: str) -> tuple[Any, Unexpected | Mistake | None]:
        self.findings = []
        self.builder.depth = 0
        try:
            return self.lark.parse(text, start), None
        except (UnexpectedInput, Mistake) as problem:
            return None, _find(problem, TextSlice(text, 0, len(text)), start)


def _find(problem: UnexpectedInput | Mistake, text: TextSlice, start: str) -> Unexpected | Mistake:
    return problem if isinstance(problem, Mistake) else locate(problem, text, start)


def _placed(text: str, line: int, column: int) -> TextSlice:
    """`text` after as many line breaks and blanks as Lark must count to `line` and `column`."""
    padding = "\n" * (line - 1) + " " * (column - 1)
    return TextSlice(padding + text, len(padding), len(padding) + len(text))


@contextmanager
def no_collection() -> Iterator[None]:
    """What is read makes no cycles: looking for garbage in it would take a third of the time."""
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
    rest = _REST_OF_STATEMENT.match(text, position)
    end = max(rest.end() if rest else 0, position + 1)
    return text[:begin] + re.sub(r"[^\n]", " ", text[begin:end]) + text[end:]


@cache
def _parser() -> Parser:
    return Parser()


def parse(source: Source | str) -> ast.Module:
    """Read a whole PTX file. Raises PtxError with findings named syntax-error."""
    source = source if isinstance(source, Source) else Source(source)
    items = _parser().run(source, "module", source.text)
    header: dict[str, Any] = {}
    rest: list[ast.Item] = []
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
    statements: tuple[ast.Statement, ...] = _parser().run(source or Source(text), "body", unquote(text))
    return statements
