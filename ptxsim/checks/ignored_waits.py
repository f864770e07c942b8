"""Waits for mbarriers whose results nothing looks at. PTX ISA, "mbarrier.test_wait, mbarrier.try_wait"."""

from __future__ import annotations

from ptxsim.engine.analysis.def_use import def_use, writes
from ptxsim.engine.analysis.liveness import live_before, live_out
from ptxsim.engine.program.operation import Program, fact
from ptxsim.isa.facts import Mechanism, Role


@fact
def ignored_waits(program: Program) -> frozenset[int]:
    """The sites of waits for mbarriers whose results nothing looks at: they may have ended before the phase has.

    To make another value of a result that nothing needs, as compilers make a number of a predicate, is not to look at it.
    """
    waits = {op.site for op in program.ops if op.synchronises and op.synchronises.mechanism is Mechanism.MBARRIER
             and op.synchronises.role is Role.WAIT}  # fmt: skip
    if not waits:
        return frozenset()
    needed = def_use(program).live
    out = live_out(program, {op.site for op in program.ops} - needed)
    found = set[int]()
    for block, live in zip(program.blocks, out):
        block = [op for op in block if op.site in needed]
        for op, after in zip(block, [*live_before(block, live, set())[1:], live]):
            if op.site in waits and after.isdisjoint(writes(op)):
                found.add(op.site)
    return frozenset(found)
