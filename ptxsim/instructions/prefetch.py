"""Prefetches and advice to the caches: checked, without effect on what a kernel computes.

PTX ISA, "Data Movement and Conversion Instructions: prefetch, prefetchu, applypriority, discard".
"""

from __future__ import annotations

from ptxsim.isa.operand import Addr, Imm
from ptxsim.isa.registry import Kinds, instruction
from ptxsim.lanes import LaneValue

LINE: Kinds = {"size": Imm(choices=(128,))}


@instruction("prefetch{.space}.level [a]", cost="nothing", space="global local", level="L1 L2")
@instruction(
    "prefetch{.global}.level [a]", cost="nothing", level="L2::evict_last L2::evict_normal", requires="7.4 sm_80"
)
@instruction(
    "prefetch{.space}.tensormap [a]", cost="nothing", space="const param", requires="8.0 sm_90",
    operands={"a": Addr(access="address")},
)  # fmt: skip
@instruction("prefetch{.global}.L1::32B.valid_addr [a]", cost="nothing", requires="9.4 sm_90")
@instruction("prefetchu.L1 [a]", cost="nothing")
@instruction("applypriority{.global}.L2::evict_normal [a], size", cost="nothing", operands=LINE, requires="7.4 sm_80")
@instruction("discard{.global}.L2 [a], size", cost="nothing", operands=LINE, requires="7.4 sm_80")
def advise(a: LaneValue) -> None:
    return None
