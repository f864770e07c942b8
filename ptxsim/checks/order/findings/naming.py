"""The problems that the scan has found, as findings: one for each cause."""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property, reduce
from operator import or_

from ptxsim.checks.findings.causes import stretch_of
from ptxsim.checks.findings.changes import fences_after
from ptxsim.checks.findings.waits import missing_wait
from ptxsim.checks.order import cells
from ptxsim.checks.order.dataflow.equal_stores import lanes_alike
from ptxsim.checks.order.findings import objects
from ptxsim.checks.order.findings.problem import Place, Problem, Teller, together
from ptxsim.checks.order.findings.races import race_findings
from ptxsim.checks.order.findings.remedies import is_fetch, writes
from ptxsim.checks.order.findings.strong import by_hearsay, leads_at_once, lost
from ptxsim.checks.order.findings.unawaited import unawaited
from ptxsim.diagnostic import DOUBTFUL, Finding, Label, beside
from ptxsim.engine.program.operation import Op
from ptxsim.isa.facts import CTA_BARRIER, Scope

RACES = {cells.RACE, cells.RACE_IN_WARP, cells.RACE_IN_GLOBAL}
BETWEEN_WARPS = {cells.RACE, cells.RACE_IN_GLOBAL}


def findings_of(place: Place, problems: Collection[Problem]) -> list[Finding]:
    """Findings, in no order; races within a warp are left out where warps race."""
    known = _Known(place, problems)
    kinds: dict[int, list[Problem]] = {}
    for problem in problems:
        if not known.explains(problem):
            kinds.setdefault(problem.what, []).append(problem)

    def of(*whats: int) -> list[Problem]:
        return [problem for what in whats for problem in kinds.get(what, ())]

    found = [tell(place, problem) for what, tell in ALONE.items() for problem in of(what)]
    found += [_mixed(place, alike) for alike in _by(of(cells.MIXED), "site")]
    found += [objects.unseen(place, uses) for uses in _by(of(cells.UNSEEN), "other")]
    found += unawaited(place, of(cells.UNAWAITED))
    found += together(place, of(cells.UNINITIALIZED), _read_too_early, pairs=False)
    found += together(place, of(cells.UNWAITED), _missing_wait)
    found += together(place, of(cells.UNFENCED), objects.unfenced)
    found += together(place, of(cells.HEARSAY, cells.EAGER), by_hearsay)
    return found + race_findings(place, of(*RACES))


def _by(problems: Collection[Problem], field: str) -> list[list[Problem]]:
    """Problems that are alike in a field."""
    groups: dict[int, list[Problem]] = {}
    for problem in problems:
        groups.setdefault(getattr(problem, field), []).append(problem)
    return list(groups.values())


class _Known:
    """All problems of a launch, some of which explain others."""

    def __init__(self, place: Place, problems: Collection[Problem]):
        self.place, self.problems = place, problems
        self.stretches = stretch_of(place.program)

    def explains(self, problem: Problem) -> bool:
        """Whether a problem follows from another one, or is none."""
        program = self.place.program
        match problem.what:
            case cells.UNINITIALIZED:
                is_twice = bool(self._twice) and self.place.variable(problem.first.address) in self._twice
                return is_twice or self._read(problem.site, problem) in self._too_late
            case cells.UNPUBLISHED:  # the fence may be there
                return problem.sites in self._between_warps
            case cells.EARLY:  # of atomics the first is an uninitialized-read itself
                return any(access.reads for access in program.ops[problem.other].accesses)
            case cells.AHEAD:  # for want of the same wait
                return any(each.what in (*BETWEEN_WARPS, cells.UNWAITED) for each in self.problems)
            case cells.HEARSAY:  # for want of the same barrier or fence
                return bool(self._between_warps)
            case cells.EAGER:
                flag, read = program.ops[problem.first.lane], program.ops[problem.site]
                return bool(self._between_warps) or not leads_at_once(program, flag, read)
            case cells.RACE_IN_WARP:
                return problem.sites in self._between_warps
        return False

    @cached_property
    def _between_warps(self) -> set[frozenset[int]]:
        return {problem.sites for problem in self.problems if problem.what in BETWEEN_WARPS}

    @cached_property
    def _too_late(self) -> set[tuple[int, str, str]]:
        """Reads whose store is known to come too late. What is read before it is written is no second problem then, of one such read
        between two synchronisations."""
        return {
            self._read(reader, problem)
            for problem in self.problems
            if problem.what in (*RACES, cells.UNWAITED) and not problem.first.is_global
            for store, reader in ((problem.site, problem.other), (problem.other, problem.site))
            if writes(self.place.program.ops[store])
        }

    @cached_property
    def _twice(self) -> set[str]:
        """Variables to one place of which copies come twice: one of them was meant for another."""
        return {
            self.place.variable(problem.first.address)
            for problem in self.problems
            if problem.what == cells.UNWAITED
            and not problem.first.is_global
            and all(map(_fills, self.place.ops(problem)))
        }

    def _read(self, site: int, problem: Problem) -> tuple[int, str, str]:
        return self.stretches[site], self.place.program.ops[site].family, self.place.variable(problem.first.address)


