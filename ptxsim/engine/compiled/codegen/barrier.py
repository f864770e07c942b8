"""Barriers of all threads of a CTA: bar.sync and barrier.sync with a constant number."""

from __future__ import annotations

from ptxsim.engine.compiled.codegen.function import FunctionWriter
from ptxsim.engine.compiled.codegen.registry import lowers
from ptxsim.engine.compiled.ir.value import CannotEmit
from ptxsim.engine.compiled.runtime import abi
from ptxsim.engine.program.operand import Constant, Literal
from ptxsim.engine.program.operation import Op
from ptxsim.isa.facts import Mechanism, Role, Synchronisation

SYNC = Synchronisation(Mechanism.BARRIER, Role.SYNC)
BARRIERS = 16


@lowers("barrier")
def barrier(w: FunctionWriter, op: Op) -> None:
    """A barrier ends the block: the scheduler counts the warp in, or the interpreter takes over."""
    number = _number(op)
    w.flush(w.live[w.index])
    w.leave(abi.BARRIER, target=number, block=w.number, op=w.index + 1, site=op.site, own_site=op.site)
    w.ended = True


def _number(op: Op) -> int:
    """The barrier that all threads of the CTA wait at."""
    if op.synchronises != SYNC or op.destinations or op.guard is not None:
        raise CannotEmit("a barrier with a guard, a reduction, or without a wait")
    number, count = op.sources
    value = number.value if isinstance(number, Literal | Constant) else None
    if count is not None or not isinstance(value, int) or value >= BARRIERS:
        raise CannotEmit("a barrier of some threads, or whose number is computed")
    return value
