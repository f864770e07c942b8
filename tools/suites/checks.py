"""PTX files with directives: exactly the expected findings of level error, on both engines."""

from __future__ import annotations

from pathlib import Path

from suites.common import Options, Tally, spread

ENGINES = ("interpreter", "compiled")


def run(options: Options, tally: Tally) -> bool:
    files = [p for p in sorted(options.folder.rglob("*.ptx")) if options.selects(str(p.relative_to(options.folder)))]
    engines = [options.engine] if options.engine else ENGINES
    for path, engine, problem in spread(one, [(str(p), e) for p in files for e in engines], options.jobs, chunk=2):
        if problem:
            tally.failures.append(f"{Path(path).relative_to(options.folder)} ({engine}): {problem}")
        else:
            tally.passed += 1
    return not tally.failures and tally.passed > 0


def one(work: tuple[str, str]) -> tuple[str, str, str | None]:
    from ptxsim.session.ptxfile.file import Options as FileOptions
    from ptxsim.session.ptxfile.file import run_file

    path, engine = work
    try:
        result = run_file(path, options=FileOptions(engine=engine, checks="all"))
    except Exception as error:
        return path, engine, f"{type(error).__name__}: {str(error)[:300]}"
    errors = [f for f in result.findings if f.level == "error"]
    if errors:
        return path, engine, "; ".join(f"{f.name} at {f.line}: {f.message}" for f in errors[:3])
    return path, engine, None
