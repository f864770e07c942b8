"""Which of the changes that findings propose help: the changed text is run as the file says."""

from __future__ import annotations

import re
import time
from collections import Counter
from dataclasses import replace

from ptxsim.diagnostic import Finding, PtxError
from ptxsim.edits import Fix
from ptxsim.session.ptxfile.file import FileRun, Options, run_file
from ptxsim.source import Source

SECONDS = 20.0  # no trial begins after so long
# What a file expects to be wrong is nothing that a change must keep.
_EXPECTED = re.compile(r"^(\s*//) *ptxsim: *expect +[A-Za-z][\w-]*(?: +at +(?:line +)?\d+)?[ \t]*$", re.MULTILINE)
_INSTRUCTION = re.compile(r"\s*(?:@!?[\w%$]+\s+)?(?P<word>[\w.:]+)")

# Whether a finding is a note, its name, and the text of its line, which stays when lines move.
Key = tuple[bool, str, str]
Seen = Counter[Key]


def with_tried_fixes(result: FileRun, entry: str | None, options: Options) -> FileRun:
    """The result, whose findings keep those fixes that put them right and break nothing; a run for each fix says so.

    A fix helps if there are fewer findings like its own, and no more of any other, failed expectations among them and notes not.
    Those that no time is left for are kept, untried. Where a compiler has made the text, a change is made wherever the author's line and
    instruction come again, in each round of a loop that was unrolled: as it would be if it stood in the author's file.
    """
    options = replace(options, banks=None, profile=None, prints=(), notes=())
    before = _seen([*result.findings, *result.expected])
    texts: dict[str, Seen] = {}
    end = time.monotonic() + SECONDS

    def tried(finding: Finding) -> Finding:
        kept: list[Fix] = []
        mine: set[str] = set()
        for fix in finding.fixes:
            text = finding.fixed(result.source.text, everywhere(result.source, fix))
            if text in mine:
                continue  # copies of one line of the author's
            mine.add(text)
            if text not in texts:
                if time.monotonic() > end:
                    kept.append(fix)
                    continue
                texts[text] = _seen(_run(_with_nothing_expected(result.source, text), entry, options))
            after = texts[text]
            wrong = [key for key in after if not key[0]]
            own = _key(finding)
            if after[own] < before[own] and all(after[key] <= before[key] for key in wrong):
                kept.append(_said(fix, sum(after[key] for key in wrong)))
        if finding.fixes and not kept:
            tries = tuple(f"tried: {fix.title}: it does not help" for fix in finding.fixes)
            return replace(finding, fixes=(), notes=(*finding.notes, *tries))
        return replace(finding, fixes=tuple(kept))

    result.findings = [tried(finding) for finding in result.findings]
    result.expected = [tried(finding) for finding in result.expected]
    return result


def everywhere(source: Source, fix: Fix) -> Fix:
    """A change with its edits at every line that has the same instruction and was made from the same line of the author's."""
    edits = []
    for edit in fix.edits:
        origin, word = source.origin(edit.line) if edit.line else None, _first_word(source, edit.line)
        lines = [edit.line]
        if origin is not None and edit.where in ("before", "after", "statement"):
            lines = [
                n
                for n in range(1, len(source.lines) + 1)
                if source.origin(n) == origin and _first_word(source, n) == word
            ]
        for line in lines:
            shift = _column(source, line) - _column(source, edit.line)
            edits.append(replace(edit, line=line, column=edit.column + shift))
    return replace(fix, edits=tuple(edits))


def _first_word(source: Source, line: int) -> str:
    found = _INSTRUCTION.match(source.line(line))
    return found["word"] if found else ""


def _column(source: Source, line: int) -> int:
    found = _INSTRUCTION.match(source.line(line))
    return found.start("word") if found else 0


def _with_nothing_expected(source: Source, text: str) -> Source:
    """The changed text of a source, where no finding is expected any more, by it or by what it was made from."""
    own = source.made_from
    return replace(
        source, text=_EXPECTED.sub(r"\1", text), made_from=own and replace(own, text=_EXPECTED.sub(r"\1", own.text))
    )


def _run(source: Source, entry: str | None, options: Options) -> list[Finding]:
    try:
        return run_file(source, entry, options).findings
    except PtxError as error:
        return error.findings


def _said(fix: Fix, left: int) -> Fix:
    others = "1 other is" if left == 1 else f"{left} others are"
    return replace(fix, tried=f"tried: {f'this is gone, {others}' if left else 'no finding is'} left")


def _seen(findings: list[Finding]) -> Seen:
    return Counter(map(_key, findings))


def _key(finding: Finding) -> Key:
    source: Source | None = finding.source
    line = source.line(finding.line).strip() if source is not None and finding.line else ""
    return finding.level == "note", finding.name, line
