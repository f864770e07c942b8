"""Findings about strong accesses, which are no race and may go wrong all the same (edges.hearsay, memory.lost_updates)."""

from __future__ import annotations

from ptxsim.checks.order.cells import EAGER
from ptxsim.checks.order.findings.problem import Place, Problem
from ptxsim.diagnostic import Finding, Label, beside
from ptxsim.engine.analysis.control_flow import leads
from ptxsim.engine.program.operation import Op, Program
from ptxsim.isa.facts import Mechanism, Role

FENCE = "fence.acq_rel.gpu;"


def lost(place: Place, problem: Problem) -> Finding:
    (op, before), first = place.ops(problem), problem.first
    where = f"shared memory at {place.named(first.address)}"
    whose = f"warp {first.them % place.warps}"
    if first.is_global:
        where = f"global address {first.address:#x}"
        whose += f" of CTA {place.cta_of(first.them // place.warps)}"
    message = f"{op.opcode} puts back, changed, what was loaded from {where}, and nothing orders the two with what {whose} writes there"
    help = "let one instruction do both (atomicAdd; atom or red in PTX), or take a lock"
    if any(access.reads for access in op.accesses):
        message = f"{op.opcode} adds to {where}, and nothing orders what {whose} stores there before it: that may undo the sum"
        help = f"let the store at line {before.line} come before what tells the others to go on"
    return Finding(
        "race-global" if first.is_global else "race-shared", message, op.line, op.column, len(op.opcode), level="warning",
        count=problem.count, warp=first.warp, lane=first.lane, labels=(Label.at(before, "written here"),) if before is not op else (),
        notes=("strong accesses are no race, but in no order: of two updates of one place one may be lost",), help=help,
    )  # fmt: skip


def by_hearsay(place: Place, problem: Problem) -> Finding:
    (op, store), first = place.ops(problem), problem.first
    flag = place.program.ops[first.lane]
    lacks = "nothing orders that store and the flag's"
    help = (
        f"after line {store.line}, and after a barrier if another thread sets the flag, put a fence (fence.acq_rel.gpu; in CUDA __threadfence()), or set "
        "the flag with .release.gpu"
    )
    fix = beside(store, "after", FENCE)
    if problem.what == EAGER:
        lacks = "nothing orders the two reads"
        help = f"after line {flag.line} put a fence (fence.acq_rel.gpu; in CUDA __threadfence()), or read the flag with .acquire.gpu"
        fix = beside(op, "before", FENCE)
    return Finding(
        "race-global",
        f"{op.opcode} takes what CTA {place.cta_of(first.them // place.warps)} has stored at {first.address:#x} to be there because of the flag that {flag.opcode} of line "
        f"{flag.line} has read, but {lacks}",
        op.line, op.column, len(op.opcode), level="warning", count=problem.count, warp=first.warp,
        labels=(Label.at(store, "stored here"), Label.at(flag, "the flag is seen here")),
        notes=("volatile and relaxed accesses are no race, and their order is not that of other threads: the value may be the one before",),
        help=help, fixes=(fix,),
    )  # fmt: skip


def leads_at_once(program: Program, flag: Op, read: Op) -> bool:
    """Whether a way leads from one operation to another past none at which threads meet: a barrier is taken for enough."""
    return leads(program, flag, lambda op: op is read, _is_meeting)


def _is_meeting(op: Op) -> bool:
    """Whether threads meet there and order memory: of what the lanes of a warp do together, at bar.warp.sync alone."""
    of = op.synchronises
    if of is None or op.fence is not None or of.role in (Role.COMMIT, Role.COUNT):
        return False
    return of.mechanism is not Mechanism.WARP or not op.destinations
