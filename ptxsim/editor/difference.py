"""Where two versions of a text differ, and where findings of the old one stand in the new one."""

from __future__ import annotations

from dataclasses import replace

from ptxsim.diagnostic import Finding
from ptxsim.edits import Fix


class Difference:
    """`removed` lines from `head` on gave way to `added` ones; all others are the same. Lines count from 0."""

    def __init__(self, old: list[str], new: list[str]):
        self.new = new
        shorter = min(len(old), len(new))
        self.head = next((i for i, (one, other) in enumerate(zip(old, new)) if one != other), shorter)
        most = shorter - self.head
        tail = next((i for i in range(most) if old[-1 - i] != new[-1 - i]), most)
        self.removed, self.added = old[self.head : len(old) - tail], new[self.head : len(new) - tail]
        self.end = len(new) - tail  # of the added lines
        self.by = len(new) - len(old)

    def now(self, line: int) -> int | None:
        """Where a line of the old text is in the new one, if it is unchanged."""
        if line < self.head:
            return line
        return line + self.by if line + self.by >= self.end else None

    def then(self, line: int) -> int | None:
        """Where a line of the new text was in the old one, if it is unchanged."""
        return line if line < self.head else line - self.by if line >= self.end else None

    def moved(self, finding: Finding) -> Finding | None:
        """A finding of the old text as it stands, if its line does; a fix or label is left out where one of its lines has changed."""
        line = self.now(finding.line - 1)
        if line is None:
            return None
        if not self.by and not self.removed:
            return finding
        labels = ((label, self.now(label.line - 1)) for label in finding.labels)
        fixes = map(self._fix, finding.fixes)
        return replace(
            finding, line=line + 1, fixes=tuple(fix for fix in fixes if fix is not None),
            labels=tuple(replace(label, line=now + 1) for label, now in labels if now is not None),
        )  # fmt: skip

    def _fix(self, fix: Fix) -> Fix | None:
        lines = [self.now(edit.line - 1) if edit.line else -1 for edit in fix.edits]
        edits = tuple(replace(edit, line=line + 1) for edit, line in zip(fix.edits, lines) if line is not None)
        return replace(fix, edits=edits) if len(edits) == len(lines) else None
