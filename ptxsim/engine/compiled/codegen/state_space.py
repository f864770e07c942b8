"""isspacep: the windows of shared and local memory by arithmetic, what allocations are by looking them up."""

from __future__ import annotations

from ptxsim.engine.compiled.codegen.function import FunctionWriter
from ptxsim.engine.compiled.codegen.registry import lowers
from ptxsim.engine.compiled.ir.value import Value
from ptxsim.engine.compiled.runtime.abi import WARP
from ptxsim.engine.program.operation import Op
from ptxsim.machine.event import Space
from ptxsim.machine.memory import LOCAL_WINDOW, RANK_SHIFT, SHARED_WINDOW, WINDOW_SIZE


@lowers("isspacep")
def is_space(w: FunctionWriter, op: Op) -> None:
    """Whether generic addresses lie in a state space."""
    e, guard, space = w.emitter, w.guard(op), str(op.words["space"])
    given = w.read(op.sources[0])
    address = e.splat(given, "u64") if isinstance(given, int) else e.convert(given, "u64")
    shared, local = ((address - window) < WINDOW_SIZE for window in (SHARED_WINDOW, LOCAL_WINDOW))
    found: Value
    if space == "local":
        found = local
    elif space == "shared::cluster":
        found = shared
    elif space.startswith("shared"):
        rank = e.let(f"lshr i64 {e.field('%warp', WARP['named'], 'i64')}, {RANK_SHIFT}")
        found = shared & ((address - SHARED_WINDOW) >> RANK_SHIFT == w.spread(rank, "u64"))
    else:
        slot = w.stack_slot("addresses", "<32 x i64>")
        e.line(f"  store <32 x i64> {address.text}, ptr {slot}, align 64")
        number = int(Space[space.partition("::")[0].upper()])
        word = w.call("i32", f"{w.prefix}in_space", ("ptr", "%context"), ("ptr", slot), ("i32", str(number)))
        there = Value(e, e.let(f"bitcast i32 {word} to <32 x i1>"), "pred")
        found = there & ~shared & ~local
    w.deliver(op, found, guard)
