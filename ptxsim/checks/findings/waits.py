"""Findings about accesses to memory that an asynchronous operation still owns, for want of a wait."""

from __future__ import annotations

from ptxsim.checks.findings.changes import waits_before
from ptxsim.checks.ignored_waits import ignored_waits
from ptxsim.diagnostic import Finding, Label, beside
from ptxsim.engine.analysis.short_waits import short_wait
from ptxsim.engine.program.operation import Op, Program
from ptxsim.isa.facts import CTA_BARRIER, WAITS, Mechanism, Role, Scope, Synchronisation

# More about the waits that give the memory of an operation back.
_WAITS_FOR = {
    Mechanism.CP_ASYNC_GROUP: ", and a barrier if other threads wrote",
    Mechanism.BULK_GROUP: ".read, in the thread that has issued the copy",
    Mechanism.MBARRIER: " on the copy's mbarrier",
}
_GIVEN_BACK = ", by who reads the tile, and then for an arrival of theirs (of every CTA that it is copied to)"
_TELLING = (Mechanism.MBARRIER, Mechanism.BARRIER, Mechanism.CLUSTER_BARRIER)


def missing_wait(
    program: Program, site: int, other: int, times: int, where: str, warp: int, lane: int, by: int | None = None
) -> Finding:
    """An instruction accesses what a copy writes before the copy has been waited for.

    where: the address; by: the warp that copies, if that is another one and its own wait says when the copy is done.
    """
    op, before = program.ops[site], program.ops[other]
    short = short_wait(program, before)
    name = "cp-async-not-waited" if before.completes_by is Mechanism.CP_ASYNC_GROUP else "missing-wait"
    writes = any(access.writes and access.space != "global" for access in op.accesses)
    is_filled = before.completes_by is Mechanism.MBARRIER and not is_by_lanes(op)
    copy = "copy" if by is None else f"copy of warp {by}"
    arrival = next((each for each in program.ops if each.family == "cp_async_mbarrier"), None)
    by_mbarrier = arrival is not None and name == "cp-async-not-waited"
    what = f"mbarrier.try_wait on the mbarrier of line {arrival.line}" if arrival and by_mbarrier else wait_of(before)
    help = short[1] if short else f"wait first: {what}{_GIVEN_BACK if writes and (is_filled or by_mbarrier) else ''}"
    if before.completes_by is Mechanism.MBARRIER and (ignored := ignored_waits(program)):
        lines = ", ".join(str(line) for line in sorted({program.ops[each].line for each in ignored}))
        help += f": nothing looks at the result of the wait at line {lines}, which may be false; go back to it until it is true"
    if op is before and writes and is_filled:
        help = (
            f"two copies to one place: if each is meant for its own, look at the address of line {op.line}; else {help}"
        )
    fixes = (*([beside(short[0], "statement", f"{short[0].opcode} 0;")] if short else []), *waits_before(op, before))
    if by is not None and not writes and not by_mbarrier:
        how = short[1] if short else f"{', '.join(WAITS[Mechanism.CP_ASYNC_GROUP])} 0"
        help = (
            f"if it brings what is read here: warp {by} waits for it ({how}), then a barrier; "
            f"if what comes next: a barrier before line {before.line}, once all have read what it overwrites"
        )
        fixes = (beside(before, "before", CTA_BARRIER), *fixes)
    return Finding(
        name,
        f"{op.opcode} {'writes' if writes else 'reads'} shared memory at {where} before the {copy} into it has been waited for",
        op.line, op.column, len(op.opcode), warp=warp, lane=lane if is_by_lanes(op) else None, count=times,
        labels=(Label(before.line, "the copy starts here", before.column, len(before.opcode)),),
        help=help, fixes=fixes,
    )  # fmt: skip


def overwritten(
    program: Program, writer: Op, before: Op, end: Op | None, times: int, where: str, warp: int, lane: int | None
) -> Finding:
    """An instruction writes what an asynchronous one still reads; end: the wait that says when it has read, where one is known."""
    ends = () if end is None else (Label.at(end, "a wait, after which it does not"),)
    labels = (Label.at(before, "this reads it until it has been waited for"), *ends)
    return Finding(
        "tile-overwritten",
        f"{writer.opcode} writes shared memory at {where} while {_stem(before)} may still read it",
        warp=warp, lane=lane if is_by_lanes(writer) else None, count=times, labels=labels, help=_given_back(program, before, end, writer),
        fixes=waits_before(writer, before),
    ).at(writer)  # fmt: skip


def _given_back(program: Program, before: Op, end: Op | None, writer: Op) -> str:
    """Where the wait for an asynchronous read belongs: before who reads the tile tells who fills it."""
    waits = [op for op in program.ops if op.synchronises == Synchronisation(Mechanism.PRODUCT_GROUP, Role.WAIT)]
    end = end or next((op for op in waits if op.site > before.site), None)
    if before.completes_by is not Mechanism.PRODUCT_GROUP or end is None:
        return f"wait first: {wait_of(before)}"
    product = max(
        (op.site for op in program.ops if op.completes_by is before.completes_by and op.site < end.site), default=0
    )
    told = next((op for op in program.ops[product : end.site] if _tells(op)), None)
    if told is not None:
        return f"{told.opcode} at line {told.line} gives the tile back: put {end.opcode} of line {end.line} before it"
    short = short_wait(program, before)
    return short[1] if short else f"put {end.opcode} of line {end.line} before what lets line {writer.line} go on"


def _tells(op: Op) -> bool:
    """Whether an instruction lets other threads go on, before which a tile must not be in use any more."""
    meeting = op.synchronises
    return meeting is not None and meeting.mechanism in _TELLING and meeting.role in (Role.ARRIVE, Role.SYNC)


def _stem(op: Op) -> str:
    return op.family if op.facts.scope is Scope.WARPGROUP else op.name


def is_by_lanes(op: Op) -> bool:
    return op.facts.by_lanes


def wait_of(op: Op) -> str:
    """What gives the memory of an operation back."""
    assert op.completes_by is not None
    return ", then ".join(WAITS[op.completes_by]) + _WAITS_FOR.get(op.completes_by, "")
