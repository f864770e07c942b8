"""wmma.load, wmma.mma, wmma.store. PTX ISA, "Warp Level Matrix Multiply-Accumulate Instructions: wmma"."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ptxsim.instructions.mma import INT4, INT8
from ptxsim.isa.facts import Access, AccessKind, Facts, Scope, Word, Words, access
from ptxsim.isa.operand import Addr, Reg, Value, Vec
from ptxsim.isa.registry import Kinds, instruction
from ptxsim.lanes import LaneValue
from ptxsim.layout.fragments import fragment_layout
from ptxsim.machine import provenance
from ptxsim.machine.port import Port
from ptxsim.machine.product import Product, from_words, product_of, register_type, to_words
from ptxsim.machine.tensor import matrix_product
from ptxsim.machine.wmma import load_fragment, store_fragment
from ptxsim.types import TYPES, ScalarType

SQUARE = "m16n16k16"
WIDE = "m16n16k16 m8n32k16 m32n8k16"
SPACES = "global shared shared::cta@7.8"
UNALIGNED = "6.0-6.2 sm_70-sm_72"  # before .version 6.3 there was no .aligned

# Types of A and B, shapes, since when, layouts of A and of B.
FACTORS = [
    ("f16", SQUARE, "6.3 sm_70", "row col", "row col"),
    ("f16", "m8n32k16 m32n8k16", "6.3 sm_70", "row col", "row col"),
    (INT8, WIDE, "6.3 sm_72", "row col", "row col"),
    (INT4, "m8n8k32", "6.3 sm_75", "row", "col"),
    ("b1", "m8n8k128", "6.3 sm_75", "row", "col"),
    ("bf16", WIDE, "7.0 sm_80", "row col", "row col"),
    ("tf32", "m16n16k8", "7.0 sm_80", "row col", "row col"),
    ("f64", "m8n8k4", "7.0 sm_80", "row col", "row col"),
]
# Types of C and D, shapes, since when.
ACCUMULATORS = [
    ("f16 f32", WIDE, "6.3 sm_70"),
    ("s32", WIDE, "6.3 sm_72"),
    ("s32", "m8n8k32 m8n8k128", "6.3 sm_75"),
    ("f32", "m16n16k8", "7.0 sm_80"),
    ("f64", "m8n8k4", "7.0 sm_80"),
]


def fragment_kind(operand: str, slot: str, sink: bool = False, fixed: str | None = None) -> Vec:
    """Braces with the registers of an operand whose type is the word of `slot`, or `fixed`."""

    def element(words: Words) -> str:
        return fixed or words[slot].name

    return Vec(
        lambda words: fragment_layout("wmma", words["shape"], operand, element(words)).registers,
        Reg(lambda words: _register(element(words), sink), sink=sink or operand == "D", unpacked=True),
    )


def _register(element: str, loaded: bool) -> str:
    """As for mma, but integers, packed ones too, are in integer registers; what is narrower is loaded to any."""
    if loaded and TYPES[element].bits < 8:
        return "b32"
    return "u32" if element == "s32" or register_type(element) == "b32" else register_type(element)


def wmma_load(
    m: Port, a: LaneValue, stride: LaneValue, *, operand: Word, layout: Word, shape: Word, space: Word, type: ScalarType
) -> LaneValue:
    fragment = fragment_layout("wmma", shape, operand, type.name)
    words = load_fragment(m, space, a, stride, fragment, layout)
    provenance.remember(m, words, fragment, layout if operand in "AB" else None)
    return from_words(words, type.name)


def wmma_store(
    m: Port, a: LaneValue, b: LaneValue, stride: LaneValue, *, layout: Word, shape: Word, space: Word, type: ScalarType
) -> None:
    fragment = fragment_layout("wmma", shape, "D", type.name)
    words = to_words(b)
    provenance.check(m, words, fragment, None, provenance.operands(m)[1])
    store_fragment(m, space, a, stride, words, fragment, layout)


def product(words: Words, target: str, numerics: str) -> Product:
    """Forms that do not name the type of A and B have .f16."""
    d, a, b, c = ((words.get(slot) or TYPES["f16"]).name for slot in ("dtype", "atype", "btype", "ctype"))
    return product_of(
        "wmma", words["shape"], (d, a, b, c), target, satfinite=bool(words.get("satfinite")),
        rounding=words.get("rnd") or "rn", popc_op=words.get("bitop") or "and", numerics_mode=numerics,
    )  # fmt: skip


def wmma_mma(m: Port, a: LaneValue, b: LaneValue, c: LaneValue, *, alayout: Word, blayout: Word) -> LaneValue:
    product = m.product()
    assert product.b is not None
    uses = (a, product.a, alayout), (b, product.b, blayout), (c, product.c, None)
    for (registers, fragment, layout), operand in zip(uses, provenance.operands(m), strict=False):
        provenance.check(m, to_words(registers), fragment, layout, operand)
    d = matrix_product(m, product, a, b, c)
    provenance.remember(m, to_words(d), product.d, None)
    return d


def _accesses(kind: AccessKind) -> Any:
    def accesses(words: Words) -> tuple[Access, ...]:
        return (access(kind, words["space"]),)

    return accesses


LOADS = Facts(family="wmma_load", scope=Scope.WARP, accesses=_accesses(AccessKind.READ), opaque=True)
STORES = Facts(family="wmma_store", scope=Scope.WARP, accesses=_accesses(AccessKind.WRITE), opaque=True)
PRODUCTS = Facts(family="wmma", scope=Scope.WARP, product=product, opaque=True)
PLACE: Kinds = {"a": Addr(whole=True), "stride": Value("u32", unpacked=True)}


def _declare_load(operand: str, types: str, shapes: str, since: str, layouts: str, words: str = ".aligned") -> None:
    instruction(
        f"wmma.load.{operand}.sync{words}.layout.shape{{.space}}.type d, [a]{{, stride}}",
        name=f"wmma.load.{operand}", requires=since, facts=LOADS, layout=layouts, shape=shapes, space=SPACES,
        type=types, operands={"d": fragment_kind(operand.upper(), "type", sink=True)} | PLACE, implies={"operand": operand.upper()},
    )(wmma_load)  # fmt: skip


def _declare_store(types: str, shapes: str, since: str, words: str = ".aligned") -> None:
    instruction(
        f"wmma.store.d.sync{words}.layout.shape{{.space}}.type [a], b{{, stride}}",
        name="wmma.store.d", requires=since, facts=STORES, layout="row col", shape=shapes, space=SPACES,
        type=types, operands={"b": fragment_kind("C", "type")} | PLACE, writes="",
    )(wmma_store)  # fmt: skip


def _declare_mma(notation: str, effect: Any, factor: str | None, **options: Any) -> None:
    kinds: Kinds = {"d": fragment_kind("D", "dtype"), "c": fragment_kind("C", "ctype")}
    for operand in "ab":
        kinds[operand] = fragment_kind(operand.upper(), f"{operand}type", fixed=factor)
    instruction(notation, name="wmma.mma", facts=PRODUCTS, operands=kinds, ordered=(("bitop", "popc"),), **options)(
        effect
    )


def same_factors(modifiers: Mapping[str, object]) -> str | None:
    a, b = modifiers["atype"], modifiers["btype"]
    return None if a == b else f"A and B have one type, not .{a} and .{b}"


for _types, _shapes, _since, _alayout, _blayout in FACTORS:
    _declare_load("a", _types, _shapes, _since, _alayout)
    _declare_load("b", _types, _shapes, _since, _blayout)
for _types, _shapes, _since in ACCUMULATORS:
    _declare_load("c", _types, _shapes, _since, "row col")
    _declare_store(_types, _shapes, _since)
for _operand, _types in (("a", "f16"), ("b", "f16"), ("c", "f16 f32")):
    _declare_load(_operand, _types, SQUARE, UNALIGNED, "row col", words="")
_declare_store("f16 f32", SQUARE, UNALIGNED, words="")

_HALF = "wmma.mma.sync{}.alayout.blayout.shape.dtype.ctype{} d, a, b, c"
for _shapes, _since, _aligned, _words in (
    (WIDE, "6.3 sm_70", ".aligned", ""),
    (WIDE, "6.3-6.4 sm_70", ".aligned", ".satfinite"),
    (SQUARE, UNALIGNED, "", "{.satfinite}"),
):
    _declare_mma(
        _HALF.format(_aligned, _words), wmma_mma, "f16", requires=_since, alayout="row col", blayout="row col",
        shape=_shapes, dtype="f16 f32", ctype="f16 f32",
    )  # fmt: skip

_TYPED = "wmma.mma{}.sync.aligned.alayout.blayout.shape{}.dtype.atype.btype.ctype{} d, a, b, c"
_WORDS = {"b1": (".bitop.popc", ""), "f64": ("", "{.rnd}"), INT8: ("", "{.satfinite}"), INT4: ("", "{.satfinite}")}
for _types, _shapes, _since, _alayout, _blayout in FACTORS[2:]:
    _before, _after = _WORDS.get(_types, ("", ""))
    _accumulator = {"f64": "f64", "bf16": "f32", "tf32": "f32"}.get(_types, "s32")
    _declare_mma(
        _TYPED.format(_before, "", _after), wmma_mma, None, requires=_since, alayout=_alayout, blayout=_blayout,
        shape=_shapes, dtype=_accumulator, atype=_types, btype=_types, ctype=_accumulator, rules=(same_factors,),
        **{w: c for w, c in (("bitop", "xor and@7.1:sm_80"), ("rnd", "rn rz rm rp")) if f".{w}" in _before + _after},
    )  # fmt: skip
