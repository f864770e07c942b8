"""The last run of a file: numbers and findings for the lines of a text that may have changed since."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from ptxsim.diagnostic import Finding, Label
from ptxsim.editor.difference import Difference
from ptxsim.editor.document import Document
from ptxsim.edits import Edit, Fix

LEAST = 0.01  # share of all waiting from which on a line shows its stalls


@dataclass
class LastRun:
    """What `ptxsim profile --format json` said about a text. Lines count from 0."""

    text: str
    record: dict[str, Any]
    hints: dict[int, str] = field(init=False)
    _since: tuple[Document, Difference] | None = field(default=None, init=False)  # of the version asked for last

    def __post_init__(self) -> None:
        self.hints = {}
        for row in self.banks.values():
            self.hints[row["line"] - 1] = f"{row['wavefronts']} wavefronts, ideal {row['ideal']}"
        waited = sum(sum(row["stalls"].values()) for row in self._lines) or 1.0
        for row in self._lines:
            cycles = sum(row["stalls"].values())
            if cycles > LEAST * waited:
                reason = max(row["stalls"], key=row["stalls"].get)
                said = f"{100 * cycles / waited:.0f} % of waiting: {reason}"
                line = row["line"] - 1
                self.hints[line] = "; ".join(filter(None, [self.hints.get(line), said]))

    @property
    def _lines(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = (self.record.get("profile") or {}).get("lines", [])
        return rows

    @cached_property
    def banks(self) -> dict[int, dict[str, Any]]:
        """Rows of the bank table by line."""
        return {row["line"] - 1: row for row in (self.record.get("banks") or {}).get("rows", [])}

    @cached_property
    def _ran(self) -> list[str]:
        return self.text.split("\n")

    @cached_property
    def findings(self) -> list[Finding]:
        """What it found at lines of the text."""
        found = []
        for row in self.record.get("findings", []):
            labels = tuple(Label(**label) for label in row["labels"])
            known = {
                name: row[name] for name in ("name", "message", "line", "column", "length", "level", "help", "count")
            }
            if row["line"]:
                fixes = tuple(
                    Fix(fix["title"], tuple(Edit(**edit) for edit in fix["edits"]), fix["tried"])
                    for fix in row["fixes"]
                )
                found.append(Finding(**known, notes=tuple(row["notes"]), labels=labels, fixes=fixes))
        return found

    @property
    def sentence(self) -> str:
        """What came of it, for a person."""
        count = len(self.record.get("findings", []))
        parts = [f"{count} finding{'s' * (count != 1)}" if count else "no findings"]
        parts.append(f"{self.record.get('warp_instructions', 0)} warp instructions")
        if self.record.get("cycles"):
            parts.append(f"{self.record['cycles']} cycles predicted")
        return ", ".join(parts)

    def since(self, document: Document) -> Difference:
        """What has changed."""
        if self._since is None or self._since[0] is not document:
            self._since = document, Difference(self._ran, document.lines)
        return self._since[1]

    def findings_now(self, document: Document) -> list[Finding]:
        """What it found at lines that stand unchanged, as they stand."""
        return [found for found in map(self.since(document).moved, self.findings) if found is not None]

    def words(self, document: Document, line: int) -> str:
        """What the run saw at a line, for a hover."""
        then = self.since(document).then(line)
        parts = []
        if then is not None and (row := self.banks.get(then)):
            parts.append(
                f"last run: {row['runs']} executions, {row['wavefronts']} wavefronts, ideal {row['ideal']}, "
                f"{row['worst']}-way" + (f"; {row['why']}" if row["why"] else "")
            )
            parts += [f"* {fix}" for fix in row["fixes"]]
        for row in self._lines:
            if row["line"] - 1 == then and row["stalls"]:
                stalls = sorted(row["stalls"].items(), key=lambda item: -item[1])
                listed = ", ".join(f"{name} {cycles:.0f}" for name, cycles in stalls[:3])
                parts.append(f"last run: issued {row['issued']} times; its warps waited {listed} cycles before it")
        return "\n".join(parts)


def run_text(document: Document, path: Path | None, seconds: float = 600.0) -> LastRun | str:
    """Run a text as `ptxsim profile` does, in a process of its own; a message where that said nothing."""
    file, given = "-", document.text
    if path is not None and path.is_file() and path.read_text(encoding="utf-8", errors="replace") == document.text:
        file, given = str(path), ""
    command = [sys.executable, "-m", "ptxsim", "profile", file, "--format", "json", "--try-fixes"]
    folder = path.parent if path is not None and path.parent.is_dir() else None
    try:
        done = subprocess.run(command, input=given, capture_output=True, text=True, timeout=seconds, cwd=folder)
        return LastRun(document.text, json.loads(done.stdout))
    except subprocess.TimeoutExpired:
        return f"the run took more than {seconds:.0f} seconds and was stopped"
    except ValueError:
        return done.stderr.strip() or f"the run ended with exit code {done.returncode} and no output"
