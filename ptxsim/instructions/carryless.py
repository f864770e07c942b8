"""Products of polynomials over two elements. PTX ISA, "Integer Arithmetic Instructions: clmad"."""

from __future__ import annotations

from ptxsim import lanes
from ptxsim.isa.facts import Word
from ptxsim.isa.registry import instruction
from ptxsim.lanes import LaneValue

BITS = 64


@instruction("clmad.mode.type d, a, b, c", mode="lo hi", type="u64", requires="9.3 sm_80")
def clmad(a: LaneValue, b: LaneValue, c: LaneValue, *, mode: Word) -> LaneValue:
    """The low or the high word of a times b, without carries, and c added likewise."""
    result = c
    for i in range(mode == "hi", BITS):
        part = b << i if mode == "lo" else b >> BITS - i
        result = result ^ lanes.where((a >> i & 1) != 0, part, b ^ b)
    return result
