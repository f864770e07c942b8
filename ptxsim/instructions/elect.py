"""activemask and elect.sync. PTX ISA, "Parallel Synchronization and Communication Instructions: activemask, elect.sync"."""

from __future__ import annotations

from ptxsim import lanes
from ptxsim.isa.facts import Facts, Scope, warp_facts
from ptxsim.isa.operand import Pred, Reg, Value
from ptxsim.isa.registry import instruction
from ptxsim.lanes import LaneValue
from ptxsim.machine.port import Port


@instruction(
    "activemask.b32 d",
    cost="alu",
    operands={"d": Reg("b32")},
    requires="6.2",
    facts=Facts(scope=Scope.WARP, uniform=True),
)
def active_mask(m: Port) -> LaneValue:
    return m.ballot(m.active())


@instruction(
    "elect.sync d|p, membermask", cost="alu", operands={"d": Reg("u32", sink=True), "p": Pred(), "membermask": Value("u32")},
    requires="8.0 sm_90", facts=warp_facts("elect", names_lanes=True),
)  # fmt: skip
def elect(m: Port, membermask: LaneValue) -> LaneValue:
    """The lowest member lane, and whether the lane is that one."""
    waiting = m.converge(membermask)
    if waiting is not None:
        return waiting
    members = membermask & m.ballot(m.active())
    leader = 31 - lanes.count_leading_zeros(members & (~members + 1))
    return leader, lanes.lane_index(membermask) == leader
