"""st. PTX ISA, "Data Movement and Conversion Instructions: st"."""

from __future__ import annotations

from ptxsim.instructions import access_rules as common
from ptxsim.isa.facts import Access, AccessKind, Facts, Word, Words, access
from ptxsim.isa.operand import Addr, Reg, Value, Vec
from ptxsim.isa.registry import Kinds, Options
from ptxsim.lanes import LaneValue
from ptxsim.machine.port import Port
from ptxsim.types import TYPES, ScalarType


def store(m: Port, a: LaneValue, b: LaneValue, *, order: Word, space: Word, vec: Word, type: ScalarType) -> None:
    """The low bits of b, or of each element of b, to where the lane's address points."""
    if type.bits == 128:
        m.store(space, a, b, TYPES["u64"], common.strength(order))
    else:
        m.store(space, a, b if vec else [b], type, common.strength(order))


def accesses(words: Words) -> tuple[Access, ...]:
    return (access(AccessKind.WRITE, words["space"], words.get("order"), words.get("scope")),)


FACTS = Facts(family="store", accesses=accesses, by_lanes=True, straight=True)
WORDS: Options = {
    "order": "weak volatile relaxed@6.0:sm_70 release@6.0:sm_70",
    "mmio": "mmio@8.2:sm_70",
    "scope": common.SCOPE,
    "space": f"global local param param::func@8.3 {common.SHARED}",
    "cop": "wb cg cs wt",
    "l1": common.L1_EVICTION,
}
TO: Kinds = {"a": Addr(access="write")}
ONE: Kinds = TO | {"b": Vec(1, Value("type", wide=True), bare=True), "policy": Value("u64")}
MANY: Kinds = TO | {"b": Vec("vec", Value("type", wide=True, integers=True)), "policy": Value("u64")}
# The assembler takes the sink as an element of 256-bit vectors only.
WIDE: Kinds = TO | {"b": Vec("vec", Reg("type", wide=True, sink=True, integers=True)), "policy": Value("u64")}

common.declare_uncached(store, "st", "[a], b", ONE, MANY, "release", FACTS)
common.declare_accesses(
    store, "st{.order}{.mmio}{.scope}{.space}{.cop}{.l1}", "", "[a], b", ONE, MANY, WIDE, common.ACCESS_RULES,
    WORDS | {"facts": FACTS},
)  # fmt: skip
