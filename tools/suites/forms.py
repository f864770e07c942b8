"""Instruction forms that the assembler takes or refuses, for every target and the versions at its borders.

DIR holds forms.tsv and general_forms.tsv (columns in shared/isa/README.md). Items are `mnemonic`, `id` and
`mnemonic:id`. An accepted row passes if it is accepted for every listed target at its lowest and newest version and
refused below and for every other target; a refused row passes if every target refuses it.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from ptxsim.diagnostic import Finding, PtxError
from ptxsim.isa.bind import Binder
from ptxsim.syntax import ast
from ptxsim.syntax.parser import parse_body
from ptxsim.types import Version, parse_target, parse_version
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


class Names:
    """The prelude's names."""

    REGISTERS = {
        "p": "pred", "h": "b16", "uh": "u16", "sh": "s16", "x": "f16", "xx": "f16x2", "r": "b32", "u": "u32",
        "s": "s32", "f": "f32", "rd": "b64", "ud": "u64", "sd": "s64", "d": "f64", "q": "b128",
    }  # fmt: skip
    VARIABLES = {
        "gbuf": "global", "cbuf": "const", "sbuf": "shared", "sbar": "shared", "lbuf": "local",
        "kp": "param", "kt": "param", "ki": "param", "fn": "func", "pfn": "func", "L0": "label", "k": "func",
    }  # fmt: skip

    def register_type(self, name: str) -> str | None:
        match = re.fullmatch(r"([a-z]+)\d+", name)
        return self.REGISTERS.get(match[1]) if match else None

    def variable_space(self, name: str) -> str | None:
        return self.VARIABLES.get(name)


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


def read_rows(path) -> Iterator[tuple[Row, str]]:
    """Rows and why one is skipped ("" if it is not)."""
    with path.open(encoding="utf-8", newline="") as lines:
        for line in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
            where = {}
            for item in filter(None, line["targets"].split(",")):
                target, first, last = re.fullmatch(r"(\w+?)(?:@([\d.]+)(?:\+|-([\d.]+)))?(?:!gap)?", item).groups()
                where[target] = (parse_version(first or line["min_version"]), parse_version(last) if last else None)
            skip = f"class {line['class']}" if line["class"] in ("crash", "late") else ""
            skip = skip or (f"lax {line['lax']}" if line["lax"] else "")
            late = frozenset(filter(None, line["late"].split(",")))
            yield (
                Row(path.name, line["id"], line["mnemonic"], line["accepted"] == "yes", where, late, line["text"]),
                skip,
            )


@cache
def binder(target: str, version: Version) -> Binder:
    return Binder(parse_target(target), version)


def accepts(statements: tuple[ast.Statement, ...] | None, target: str, version: Version) -> bool:
    """Whether ptxsim takes the statements in a module of this target and version."""
    if statements is None:
        return False
    return not any(
        isinstance(binder(target, version).bind(statement, Names()), Finding)
        for statement in statements
        if isinstance(statement, ast.Instruction)
    )


def judge(row: Row) -> str:
    """What is wrong, or nothing."""
    try:
        statements = parse_body(row.text)
    except PtxError:
        statements = None
    wrong = [
        f"{target}@{version[0]}.{version[1]} {'refused' if wanted else 'accepted'}"
        for target, version, wanted in row.questions()
        if accepts(statements, target, version) != wanted
    ]
    return f"{row.file}:{row.mnemonic}:{row.id}: {', '.join(wrong)}: {row.text}" if wrong else ""


def run(options: Options, tally: Tally) -> bool:
    """Judge every row selected."""
    from ptxsim import instructions

    instructions.load_families()
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
        for row, problem in zip(rows, spread(judge, rows, options.jobs, 64)):
            counts[row.accepted, not problem] += 1
            if problem:
                tally.failures.append(problem)
        tally.passed += counts[True, True] + counts[False, True]
        refused = counts[False, True] + counts[False, False]
        passes &= counts[True, False] == 0 and counts[False, True] >= share * refused
        tally.notes.append(
            f"{name}: {counts[True, True]} of {counts[True, True] + counts[True, False]} accepted rows accepted, "
            f"{counts[False, True]} of {refused} refused rows refused (needed: all, {share:.1%})"
        )
    tally.notes += [f"skipped, {kind}: {count}" for kind, count in sorted(tally.skipped.items())]
    return passes
