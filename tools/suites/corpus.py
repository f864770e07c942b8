"""PTX of real compilers: parses and binds; printing and parsing again gives the same AST. Says what could not be executed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ptxsim.syntax import ast

from pathlib import Path

from suites.common import Options, Tally, spread


def run(options: Options, tally: Tally) -> bool:
    lines = (options.folder / "manifest.tsv").read_text().splitlines()
    files = [line.split("\t")[0] for line in lines[1:] if line.strip()]
    chosen = [str(options.folder / name) for name in files if options.selects(name)]
    missing: set[str] = set()
    for path, problem, absent in spread(one, chosen, options.jobs, chunk=4):
        missing |= absent
        if problem:
            tally.failures.append(f"{Path(path).relative_to(options.folder)}: {problem}")
        else:
            tally.passed += 1
    tally.notes.append(f"instructions that are bound but not executed: {', '.join(sorted(missing)) or 'none'}")
    return not tally.failures and tally.passed > 0


def one(path: str) -> tuple[str, str | None, set[str]]:
    """The path, a problem or None, and the names of instructions that have no effect to execute."""
    from ptxsim.session import check
    from ptxsim.source import Source
    from ptxsim.syntax.parser import parse
    from ptxsim.syntax.printer import print_module

    try:
        source = Source.from_file(path)
        findings = [f for f in check(source) if f.level == "error"]
        if findings:
            first = findings[0]
            return (
                path,
                f"{len(findings)} findings, the first at line {first.line}: {first.name}: {first.message}",
                set(),
            )
        module = parse(source)
        problem = None if parse(print_module(module)) == module else "printing and parsing again gives another AST"
        return path, problem, not_executed(module)
    except Exception as error:
        return path, f"{type(error).__name__}: {str(error)[:300]}", set()


def not_executed(module: ast.Module) -> set[str]:
    """Names of a module's instructions whose forms, for its target and version, are all declared without an effect."""
    from ptxsim.diagnostic import Finding
    from ptxsim.isa.bind import Binder
    from ptxsim.syntax import ast
    from ptxsim.types import parse_target

    binder, opcodes = Binder(parse_target(module.target), module.version), set()
    for function in module.items:
        if isinstance(function, ast.Function):
            opcodes |= {s.opcode for s in statements(function.body or ())}
    found = set()
    for opcode in opcodes:
        candidates = binder.match(opcode)
        forms = [] if isinstance(candidates, Finding) else [candidate.form for candidate in candidates]
        if forms and all(not form.definition.modeled for form in forms):
            found.add(forms[0].name)
    return found


def statements(body: Iterable[ast.Statement]) -> Iterator[ast.Instruction]:
    """Instructions of a body and of the blocks in it."""
    from ptxsim.syntax import ast

    for statement in body:
        if isinstance(statement, ast.Instruction):
            yield statement
        elif isinstance(statement, ast.Block):
            yield from statements(statement.statements)
