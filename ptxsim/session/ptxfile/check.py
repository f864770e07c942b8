"""A file checked without running it: its directives and its PTX."""

from __future__ import annotations

from ptxsim.diagnostic import Finding, PtxError
from ptxsim.session.module import judge
from ptxsim.session.ptxfile.directives import parse_directives
from ptxsim.source import Source


def check_file(source: Source, target: str | None = None) -> list[Finding]:
    """Findings of one text: directives first, then what the parser and the binder say, less what the file expects."""
    return judge_file(source, target)[0]


def judge_file(source: Source, target: str | None = None) -> tuple[list[Finding], bool]:
    """The same, and whether all statements were judged: those of a text that does not parse are not."""
    try:
        directives = parse_directives(source)
    except PtxError as error:
        return error.findings, False
    try:
        findings, complete = judge(source, target or directives.launch.target)
    except PtxError as error:
        findings, complete = error.findings, False
    findings = [finding if finding.source else finding.of(source) for finding in findings]
    return [
        finding for finding in findings if not any(wanted.matches(finding) for wanted in directives.findings)
    ], complete
