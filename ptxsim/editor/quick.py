"""Findings while one types: of the lines that changed at once, of the whole text after a pause."""

from __future__ import annotations

import re
from dataclasses import replace

from ptxsim.diagnostic import Finding
from ptxsim.editor.document import Document
from ptxsim.editor.runs import LastRun
from ptxsim.session.ptxfile.check import check_file
from ptxsim.source import Source

SHORT = 1500  # lines that are read whole at once
CHANGED = 200  # more changed lines than these are no key
# A line that is one instruction and opens or closes no scope.
_INSTRUCTION = re.compile(r"\s*(?:@!?[\w%$]+\s+)?[a-z][\w.:]*\s[^;:{}]*(?:\{[^;{}]*\}[^;{}]*)*;\s*(?://.*)?")


class QuickCheck:
    """What was found in the last whole text, to which an edit is compared."""

    def __init__(self) -> None:
        # Lines and their findings: replaced as one, by another thread.
        self.known: tuple[list[str], list[Finding]] = ([], [])
        self.last: LastRun | None = None

    def ran(self, last: LastRun) -> None:
        """The findings of this run stand beside those of the text, as long as their lines do."""
        self.last = last

    def whole(self, document: Document) -> list[Finding]:
        """Everything that is wrong with a text."""
        self.known = document.lines, document.check()
        return [*self.known[1], *self._of_run(document)]

    def quick(self, document: Document) -> list[Finding] | None:
        """What is wrong with the changed lines, and what was wrong with the others; None where only the whole text can say.

        The other instructions are left out of what is read: whether an instruction is legal depends on itself and on the
        declarations.
        """
        new, (old, known) = document.lines, self.known
        if len(new) < SHORT or not old:
            return None
        head = next((i for i, (one, other) in enumerate(zip(old, new)) if one != other), min(len(old), len(new)))
        most = min(len(old), len(new)) - head
        tail = next((i for i in range(most) if old[-1 - i] != new[-1 - i]), most)
        changed = new[head : len(new) - tail]
        removed = old[head : len(old) - tail]
        if len(changed) > CHANGED or not all(_INSTRUCTION.fullmatch(line) for line in removed if line.strip()):
            return None
        kept = [self._without_instruction(line) for line in new[:head]]
        kept += changed
        kept += [self._without_instruction(line) for line in new[len(new) - tail :]]
        found = check_file(Source("\n".join(kept), document.name))
        last, by = len(old) - tail, len(new) - len(old)
        for finding in known:
            if finding.line <= head:
                found.append(finding)
            elif finding.line > last:
                found.append(replace(finding, line=finding.line + by))
        source = Source(document.text, document.name)
        unique = {(f.line, f.column, f.name, f.message): f.of(source) for f in found}
        return [*sorted(unique.values(), key=lambda f: (f.line, f.column)), *self._of_run(document)]

    @staticmethod
    def _without_instruction(line: str) -> str:
        return "" if _INSTRUCTION.fullmatch(line) else line

    def _of_run(self, document: Document) -> list[Finding]:
        """Findings of the last run whose lines stand unchanged."""
        return self.last.findings_now(document) if self.last is not None else []
