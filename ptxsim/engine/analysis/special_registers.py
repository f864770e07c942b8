"""Which special registers a program reads."""

from __future__ import annotations

from ptxsim.engine.program.operand import Address, Special, Vector
from ptxsim.engine.program.operation import Program, fact


@fact
def special_registers(program: Program) -> list[str]:
    """Their names, sorted (`%tid.x`, `WARP_SZ`)."""
    found: set[str] = set()
    stack = [operand for op in program.ops for operand in op.sources]
    while stack:
        operand = stack.pop()
        if isinstance(operand, Special):
            found.add(operand.name)
        elif isinstance(operand, Vector):
            stack.extend(operand.elements)
        elif isinstance(operand, Address):
            stack.extend(operand.extra)
    return sorted(found)


def uses_reserved_shared(program: Program) -> bool:
    """Whether it asks for the shared memory that the system keeps, which it may then access."""
    return any(name.startswith("%reserved_smem_offset") for name in special_registers(program))
