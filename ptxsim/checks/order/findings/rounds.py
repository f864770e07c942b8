"""Races between two rounds of a loop: its one barrier orders what comes before it with what comes after it in the same round, but
nothing orders the end of one round with the start of the next."""

from __future__ import annotations

from collections.abc import Iterable

from ptxsim.checks.findings.causes import Key
from ptxsim.checks.findings.changes import join_after
from ptxsim.checks.order.cells import RACE, RACE_IN_WARP
from ptxsim.diagnostic import beside
from ptxsim.edits import Fix
from ptxsim.engine.analysis.control_flow import block_of, control_flow, leads
from ptxsim.engine.program.operation import Op, Program
from ptxsim.isa.facts import Mechanism, Role

Loop = tuple[int, int]  # its first block, and the one that leads back to it
_ORDERS = (Mechanism.BARRIER, Mechanism.CLUSTER_BARRIER, Mechanism.MBARRIER, Mechanism.WARP)
_MOST_BLOCKS = 1000  # of a program whose ways are looked at


def next_round(program: Program, first: Op, second: Op) -> Loop | None:
    """The innermost loop in whose next round two instructions meet, `second` of one round and `first` of the next; None if there is none.

    Every way from the first to the second passes a wait for other threads; some way from the second back to the first does not.
    """
    if first is second or len(program.blocks) > _MOST_BLOCKS:
        return None
    if _comes_to(program, first, second) or not _comes_to(program, second, first):
        return None
    block, graph = block_of(program), control_flow(program)
    found = [
        (len(body), head, tail) for head, tail in graph.back_edges
        if {block[first.site], block[second.site]} <= (body := graph.loop_body(head, tail))
    ]  # fmt: skip
    return min(found)[1:] if found else None


def waits(op: Op) -> bool:
    """Whether a thread waits for others there."""
    return (
        op.synchronises is not None
        and op.synchronises.mechanism in _ORDERS
        and op.synchronises.role in (Role.SYNC, Role.WAIT)
    )


def _comes_to(program: Program, start: Op, goal: Op) -> bool:
    """Whether a way leads from after one instruction to another on which no thread waits for others."""
    return leads(program, start, lambda op: op is goal, waits)


def between_rounds(program: Program, loop: Loop, barrier: str) -> tuple[Fix, ...]:
    """A barrier before a loop's first store to shared memory, or after its last access.

    Only accesses of the loop's own level count, not those in an inner loop or a branch; without any, it goes before the branch back.
    """
    graph, (head, tail) = control_flow(program), loop
    depth = graph.loop_depth[tail]
    ops = [
        op for number in sorted(graph.loop_body(head, tail)) if graph.loop_depth[number] == depth
        for op in program.blocks[number] if any(access.space != "global" for access in op.accesses)
    ]  # fmt: skip
    stores = [op for op in ops if any(access.writes for access in op.accesses)]
    places = [beside(op, "before", barrier) for op in stores[:1] if join_after(program, op) is None]
    places += [beside(op, "after", barrier) for op in ops[-1:] if join_after(program, op) is None]
    return tuple(dict.fromkeys(places)) or (beside(program.blocks[tail][-1], "before", barrier),)


def by_rounds(program: Program, keys: Iterable[Key]) -> list[Key]:
    """Without races within a warp that the barrier between the rounds of a loop puts in order, too, which races between warps want."""
    keys = list(keys)

    def loop(key: Key) -> Loop | None:
        first, second = sorted((program.ops[key[1]], program.ops[key[2]]), key=lambda op: op.line)
        return next_round(program, first, second)

    wanted = {found for key in keys if key[0] == RACE and (found := loop(key))}
    return [key for key in keys if key[0] != RACE_IN_WARP or not wanted or loop(key) not in wanted]
