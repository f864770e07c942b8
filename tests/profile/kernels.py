"""Small kernels for the tests of the cycle model, and their lowering."""

from __future__ import annotations

import ptxsim
from ptxsim.profile.lowering.lower import lower
from ptxsim.profile.lowering.regions import merged
from ptxsim.profile.machine_code import Kind, MachineProgram

HEADER = ".version 9.0\n.target sm_90a\n.address_size 64\n"
PARAMETERS = ".param .u64 place, .param .u32 n"


def kernel(
    body: str, registers: str = "", parameters: str = PARAMETERS, before: str = "", target: str = "sm_90a"
):  # fmt: skip
    """The kernel k with these statements, after the declarations `before`; %r0..63, %f0..63, %d0..63 (64 bits) and %p0..7 are declared."""
    header = HEADER.replace("sm_90a", target)
    text = (
        f"{header}{before}\n.visible .entry k({parameters}) {{ .reg .b32 %r<64>; .reg .f32 %f<64>; .reg .b64 %d<64>; .reg .pred %p<8>; "
        f"{registers}\n{body}\nret; }}"
    )
    return ptxsim.Module.from_text(text).kernel("k")


def lowered(body: str, registers: str = "", before: str = "", target: str = "sm_90a") -> MachineProgram:
    program = kernel(body, registers, before=before, target=target).program(target)
    return lower(merged(program), target)


def units(machine: MachineProgram, block: int = 0) -> list[str]:
    """Units of a block's instructions; constants, special registers and the exit are left out."""
    return [
        op.unit
        for op in machine.blocks[block].ops
        if op.kind not in (Kind.COPY, Kind.EXIT) and not op.constant and op.unit not in ("s2r", "s2r.thread", "s2ur")
    ]
