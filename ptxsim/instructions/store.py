"""st. PTX ISA, "Data Movement and Conversion Instructions: st"."""

from __future__ import annotations

from ptxsim.instructions.access_rules import (
    ACCESS_RULES,
    HINTS,
    L1_EVICTION,
    L2_EVICTION,
    SCOPE,
    SHARED,
    TYPE,
    strength,
    vector_size,
    wide_vector,
)  # fmt: skip
from ptxsim.isa.facts import Access, AccessKind, Facts, Word, Words, access
from ptxsim.isa.operand import Addr, Reg, Value, Vec
from ptxsim.isa.registry import Kinds, Options, instruction
from ptxsim.lanes import LaneValue
from ptxsim.machine.port import Port
from ptxsim.types import TYPES, ScalarType


def store(m: Port, a: LaneValue, b: LaneValue, *, order: Word, space: Word, vec: Word, type: ScalarType) -> None:
    """The low bits of b, or of each element of b, to where the lane's address points."""
    if type.bits == 128:
        m.store(space, a, b, TYPES["u64"], strength(order))
    else:
        m.store(space, a, b if vec else [b], type, strength(order))


def accesses(words: Words) -> tuple[Access, ...]:
    return (access(AccessKind.WRITE, words["space"], words.get("order"), words.get("scope")),)


FACTS = Facts(family="store", accesses=accesses)
WORDS: Options = {
    "order": "weak volatile relaxed@6.0:sm_70 release@6.0:sm_70",
    "mmio": "mmio@8.2:sm_70",
    "scope": SCOPE,
    "space": f"global local param param::func@8.3 {SHARED}",
    "cop": "wb cg cs wt",
    "l1": L1_EVICTION,
}
TO: Kinds = {"a": Addr(access="write")}
ONE: Kinds = TO | {"b": Vec(1, Value("type", wide=True), bare=True), "policy": Value("u64")}
MANY: Kinds = TO | {"b": Vec("vec", Value("type", wide=True, integers=True)), "policy": Value("u64")}
# The assembler takes the sink as an element of 256-bit vectors only.
WIDE: Kinds = TO | {"b": Vec("vec", Reg("type", wide=True, sink=True, integers=True)), "policy": Value("u64")}
ST = "st{.order}{.mmio}{.scope}{.space}{.cop}{.l1}"

LENGTHS: Options = {"vec": "v2 v4 v8"}
for length, kinds, rules, lengths in (("", ONE, (), {}), (".vec", MANY, (vector_size,), LENGTHS)):
    instruction(
        f"st.volatile.local{length}.type [a], b", **lengths, type=TYPE, operands=kinds, rules=rules, requires="9.1",
        facts=FACTS, implies={"order": "volatile", "space": "local"} | ({} if length else {"vec": None}),
    )(store)  # fmt: skip
instruction(
    "st.mmio.release.sys{.space}.type [a], b", type=TYPE, operands=ONE, requires="9.3 sm_70", facts=FACTS, space="global",
    implies={"vec": None, "order": "release"},
)(store)  # fmt: skip
for hint, policy, since in HINTS:
    instruction(
        f"{ST}{hint}.type [a], b{policy}",
        type=TYPE, operands=ONE, requires=since, rules=ACCESS_RULES, implies={"vec": None}, facts=FACTS, **WORDS,
    )(store)  # fmt: skip
    instruction(
        f"{ST}{hint}.vec.type [a], b{policy}",
        vec="v2 v4 v8", type=TYPE, operands=MANY, requires=since, rules=(*ACCESS_RULES, vector_size), facts=FACTS, **WORDS,
    )(store)  # fmt: skip
    instruction(
        f"{ST}{{.l2}}{hint}.vec.type [a], b{policy}",
        vec="v4 v8", type="b32 u32 s32 f32 b64 u64 s64 f64", l2=L2_EVICTION, operands=WIDE,
        requires="8.8 sm_100", rules=(*ACCESS_RULES, wide_vector), facts=FACTS, **WORDS,
    )(store)  # fmt: skip
