"""Through what two CTAs may mean to hand data over, where nothing orders them: the strong accesses after the write and before the read."""

from __future__ import annotations

from collections.abc import Sequence

from ptxsim.engine.program.operation import Op, Program
from ptxsim.isa.facts import Mechanism

_RELEASES, _ACQUIRES = ("release", "acq_rel"), ("acquire", "acq_rel")


def flag_of(program: Program, writer: Op, reader: Op) -> str:
    """What the flag lacks, as a clause that follows a remedy; empty where the text has none, or it lacks nothing."""
    after = _first(program.ops[writer.site + 1 :], writes=True)
    before = _first(program.ops[: reader.site][::-1], writes=False)
    if after is None or before is None or reader.site in (after.site, before.site):
        return ""
    lacks = []
    if _order(after) not in _RELEASES and not _has_fence(program, writer, after):
        lacks.append(f"a release at {after.opcode} of line {after.line} or a fence before it")
    if _order(before) not in _ACQUIRES and not _has_fence(program, before, reader):
        lacks.append(f"an acquire at {before.opcode} of line {before.line} or a fence after it")
    fence = " (fence.acq_rel.gpu; in CUDA __threadfence())"
    return f": if the flag is that of line {after.line}, it lacks {', and '.join(lacks)}{fence}" if lacks else ""


def _first(ops: Sequence[Op], writes: bool) -> Op | None:
    """The first of some that accesses global memory with an order and may be a flag's: a store or an atomic, or anything that reads."""
    return next(
        (
            op
            for op in ops
            if any(a.order != "weak" and a.space != "shared" and (a.writes if writes else a.reads) for a in op.accesses)
        ),
        None,
    )


def _order(op: Op) -> str:
    return next((access.order for access in op.accesses if access.order != "weak"), "weak")


def _has_fence(program: Program, first: Op, last: Op) -> bool:
    between = program.ops[first.site + 1 : last.site]
    return any(op.synchronises is not None and op.synchronises.mechanism is Mechanism.FENCE for op in between)
