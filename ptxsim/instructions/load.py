"""ld, ld.global.nc and ldu. PTX ISA, "Data Movement and Conversion Instructions: ld, ld.global.nc, ldu"."""

from __future__ import annotations

from typing import Any

from ptxsim.instructions.access_rules import (
    ACCESS_RULES,
    HINTS,
    L1_EVICTION,
    L2_EVICTION,
    PREFETCH,
    SCOPE,
    SHARED,
    TYPE,
    strength,
    vector_size,
    wide_vector,
)  # fmt: skip
from ptxsim.isa.facts import Access, AccessKind, Facts, Word, Words, access
from ptxsim.isa.operand import Addr, Reg, Value, Vec, resolve_count
from ptxsim.isa.registry import Kinds, Options, Rule, instruction
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
    values = read(m, a, space, type, resolve_count("vec", {"vec": vec}), strength(order))
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
    return (access(AccessKind.READ, words["space"], words.get("order"), words.get("scope")),)


FACTS = Facts(family="load", accesses=accesses)
WORDS: Options = {
    "order": "weak volatile relaxed@6.0:sm_70 acquire@6.0:sm_70",
    "mmio": "mmio@8.2:sm_70",
    "scope": SCOPE,
    "space": f"global local const param param::entry@8.3 param::func@8.3 {SHARED}",
    "cop": "ca cg cs lu cv",
    "l1": L1_EVICTION,
    "prefetch": PREFETCH,
}
FROM: Kinds = {"a": Addr(access="read")}
ONE: Kinds = FROM | {"d": Vec(1, Reg("type", wide=True), bare=True), "policy": Value("u64")}
MANY: Kinds = FROM | {"d": Vec("vec", Reg("type", wide=True, sink=True, integers=True)), "policy": Value("u64")}
LD = "ld{.order}{.mmio}{.scope}{.space}{.nc}{.cop}{.l1}"

NO_RULES: tuple[Rule, ...] = ()
LENGTHS: Options = {"vec": "v2 v4 v8"}
for length, kinds, rules, lengths in (("", ONE, NO_RULES, {}), (".vec", MANY, (vector_size,), LENGTHS)):
    instruction(
        f"ld.volatile.local{length}.type d, [a]", **lengths, type=TYPE, operands=kinds, rules=rules, requires="9.1",
        facts=FACTS, implies={"order": "volatile", "space": "local"} | ({} if length else {"vec": None}),
    )(load)  # fmt: skip
instruction(
    "ld.mmio.acquire.sys{.space}.type d, [a]", type=TYPE, operands=ONE, requires="9.3 sm_70", facts=FACTS, space="global",
    implies={"vec": None, "order": "acquire"},
)(load)  # fmt: skip
for length, kinds, rules, lengths in (
    ("", ONE, (global_only,), {}),
    (".vec", MANY, (global_only, vector_size), LENGTHS),
):
    instruction(
        f"ld{{.space}}{{.nc}}.proxy::readonly{length}.type d, [a]", **lengths, type=TYPE, operands=kinds, rules=rules,
        space="global", requires="9.4 sm_90", facts=FACTS, implies={"order": None} | ({} if length else {"vec": None}),
    )(load)  # fmt: skip
for hint, policy, since in HINTS:
    rest = f"{hint}{{.prefetch}}"
    limits = (*ACCESS_RULES, non_coherent)
    instruction(
        f"{LD}{rest}.type d, [a]{policy}",
        type=TYPE, operands=ONE, requires=since, rules=limits, implies={"vec": None}, facts=FACTS, **WORDS,
    )(load)  # fmt: skip
    instruction(
        f"{LD}{rest}.vec.type d, [a]{policy}",
        vec="v2 v4 v8", type=TYPE, operands=MANY, requires=since, rules=(*limits, vector_size), facts=FACTS, **WORDS,
    )(load)  # fmt: skip
    instruction(
        f"{LD}{{.l2}}{rest}.vec.type d, [a]{policy}",
        vec="v4 v8", type="b32 u32 s32 f32 b64 u64 s64 f64", l2=L2_EVICTION, operands=MANY,
        requires="8.8 sm_100", rules=(*limits, wide_vector), facts=FACTS, **WORDS,
    )(load)  # fmt: skip

instruction(
    "ldu{.space}.type d, [a]", space="global", type=TYPE, operands=ONE, implies={"vec": None, "nc": True}, facts=FACTS
)(load_uniform)  # fmt: skip
instruction(
    "ldu{.space}.vec.type d, [a]",
    space="global", vec="v2 v4", type=TYPE, operands=MANY, rules=(vector_size,), facts=FACTS, implies={"nc": True},
)(load_uniform)  # fmt: skip
