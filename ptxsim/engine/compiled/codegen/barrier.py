"""bar and barrier: synchronisation and arrival; bar.warp.sync."""

from __future__ import annotations

from ptxsim.engine.compiled.codegen.effects import traced
from ptxsim.engine.compiled.codegen.function import FunctionWriter
from ptxsim.engine.compiled.codegen.registry import lowers
from ptxsim.engine.compiled.ir.value import CannotEmit
from ptxsim.engine.compiled.runtime import abi
from ptxsim.engine.compiled.runtime.abi import WARP
from ptxsim.engine.program.operand import Constant, Literal, Operand, Register
from ptxsim.engine.program.operation import Op
from ptxsim.isa.facts import Mechanism, Role, Synchronisation
from ptxsim.lanes import LANES
from ptxsim.machine.records import BARRIERS

# What a use of a barrier leaves native code with.
STATUS = {
    Synchronisation(Mechanism.BARRIER, Role.SYNC): abi.BARRIER,
    Synchronisation(Mechanism.BARRIER, Role.ARRIVE): abi.ARRIVE,
}


@lowers("barrier")
def barrier(w: FunctionWriter, op: Op) -> None:
    """A barrier ends the block: the scheduler counts the warp in, or the interpreter takes over."""
    if op.guard is not None:
        raise CannotEmit("a barrier with a guard")
    if any(isinstance(to, Register) and to.declared.bits > 32 for to in op.destinations):
        raise CannotEmit("a count in a wide register")
    ballot = [w.word(w.read(source)) for source in op.sources[2:]]
    w.save_before_bail()
    number, count = (0 if source is None else _same(w, source) for source in op.sources[:2])
    if isinstance(number, str):
        w.bail_unless(w.emitter.let(f"icmp ult i32 {number}, {BARRIERS}"))
    elif number >= BARRIERS:
        raise CannotEmit("a barrier that does not exist")
    assert op.synchronises is not None
    status, site = STATUS[op.synchronises], op.site
    for word in ballot:
        status = abi.VOTE
        w.emitter.line(f"  store i32 {word}, ptr {w.emitter.at('%warp', WARP['votes'])}")
    w.leave(status, target=number, taken=count, block=w.number, op=w.index + 1, site=site, own_site=site)
    w.ended = True


def _same(w: FunctionWriter, source: Operand) -> int | str:
    """The number that all lanes give, or an i32; the slow path where they do not agree."""
    if isinstance(source, Literal | Constant):
        return int(source.value)
    word = w.emitter.convert(w.read(source), "u32")
    w.bail_unless(w.all_of(word == w.emitter.permute(word, [0] * LANES)))
    return w.emitter.let(f"extractelement {word.type} {word.text}, i64 0")


@lowers("warp_barrier")
def warp_barrier(w: FunctionWriter, op: Op) -> None:
    """The lanes that have come wait for others in native code where the barrier begins a block, which is then executed again."""
    if w.index == 0 and op.guard is None and not w.options.full:
        e = w.emitter
        members, is_one = w.same(e.convert(w.read(op.sources[0]), "u32"), w.mask)
        live = e.field("%warp", WARP["live"], "i32")
        away, strangers, exited = (
            e.let(f"and i32 {one}, {e.let(f'xor i32 {other}, -1')}")
            for one, other in ((members, w.mask), (w.mask, members), (members, live))
        )
        wrong = e.let(f"or i32 {strangers}, {exited}")
        can_wait = e.let(f"and i1 {is_one}, {e.let(f'icmp eq i32 {wrong}, 0')}")
        waits = e.let(f"and i1 {can_wait}, {e.let(f'icmp ne i32 {away}, 0')}")
        w.leave_if(waits, abi.CONVERGE, block=w.number, taken=members, site=op.site)
    traced(w, op)
