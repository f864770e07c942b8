"""The stack of a lane. PTX ISA, "Stack Manipulation Instructions": stacksave, stackrestore, alloca.

They take the slow path. The stack grows downward from the end of the lane's local memory, as the GPU's does; a function gives
back what it allocated when it returns (engine.control).
"""

from __future__ import annotations

import numpy as np

from ptxsim import lanes
from ptxsim.isa.facts import Facts
from ptxsim.isa.operand import Imm, Reg, Value
from ptxsim.isa.registry import Options, instruction
from ptxsim.lanes import LaneValue
from ptxsim.machine.cta import DYNAMIC_STACK
from ptxsim.machine.fault import Fault, first_lane
from ptxsim.machine.port import Port
from ptxsim.types import ScalarType

POWERS = Imm(choices=tuple(1 << n for n in range(24)))
POINTER: Options = {"type": "u32 u64", "requires": "7.3 sm_52", "facts": Facts(family="stack")}


def pointer(m: Port) -> np.ndarray:
    """The stack pointer of every lane, a local address."""
    return m.warp.stack_pointer(m.machine.local_bytes)


def move(m: Port, address: np.ndarray) -> None:
    m.warp.allocated = np.where(m.mask, address, pointer(m))


@instruction(
    "alloca.type d, size{, align}", operands={"d": Reg("type"), "size": Value("type"), "align": POWERS}, **POINTER
)
def allocate(m: Port, size: LaneValue, align: LaneValue, *, type: ScalarType) -> LaneValue:
    """`size` bytes below the stack pointer, at a multiple of `align` (8)."""
    align = align or 8
    room = pointer(m) - np.uint64(m.machine.local_bytes - DYNAMIC_STACK)
    wanted = lanes.cast(size, "u64")
    start = pointer(m) - np.minimum(wanted, room) & ~np.uint64(align - 1)
    over = m.mask & ((wanted > room) | (start < np.uint64(m.machine.local_bytes - DYNAMIC_STACK)))
    if over.any():
        lane = first_lane(over)
        raise Fault(
            "stack-overflow",
            f"alloca of {int(wanted[lane])} bytes; {int(room[lane])} of the lane's {DYNAMIC_STACK} are left",
            lane, "give back what is not needed with stacksave and stackrestore",
        )  # fmt: skip
    move(m, start)
    return lanes.cast(start, type)


@instruction("stacksave.type d", **POINTER)
def save(m: Port, *, type: ScalarType) -> LaneValue:
    return lanes.cast(pointer(m), type)


@instruction("stackrestore.type a", operands={"a": Reg("type")}, writes="", **POINTER)
def restore(m: Port, a: LaneValue) -> None:
    address, now = lanes.cast(a, "u64"), pointer(m)
    wrong = m.mask & ((address < now) | (address > np.uint64(m.machine.local_bytes)))
    if wrong.any():
        lane = first_lane(wrong)
        raise Fault(
            "out-of-bounds", f"stackrestore to {int(address[lane]):#x}; the stack begins at {int(now[lane]):#x}", lane,
            "restore what stacksave gave, once, and in the same function",
        )  # fmt: skip
    move(m, address)
