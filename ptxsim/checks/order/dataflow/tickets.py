"""Accesses whose guard is the result of an atomic: of threads that take tickets, the last one knows that it is the last."""

from __future__ import annotations

from ptxsim.engine.analysis.control_flow import control_flow
from ptxsim.engine.analysis.def_use import DefUse, def_use, slots_of
from ptxsim.engine.program.operand import Address, Constant, Register
from ptxsim.engine.program.operation import Op, Program
from ptxsim.isa.facts import AccessKind


def decided(program: Program, kind: AccessKind) -> set[int]:
    """The sites of accesses of a kind whose guard, or a branch that they are under, depends on what an atomic has returned.

    It may come by way of arithmetic, other lanes, barriers that reduce, and memory that is not global: one thread takes the
    ticket, and tells its CTA.
    """
    ops = [op for block in program.blocks for op in block if op.accesses]
    updates = [op for op in ops if op.destinations and _is(op, AccessKind.ATOMIC)]
    asked = [op for op in ops if _is(op, kind)]
    if not updates or not asked:
        return set()
    flow, graph = def_use(program), control_flow(program)
    slots = {slot for op in updates for slot in flow.writes[op.site]}
    blocks: set[int] = set()  # that some lanes execute, as a result says
    told: list[Address] = []  # where results are stored
    size = -1
    while size != len(slots) + len(blocks) + len(told):
        size = len(slots) + len(blocks) + len(told)
        for number, block in enumerate(program.blocks):
            for op in block:
                depends = not slots.isdisjoint(flow.reads[op.site])
                if depends and op.leads_away:
                    blocks |= graph.between(number)
                elif not op.accesses:
                    written = flow.writes[op.site]
                    slots.update(s for s in written if depends or (number in blocks and len(flow.definers[s]) > 1))
                elif op.accesses[0].space != "global" and (place := _place(op)) is not None:
                    if _is(op, AccessKind.WRITE):
                        told += [place] * ((depends or number in blocks) and place not in told)
                    elif op.accesses[0].reads and any(_may_be_one(place, other) for other in told):
                        slots.update(flow.writes[op.site])
    return {op.site for op in asked if flow.block_of[op.site] in blocks or _guard(flow, op) in slots}


def _is(op: Op, kind: AccessKind) -> bool:
    return any(access.kind is kind for access in op.accesses)


def _place(op: Op) -> Address | None:
    return next((operand for operand in op.sources if isinstance(operand, Address)), None)


def _may_be_one(one: Address, other: Address) -> bool:
    """Whether two addresses may be the same; without registers they are as written."""
    return isinstance(one.base, Register) or isinstance(other.base, Register) or _written(one) == _written(other)


def _written(place: Address) -> tuple[object, int]:
    """An address without registers: two mentions of a variable are two constants of one value."""
    return place.base.value if isinstance(place.base, Constant) else place.base, place.offset


def _guard(flow: DefUse, op: Op) -> int | None:
    """The value that an operation's guard has there."""
    return None if op.guard is None else flow.reads[op.site][len(slots_of(op.sources))]
