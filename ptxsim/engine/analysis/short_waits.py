"""Waits that let the newest groups of asynchronous operations go on."""

from __future__ import annotations

from ptxsim.engine.program.operation import Op, Program
from ptxsim.isa.facts import Role


def short_wait(program: Program, before: Op) -> tuple[Op, str] | None:
    """A wait that is there and lets groups go on, and what is to be said of it; None where there is none."""
    for op in program.ops:
        waits = op.synchronises is not None and op.synchronises.role is Role.WAIT
        if waits and op.synchronises.mechanism is before.completes_by and op.sources:  # type: ignore[union-attr]  # it is there
            kept = getattr(op.sources[0], "value", 0)
            if kept:
                groups = f"{kept} newest groups go" if kept > 1 else "newest group goes"
                return (
                    op,
                    f"{op.opcode} {kept} at line {op.line} returns while the {groups} on: wait for fewer, or access what came before",
                )
    return None
