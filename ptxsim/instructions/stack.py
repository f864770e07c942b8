"""alloca, stacksave, stackrestore. PTX ISA, "Stack Manipulation Instructions"; bound, not modeled."""

from __future__ import annotations

from ptxsim.isa.operand import Imm, Reg
from ptxsim.isa.registry import declare

POWERS = Imm(choices=tuple(1 << n for n in range(24)))

declare("alloca.type d, size{, align}", type="u64", operands={"align": POWERS}, requires="7.3 sm_52")
declare("stacksave.type d", type="u64", requires="7.3 sm_52")
declare("stackrestore.type a", type="u64", operands={"a": Reg("u64")}, requires="7.3 sm_52")
