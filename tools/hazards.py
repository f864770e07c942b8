#!/usr/bin/env python3
"""Which synchronisation of a kernel would ptxsim not miss? Every mutant of a program with one of them deleted or weakened, run once.

    python tools/hazards.py FILE|DIR... [--jobs N] [--only CLASS] [--engine NAME] [--thin N] [--list]

FILE is a PTX file with directives; DIR holds such files, or a kernels.json, or a cases.json. Printed is a table of classes:
mutants that a check reports, that only give other results, that are missed. The misses that are known stand in
tools/data/mutants.tsv, each with its reason: those equivalent to their originals are not counted, and neither are
statements that no thread executes. Exit status 1 if others are missed, or where an original is not clean: it has errors that do not
stand as true in tools/data/true_findings.tsv; files that expect findings are left out. --thin N takes every Nth mutant of each.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

from mutants.edits import Mutant, mutants  # noqa: E402
from mutants.programs import Outcome, Program, programs  # noqa: E402
from suites.common import spread  # noqa: E402
from suites.silent import true_findings  # noqa: E402

from ptxsim import PtxError  # noqa: E402
from ptxsim.diagnostic import Finding  # noqa: E402
from ptxsim.source import Source  # noqa: E402

KNOWN = ROOT / "tools" / "data" / "mutants.tsv"
SLOWER = 50  # times the original's warp instructions, and so many more, after which a mutant is taken for endless
LEAST = 200_000
EVERY = 100  # mutants after which a line says how far the tool is


@dataclass(frozen=True)
class Verdict:
    """What came of a mutant: the finding's name, or "results", "illegal", "missed", "unreached", "crash ..."."""

    program: str
    mutant: Mutant
    what: str
    shown: str


@lru_cache(maxsize=4)
def _clean(name: str, path: Path, launch: str, engine: str | None) -> Outcome:
    program = Program(name, path, json.loads(launch))
    return program.run(program.source, engine)


def clean(program: Program, engine: str | None) -> Outcome:
    """What the original shows; remembered in each process."""
    return _clean(program.name, program.path, json.dumps(program.launch), engine)


def judge(work: tuple[Program, str | None, Mutant]) -> Verdict:
    program, engine, mutant = work
    source, before = program.source, clean(program, engine)
    shown = mutant.shown(source.text)
    try:
        now = program.run(Source(mutant.text(source.text), source.name), engine, SLOWER * before.steps + LEAST)
    except PtxError as error:
        return Verdict(program.name, mutant, f"illegal: {error.findings[0].message}", shown)
    except Exception as error:
        return Verdict(program.name, mutant, f"crash {type(error).__name__}: {str(error)[:200]}", shown)
    known, count = _counts(before), _counts(now)  # at the place of an original's true finding there can be more
    new = [finding for finding in now.findings if count[_place(finding)] > known[_place(finding)]]
    if new and now.steps == 0:
        return Verdict(program.name, mutant, f"illegal: {new[0].message}", shown)
    if new:
        return Verdict(program.name, mutant, min(new, key=lambda finding: finding.level != "error").name, shown)
    if now.wrong != before.wrong or now.outputs != before.outputs:
        return Verdict(program.name, mutant, "results", shown)
    return Verdict(program.name, mutant, "missed" if is_reached(program, engine, mutant) else "unreached", shown)


def _place(finding: Finding) -> tuple[str, int]:
    return finding.name, finding.line


def _counts(outcome: Outcome) -> Counter[tuple[str, int]]:
    """How often each finding was seen, by name and line."""
    found: Counter[tuple[str, int]] = Counter()
    for finding in outcome.findings:
        found[_place(finding)] += finding.count
    return found


def is_reached(program: Program, engine: str | None, mutant: Mutant) -> bool:
    """Whether a thread executes the statement that the mutant changes."""
    probe = program.run(Source(mutant.probe(program.source.text), program.source.name), engine)
    return any(finding.name == "trap" for finding in probe.findings)


