"""What ld, st and ldu have in common: modifier words and which of them go together.

PTX ISA, "Data Movement and Conversion Instructions: ld, st" and "Memory Consistency Model: Scope". The combinations are those
the assembler takes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ptxsim.isa.facts import Facts
from ptxsim.isa.operand import resolve_count
from ptxsim.isa.registry import Kinds, Options, Rule, instruction
from ptxsim.machine.event import FLAG_STRONG
from ptxsim.types import ScalarType

Effect = Callable[..., Any]
Rules = tuple[Rule, ...]

SCOPE = "cta cluster@7.8:sm_90 gpu sys"
SHARED = "shared shared::cta@7.8 shared::cluster@7.8:sm_90"
TYPE = "b8 b16 b32 b64 u8 u16 u32 u64 s8 s16 s32 s64 f32 f64 b128@8.3:sm_70"
L1 = "L1::evict_normal L1::evict_unchanged L1::evict_first L1::evict_last L1::no_allocate"
L1_EVICTION = " ".join(f"{word}@7.4:sm_70" for word in L1.split())
L2_EVICTION = "L2::evict_last L2::evict_normal L2::evict_first"
PREFETCH = "L2::64B@7.4:sm_75 L2::128B@7.4:sm_75 L2::256B@7.4:sm_80"
HINTS = (("", "", ""), (".L2::cache_hint", ", policy", "7.4 sm_80"))  # modifier, operand, availability

STRONG = ("volatile", "relaxed", "acquire", "release")


def strength(order: str | None) -> int:
    """Event flags of an access with this memory order."""
    return FLAG_STRONG if order in STRONG else 0


def order_and_scope(modifiers: Mapping[str, object]) -> str | None:
    """A scope stands with relaxed, acquire and release, and only with them."""
    order, scope = modifiers.get("order"), modifiers.get("scope")
    if order in ("relaxed", "acquire", "release"):
        return None if scope else f".{order} needs a scope (.cta, .cluster, .gpu or .sys)"
    return f".{scope} needs a memory order such as .relaxed" if scope else None


def order_and_space(modifiers: Mapping[str, object]) -> str | None:
    """Only global, shared and generic accesses have a memory order."""
    order, space = modifiers.get("order"), str(modifiers.get("space"))
    if order in STRONG and space.startswith(("local", "const", "param")):
        return f".{order} does not go with .{space}"
    return None


def mmio(modifiers: Mapping[str, object]) -> str | None:
    """.mmio is a relaxed access of system scope to one element of global memory."""
    if not modifiers.get("mmio"):
        return None
    if modifiers.get("order") != "relaxed" or modifiers.get("scope") != "sys":
        return ".mmio needs .relaxed.sys"
    if modifiers.get("space") not in (None, "global"):
        return f".mmio does not go with .{modifiers['space']}"
    for slot in ("l1", "L2::cache_hint", "prefetch"):
        if modifiers.get(slot):
            return f".mmio does not go with .{slot if modifiers[slot] is True else modifiers[slot]}"
    return ".mmio takes no vector" if modifiers.get("vec") else None


def caching(modifiers: Mapping[str, object]) -> str | None:
    """A cache operator excludes a memory order and an eviction priority; priorities and hints want global memory."""
    order, space, cop = modifiers.get("order"), modifiers.get("space"), modifiers.get("cop")
    if cop and order in STRONG:
        return f".{order} does not go with .{cop}"
    for slot in ("l1", "l2", "L2::cache_hint", "prefetch"):
        word = modifiers.get(slot)
        if not word:
            continue
        word = slot if word is True else word
        if space not in (None, "global"):
            return f".{word} does not go with .{space}"
        if cop and slot in ("l1", "l2"):
            return f".{word} does not go with .{cop}"
        if order == "volatile" and slot != "prefetch":
            return f".{word} does not go with .volatile"
    return None


def vector_size(modifiers: Mapping[str, object]) -> str | None:
    """One access moves at most 128 bits."""
    if vector_bits(modifiers) > 128:
        return "a vector of more than 128 bits; 256 bits go with global memory, .v8.b32 or .v4.b64, on sm_100 and later"
    return None


def wide_vector(modifiers: Mapping[str, object]) -> str | None:
    """The 256-bit forms of sm_100; L2 eviction priorities are for them alone."""
    if vector_bits(modifiers) != 256:
        return f".{modifiers['l2'] or modifiers['vec']} here is for 256 bits: .v8.b32 or .v4.b64"
    if modifiers.get("space") not in (None, "global"):
        return f"256-bit accesses do not go with .{modifiers['space']}"
    return None


def vector_bits(modifiers: Mapping[str, object]) -> int:
    element = modifiers["type"]
    assert isinstance(element, ScalarType)
    return element.bits * resolve_count("vec", modifiers)


ACCESS_RULES = (order_and_scope, order_and_space, mmio, caching)
LENGTHS: Options = {"vec": "v2 v4 v8"}


def declare_uncached(
    effect: Effect, name: str, operands: str, one: Kinds, many: Kinds, order: str, facts: Facts
) -> None:
    """The volatile accesses to local memory, and those to memory-mapped devices; `one` element and `many`."""
    options: Options = {"type": TYPE, "facts": facts}
    known = {"order": "volatile", "space": "local"}
    for length, kinds, rules, lengths, implied in (
        ("", one, (), {}, known | {"vec": None}), (".vec", many, (vector_size,), LENGTHS, known),
    ):  # fmt: skip
        instruction(
            f"{name}.volatile.local{length}.type {operands}", operands=kinds, rules=rules, requires="9.1", implies=implied,
            **lengths, **options,
        )(effect)  # fmt: skip
    instruction(
        f"{name}.mmio.{order}.sys{{.space}}.type {operands}", operands=one, requires="9.3 sm_70", space="global",
        implies={"vec": None, "order": order}, **options,
    )(effect)  # fmt: skip


def declare_accesses(
    effect: Effect, opcode: str, last: str, operands: str, one: Kinds, many: Kinds, wide: Kinds, rules: Rules, words: Options
) -> None:  # fmt: skip
    """Accesses of one element, of vectors, and of the 256 bits of sm_100, with a cache hint and without; `last`: the last words
    before the vector's length."""
    for hint, policy, since in HINTS:
        instruction(
            f"{opcode}{hint}{last}.type {operands}{policy}", type=TYPE, operands=one, requires=since, rules=rules,
            implies={"vec": None}, **words,
        )(effect)  # fmt: skip
        instruction(
            f"{opcode}{hint}{last}.vec.type {operands}{policy}", type=TYPE, operands=many, requires=since,
            rules=(*rules, vector_size), **LENGTHS, **words,
        )(effect)  # fmt: skip
        instruction(
            f"{opcode}{{.l2}}{hint}{last}.vec.type {operands}{policy}", vec="v4 v8", type="b32 u32 s32 f32 b64 u64 s64 f64",
            l2=L2_EVICTION, operands=wide, requires="8.8 sm_100", rules=(*rules, wide_vector), **words,
        )(effect)  # fmt: skip
