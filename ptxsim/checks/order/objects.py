"""What the problems are called that are no races of data: of barriers, mbarriers, tensor memory, and the ends of CTAs."""

from __future__ import annotations

from collections.abc import Callable

from ptxsim.checks.order.sites import VOTES, site_bits
from ptxsim.diagnostic import Finding, Label, beside
from ptxsim.engine.program.operation import Program
from ptxsim.isa.facts import CTA_BARRIER, Role
from ptxsim.machine.tensor_order import AFTER_SYNC, BEFORE_SYNC, COMMITS

Use = tuple[int, int, tuple[int, ...]]  # site, how often, and the first
Named = Callable[[int], str]  # an address of shared memory by its variable


def freed(program: Program, site: int, other: int, count: int, row: tuple[int, ...]) -> Finding:
    op, use = program.ops[site], program.ops[other]
    return Finding(
        "tensor-memory-order",
        f"warp {row[5]} gives tensor memory back that warp {row[7]} uses without order between the two",
        op.line, op.column, len(op.opcode), count=count, warp=row[5], labels=(Label.at(use, "used here"),),
        notes=("another allocation may have the columns before they are used",),
        help=f"let all warps wait for what they have begun, then put bar.sync before line {op.line}",
        fixes=(beside(op, "before", CTA_BARRIER),),
    )  # fmt: skip


def left(program: Program, site: int, end: int, count: int, row: tuple[int, ...]) -> Finding:
    op, last = program.ops[site], program.ops[end]
    return Finding(
        "cluster-exit", f"{op.opcode} may still read the shared memory of its CTA when that has ended",
        op.line, op.column, len(op.opcode), count=count, labels=(Label.at(last, f"warp {row[5]} ends its CTA here"),),
        notes=("its mbarrier is waited for in another CTA, of which this one knows nothing",),
        help="end with barrier.cluster.arrive and barrier.cluster.wait in every CTA of the cluster, after the wait for the copy",
    )  # fmt: skip


def ahead(program: Program, site: int, init: int, count: int, row: tuple[int, ...], named: Named) -> Finding:
    op, made = program.ops[site], program.ops[init]
    return Finding(
        "mbarrier-phase",
        f"{op.opcode} may come before the phase that precedes it is over: nothing tells this thread that the copies of that phase of the "
        f"mbarrier {named(row[3])} are complete",
        op.line, op.column, len(op.opcode), count=count, warp=row[5], lane=row[6], labels=(Label.at(made, "initialised here"),),
        notes=("in another order it counts for the phase before, with the bytes that it announces",),
        help=f"before line {op.line} wait for that phase, or for the mbarrier by which those who have waited for it give the buffer back",
    )  # fmt: skip


def unfenced(program: Program, site: int, other: int, count: int, row: tuple[int, ...], warps: int) -> Finding:
    op, use = program.ops[site], program.ops[other]
    whose = "this warp" if row[5] == row[7] % warps else f"warp {row[7] % warps}"
    return Finding(
        "tensor-memory-order",
        f"{op.opcode} of warp {row[5]} uses column {row[3]} of tensor memory, which {whose} uses at line {use.line} without order between the two",
        op.line, op.column, len(op.opcode), count=count, warp=row[5], labels=(Label.at(use, "used here"),),
        notes=("what synchronises threads with .relaxed, or before a product or copy is complete, orders tensor memory only with both fences",),
        help=f"let line {op.line} come after line {use.line}, by an mbarrier (for products and copies {COMMITS}) or a barrier; where that is "
        f".relaxed, with {BEFORE_SYNC} before it and {AFTER_SYNC} after it",
        fixes=(beside(op, "before", f"{AFTER_SYNC};"), beside(use, "after", f"{BEFORE_SYNC};")),
    )  # fmt: skip


def unmet(program: Program, site: int, count: int, row: tuple[int, ...], warps: int) -> Finding:
    op = program.ops[site]
    return Finding(
        "barrier-count",
        f"warp {row[5]} comes to barrier {row[3]} without knowing that warp {row[7] % warps} has met others there: which warps meet depends on "
        "the schedule",
        op.line, op.column, len(op.opcode), count=count, warp=row[5],
        help="give each group of warps a barrier of its own, or the barrier the count of all threads that use it",
    )  # fmt: skip


def unacquired(program: Program, site: int, other: int, count: int, row: tuple[int, ...], warps: int) -> Finding:
    op, write = program.ops[site], program.ops[other]
    return Finding(
        "tensormap-fence",
        f"{op.name} uses a tensor map that warp {row[7] % warps} has acquired since it was changed, and nothing orders its fence and this use",
        op.line, op.column, len(op.opcode), count=count, warp=row[5], lane=row[6], labels=(Label.at(write, "changed here"),),
        help="let the thread that begins the copy acquire the map itself, or meet the one that does after its fence (bar.warp.sync, bar.sync)",
    )  # fmt: skip


def unlike(program: Program, site: int, other: int, count: int, row: tuple[int, ...]) -> Finding:
    vote, op = sorted(
        (program.ops[site], program.ops[other]), key=lambda each: not site_bits(program)[each.site] & VOTES
    )
    return Finding(
        "barrier-count",
        f"threads vote at barrier {row[3]} in a phase to which others come with {op.opcode}: what the barrier does then is not defined",
        vote.line, vote.column, len(vote.opcode), count=count, labels=(Label.at(op, "others come here"),),
        help="let all threads come to one and the same instruction, or give one of the two another barrier",
    )  # fmt: skip


def unseen(program: Program, other: int, uses: list[Use], named: Named) -> Finding:
    """An mbarrier is used by threads that do not know of what was last done to it as an object: its initialisation, or its end."""
    (site, _, row), init = uses[0], program.ops[other]
    op, lines = program.ops[site], sorted({program.ops[later].line for later, _, _ in uses[1:]})
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
        f"{op.opcode} uses the mbarrier {named(row[3])}, whose {'initialisation' if begins else 'end'} {what}",
        op.line, op.column, len(op.opcode), count=sum(count for _, count, _ in uses), warp=row[5], lane=row[6],
        labels=(Label(init.line, f"{done} here", init.column, len(init.opcode)),),
        notes=(f"used so at line {', '.join(map(str, lines))}, too",) if lines else (),
        help=help,
        fixes=(beside(init, "after", CTA_BARRIER), beside(op, "before", CTA_BARRIER)) if begins else (),
    )  # fmt: skip