def _fills(op: Op) -> bool:
    """Whether an operation is a copy into shared memory that threads wait for."""
    return op.completes_by is not None and writes(op)


def _mixed(place: Place, alike: list[Problem]) -> Finding:
    """The second site of each problem: in which bits the numbers of lanes differ that store to one place."""
    op, lanes = place.program.ops[alike[0].site], reduce(or_, (problem.other for problem in alike))
    is_rounding = lanes & ~lanes_alike(place.program, op) == 0
    what = "values that differ by rounding alone" if is_rounding else "different values"
    fusion = "let one lane store; sums of products are the same if not fused (Triton: enable_fp_fusion=False; nvcc: -fmad=false)"
    return Finding(
        "race-warp", f"lanes of one {op.opcode} put {what} into one place: which one stays is not defined",
        op.line, op.column, len(op.opcode), level="note" if is_rounding else "warning",
        count=sum(problem.count for problem in alike), warp=alike[0].first.warp,
        help=fusion if is_rounding else "let one lane store, or add the values up first (redux.sync, atom)",
    )  # fmt: skip


def _missing_wait(place: Place, problem: Problem) -> Finding:
    first = problem.first
    return missing_wait(
        place.program, problem.site, problem.other, problem.count, place.named(first.address), first.warp, first.lane
    )


def _unpublished(place: Place, problem: Problem) -> Finding:
    (op, before), first = place.ops(problem), problem.first
    verb, where = "writes", f"the shared memory of another CTA at {place.named(first.address)}"
    if first.is_global:
        verb = "writes" if not any(access.space == "global" and access.reads for access in op.accesses) else "reads"
        where = f"global memory at {first.address:#x}"
    return Finding(
        "missing-proxy-fence",
        f"{op.opcode} {verb} {where} that no proxy fence has published since it was written",
        op.line, op.column, len(op.opcode), count=problem.count, warp=first.warp,
        labels=(Label(before.line, "written through the generic proxy here", before.column, len(before.opcode)),),
        notes=("barriers and flags order threads, not proxies",),
        help=f"add fence.proxy.async; after line {before.line}, before the barrier or the release that orders the two",
        fixes=fences_after(place.program, before),
    )  # fmt: skip


def _not_constant(place: Place, problem: Problem) -> Finding:
    (op, before), first = place.ops(problem), problem.first
    return Finding(
        "race-global",
        f"{op.opcode} reads global memory at {first.address:#x}, which the kernel has written: its cache may have what was there before",
        op.line, op.column, len(op.opcode), count=problem.count, warp=first.warp, lane=first.lane,
        labels=(Label.at(before, "written here"),),
        notes=(".nc loads take memory for constant as long as the kernel runs: no barrier and no fence orders them",),
        help="load it without .nc (in CUDA: neither __ldg, nor const with __restrict__)",
    )  # fmt: skip


def _perhaps_early(place: Place, problem: Problem) -> Finding:
    (op, store), first = place.ops(problem), problem.first
    return Finding(
        "uninitialized-read",
        f"{op.opcode} reads shared memory at {place.named(first.address)}, and nothing orders the first store there, of warp "
        f"{first.them % place.warps}, before it",
        op.line, op.column, len(op.opcode), count=problem.count, warp=first.warp, lane=first.lane,
        labels=(Label.at(store, "first stored here"),),
        help=f"after line {store.line} put a barrier that both come to (bar.sync)",
        fixes=(beside(store, "after", CTA_BARRIER),),
    )  # fmt: skip


def _read_too_early(place: Place, problem: Problem) -> Finding:
    op, first = place.program.ops[problem.site], problem.first
    help = "store to it first, put a barrier between, or check the index"
    if op.facts.scope is Scope.WARPGROUP:
        help = "write the whole tile first, or fix the descriptor: `ptxsim desc` says what one reads"
    return Finding(
        "uninitialized-read", f"{op.opcode} reads shared memory at {place.named(first.address)}, which had not been written by then",
        op.line, op.column, len(op.opcode), count=problem.count, warp=first.warp, lane=None if is_fetch(op) else first.lane,
        level=DOUBTFUL, help=help,
    )  # fmt: skip


# One finding for each: no other has the same cause.
ALONE: dict[int, Teller] = {
    cells.UNPUBLISHED: _unpublished,
    cells.FREED: objects.freed,
    cells.EARLY: _perhaps_early,
    cells.AHEAD: objects.ahead,
    cells.LEFT: objects.left,
    cells.UNMET: objects.unmet,
    cells.UNLIKE: objects.unlike,
    cells.NOT_CONSTANT: _not_constant,
    cells.UNACQUIRED: objects.unacquired,
    cells.LOST: lost,
}
