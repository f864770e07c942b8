"""PTX of real compilers: parses and binds; printing and parsing again gives the same AST."""

from __future__ import annotations

from pathlib import Path

from suites.common import Options, Tally, spread


def run(options: Options, tally: Tally) -> bool:
    lines = (options.folder / "manifest.tsv").read_text().splitlines()
    files = [line.split("\t")[0] for line in lines[1:] if line.strip()]
    chosen = [str(options.folder / name) for name in files if options.selects(name)]
    for path, problem in spread(one, chosen, options.jobs, chunk=4):
        if problem:
            tally.failures.append(f"{Path(path).relative_to(options.folder)}: {problem}")
        else:
            tally.passed += 1
    return not tally.failures and tally.passed > 0


def one(path: str) -> tuple[str, str | None]:
    from ptxsim.session import check
    from ptxsim.source import Source
    from ptxsim.syntax.parser import parse
    from ptxsim.syntax.printer import print_module

    try:
        source = Source.from_file(path)
        findings = [f for f in check(source) if f.level == "error"]
        if findings:
            first = findings[0]
            return path, f"{len(findings)} findings, the first at line {first.line}: {first.name}: {first.message}"
        module = parse(source)
        return path, None if parse(print_module(module)) == module else "printing and parsing again gives another AST"
    except Exception as error:
        return path, f"{type(error).__name__}: {str(error)[:300]}"
