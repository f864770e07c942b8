"""atom and red. PTX ISA, "Parallel Synchronization and Communication Instructions: atom, red"."""

from __future__ import annotations

from dataclasses import replace

from ptxsim.instructions.access_rules import HINTS, SCOPE, SHARED, vector_size
from ptxsim.instructions.atomic_update import update
from ptxsim.isa.facts import Access, AccessKind, Facts, Word, Words, access
from ptxsim.isa.operand import Reg, Value, Vec, resolve_count
from ptxsim.isa.registry import Kinds, Options, instruction
from ptxsim.lanes import LaneValue
from ptxsim.machine.event import FLAG_STRONG, Event
from ptxsim.machine.port import Port
from ptxsim.types import ScalarType

HALF = "f16@6.3:sm_70 bf16@7.8:sm_90"
PACKED = "f16x2@6.2:sm_60 bf16x2@7.8:sm_90"
# Operation and the types it takes; red has those up to `xor`.
OPERATIONS = (
    ("add", "u32 s32 u64 f32 f64@5.0:sm_60"),
    ("min max", "u32 s32 u64 s64"),
    ("inc dec", "u32"),
    ("and or xor", "b32 b64"),
    ("exch", "b32 b64 b128@8.3:sm_90"),
    ("cas", "b16@6.3:sm_70 b32 b64 b128@8.3:sm_90"),
)
# Vector length, operations, types.
VECTORS = (
    ("v2 v4", "add", "", "f32"),
    ("v2 v4 v8", "add min max", ".noftz", "f16 bf16"),
    ("v2 v4", "add min max", ".noftz", "f16x2 bf16x2"),
)


def accesses(words: Words) -> tuple[Access, ...]:
    """Without a memory order it is relaxed. PTX ISA, "atom"."""
    found = access(AccessKind.ATOMIC, words["space"], words["order"] or "relaxed", words["scope"])
    neutral = 0 if words.get("op") in ("add", "or", "xor") else None
    return (replace(found, compares=words.get("op") == "cas", neutral=neutral),)


FACTS = Facts(family="atomic", accesses=accesses, by_lanes=True, straight=True)
ATOM: Options = {
    "order": "relaxed acquire release acq_rel",
    "scope": SCOPE,
    "space": f"global {SHARED}",
    "facts": FACTS,
}
RED: Options = {**ATOM, "order": "relaxed release"}


def cache_hint(modifiers: Words) -> str | None:
    """Hints are for the L2 cache, which shared memory does not use."""
    if modifiers.get("L2::cache_hint") and modifiers["space"] not in (None, "global"):
        return f".L2::cache_hint does not go with .{modifiers['space']}"
    return None


def global_vectors(modifiers: Words) -> str | None:
    return None if modifiers["space"] in (None, "global") else f"vectors do not go with .{modifiers['space']}"


def atomic(
    m: Port, a: LaneValue, b: LaneValue, c: LaneValue, *, op: Word, space: Word, vec: Word, type: ScalarType
) -> LaneValue:
    """The old value of memory, which becomes what the operation makes of it; lanes on one address take turns."""
    operands = [b] if c is None else [b, c]
    event = Event.CAS if op == "cas" else Event.ATOMIC
    old = m.atomic(
        space, a, type, update(op, type), operands, resolve_count("vec", {"vec": vec}), event, FLAG_STRONG,
        update(op, type, in_global=False),
    )  # fmt: skip
    return old if vec else old[0]


def reduction(m: Port, a: LaneValue, b: LaneValue, *, op: Word, space: Word, vec: Word, type: ScalarType) -> None:
    """atom without the old value."""
    m.atomic(
        space, a, type, update(op, type), [b], resolve_count("vec", {"vec": vec}), Event.REDUCE, FLAG_STRONG,
        update(op, type, in_global=False),
    )  # fmt: skip


def atomic_unflushed(m: Port, a: LaneValue, b: LaneValue, *, space: Word, vec: Word, type: ScalarType) -> LaneValue:
    """Addition of f32 that keeps subnormal numbers, in whatever memory."""
    add = update("add", type, in_global=False)
    count = resolve_count("vec", {"vec": vec})
    old = m.atomic(space, a, type, add, [b], count, Event.ATOMIC, FLAG_STRONG, add)
    return old if vec else old[0]


def reduction_unflushed(m: Port, a: LaneValue, b: LaneValue, *, space: Word, vec: Word, type: ScalarType) -> None:
    add = update("add", type, in_global=False)
    m.atomic(space, a, type, add, [b], resolve_count("vec", {"vec": vec}), Event.REDUCE, FLAG_STRONG, add)


ONE: Kinds = {
    "d": Reg("type", sink=True), "b": Value("type"), "c": Value("type"), "policy": Value("u64"),
}  # fmt: skip
MANY: Kinds = {
    "d": Vec("vec", Reg("type", sink=True, integers=True)), "b": Vec("vec", Value("type", integers=True)), "policy": Value("u64"),
}  # fmt: skip
SCALAR: Options = {"operands": ONE, "rules": (cache_hint,), "implies": {"vec": None}}
VECTOR = {"operands": MANY, "rules": (global_vectors, vector_size)}

for hint, policy, since in HINTS:
    rest = f"{{.order}}{{.scope}}{{.space}}{hint}"
    for operations, types in OPERATIONS:
        if hint and operations == "cas":
            continue
        third = ", c" if operations == "cas" else ""
        instruction(
            f"atom{rest}.op.type d, [a], b{third}{policy}", op=operations, type=types, requires=since, **SCALAR, **ATOM
        )(atomic)
        if operations not in ("exch", "cas"):
            instruction(
                f"red{rest}.op.type [a], b{policy}", op=operations, type=types, requires=since, **SCALAR, **RED
            )(reduction)
    single: Options = {"type": "f32", "requires": "9.4 sm_90", **SCALAR}
    instruction(f"atom{rest}.add.noftz.type d, [a], b{policy}", **single, **ATOM)(atomic_unflushed)
    instruction(f"red{rest}.add.noftz.type [a], b{policy}", **single, **RED)(reduction_unflushed)
    half: Options = {"op": "add", "type": f"{HALF} {PACKED}", "requires": since, **SCALAR}
    instruction(f"atom{rest}.op.noftz.type d, [a], b{policy}", **half, **ATOM)(atomic)
    instruction(f"red{rest}.op.noftz.type [a], b{policy}", **half, **RED)(reduction)
    vector: Options = {"vec": "v2 v4", "type": "f32", "requires": "9.4 sm_90", **VECTOR}
    instruction(f"atom{rest}.vec.add.noftz.type d, [a], b{policy}", **vector, **ATOM)(atomic_unflushed)
    instruction(f"red{rest}.vec.add.noftz.type [a], b{policy}", **vector, **RED)(reduction_unflushed)
    for lengths, operations, noftz, types in VECTORS:
        vector = {"vec": lengths, "op": operations, "type": types, "requires": "8.1 sm_90", **VECTOR}
        instruction(f"atom{rest}.vec.op{noftz}.type d, [a], b{policy}", **vector, **ATOM)(atomic)
        instruction(f"red{rest}.vec.op{noftz}.type [a], b{policy}", **vector, **RED)(reduction)
