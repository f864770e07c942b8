"""cvta: addresses of a state space as generic ones and back. PTX ISA, "Data Movement and Conversion Instructions: cvta"."""

from __future__ import annotations

from ptxsim import lanes
from ptxsim.instructions.access_rules import SHARED
from ptxsim.isa.facts import Word
from ptxsim.isa.registry import computes, instruction
from ptxsim.lanes import LaneValue
from ptxsim.machine.memory import ARENA_HIGH, LOCAL_WINDOW, SHARED_WINDOW

SPACE = f"global local const param@7.7 param::entry@8.3 {SHARED}"


def window(space: str) -> int:
    """Where a state space begins in the generic address space; global, const and param addresses are generic as they are."""
    return SHARED_WINDOW if space.startswith("shared") else LOCAL_WINDOW if space == "local" else 0


@instruction("cvta.space.type d, a", cost="free", space=SPACE, type="u64")
@computes("a")
def to_generic(a: LaneValue, *, space: Word) -> LaneValue:
    if space.startswith("param"):  # compilers keep the address of a kernel parameter in 32 bits
        return lanes.where(a >> 32 == 0, a + ARENA_HIGH, a)
    return a + window(space)


@instruction("cvta.to.space.type d, a", cost="free", name="cvta.to", space=SPACE, type="u64")
@computes("a")
def from_generic(a: LaneValue, *, space: Word) -> LaneValue:
    if space.startswith("param"):
        return a & 0xFFFFFFFF
    return a - window(space)
