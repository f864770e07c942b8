"""Changes of the text that may put two instructions in order; whether they do is for a run to say."""

from __future__ import annotations

from ptxsim.diagnostic import beside
from ptxsim.edits import Fix
from ptxsim.engine.program.operation import Op, Program
from ptxsim.isa.facts import CTA_BARRIER, PROXY_FENCE, WAIT_FOR_ALL, Mechanism

_BARRIERS = (Mechanism.BARRIER, Mechanism.CLUSTER_BARRIER, Mechanism.MBARRIER)


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
