"""Which of the changes that findings propose help: the changed text is run as the file says."""

from __future__ import annotations

import re
from dataclasses import replace

from ptxsim.diagnostic import Finding, PtxError
from ptxsim.edits import Fix
from ptxsim.session.ptxfile.file import FileRun, Options, run_file
from ptxsim.source import Source

MOST = 24  # trials of one run
# What a file expects to be wrong is nothing that a change must keep.
_EXPECTED = re.compile(r"^(\s*//) *ptxsim: *expect +[A-Za-z][\w-]*(?: +at +(?:line +)?\d+)?[ \t]*$", re.MULTILINE)

Seen = set[tuple[str, str]]  # findings by name and the text of their line


def with_tried_fixes(result: FileRun, entry: str | None, options: Options) -> FileRun:
    """The result, whose findings keep those fixes that put them right and break nothing; a run for each fix says so.

    A fix helps if its finding is gone and none is there that was not there before, failed expectations among them.
    """
    if result.source.made_from is not None:  # the changes are of PTX that a compiler writes anew
        return result
    options = replace(options, banks=None, profile=None, prints=(), notes=())
    before = _seen([*result.findings, *result.expected])
    texts: dict[str, Seen] = {}

    def tried(finding: Finding) -> Finding:
        kept = []
        for fix in finding.fixes:
            text = _EXPECTED.sub(r"\1", finding.fixed(result.source.text, fix))
            if text not in texts:
                if len(texts) == MOST:
                    break
                texts[text] = _seen(_run(replace(result.source, text=text), entry, options))
            after = texts[text]
            if after <= before and (finding.name, _line(finding)) not in after:
                kept.append(_said(fix, len(after)))
        return replace(finding, fixes=tuple(kept))

    result.findings = [tried(finding) for finding in result.findings]
    result.expected = [tried(finding) for finding in result.expected]
    return result


def _run(source: Source, entry: str | None, options: Options) -> list[Finding]:
    try:
        return run_file(source, entry, options).findings
    except PtxError as error:
        return error.findings


def _said(fix: Fix, left: int) -> Fix:
    return replace(fix, tried=f"tried: {f'this is gone, {left} other' if left else 'no finding'} is left")


def _seen(findings: list[Finding]) -> Seen:
    return {(finding.name, _line(finding)) for finding in findings if finding.level != "note"}


def _line(finding: Finding) -> str:
    """The text of its line, which stays the same when lines move."""
    source: Source | None = finding.source
    return source.line(finding.line).strip() if source is not None and finding.line else ""
