"""mapa, getctarank and isspacep. PTX ISA, "Data Movement and Conversion Instructions: mapa, getctarank, isspacep"."""

from __future__ import annotations

import numpy as np

from ptxsim import lanes
from ptxsim.instructions.access_rules import SHARED
from ptxsim.isa.facts import Word
from ptxsim.isa.operand import Either, Imm, Pred, Reg, Value
from ptxsim.isa.registry import instruction
from ptxsim.lanes import LaneValue
from ptxsim.machine.memory import LOCAL_WINDOW, RANK_SHIFT, SHARED_WINDOW, WINDOW_SIZE
from ptxsim.machine.port import Port
from ptxsim.types import ScalarType

OFFSET = (1 << RANK_SHIFT) - 1


@instruction(
    "mapa{.space}.type d, a, b", cost="alu", space="shared::cluster", type="u32 u64", requires="7.8 sm_90",
    operands={"b": Value("u32")},
)  # fmt: skip
def map_address(a: LaneValue, b: LaneValue, *, space: Word, type: ScalarType) -> LaneValue:
    """The address of the same variable in the CTA of rank b: shared::cluster, or generic without a space, in 32 bits its low ones."""
    address = (a & OFFSET) | lanes.cast(b, type) << RANK_SHIFT
    return address if space else address + (SHARED_WINDOW & (1 << type.bits) - 1)


@instruction(
    "getctarank{.space}.type d, a", space="shared::cluster", type="u32 u64", requires="7.8 sm_90",
    operands={"d": Reg("u32")},
)  # fmt: skip
def cta_rank(a: LaneValue) -> LaneValue:
    """The rank of the CTA that owns a shared address."""
    return lanes.cast(a >> RANK_SHIFT & 0xFF, "u32")


@instruction(
    "isspacep.space p, a", cost="alu", space=f"global local const param@7.7 param::entry@8.3 {SHARED}", writes="p",
    operands={"p": Pred(), "a": Either((Reg("u64"), Imm(), Reg("u32")))},
)  # fmt: skip
def is_space(m: Port, a: LaneValue, *, space: Word) -> LaneValue:
    """Whether a generic address lies in a state space."""
    address = np.broadcast_to(np.asarray(a), lanes.LANES).astype(np.uint64)
    shared = address - np.uint64(SHARED_WINDOW)
    in_shared, in_local = (address - np.uint64(window) < WINDOW_SIZE for window in (SHARED_WINDOW, LOCAL_WINDOW))
    if space == "local":
        return in_local
    if space == "shared::cluster":
        return in_shared
    if space.startswith("shared"):
        owner = shared >> np.uint64(RANK_SHIFT)
        return in_shared & (owner == m.cta.rank)
    memory = m.machine.memory
    index = memory.find(address, 1)
    kinds = np.array([*(allocation.kind for allocation in memory.allocations), "global"])[index]
    wanted = space.partition("::")[0]
    return (kinds == wanted) & ~in_shared & ~in_local
