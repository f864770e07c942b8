"""What is said of who accesses memory that an asynchronous operation has not given back."""

from __future__ import annotations

from ptxsim.diagnostic import Finding, Label
from ptxsim.engine.program.operation import Op, Program
from ptxsim.isa.facts import WAITS, Mechanism, Role

# More about the waits that give the memory of an operation back.
_WAITS_FOR = {
    Mechanism.CP_ASYNC_GROUP: ", and a barrier if other threads wrote",
    Mechanism.BULK_GROUP: ".read",
    Mechanism.MBARRIER: " on the copy's mbarrier",
}
# Instructions whose accesses belong to lanes.
_BY_LANES = frozenset({"load", "store", "atomic", "ldmatrix", "stmatrix", "async_store", "bulk_store"})


def missing_wait(program: Program, site: int, other: int, times: int, where: str, warp: int, lane: int) -> Finding:
    """An instruction accesses what a copy writes, and has not waited for the copy; where: the address."""
    op, before = program.ops[site], program.ops[other]
    name = "cp-async-not-waited" if before.completes_by is Mechanism.CP_ASYNC_GROUP else "missing-wait"
    reads = any(access.reads and access.space != "global" for access in op.accesses)
    return Finding(
        name,
        f"{op.opcode} {'reads' if reads else 'writes'} shared memory at {where} before the copy into it has been waited for",
        op.line, op.column, len(op.opcode), warp=warp, lane=lane if is_by_lanes(op) else None, count=times,
        labels=(Label(before.line, "the copy starts here", before.column, len(before.opcode)),),
        help=_short_wait(program, before) or f"wait first: {wait_of(before)}",
    )  # fmt: skip


def _short_wait(program: Program, before: Op) -> str | None:
    """What to change about a wait that is there and lets groups go on; None where there is none."""
    for op in program.ops:
        waits = op.synchronises is not None and op.synchronises.role is Role.WAIT
        if waits and op.synchronises.mechanism is before.completes_by and op.sources:  # type: ignore[union-attr]  # it is there
            kept = getattr(op.sources[0], "value", 0)
            if kept:
                groups = f"{kept} newest groups go" if kept > 1 else "newest group goes"
                return f"{op.opcode} {kept} at line {op.line} returns while the {groups} on: wait for fewer, or access what came before"
    return None


def is_by_lanes(op: Op) -> bool:
    return op.family in _BY_LANES


def wait_of(op: Op) -> str:
    """What gives the memory of an operation back."""
    assert op.completes_by is not None
    return ", then ".join(WAITS[op.completes_by]) + _WAITS_FOR.get(op.completes_by, "")
