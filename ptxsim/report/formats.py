"""Findings in the formats of other tools: GitHub annotations, SARIF, and the lines of compute-sanitizer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ptxsim.diagnostic import KINDS, Finding
from ptxsim.report.origins import told
from ptxsim.report.pages import page
from ptxsim.report.records import to_json
from ptxsim.report.style import printable
from ptxsim.report.text import where

FORMATS = ("full", "concise", "json", "github", "sarif", "sanitizer")

_GITHUB_LEVEL = {"error": "error", "warning": "warning", "note": "notice"}


def to_github(findings: Sequence[Finding]) -> str:
    """Workflow commands: GitHub shows them beside the lines of a pull request."""
    lines = []
    for finding in map(told, findings):
        file, line, column = _place(finding)
        properties = {"file": file, "line": max(1, line), "col": column, "title": f"{finding.code} {finding.name}"}
        listed = ",".join(f"{key}={_escape(str(value), ':,')}" for key, value in properties.items())
        message = finding.message + (f"\nhelp: {finding.help}" if finding.help else "")
        if (file, line) != (finding.file, finding.line) and finding.source is not None:
            message += f"\n{finding.file}:{finding.line}: {' '.join(finding.source.line(finding.line).split())}"
        lines.append(f"::{_GITHUB_LEVEL[str(finding.level)]} {listed}::{_escape(message)}")
    return "\n".join(lines)


def _place(finding: Finding) -> tuple[str, int, int]:
    """Where people look: in the file that the PTX was made from, if it is at hand."""
    if finding.origin is None or finding.original is None:
        return finding.file, finding.line, finding.column
    return finding.original.name, finding.origin.line, finding.origin.column


def _escape(text: str, more: str = "") -> str:
    """Percent-encoding of what ends a workflow command or one of its properties."""
    for character in "%\r\n" + more:
        text = text.replace(character, f"%{ord(character):02X}")
    return text


def to_sarif(findings: Sequence[Finding], version: str) -> str:
    """SARIF 2.1.0; every rule that occurs brings its page as help."""
    names = sorted({finding.name for finding in findings})
    rules = [
        {
            "id": KINDS[name].code,
            "name": name,
            "shortDescription": {"text": KINDS[name].title},
            "help": {"text": KINDS[name].title, "markdown": page(name).text},
            "defaultConfiguration": {"level": KINDS[name].level},
        }
        for name in names
    ]
    driver = {"name": "ptxsim", "version": version, "rules": rules}
    results = [_sarif_result(finding, names.index(finding.name)) for finding in map(told, findings)]
    return to_json(
        {
            "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
            "version": "2.1.0",
            "runs": [{"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}],
        }
    )


def _sarif_result(finding: Finding, rule: int) -> dict[str, Any]:
    message = finding.message + (f"\nhelp: {finding.help}" if finding.help else "")
    file, line, column = _place(finding)
    is_ptx = (file, line) == (finding.file, finding.line)
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": rule,
        "level": finding.level,
        "message": {"text": message},
        "locations": [_sarif_place(file, line, column, finding.length if is_ptx else 1)],
    }
    if finding.count > 1:
        result["occurrenceCount"] = finding.count
    related = [(label.line, label.column, label.length, label.text) for label in finding.labels]
    if not is_ptx:
        related.append((finding.line, finding.column, finding.length, "the PTX instruction"))
    if related:
        result["relatedLocations"] = [
            _sarif_place(finding.file, *place) | {"message": {"text": text}} for *place, text in related
        ]
    return result


def _sarif_place(file: str, line: int, column: int, length: int) -> dict[str, Any]:
    region = {"startLine": max(1, line), "startColumn": max(1, column), "endColumn": max(1, column) + max(1, length)}
    return {"physicalLocation": {"artifactLocation": {"uri": file.replace("\\", "/")}, "region": region}}


def to_sanitizer(findings: Sequence[Finding], version: str, entry: str | None = None) -> str:
    """The prefix and order of facts that scripts around compute-sanitizer look for."""
    lines = [f"========= PTXSIM {version}"]
    for finding in map(told, findings):
        lines.append(f"========= {str(finding.level).capitalize()}: {finding.name}: {finding.message}")
        if finding.origin is not None:
            lines.append(f"=========     at {finding.origin}")
        lines.append(f"=========     at {finding.file}:{finding.line}{f' in {entry}' if entry else ''}")
        if place := where(finding):
            lines.append(f"=========     by {place}{f', {finding.count} times' if finding.count > 1 else ''}")
        lines += [f"=========     {label.text} at {finding.file}:{label.line}" for label in finding.labels]
        lines += [f"=========     Note: {note}" for note in finding.notes]
        lines += [f"=========     Help: {finding.help}"] if finding.help else []
        lines.append("=========")
    errors = sum(finding.level == "error" for finding in findings)
    lines = [printable(line) for line in lines]
    return "\n".join([*lines, f"========= ERROR SUMMARY: {errors} error{'' if errors == 1 else 's'}"])
