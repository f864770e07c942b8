"""Findings about problems that are not races of data: of barriers, mbarriers, tensor memory, and the ends of CTAs."""

from __future__ import annotations

from ptxsim.checks.order.findings.problem import Place, Problem
from ptxsim.checks.order.sites import VOTES, site_bits
from ptxsim.diagnostic import Finding, Label, beside
from ptxsim.isa.facts import CTA_BARRIER, Role
from ptxsim.machine.tensor_memory.order import AFTER_SYNC, BEFORE_SYNC, COMMITS


def freed(place: Place, problem: Problem) -> Finding:
    (op, use), first = place.ops(problem), problem.first
    return Finding(
        "tensor-memory-order",
        f"warp {first.warp} gives tensor memory back that warp {first.them} uses without order between the two",
        op.line, op.column, len(op.opcode), count=problem.count, warp=first.warp, labels=(Label.at(use, "used here"),),
        notes=("another allocation may have the columns before they are used",),
        help=f"let all warps wait for what they have begun, then put bar.sync before line {op.line}",
        fixes=(beside(op, "before", CTA_BARRIER),),
    )  # fmt: skip


def left(place: Place, problem: Problem) -> Finding:
    (op, last), first = place.ops(problem), problem.first
    return Finding(
        "cluster-exit", f"{op.opcode} may still read the shared memory of its CTA when that has ended",
        op.line, op.column, len(op.opcode), count=problem.count, labels=(Label.at(last, f"warp {first.warp} ends its CTA here"),),
        notes=("its mbarrier is waited for in another CTA, of which this one knows nothing",),
        help="end with barrier.cluster.arrive and barrier.cluster.wait in every CTA of the cluster, after the wait for the copy",
    )  # fmt: skip


def ahead(place: Place, problem: Problem) -> Finding:
    (op, made), first = place.ops(problem), problem.first
    return Finding(
        "mbarrier-phase",
        f"{op.opcode} may come before the phase that precedes it is over: nothing tells this thread that the copies of that phase of the "
        f"mbarrier {place.named(first.address)} are complete",
        op.line, op.column, len(op.opcode), count=problem.count, warp=first.warp, lane=first.lane, labels=(Label.at(made, "initialised here"),),
        notes=("in another order it counts for the phase before, with the bytes that it announces",),
        help=f"before line {op.line} wait for that phase, or for the mbarrier by which those who have waited for it give the buffer back",
    )  # fmt: skip


def unfenced(place: Place, problem: Problem) -> Finding:
    (op, use), first = place.ops(problem), problem.first
    them = first.them % place.warps
    whose = "this warp" if first.warp == them else f"warp {them}"
    return Finding(
        "tensor-memory-order",
        f"{op.opcode} of warp {first.warp} uses column {first.address} of tensor memory, which {whose} uses at line {use.line} without order between the two",
        op.line, op.column, len(op.opcode), count=problem.count, warp=first.warp, labels=(Label.at(use, "used here"),),
        notes=("what synchronises threads with .relaxed, or before a product or copy is complete, orders tensor memory only with both fences",),
        help=f"let line {op.line} come after line {use.line}, by an mbarrier (for products and copies {COMMITS}) or a barrier; where that is "
        f".relaxed, with {BEFORE_SYNC} before it and {AFTER_SYNC} after it",
        fixes=(beside(op, "before", f"{AFTER_SYNC};"), beside(use, "after", f"{BEFORE_SYNC};")),
    )  # fmt: skip


def unmet(place: Place, problem: Problem) -> Finding:
    op, first = place.program.ops[problem.site], problem.first
    return Finding(
        "barrier-count",
        f"warp {first.warp} comes to barrier {first.address} without knowing that warp {first.them % place.warps} has met others there: which warps meet depends on "
        "the schedule",
        op.line, op.column, len(op.opcode), count=problem.count, warp=first.warp,
        help="give each group of warps a barrier of its own, or the barrier the count of all threads that use it",
    )  # fmt: skip


def unacquired(place: Place, problem: Problem) -> Finding:
    (op, write), first = place.ops(problem), problem.first
    return Finding(
        "tensormap-fence",
        f"{op.name} uses a tensor map that warp {first.them % place.warps} has acquired since it was changed, and nothing orders its fence and this use",
        op.line, op.column, len(op.opcode), count=problem.count, warp=first.warp, lane=first.lane, labels=(Label.at(write, "changed here"),),
        help="let the thread that begins the copy acquire the map itself, or meet the one that does after its fence (bar.warp.sync, bar.sync)",
    )  # fmt: skip


def unlike(place: Place, problem: Problem) -> Finding:
    first = problem.first
    vote, op = sorted(place.ops(problem), key=lambda each: not site_bits(place.program)[each.site] & VOTES)
    return Finding(
        "barrier-count",
        f"threads vote at barrier {first.address} in a phase to which others come with {op.opcode}: what the barrier does then is not defined",
        vote.line, vote.column, len(vote.opcode), count=problem.count, labels=(Label.at(op, "others come here"),),
        help="let all threads come to one and the same instruction, or give one of the two another barrier",
    )  # fmt: skip


def unseen(place: Place, uses: list[Problem]) -> Finding:
    """An mbarrier is used by threads that do not know of what was last done to it as an object: its initialisation, or its end."""
    one, *more = sorted(uses, key=lambda use: use.site)
    op, init = place.ops(one)
    lines = sorted({place.program.ops[use.site].line for use in more})
    begins = init.synchronises is not None and init.synchronises.role is Role.INIT
    what, done = (
        ("may not be visible to this thread", "initialised") if begins else ("nothing orders with it", "invalidated")
    )
    help = f"put a barrier after the last use, before line {init.line} (bar.sync; in a cluster: barrier.cluster.arrive and wait)"
    if begins:
        help = (
            "after mbarrier.init put bar.sync (in a cluster: fence.mbarrier_init.release.cluster, then "
            "barrier.cluster.arrive and wait), and use it after that"
        )
    return Finding(
        "mbarrier-visibility",
        f"{op.opcode} uses the mbarrier {place.named(one.first.address)}, whose {'initialisation' if begins else 'end'} {what}",
        op.line, op.column, len(op.opcode), count=sum(use.count for use in uses), warp=one.first.warp, lane=one.first.lane,
        labels=(Label(init.line, f"{done} here", init.column, len(init.opcode)),),
        notes=(f"used so at line {', '.join(map(str, lines))}, too",) if lines else (),
        help=help,
        fixes=(beside(init, "after", CTA_BARRIER), beside(op, "before", CTA_BARRIER)) if begins else (),
    )  # fmt: skip
