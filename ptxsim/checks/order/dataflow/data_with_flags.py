"""Loads that bring data and its flags at once: a loop repeats the load until the flags are set, then the data goes into memory.

NCCL's protocol LL hands lines of data on so: each line is read again until both of its flags have the number of the turn. A word of 64 bits holds both, too.
"""

from __future__ import annotations

from ptxsim.checks.order.dataflow.flags import is_stored
from ptxsim.engine.analysis.control_flow import ControlFlow, control_flow
from ptxsim.engine.analysis.def_use import DefUse, def_use
from ptxsim.engine.program.operation import Op, Program, fact
from ptxsim.isa.facts import AccessKind, Mechanism
from ptxsim.types import ScalarType


@fact
def awaited_data(program: Program) -> dict[int, frozenset[int]]:
    """Strong loads from global memory of several values, or of one that is taken apart, that a loop repeats until some of these equal what it looks for.

    By site, with the sites in the loop. None where lanes exchange values of registers, by which they may know of each other.
    """
    loads = [op for block in program.blocks for op in block if _may_bring_several(op)]
    if not loads or any(map(_exchanges, program.ops)):
        return {}
    flow, graph = def_use(program), control_flow(program)
    brought = {op: _brought(program, flow, op) for op in loads if is_stored(program, flow, op)}
    loops = {op.site: _loop_until_equal(program, flow, graph, op, values) for op, values in brought.items() if values}
    return {
        site: frozenset(op.site for number in loop for op in program.blocks[number])
        for site, loop in loops.items() if loop
    }  # fmt: skip


def _may_bring_several(op: Op) -> bool:
    strong = any(each.order != "weak" and each.space != "shared" for each in op.accesses)
    return (
        strong
        and op.accesses[0].kind is AccessKind.READ
        and bool(op.destinations)
        and (_is_vector(op) or _bits(op) == 64)
    )


def _is_vector(op: Op) -> bool:
    return op.words.get("vec") is not None


def _bits(op: Op) -> int:
    kind = op.words.get("type")
    return kind.bits if isinstance(kind, ScalarType) else 0


def _brought(program: Program, flow: DefUse, op: Op) -> set[int]:
    """The values that a load brings: all of them, or the narrower ones that are made of the one; none where it is not taken apart."""
    brought = set(flow.writes[op.site])
    if _is_vector(op):
        return brought
    made, rest = set[int](), list(brought)
    while rest:
        for site in flow.readers[rest.pop()]:
            each = program.ops[site]
            if len(set(flow.reads[site])) == 1 and not each.accesses and not each.leads_away:
                new = set(flow.writes[site]) - made
                made |= new
                rest += new
    parts = {slot for slot in made if flow.types[slot].kind != "predicate" and flow.types[slot].bits < _bits(op)}
    return parts if len(parts) > 1 else set()


def _exchanges(op: Op) -> bool:
    """Whether lanes of a warp give each other values."""
    return op.synchronises is not None and op.synchronises.mechanism is Mechanism.WARP and bool(op.destinations)


def _loop_until_equal(program: Program, flow: DefUse, graph: ControlFlow, op: Op, values: set[int]) -> set[int]:
    """The blocks of a loop around a load that goes on where a value that it has brought is unequal to another; none if there is no such loop.

    A loop that updates global memory does more than wait: it tries again what others have been quicker to do, as a stack's does.
    """
    for body in graph.loops_around(flow.block_of[op.site]):
        if any(_updates_global(each) for number in body for each in program.blocks[number]):
            continue
        for number in body:
            last = program.blocks[number][-1]
            if (
                last.guard is None
                or len(last.targets) != 1
                or not last.leads_away
                or body.issuperset(graph.successors[number])
            ):
                continue
            goes_on = 1 if (last.targets[0] in body) != last.guard[1] else -1
            if _says_unequal(program, flow, number, flow.reads[last.site][-1], values) == goes_on:
                return body
    return set()


def _updates_global(op: Op) -> bool:
    return any(each.kind is AccessKind.ATOMIC and each.space != "shared" for each in op.accesses)


def _says_unequal(program: Program, flow: DefUse, block: int, predicate: int, values: set[int]) -> int:
    """What a predicate made in a block says where it is true: 1 that one of some values is unequal to another, -1 that it, or each, is equal; 0 neither."""
    sites = [site for site in flow.definers[predicate] if flow.block_of[site] == block]
    if len(sites) != 1:
        return 0
    op = program.ops[sites[0]]
    if op.family == "setp" and not op.words.get("boolop"):
        return 0 if values.isdisjoint(flow.reads[op.site]) else {"ne": 1, "eq": -1}.get(str(op.words["cmp"]), 0)
    parts = {_says_unequal(program, flow, block, each, values) for each in flow.reads[op.site]}
    if op.family == "or" and 1 in parts:
        return 1
    if op.family == "and" and -1 in parts:
        return -1
    if op.family == "not" and len(parts) == 1:
        return -parts.pop()
    return 0
