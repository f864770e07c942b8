"""PTX files with directives: exactly the expected findings of level error, on both engines.

Findings that no judge could avoid, because what a file expects contradicts itself, stand in tools/data/contradictions.tsv.
Each is named with its reason, and fails the suite once it is not found any more.
"""

from __future__ import annotations

import csv
from functools import lru_cache
from pathlib import Path

from suites.common import Options, Tally, spread

ENGINES = ("interpreter", "compiled")
TABLE = Path(__file__).parents[1] / "data" / "contradictions.tsv"


def run(options: Options, tally: Tally) -> bool:
    files = [p for p in sorted(options.folder.rglob("*.ptx")) if options.selects(str(p.relative_to(options.folder)))]
    engines = [options.engine] if options.engine else ENGINES
    for path, engine, problem in spread(one, [(str(p), e) for p in files for e in engines], options.jobs, chunk=2):
        if problem:
            tally.failures.append(f"{Path(path).relative_to(options.folder)} ({engine}): {problem}")
        else:
            tally.passed += 1
    names = {path.name for path in files}
    for (name, line), (finding, reason) in contradictions().items():
        if name in names:
            tally.notes.append(f"{name}:{line}: {finding} is let pass: {reason}")
    return not tally.failures and tally.passed > 0


@lru_cache(maxsize=1)
def contradictions() -> dict[tuple[str, int], tuple[str, str]]:
    """The finding and the reason by file and line."""
    with TABLE.open(newline="") as file:
        rows = csv.DictReader(file, delimiter="\t")
        return {(row["file"], int(row["line"])): (row["finding"], row["reason"]) for row in rows}


def one(work: tuple[str, str]) -> tuple[str, str, str | None]:
    from ptxsim.session.ptxfile.file import Options as FileOptions
    from ptxsim.session.ptxfile.file import run_file

    path, engine = work
    try:
        result = run_file(path, options=FileOptions(engine=engine, checks="all"))
    except Exception as error:
        return path, engine, f"{type(error).__name__}: {str(error)[:300]}"
    errors = [f for f in result.findings if f.level == "error"]
    known = {(line, found) for (name, line), (found, _) in contradictions().items() if name == Path(path).name}
    stale = known - {(f.line, f.name) for f in errors}
    problems = [f"{f.name} at {f.line}: {f.message}" for f in errors if (f.line, f.name) not in known]
    problems += [f"{name} at {line} is not found any more" for line, name in sorted(stale)]
    return path, engine, "; ".join(problems[:3]) or None
