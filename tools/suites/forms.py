"""Instruction forms that the assembler takes or refuses, for every target and the versions at its borders.

DIR holds forms.tsv and general_forms.tsv (columns in shared/isa/README.md). Items are `mnemonic`, `id` and
`mnemonic:id`. An accepted row passes if it is accepted for every listed target at its lowest and newest version and
refused below and for every other target; a refused row passes if every target refuses it.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from ptxsim.diagnostic import Finding, PtxError
from ptxsim.session import check
from ptxsim.syntax.parser import parse_body
from ptxsim.types import Version, parse_version
from suites.common import Options, Tally, spread

# Which versions the assembler was asked for: first and newest of every target, and all there are.
RANGES = {
    "sm_70": ("6.0", "8.8"), "sm_72": ("6.1", "8.8"), "sm_75": ("6.3", "9.5"), "sm_80": ("7.0", "9.5"),
    "sm_86": ("7.1", "9.5"), "sm_89": ("7.8", "9.5"), "sm_90": ("7.8", "9.5"), "sm_90a": ("8.0", "9.5"),
    "sm_100": ("8.6", "9.5"), "sm_100a": ("8.6", "9.5"), "sm_100f": ("8.8", "9.5"), "sm_103a": ("8.8", "9.5"),
    "sm_110a": ("9.0", "9.5"), "sm_120": ("8.7", "9.5"), "sm_120a": ("8.7", "9.5"), "sm_120f": ("8.8", "9.5"),
}  # fmt: skip
VERSIONS = (
    [(6, n) for n in range(6)] + [(7, n) for n in range(9)] + [(8, n) for n in range(9)] + [(9, n) for n in range(6)]
)
SHARE = {"forms.tsv": 0.995, "general_forms.tsv": 0.99}


PRELUDE = """\
.version {version}
.target {target}
.address_size 64
.global .align 128 .b8 gbuf[4096];
.const .align 128 .b8 cbuf[4096];
.visible .func (.reg .b32 fret) fn (.reg .b32 farg) {{ mov.b32 fret, farg; ret; }}
.visible .func (.param .b32 pret) pfn (.param .b32 parg) {{ ret; }}
.visible .entry k(.param .u64 kp, .param .align 64 .b8 kt[128], .param .b32 ki) {{
.shared .align 128 .b8 sbuf[4096];
.shared .align 8 .b64 sbar[4];
.local .align 16 .b8 lbuf[256];
.reg .pred p<16>;
.reg .b16 h<64>;
.reg .u16 uh<8>;
.reg .s16 sh<8>;
.reg .f16 x<64>;
.reg .f16x2 xx<64>;
.reg .b32 r<320>;
.reg .u32 u<64>;
.reg .s32 s<64>;
.reg .f32 f<320>;
.reg .b64 rd<64>;
.reg .u64 ud<64>;
.reg .s64 sd<64>;
.reg .f64 d<64>;
{b128}
"""
FIRST_LINE = PRELUDE.count("\n") + 1
LAST_LINES = "L0: ret;\n}\n"


@dataclass(frozen=True)
class Row:
    """One row; `where` maps a target to its lowest and (if later versions refuse) highest accepted version."""

    file: str
    id: str
    mnemonic: str
    accepted: bool
    where: dict[str, tuple[Version, Version | None]]
    late: frozenset[str]
    text: str

    def questions(self) -> Iterator[tuple[str, Version, bool]]:
        """(target, version, whether it must be accepted)."""
        for target, (first, newest) in RANGES.items():
            base, top = parse_version(first), parse_version(newest)
            if target in self.late:
                continue
            if target not in self.where:
                yield target, top, False
                if not self.accepted:
                    yield target, base, False
                continue
            low, high = self.where[target]
            low = max(low, base)
            yield target, low, True
            yield target, high or top, True
            if low > base:
                yield target, VERSIONS[VERSIONS.index(low) - 1], False
            if high and high < top:
                yield target, VERSIONS[VERSIONS.index(high) + 1], False


def read_rows(path: Path) -> Iterator[tuple[Row, str]]:
    """Rows and why one is skipped ("" if it is not)."""
    with path.open(encoding="utf-8", newline="") as lines:
        for line in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
            where = {}
            for item in filter(None, line["targets"].split(",")):
                ((target, first, last),) = re.findall(r"^(\w+?)(?:@([\d.]+)(?:\+|-([\d.]+)))?(?:!gap)?$", item)
                where[target] = (parse_version(first or line["min_version"]), parse_version(last) if last else None)
            skip = f"class {line['class']}" if line["class"] in ("crash", "late") else ""
            skip = skip or (f"lax {line['lax']}" if line["lax"] else "")
            late = frozenset(filter(None, line["late"].split(",")))
            yield (
                Row(path.name, line["id"], line["mnemonic"], line["accepted"] == "yes", where, late, line["text"]),
                skip,
            )


B128 = (8, 3)  # the version from which on there are registers of 128 bits
# Rows with names that nothing declares, whatever the target, before and from that version on: those are told first, of few rows at a time.
_NAMELESS: dict[bool, set[str]] = {False: set(), True: set()}


@dataclass(frozen=True)
class Question:
    """Rows (their numbers and texts) to be judged for one target and version."""

    target: str
    version: Version
    rows: tuple[tuple[int, str], ...]


def refused(question: Question) -> set[int]:
    """The numbers of the rows that ptxsim refuses.

    All rows go into one module. What is found at a row's line refuses it; the module is then checked again without
    those rows, for some mistakes hide others. What is found elsewhere is hunted by halving.
    """
    known = _NAMELESS[question.version >= B128]
    found = {number for number, text in question.rows if text in known}
    rows = tuple(row for row in question.rows if row[0] not in found)
    while rows:
        errors = [finding for finding in _check(question, rows) if finding.level == "error"]
        lines = {finding.line - FIRST_LINE for finding in errors}
        wrong = {rows[line][0] for line in lines if 0 <= line < len(rows)}
        if all(finding.name == "undeclared-name" for finding in errors):
            known.update(text for number, text in rows if number in wrong)
        if lines and not wrong:
            if len(rows) == 1:
                return found | {rows[0][0]}
            halves = rows[: len(rows) // 2], rows[len(rows) // 2 :]
            return found.union(*(refused(replace(question, rows=half)) for half in halves))
        if not wrong:
            break
        found |= wrong
        rows = tuple(row for row in rows if row[0] not in wrong)
    return found


def _check(question: Question, rows: tuple[tuple[int, str], ...]) -> list[Finding]:
    version = f"{question.version[0]}.{question.version[1]}"
    b128 = ".reg .b128 q<8>;" if question.version >= B128 else ""
    prelude = PRELUDE.format(version=version, target=question.target, b128=b128)
    return check("\n".join([prelude[:-1], *(text for _, text in rows), LAST_LINES]))


def parses(text: str) -> bool:
    try:
        parse_body(text)
    except PtxError:
        return False
    return True


def run(options: Options, tally: Tally) -> bool:
    """Judge every row selected."""
    passes = True
    for name, share in SHARE.items():
        path = options.folder / name
        if not path.exists():
            continue
        rows = []
        for row, skip in read_rows(path):
            if options.selects(name, row.mnemonic, row.id, f"{row.mnemonic}:{row.id}"):
                if skip:
                    tally.skipped[skip] += 1
                else:
                    rows.append(row)
        counts = {(kind, ok): 0 for kind in (True, False) for ok in (True, False)}
        for row, problem in zip(rows, judge(rows, options.jobs)):
            counts[row.accepted, not problem] += 1
            if problem:
                tally.failures.append(problem)
        tally.passed += counts[True, True] + counts[False, True]
        wanted = counts[False, True] + counts[False, False]
        passes &= counts[True, False] == 0 and counts[False, True] >= share * wanted
        tally.notes.append(
            f"{name}: {counts[True, True]} of {counts[True, True] + counts[True, False]} accepted rows accepted, "
            f"{counts[False, True]} of {wanted} refused rows refused (needed: all, {share:.1%})"
        )
    tally.notes += [f"skipped, {kind}: {count}" for kind, count in sorted(tally.skipped.items())]
    return passes


def judge(rows: list[Row], jobs: int | str) -> list[str]:
    """What is wrong with each row, or nothing."""
    # Those that are to be refused apart: a module is checked again without them.
    asked: dict[tuple[str, Version, bool], list[tuple[int, str]]] = {}
    for number, row in enumerate(rows):
        if parses(row.text):
            for target, version, wanted in row.questions():
                asked.setdefault((target, version, wanted), []).append((number, row.text))
    questions = [Question(target, version, tuple(texts)) for (target, version, _), texts in asked.items()]
    accepted: set[tuple[int, str, Version]] = set()
    for question, wrong in zip(questions, spread(refused, questions, jobs, 1)):
        accepted |= {(n, question.target, question.version) for n, _ in question.rows if n not in wrong}
    return [_problem(number, row, accepted) for number, row in enumerate(rows)]


def _problem(number: int, row: Row, accepted: set[tuple[int, str, Version]]) -> str:
    wrong = [
        f"{target}@{version[0]}.{version[1]} {'refused' if wanted else 'accepted'}"
        for target, version, wanted in row.questions()
        if ((number, target, version) in accepted) != wanted
    ]
    return f"{row.file}:{row.mnemonic}:{row.id}: {', '.join(wrong)}: {row.text}" if wrong else ""
