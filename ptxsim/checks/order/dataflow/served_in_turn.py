"""Ticket locks: a loop ends when a place holds the number that the thread has drawn by an atomic."""

from __future__ import annotations

from ptxsim.engine.analysis.control_flow import control_flow
from ptxsim.engine.analysis.def_use import def_use
from ptxsim.engine.program.operation import Op, Program
from ptxsim.isa.facts import AccessKind


def is_turn(program: Program, load: Op) -> bool:
    """Whether a loop around a load ends only where what it has brought is equal to what an atomic has given this thread alone."""
    flow, graph = def_use(program), control_flow(program)
    if not load.destinations:
        return False
    for body in graph.loops_around(flow.block_of[load.site]):
        for slot in flow.writes[load.site]:
            for site in flow.readers[slot]:
                test = program.ops[site]
                if test.family != "setp" or test.words["cmp"] not in ("eq", "ne") or flow.block_of[site] not in body:
                    continue
                others = [each for each in flow.reads[site] if each != slot]
                if others and all(_is_drawn(program, each) for each in others) and _leaves_by(program, body, site):
                    return True
    return False


def _is_drawn(program: Program, slot: int) -> bool:
    """Whether a value is what an atomic has counted, as it is or copied."""
    flow, seen, rest = def_use(program), {slot}, [slot]
    is_drawn = False
    while rest:
        for site in flow.definers[rest.pop()]:
            op = program.ops[site]
            if any(access.kind is AccessKind.ATOMIC for access in op.accesses):
                is_drawn |= op.words.get("op") in ("add", "inc")
            elif op.accesses or op.call:
                return False
            new = set() if op.accesses else set(flow.reads[site]) - seen
            seen |= new
            rest += new
    return is_drawn


def _leaves_by(program: Program, body: set[int], test: int) -> bool:
    """Whether all ways out of a loop are branches that a test decides about."""
    flow, graph = def_use(program), control_flow(program)
    made = set(flow.writes[test])
    exits = [number for number in body if not body.issuperset(graph.successors[number])]
    return bool(exits) and all(not made.isdisjoint(flow.reads[program.blocks[each][-1].site]) for each in exits)
