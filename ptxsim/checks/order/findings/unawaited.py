"""Findings about accesses that conflict with those of an earlier grid, which may still run (memory.dependents)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import PurePath

from ptxsim.checks.in_flight import Grid, Prior
from ptxsim.checks.order.findings.problem import Place, Problem
from ptxsim.checks.order.findings.remedies import writes
from ptxsim.checks.order.memory.dependents import GRID_SHIFT
from ptxsim.demangle import short_name
from ptxsim.diagnostic import Finding, Label
from ptxsim.engine.program.operation import Op


def unawaited(place: Place, problems: Iterable[Problem]) -> list[Finding]:
    """One finding for the wait that is missing here, and one for that which is missing in the grid between: at the first access. The other
    site of a problem is a grid and a site there."""
    missing: dict[bool, list[Problem]] = {}
    for problem in sorted(problems, key=lambda problem: problem.key):
        missing.setdefault(bool(problem.first.them), []).append(problem)
    return [_finding(place, alike, has_waited) for has_waited, alike in missing.items()]


def _finding(place: Place, problems: Sequence[Problem], has_waited: bool) -> Finding:
    program, prior, (one, *more) = place.program, place.prior, problems
    op, (grid, before) = program.ops[one.site], _there(prior, one.other)
    name, between, what = short_name(grid.kernel), short_name(prior.between), _does(before)
    if has_waited:
        why = f"{between}, which was launched between the two, never waits for {name}: that it has ended does not say that {name} has"
        help = f"let a thread of {between} execute griddepcontrol.wait (cudaGridDependencySynchronize) before it ends"
    else:
        why = "a programmatic dependent launch begins before that grid is over, and no griddepcontrol.wait comes before the access"
        help = (
            f"griddepcontrol.wait (cudaGridDependencySynchronize; Triton: gdc_wait) before line {op.line}, in this thread or in one that it has "
            "met since; or launch without the attribute"
        )
    notes, labels = [why], list[Label]()
    if prior.here is not None and grid.source.text == prior.here.text:
        labels.append(Label(before.line, f"{name} {what} it here", before.column, len(before.opcode)))
    else:
        notes.append(f"{name} {what} it at {_place(grid, before)}")
    seen = {one.site}
    for problem in more:
        if problem.site not in seen:
            whose, use = _there(prior, problem.other)
            line = program.ops[problem.site].line
            notes.append(f"the same at line {line}, of what {short_name(whose.kernel)} {_does(use)}")
        seen.add(problem.site)
    return Finding(
        "missing-grid-wait", f"{op.opcode} touches global address {one.first.address:#x}, which {name}, a grid that may still run, {what}",
        op.line, op.column, len(op.opcode), help=help, notes=tuple(notes), labels=tuple(labels), warp=one.first.warp, lane=one.first.lane,
        count=sum(problem.count for problem in problems),
    )  # fmt: skip


def _there(prior: Prior, place: int) -> tuple[Grid, Op]:
    """A grid before, and the operation there."""
    grid = prior.at_start[place >> GRID_SHIFT]
    return grid, grid.program.ops[place & (1 << GRID_SHIFT) - 1]


def _does(op: Op) -> str:
    return "writes" if writes(op, True) else "reads"


def _place(grid: Grid, op: Op) -> str:
    """A line of another text: of its CUDA or Python where that is known."""
    origin, place = grid.source.origin(op.line), f"{grid.source.name}:{op.line}"
    return f"{PurePath(origin.file).name}:{origin.line} ({place})" if origin is not None else place
