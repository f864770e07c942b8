"""Families whose effects are traced through the emit port: memory accesses, warp-wide operations, fences, mbarriers,
the cluster's barrier."""

from __future__ import annotations

from ptxsim.engine.compiled.codegen.function import FunctionWriter
from ptxsim.engine.compiled.codegen.port import EmitPort
from ptxsim.engine.compiled.codegen.registry import lowers
from ptxsim.engine.program.operation import Op


@lowers("load", "store", "atomic", "fence", "createpolicy", "mbarrier", "cluster_barrier", "set_registers")
@lowers("tensor_memory_fence", "griddepcontrol")
@lowers("shuffle", "vote", "match", "redux", "elect", "activemask")
def traced(w: FunctionWriter, op: Op) -> None:
    """Print what the effect does to the emit port."""
    if op.aligned:
        w.need_whole_warp(op)
    guard = w.guard(op)
    port = EmitPort(w, w.mask if guard is None else w.word(guard))
    effect = op.definition.effect
    assert effect is not None
    w.deliver(op, effect(port, *w.sources(op), **op.wants), guard)
