"""match.any and match.all. PTX ISA, "Parallel Synchronization and Communication Instructions: match.sync"."""

from __future__ import annotations

from ptxsim import lanes
from ptxsim.isa.facts import Words, warp_facts
from ptxsim.isa.operand import Pred, Reg, Value
from ptxsim.isa.registry import Kinds, Options, instruction
from ptxsim.lanes import LaneValue
from ptxsim.machine.event import Event
from ptxsim.machine.port import Port

FACTS = warp_facts("match", reads_lanes=True, names_lanes=True)


def _unsigned(words: Words) -> str:
    return f"u{words['type'].bits}"


OPERANDS: Kinds = {
    "d": Reg("u32", sink=True), "p": Pred(sink=True), "a": Value(_unsigned), "membermask": Value("u32"),
}  # fmt: skip
COMMON: Options = {"type": "b32 b64", "operands": OPERANDS, "requires": "6.0 sm_70", "facts": FACTS}


@instruction(
    "match.any.sync.type d, a, membermask", cost="match.any", name="match",
    **(COMMON | {"operands": OPERANDS | {"d": Reg("u32")}}),
)  # fmt: skip
def match_any(m: Port, a: LaneValue, membermask: LaneValue) -> LaneValue:
    """The mask of the member lanes whose value is the lane's own."""
    waiting = m.converge(membermask)
    if waiting is not None:
        return waiting
    m.emit(Event.MATCH, addresses=a)
    lane = lanes.lane_index(a)
    found = membermask & 0
    for i in range(lanes.LANES):
        equal = m.ballot(a == m.shuffle(a, lanes.constant([i] * lanes.LANES, lane)))
        found = lanes.where(lane == i, equal & membermask, found)
    return found


@instruction("match.all.sync.type d{|p}, a, membermask", cost="match.all", name="match", **COMMON)
def match_all(m: Port, a: LaneValue, membermask: LaneValue) -> LaneValue:
    """The member mask if all member lanes have one value, else 0; p says which."""
    waiting = m.converge(membermask)
    if waiting is not None:
        return waiting
    members = membermask & m.ballot(m.active())
    lowest = members & (~members + 1)
    first = m.shuffle(a, 31 - lanes.count_leading_zeros(lowest))
    same = (m.ballot(a == first) & members) == members
    return lanes.where(same, members, members & 0), same