def work_of(
    found: Iterable[Program], engine: str | None, only: str | None, thin: int
) -> Iterator[tuple[Program, str | None, Mutant]]:
    """Every Nth mutant, N being `thin`, of each program alone: which ones does not depend on the programs beside it."""
    for program in found:
        chosen = [mutant for mutant in mutants(program.source) if only is None or only in mutant.kind]
        for mutant in chosen[zlib.crc32(program.name.encode()) % thin :: thin]:
            yield program, engine, mutant


def known_misses() -> dict[tuple[str, str, str], tuple[str, str]]:
    """Verdict ("equivalent" or "missed") and reason by program, class and line."""
    with KNOWN.open(newline="") as file:
        rows = csv.DictReader(file, delimiter="\t")
        return {(row["program"], row["class"], row["line"]): (row["verdict"], row["reason"]) for row in rows}


def table(verdicts: list[Verdict], same: set[int]) -> None:
    kinds = sorted({verdict.mutant.kind for verdict in verdicts})
    print(f"{'class':32}{'mutants':>8}{'checks':>8}{'results':>8}{'equal':>8}{'missed':>8}")
    for kind in (*kinds, "all"):
        mine = [(n, v) for n, v in enumerate(verdicts) if kind in ("all", v.mutant.kind)]
        count = Counter("equal" if n in same or v.what == "unreached" else v.what for n, v in mine)
        results, equal, missed = count["results"], count["equal"], count["missed"]
        checks = len(mine) - results - equal - missed
        real = len(mine) - equal
        share = f"{100 * (real - missed) / real:7.1f} %" if real else ""
        print(f"{kind:32}{len(mine):8}{checks:8}{results:8}{equal:8}{missed:8}{share:>10}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", type=Path, nargs="+")
    parser.add_argument("--jobs", metavar="N|dask://HOST:PORT", default="1")
    parser.add_argument("--only", help="classes whose names have this in them")
    parser.add_argument("--engine", choices=("compiled", "interpreter"))
    parser.add_argument("--select", default="", help="programs whose names have this in them")
    parser.add_argument("--thin", type=int, default=1, help="take every Nth mutant of each program")
    parser.add_argument("--list", action="store_true", help="print what came of every mutant")
    options = parser.parse_args()
    found = [each for path in options.paths for each in programs(path) if options.select in each.name]
    dirty, right = [], list[Program]()
    for program in found:
        try:
            before = clean(program, options.engine)
        except PtxError as error:
            dirty.append(program)
            print(f"{program.name}: {error}")
            continue
        errors = [(program.name, each.name, each.line) for each in before.findings if each.level == "error"]
        if before.wrong or any(error not in true_findings() for error in errors):
            dirty.append(program)
            print(f"{program.name}: not clean, left out")
        elif not before.broken:
            right.append(program)
    work = list(work_of(right, options.engine, options.only, options.thin))
    known, equal, unexplained = known_misses(), set[int](), list[str]()
    verdicts, illegal, crashes = list[Verdict](), 0, 0
    for n, verdict in enumerate(spread(judge, work, options.jobs, chunk=4), 1):
        place = f"{verdict.program}:{verdict.mutant.line}: {verdict.mutant.kind}"
        illegal += verdict.what.startswith("illegal")
        crashes += verdict.what.startswith("crash")
        if verdict.what == "missed":
            what, reason = known.get((verdict.program, verdict.mutant.kind, str(verdict.mutant.line)), ("missed", ""))
            if what == "equivalent":
                equal.add(len(verdicts))
            if not reason:
                unexplained.append(place)
            print(f"{place}: {what}{reason and ': ' + reason}  ({verdict.shown})", flush=True)
        elif options.list or verdict.what.startswith("crash"):
            print(f"{place}: {verdict.what}  ({verdict.shown})", flush=True)
        if not verdict.what.startswith("illegal"):
            verdicts.append(verdict)
        if n % EVERY == 0:
            print(f"{n} of {len(work)} mutants, {len(unexplained)} missed so far", file=sys.stderr)
    table(verdicts, equal)
    print(f"{len(right)} programs, {illegal} mutants that are no legal PTX left out")
    if unexplained:
        print(f"missed, and not in {KNOWN.relative_to(ROOT)}:", *unexplained, sep="\n    ")
    return 1 if unexplained or crashes or dirty else 0


if __name__ == "__main__":
    sys.exit(main())
