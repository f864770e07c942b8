"""What would put the two accesses of a race in order: in words, and as changes of the text."""

from __future__ import annotations

from ptxsim.checks.findings.changes import barriers_between, waits_before
from ptxsim.checks.order.cells import RACE_IN_WARP
from ptxsim.checks.order.findings.rounds import between_rounds, next_round, waits
from ptxsim.edits import Fix
from ptxsim.engine.analysis.control_flow import leads
from ptxsim.engine.program.operation import Op, Program
from ptxsim.isa.facts import CTA_BARRIER, PROXY_FENCE, WAITS, WARP_BARRIER, Mechanism, Proxy, Role


def remedy(program: Program, one: Op, two: Op, what: int, is_far: bool, is_global: bool, later: Op) -> str:
    """What would order two accesses, taken in the order of the text. is_far: they are of two CTAs; later: which came second in this run."""
    first, second = sorted((one, two), key=lambda op: op.line)
    between = f"between line {first.line} and line {second.line}" if first.line != second.line else "between them"
    copy = two if later is one else one
    if not is_far and not is_global and later is not copy and _reads_in_groups(copy):  # its wait has been met
        barrier = "bar.warp.sync" if what == RACE_IN_WARP else "bar.sync"
        return (
            f"only the thread that has issued the copy of line {copy.line} can wait for it: put {barrier} after its wait "
            f"({WAITS[Mechanism.BULK_GROUP][-1]}.read), before line {later.line}"
        )
    if not is_far and first.completes_by is None and next_round(program, first, second):
        barrier = "bar.warp.sync" if what == RACE_IN_WARP else "bar.sync"
        return (
            f"in a loop, line {first.line} of the next round meets line {second.line} of this one: put a barrier between the rounds, "
            f"at the end of the loop, after line {second.line} ({barrier})"
        )
    fence = ", and fence.proxy.async before it" if is_fetch(second) and writes(first, is_global) else ""
    if what == RACE_IN_WARP:
        return f"put bar.warp.sync {between}{fence}"
    if is_global and is_far:
        return "give each CTA its own part, use atomics, or synchronise through a flag with release and acquire of scope gpu"
    if first.completes_by is Mechanism.MBARRIER:
        wait = (
            f"let every thread wait for the copy's mbarrier ({WAITS[Mechanism.MBARRIER][0]}) before line {second.line}"
        )
        if later is not first or writes(second, is_global) or not writes(first, is_global):
            return wait
        return (
            f"the copy may bring what comes next before line {second.line} has read what was there: let all who read arrive at an mbarrier that "
            f"is initialised with so many arrivals, after line {second.line}, and wait for its phase before line {first.line}; if the copy brings "
            f"what is read there: {wait}"
        )
    if first.completes_by in (Mechanism.CP_ASYNC_GROUP, Mechanism.BULK_GROUP, Mechanism.PRODUCT_GROUP):
        work = "product" if first.completes_by is Mechanism.PRODUCT_GROUP else "copy"
        return (
            f"wait for the {work} ({', '.join(WAITS[first.completes_by])} 0), then bar.sync, before line {second.line}"
        )
    if is_far:
        how = "barrier.cluster.arrive.release, barrier.cluster.wait.acquire"
        return f"put a barrier of the cluster {between} ({how}){fence}"
    if _are_roles(program, first, second):
        return _between_roles(program, first, second)
    return f"put a barrier {between} (bar.sync){fence}"


def fixes(program: Program, one: Op, two: Op, what: int, is_far: bool, is_global: bool) -> tuple[Fix, ...]:
    """The same as changes of the text, where one statement may do."""
    first, second = sorted((one, two), key=lambda op: op.line)
    if first.completes_by is not None and what != RACE_IN_WARP:
        return waits_before(second, first)
    if is_far or (what != RACE_IN_WARP and _are_roles(program, first, second)):
        return ()
    barrier = WARP_BARRIER if what == RACE_IN_WARP else CTA_BARRIER
    if loop := next_round(program, first, second):
        return between_rounds(program, loop, barrier)
    fence = f"{PROXY_FENCE} " if is_fetch(second) and writes(first, is_global) else ""
    return barriers_between(program, first, second, fence + barrier)


def _are_roles(program: Program, one: Op, two: Op) -> bool:
    """Whether warps with different parts in a kernel execute two accesses again and again: no way leads from either to the other."""

    def comes_to(start: Op, goal: Op) -> bool:
        return leads(program, start, lambda op: op is goal, lambda op: False)

    return comes_to(one, one) and comes_to(two, two) and not comes_to(one, two) and not comes_to(two, one)


def _between_roles(program: Program, one: Op, two: Op) -> str:
    """What orders two accesses of warps with different parts."""
    early = [(op, use) for use in (one, two) if (op := _arrival_before(program, use)) is not None]
    said = "".join(f"; {op.opcode} of line {op.line} comes before line {use.line}: put it after" for op, use in early)
    return (
        f"different warps execute line {one.line} and line {two.line}: each of the two has to arrive after its own (bar.arrive or bar.sync, or at an mbarrier) "
        f"and to wait for the other one before it comes to its own again{said}"
    )


def _arrival_before(program: Program, use: Op) -> Op | None:
    """An arrival at a barrier that comes after what a thread has waited for, and before its access."""
    arrivals = (op for op in program.ops if op.synchronises is not None and op.synchronises.role is Role.ARRIVE)
    return next((op for op in arrivals if leads(program, op, lambda other: other is use, waits)), None)


def _reads_in_groups(op: Op) -> bool:
    """Whether an operation is a copy out of shared memory that the threads that have issued it wait for."""
    return op.completes_by is Mechanism.BULK_GROUP


def is_fetch(op: Op) -> bool:
    """Whether an instruction accesses memory through the async proxy."""
    return any(access.proxy is Proxy.ASYNC for access in op.accesses)


def writes(op: Op, in_global: bool = False) -> bool:
    """Whether an instruction writes, or writes that space where it is a copy from one to the other."""
    is_copy = len({access.space for access in op.accesses}) > 1
    return any(
        access.writes and (not is_copy or (access.space == "global") == in_global or access.space is None)
        for access in op.accesses
    )
