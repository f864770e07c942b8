"""Findings while one types: of the lines that an edit may change at once, of the whole text after a pause."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cached_property
from itertools import islice

from ptxsim.diagnostic import Finding
from ptxsim.editor.difference import Difference
from ptxsim.editor.document import Document
from ptxsim.editor.runs import LastRun
from ptxsim.session.ptxfile.check import judge_file
from ptxsim.source import Source

SHORT = 1500  # lines that are read whole at once
CHANGED = 1000  # more changed lines than these are no key
AFFECTED = 200  # other lines that are read at once
REMEMBERED = 500  # findings, more than an editor is told of
NEAR = 2  # instructions around a change: one that has no end takes the next one for its own
# A line that is one instruction and opens or closes no scope.
_INSTRUCTION = re.compile(r"\s*(?:@!?[\w%$]+\s+)?[a-z][\w.:]*\s[^;:{}]*(?:\{[^;{}]*\}[^;{}]*)*;\s*(?://.*)?")
_NAME = re.compile(r"(?<![\w.$%])[A-Za-z_$%][\w$]*")
_HEAD = re.compile(r"\s*\.(?:version|target)\b")
_COUNT = re.compile(r"([A-Za-z_$%][\w$]*)<([0-9]+)>")
_DIGITS = re.compile("[0-9]+")

Judge = Callable[[str, str], tuple[list[Finding], bool]]


def judge(text: str, name: str) -> tuple[list[Finding], bool]:
    """What is wrong with a text, and whether all its statements were judged: those of a text that does not parse are not."""
    found, complete = judge_file(Source(text, name))
    return [replace(finding, source=None) for finding in found[:REMEMBERED]], complete


class QuickCheck:
    """What was found in the last whole text, to which an edit is compared."""

    def __init__(self) -> None:
        # Lines, their findings, and whether that is all of them: replaced as one, by another thread.
        self.known: tuple[list[str], list[Finding], bool] = ([], [], False)
        self.last: LastRun | None = None

    def ran(self, last: LastRun) -> None:
        """The findings of this run stand beside those of the text, as long as their lines do."""
        self.last = last

    def whole(self, document: Document, judge: Judge = judge) -> list[Finding]:
        """Everything that is wrong with a text; of lines that are not judged until it parses again, what was known of them."""
        found, complete = judge(document.text, document.name)
        if complete or not self.known[2]:
            self.known = document.lines, found, complete
        else:
            found = [*found, *_Edit(self.known[0], document.lines).kept(self.known[1])]
        return self._all(document, found)

    def quick(self, document: Document) -> list[Finding] | None:
        """What is wrong with the lines that an edit may change, and what was wrong with the others; None where only the whole
        text can say.

        The other instructions are left out of what is read: whether an instruction is legal depends on itself, on what
        declares its names, and on what the text says of version and target.
        """
        lines, known, known_is_complete = self.known
        if len(document.lines) < SHORT or not lines:
            return None
        edit = _Edit(lines, document.lines)
        if len(edit.added) > CHANGED:
            return None
        wanted = edit.affected()
        read = [
            line if i in wanted or not _INSTRUCTION.fullmatch(line) else "" for i, line in enumerate(document.lines)
        ]
        found, complete = judge("\n".join(read), document.name)
        if complete and not known_is_complete:
            return None  # it parses again: nothing is known of the other lines
        others = edit.kept(known)
        if complete:
            others = (f for f in others if not read[f.line - 1] and not edit.affects(document.lines[f.line - 1]))
        return self._all(document, [*found, *others])

    def _all(self, document: Document, found: Iterable[Finding]) -> list[Finding]:
        """Findings of the text once each, by line, and those of the last run whose lines stand unchanged."""
        source = Source(document.text, document.name)
        unique = {(f.line, f.column, f.name, f.message): f.of(source) for f in found}
        of_run = self.last.findings_now(document) if self.last is not None else []
        return [*sorted(unique.values(), key=lambda f: (f.line, f.column)), *of_run]


class _Edit(Difference):
    """What an edit may make legal or not."""

    def kept(self, findings: Iterable[Finding]) -> Iterator[Finding]:
        """Findings of lines that are the same in both, where these are now."""
        return (found for found in map(self.moved, findings) if found is not None)

    @cached_property
    def declaring(self) -> list[str]:
        """Lines that came or went and are no instructions: what they say may hold for others."""
        return [line for line in (*self.removed, *self.added) if not _INSTRUCTION.fullmatch(line)]

    @cached_property
    def names(self) -> tuple[re.Pattern[str], dict[str, int]]:
        """What these lines name, and of each stem the least number that they may have changed."""
        stems = {name.rstrip("0123456789"): 0 for line in self.declaring for name in _NAME.findall(line)}
        for one, other in zip(
            self.removed, self.added
        ):  # of a family that grows or shrinks, the members that come or go
            if _COUNT.sub("", one) == _COUNT.sub("", other):
                stems |= {stem: min(int(a), int(b)) for (stem, a), (_, b) in zip(*map(_COUNT.findall, (one, other)))}
        return re.compile(rf"(?<![\w.$%])({'|'.join(map(re.escape, stems)) or '(?!)'})([0-9]*)(?![\w$])"), stems

    @cached_property
    def is_of_head(self) -> bool:
        """Whether another version or target may make any instruction legal or not."""
        return any(map(_HEAD.match, self.declaring))

    def affects(self, line: str) -> bool:
        """Whether an unchanged line may be legal or not since the edit."""
        named, least = self.names
        return self.is_of_head or any(not n or int(n) >= least[stem] for stem, n in named.findall(line))

    def affected(self) -> set[int]:
        """Lines of the new text that may be legal or not since the edit, the first of them where there are many."""
        before = (i for i in range(self.head - 1, -1, -1) if _INSTRUCTION.fullmatch(self.new[i]))
        after = (i for i in range(self.end, len(self.new)) if _INSTRUCTION.fullmatch(self.new[i]))
        near = {*islice(before, NEAR), *range(self.head, self.end), *islice(after, NEAR)}
        lines: Iterable[int] = ()
        if self.is_of_head:  # one line of each kind
            lines = sorted({_DIGITS.sub("0", line): i for i, line in reversed([*enumerate(self.new)])}.values())
        elif self.declaring:
            lines = (i for i, line in enumerate(self.new) if self.affects(line))
        return near | set(islice(lines, AFFECTED))
