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
    if op.aligned and _begins_block(w, op):
        _wait_for(w, op, _live(w))
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
    """The lanes that have come wait for the other members."""
    if _begins_block(w, op):
        e = w.emitter
        members, is_one = w.same(e.convert(w.read(op.sources[0]), "u32"), w.mask)
        strangers, exited = _without(w, w.mask, members), _without(w, members, _live(w))
        is_right = e.let(f"icmp eq i32 {e.let(f'or i32 {strangers}, {exited}')}, 0")
        _wait_for(w, op, members, e.let(f"and i1 {is_one}, {is_right}"))
    traced(w, op)


def _begins_block(w: FunctionWriter, op: Op) -> bool:
    """Whether lanes may wait for others there in native code: what they execute again when all have come is nothing but the operation."""
    return w.index == 0 and op.guard is None and not w.options.full


def _wait_for(w: FunctionWriter, op: Op, members: str, allowed: str = "true") -> None:
    """Let lanes wait for others that are not here, if an i1 holds."""
    e = w.emitter
    is_missing = e.let(f"icmp ne i32 {_without(w, members, w.mask)}, 0")
    waits = e.let(f"and i1 {allowed}, {is_missing}")
    w.leave_if(waits, abi.CONVERGE, block=w.number, taken=members, site=op.site)


def _live(w: FunctionWriter) -> str:
    return w.emitter.field("%warp", WARP["live"], "i32")


def _without(w: FunctionWriter, lanes: str, others: str) -> str:
    return w.emitter.let(f"and i32 {lanes}, {w.emitter.let(f'xor i32 {others}, -1')}")
