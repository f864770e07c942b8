"""ld, ld.global.nc and ldu. PTX ISA, "Data Movement and Conversion Instructions: ld, ld.global.nc, ldu"."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ptxsim.instructions import access_rules as common
from ptxsim.isa.facts import Access, AccessKind, Facts, Word, Words, access
from ptxsim.isa.operand import Addr, Reg, Value, Vec, resolve_count
from ptxsim.isa.registry import Kinds, Options, instruction
from ptxsim.lanes import LaneValue
from ptxsim.machine.port import Port
from ptxsim.types import TYPES, ScalarType


def non_coherent(modifiers: Words) -> str | None:
    """.nc reads global memory that no thread writes meanwhile: no memory order, no operator that bypasses the cache."""
    if not modifiers["nc"]:
        return None
    if modifiers["space"] != "global":
        return ".nc needs .global"
    for slot in ("order", "scope"):
        if modifiers[slot]:
            return f".{modifiers[slot]} does not go with .nc"
    return f".{modifiers['cop']} does not go with .nc" if modifiers["cop"] in ("lu", "cv") else None


def global_only(modifiers: Words) -> str | None:
    """What is not coherent is in global memory, said so."""
    return ".nc needs .global" if modifiers["nc"] and not modifiers["space"] else None


def load(m: Port, a: LaneValue, *, order: Word, space: Word, vec: Word, type: ScalarType) -> LaneValue:
    """One element per lane, or a list of them."""
    values = read(m, a, space, type, resolve_count("vec", {"vec": vec}), common.strength(order))
    return values if vec else values[0]


def load_uniform(m: Port, a: LaneValue, *, space: Word, vec: Word, type: ScalarType) -> LaneValue:
    """ldu: a load whose address is the same in all lanes; where it is not, the result is still each lane's own."""
    values = read(m, a, space, type, resolve_count("vec", {"vec": vec}), 0)
    return values if vec else values[0]


def read(m: Port, a: LaneValue, space: Word, type: ScalarType, count: LaneValue, flags: Any) -> LaneValue:
    if type.bits == 128:
        return [m.load(space, a, TYPES["u64"], 2, flags)]
    return m.load(space, a, type, count, flags)


def accesses(words: Words) -> tuple[Access, ...]:
    read = access(AccessKind.READ, words["space"], words.get("order"), words.get("scope"))
    return (replace(read, read_only=True) if words.get("nc") else read,)


FACTS = Facts(family="load", accesses=accesses, by_lanes=True, straight=True)
WORDS: Options = {
    "order": "weak volatile relaxed@6.0:sm_70 acquire@6.0:sm_70",
    "mmio": "mmio@8.2:sm_70",
    "scope": common.SCOPE,
    "space": f"global local const param param::entry@8.3 param::func@8.3 {common.SHARED}",
    "cop": "ca cg cs lu cv",
    "l1": common.L1_EVICTION,
    "prefetch": common.PREFETCH,
}
FROM: Kinds = {"a": Addr(access="read")}
ONE: Kinds = FROM | {"d": Vec(1, Reg("type", wide=True), bare=True), "policy": Value("u64")}
MANY: Kinds = FROM | {"d": Vec("vec", Reg("type", wide=True, sink=True, integers=True)), "policy": Value("u64")}

common.declare_uncached(load, "ld", "d, [a]", ONE, MANY, "acquire", FACTS)
for length, kinds, rules, lengths in (
    ("", ONE, (global_only,), {}),
    (".vec", MANY, (global_only, common.vector_size), common.LENGTHS),
):
    instruction(
        f"ld{{.space}}{{.nc}}.proxy::readonly{length}.type d, [a]", **lengths, type=common.TYPE, operands=kinds, rules=rules,
        space="global", requires="9.4 sm_90", facts=FACTS, implies={"order": None} | ({} if length else {"vec": None}),
    )(load)  # fmt: skip
common.declare_accesses(
    load, "ld{.order}{.mmio}{.scope}{.space}{.nc}{.cop}{.l1}", "{.prefetch}", "d, [a]", ONE, MANY, MANY,
    (*common.ACCESS_RULES, non_coherent), WORDS | {"facts": FACTS},
)  # fmt: skip

instruction(
    "ldu{.space}.type d, [a]", space="global", type=common.TYPE, operands=ONE, implies={"vec": None, "nc": True}, facts=FACTS
)(load_uniform)  # fmt: skip
instruction(
    "ldu{.space}.vec.type d, [a]",
    space="global", vec="v2 v4", type=common.TYPE, operands=MANY, rules=(common.vector_size,), facts=FACTS, implies={"nc": True},
)(load_uniform)  # fmt: skip
