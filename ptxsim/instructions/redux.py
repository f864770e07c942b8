"""redux.sync. PTX ISA, "Parallel Synchronization and Communication Instructions: redux.sync"."""

from __future__ import annotations

from typing import Any

from ptxsim import lanes
from ptxsim.isa.facts import Word, warp_facts
from ptxsim.isa.operand import Reg, Value
from ptxsim.isa.registry import Kinds, Options, instruction
from ptxsim.lanes import LaneValue, Operation
from ptxsim.machine.port import Port
from ptxsim.numerics import scalar
from ptxsim.types import TYPES

FACTS = warp_facts("redux", uniform=True)
OPERANDS: Kinds = {"d": Reg("type", unpacked=True), "a": Value("type", unpacked=True), "membermask": Value("u32")}
BITS: Kinds = {**OPERANDS, "d": Reg("u32"), "a": Value("u32")}
WORDS: Options = {"requires": "7.0 sm_80", "facts": FACTS}
F32 = TYPES["f32"]


def combine(op: str, x: LaneValue, y: LaneValue) -> Any:
    """Two integers as one."""
    if op in ("min", "max"):
        return lanes.minimum(x, y) if op == "min" else lanes.maximum(x, y)
    return {"add": lambda: x + y, "and": lambda: x & y, "or": lambda: x | y, "xor": lambda: x ^ y}[op]()


def over_members(m: Port, a: LaneValue, membermask: LaneValue, function: Operation) -> LaneValue:
    """`function` folded over the values of the member lanes, in ascending order; every lane has its own members."""
    members = membermask & m.ballot(m.active())
    lane = lanes.lane_index(membermask)
    started, total = members != members, a
    for i in range(lanes.LANES):
        member = (members >> i & 1) != 0
        value = m.shuffle(a, lanes.constant([i] * lanes.LANES, lane))
        total = lanes.where(member, lanes.where(started, function(total, value), value), total)
        started = started | member
    return total


@instruction("redux.sync.op.type d, a, membermask", op="add min max", type="u32 s32", operands=OPERANDS, **WORDS)
@instruction("redux.sync.op.type d, a, membermask", op="and or xor", type="b32", operands=BITS, **WORDS)
def redux(m: Port, a: LaneValue, membermask: LaneValue, *, op: Word) -> LaneValue:
    """All member lanes' values as one, in every member lane."""
    waiting = m.converge(membermask)
    if waiting is not None:
        return waiting
    return over_members(m, a, membermask, lambda x, y: combine(op, x, y))


@instruction(
    "redux.sync.op{.abs}{.NaN}.f32 d, a, membermask", op="min max", requires="8.6 sm_100a sm_100f", facts=FACTS,
    operands={"d": Reg("f32"), "a": Value("f32"), "membermask": Value("u32")},
)  # fmt: skip
def redux_float(m: Port, a: LaneValue, membermask: LaneValue, *, op: Word, abs: bool, NaN: bool) -> LaneValue:
    """The least or greatest member value, or magnitude with .abs; NaNs are passed over unless .NaN asks for them."""
    waiting = m.converge(membermask)
    if waiting is not None:
        return waiting
    word = lanes.bits(a, "u32")
    if abs:
        word = word & 0x7FFFFFFF
    # Floats in the order of unsigned integers: -0 below +0, and NaNs at the end where they lose (or win, with .NaN).
    is_nan = scalar.magnitude(a, F32) > scalar.infinity(F32)
    key = lanes.where((word & 0x80000000) != 0, ~word, word | 0x80000000)
    nan_is_largest = (op == "max") == bool(NaN)
    key = lanes.where(is_nan, 0xFFFFFFFF if nan_is_largest else 0, key)
    key = over_members(m, key, membermask, lambda x, y: combine(op, x, y))
    back = lanes.where((key & 0x80000000) != 0, key ^ 0x80000000, ~key)
    nan = (key == 0) | (key == 0xFFFFFFFF)
    return lanes.bits(lanes.where(nan, 0x7FFFFFFF, back), F32)
