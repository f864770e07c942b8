"""shfl and shfl.sync. PTX ISA, "Data Movement and Conversion Instructions: shfl.sync"."""

from __future__ import annotations

from ptxsim import lanes
from ptxsim.isa.facts import Word, warp_facts
from ptxsim.isa.operand import Pred, Reg, Value
from ptxsim.isa.registry import Kinds, Options, instruction
from ptxsim.lanes import LaneValue
from ptxsim.machine.port import Port

FACTS = warp_facts("shuffle", reads_lanes=True, copies=True, straight=True)
OPERANDS: Kinds = {
    "d": Reg("b32"), "p": Pred(sink=True), **dict.fromkeys("abc", Value("b32")), "membermask": Value("u32"),
}  # fmt: skip
COMMON: Options = {"mode": "up down bfly idx", "operands": OPERANDS, "facts": FACTS}


@instruction("shfl.sync.mode.b32 d{|p}, a, b, c, membermask", requires="6.0", **COMMON)
@instruction("shfl.mode.b32 d{|p}, a, b, c", requires="1.0-6.3", **COMMON)
def shuffle(m: Port, a: LaneValue, b: LaneValue, c: LaneValue, membermask: LaneValue, *, mode: Word) -> LaneValue:
    """d is a of another lane of the segment, or the lane's own where that would lie outside; p says which."""
    if membermask is not None:
        waiting = m.converge(membermask)
        if waiting is not None:
            return waiting
    lane = lanes.lane_index(a)
    segment = (c >> 8) & 31
    clamp = c & 31
    distance = b & 31
    first = lane & segment
    last = first | (clamp & ~segment)
    # As signed numbers: up goes below zero, down beyond 31.
    lane, first, last, distance, segment = (lanes.bits(x, "s32") for x in (lane, first, last, distance, segment))
    if mode == "up":
        source = lane - distance
        inside = source >= last
    else:
        source = (
            lane + distance if mode == "down" else lane ^ distance if mode == "bfly" else first | (distance & ~segment)
        )
        inside = source <= last
    return m.shuffle(a, lanes.where(inside, source, lane), membermask), inside
