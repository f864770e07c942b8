"""Correct kernels: no finding of level error or warning, on several schedules.

DIR is a folder of launches or cases, or of files with directives, of which those that expect findings are left out. Findings
that are true stand in tools/data/true_findings.tsv, each with its reason.
"""

from __future__ import annotations

import csv
from argparse import ArgumentParser
from functools import lru_cache
from pathlib import Path

from mutants.programs import Program, programs

from suites.common import Options, Tally, spread

TABLE = Path(__file__).parents[1] / "data" / "true_findings.tsv"


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--schedules", metavar="N", type=int, default=1, help="run every program with seeds 0..N-1")


def run(options: Options, tally: Tally) -> bool:
    seeds = range(options.extra.get("schedules") or 1)
    chosen = [each for each in programs(options.folder) if options.selects(each.name)]
    work = [(program, options.engine, seed) for program in chosen for seed in seeds]
    for (program, _, seed), (problems, seen) in zip(work, spread(one, work, options.jobs, chunk=1)):
        if problems is None:
            tally.skipped["expects findings"] += 1
        elif problems:
            tally.failures.append(f"{program.name} (seed {seed}): {'; '.join(problems[:3])}")
        else:
            tally.passed += 1
        if seed == 0:
            tally.notes += seen
    return not tally.failures and tally.passed > 0


@lru_cache(maxsize=1)
def true_findings() -> dict[tuple[str, str, int], str]:
    """The reason by program, name of the finding and line."""
    with TABLE.open(newline="") as file:
        rows = csv.DictReader(file, delimiter="\t")
        return {(row["program"], row["finding"], int(row["line"])): row["reason"] for row in rows}


def one(work: tuple[Program, str | None, int]) -> tuple[list[str] | None, list[str]]:
    """What is wrong, None if the program expects findings; and what is let pass."""
    program, engine, seed = work
    try:
        outcome = program.run(program.source, engine, seed=seed)
    except Exception as error:
        return [f"{type(error).__name__}: {str(error)[:300]}"], []
    if outcome.broken:
        return None, []
    problems, seen = ["an expectation is not met"] if outcome.wrong else [], []
    for finding in outcome.findings:
        text = f"{finding.name} at {finding.line}: {finding.message}"
        reason = true_findings().get((program.name, finding.name, finding.line))
        if reason is None:
            problems.append(text)
        else:
            seen.append(f"{program.name}: {text}: {reason}")
    return problems, seen
