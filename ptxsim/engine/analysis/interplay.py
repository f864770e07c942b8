"""Who can tell by memory what others have done: then it matters in which order they run, though nothing races."""

from __future__ import annotations

from ptxsim.engine.analysis.forward_progress import polls
from ptxsim.engine.program.operation import Program, fact
from ptxsim.isa.facts import Access, AccessKind

_OWN = ("local", "param", "const")  # spaces in which no thread meets another one


@fact
def warps_tell(program: Program) -> bool:
    """Whether warps may find out in which order they run: there are atomics or strong accesses."""
    return any(_tells(access) for op in program.ops for access in op.accesses)


@fact
def ctas_tell(program: Program) -> bool:
    """The same of CTAs: there are such outside of a CTA's own shared memory."""
    return any(
        _tells(access) and (access.space != "shared" or (access.kind is AccessKind.ATOMIC and access.remote))
        for op in program.ops
        for access in op.accesses
    )


def _tells(access: Access) -> bool:
    return access.kind is AccessKind.ATOMIC or access.order != "weak"


@fact
def meeting_blocks(program: Program) -> tuple[int, ...]:
    """Blocks before which it may matter what others do first: they access memory that others see, and do not poll it."""
    asks = polls(program)
    return tuple(
        number
        for number, block in enumerate(program.blocks)
        if not asks[number] and any(access.space not in _OWN for op in block for access in op.accesses)
    )
