"""Changes of the text that may put two instructions in order; a run of the changed text shows whether they do."""

from __future__ import annotations

from ptxsim.diagnostic import beside
from ptxsim.edits import Fix, Where
from ptxsim.engine.analysis.control_flow import block_of, control_flow
from ptxsim.engine.analysis.def_use import def_use
from ptxsim.engine.analysis.divergence import divergent_slots
from ptxsim.engine.program.operation import Op, Program, fact
from ptxsim.isa.facts import CTA_BARRIER, PROXY_FENCE, WAIT_FOR_ALL, Mechanism

_BARRIERS = (Mechanism.BARRIER, Mechanism.CLUSTER_BARRIER, Mechanism.MBARRIER)
_MOST_BLOCKS = 1000  # of a program in which it is looked for where branches join: the time grows with their square


def barriers_between(program: Program, first: Op, second: Op, barrier: str) -> tuple[Fix, ...]:
    """A barrier after one instruction or before another, or, for those in a branch that only some threads take, where it joins again."""
    joins = {op: join_after(program, op) for op in (first, second)}
    places: list[tuple[Op, Where]] = [(second, "before"), (first, "after")]
    found = [beside(op, where, barrier) for op, where in places if joins[op] is None]
    return tuple(dict.fromkeys((*found, *(beside(join, "before", barrier) for join in joins.values() if join))))


def join_after(program: Program, op: Op) -> Op | None:
    """Of an instruction that only some threads of a CTA may execute, the next one that all of them do; None for one that all do."""
    partly = partly_executed(program)
    block = block_of(program)[op.site]
    if block not in partly:
        return None
    after = (number for number in sorted(control_flow(program).postdominators[block]) if number > block)
    return next(
        (program.blocks[number][0] for number in after if number not in partly and program.blocks[number]), None
    )


@fact
def partly_executed(program: Program) -> frozenset[int]:
    """Blocks in branches that threads of a CTA may take differently; none of a program that is too long to look at."""
    if len(program.blocks) > _MOST_BLOCKS:
        return frozenset()
    graph, flow = control_flow(program), def_use(program)
    differs = divergent_slots(flow)
    return frozenset(
        inside for number, ops in enumerate(program.blocks)
        if ops and ops[-1].control and not differs.isdisjoint(flow.reads[ops[-1].site])
        for inside in graph.between(number)
    )  # fmt: skip


def waits_before(op: Op, before: Op) -> tuple[Fix, ...]:
    """A wait for all that `before` has begun, in front of an instruction; with a barrier where each thread waits for its own."""
    wait = WAIT_FOR_ALL.get(before.completes_by) if before.completes_by else None
    return tuple(beside(op, "before", text) for text in (wait, f"{wait} {CTA_BARRIER}")) if wait else ()


def fences_after(program: Program, before: Op) -> tuple[Fix, ...]:
    """A proxy fence after an instruction: before the barrier that comes next, so that what else is stored there is covered, or at once."""
    later = (op for op in program.ops if op.line > before.line)
    barrier = next((op for op in later if op.synchronises and op.synchronises.mechanism in _BARRIERS), None)
    at_once = beside(before, "after", PROXY_FENCE)
    return (beside(barrier, "before", PROXY_FENCE), at_once) if barrier is not None else (at_once,)
