"""bar and barrier: synchronisation and arrival, with constant operands."""

from __future__ import annotations

from ptxsim.engine.compiled.codegen.function import FunctionWriter
from ptxsim.engine.compiled.codegen.registry import lowers
from ptxsim.engine.compiled.ir.value import CannotEmit
from ptxsim.engine.compiled.runtime import abi
from ptxsim.engine.program.operand import Constant, Literal
from ptxsim.engine.program.operation import Op
from ptxsim.isa.facts import Mechanism, Role, Synchronisation
from ptxsim.machine.records import BARRIERS

# What a use of a barrier leaves native code with.
STATUS = {
    Synchronisation(Mechanism.BARRIER, Role.SYNC): abi.BARRIER,
    Synchronisation(Mechanism.BARRIER, Role.ARRIVE): abi.ARRIVE,
}


@lowers("barrier")
def barrier(w: FunctionWriter, op: Op) -> None:
    """A barrier ends the block: the scheduler counts the warp in, or the interpreter takes over."""
    if op.destinations or op.guard is not None:
        raise CannotEmit("a barrier with a guard or a reduction")
    number, count = (0 if source is None else _constant(source) for source in op.sources)
    if number >= BARRIERS:
        raise CannotEmit("a barrier that does not exist")
    w.flush(w.live[w.index])
    assert op.synchronises is not None
    status, site = STATUS[op.synchronises], op.site
    w.leave(status, target=number, taken=count, block=w.number, op=w.index + 1, site=site, own_site=site)
    w.ended = True


def _constant(source: object) -> int:
    value = source.value if isinstance(source, Literal | Constant) else None
    if not isinstance(value, int):
        raise CannotEmit("a barrier whose number or count is computed")
    return value
