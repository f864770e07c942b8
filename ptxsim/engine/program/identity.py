"""A program's identity: everything its native code depends on, as text to hash. Much quicker than writing the code."""

from __future__ import annotations

import hashlib

from ptxsim.engine.program.operand import (
    Address,
    Constant,
    Literal,
    Operand,
    Register,
    SharedAddress,
    Special,
    StackAddress,
    Vector,
)
from ptxsim.engine.program.operation import Program, fact
from ptxsim.machine.memory import ARENA


@fact
def identity(program: Program) -> str:
    """A hash of program_text."""
    return hashlib.blake2b(program_text(program).encode(), digest_size=20).hexdigest()


def program_text(program: Program) -> str:
    """Equal texts mean equal code, given the same package and options."""
    parts = [f"{ARENA:#x} " + ",".join(t.name for t in program.slots)]
    for block in program.blocks:
        parts.append(";")
        for op in block:
            name = op.definition.identity
            wants = [str(value) for value in op.wants.values()]
            parts.append(
                f"{op.site} {op.opcode} {name} {wants} {op.guard} {op.control} {op.targets} {op.aligned} "
                f"{'|'.join(map(_operand, op.destinations))} < {'|'.join(map(_operand, op.sources))}"
            )
    return "\n".join(parts)


def _operand(operand: Operand | None) -> str:
    match operand:
        case None:
            return "-"
        case Register():
            return f"r{operand.slot}{operand.declared.name}{operand.type.name}{operand.negated:d}{operand.sink:d}"
        case SharedAddress():
            return f"h{operand.value}{operand.type.name}"
        case Constant():
            return f"c{operand.value}{operand.type.name}"
        case Address():
            extra = "".join(_operand(e) for e in operand.extra)
            return f"a{_operand(operand.base)}+{operand.offset}[{extra}]"
        case Vector():
            return "{" + " ".join(_operand(e) for e in operand.elements) + "}"
        case Special():
            return f"s{operand.name}{operand.type.name}"
        case StackAddress():
            return f"l{operand.offset}{operand.type.name}"
        case Literal():
            return f"i{operand.value!r}"
    raise AssertionError(operand)
