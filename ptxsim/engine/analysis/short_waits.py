"""Waits that let the newest groups of asynchronous operations go on."""

from __future__ import annotations

from ptxsim.engine.program.operation import Op, Program
from ptxsim.isa.facts import Role


def short_wait(program: Program, before: Op) -> tuple[Op, str] | None:
    """A wait that is there and lets groups go on, and what is to be said of it; None where there is none."""
    for op in program.ops:
        how = op.synchronises
        if how is None or how.role is not Role.WAIT or how.mechanism is not before.completes_by or not op.sources:
            continue
        if kept := getattr(op.sources[0], "value", 0):
            groups = f"{kept} newest groups go" if kept > 1 else "newest group goes"
            said = f"{op.opcode} {kept} at line {op.line} returns while the {groups} on: wait for fewer, or access what came before"
            return op, said
    return None
