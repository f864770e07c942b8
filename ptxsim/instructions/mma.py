"""mma.sync: D = A*B + C on fragments of a warp. PTX ISA, "Warp Level Matrix Multiply-Accumulate Instructions: mma"."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from ptxsim.isa.facts import Facts, Scope, Words
from ptxsim.isa.operand import Kind, Reg, Vec
from ptxsim.isa.registry import Declare, instruction
from ptxsim.lanes import LaneValue
from ptxsim.layout.fragments import fragment_layout
from ptxsim.machine.product import Product, product_of, register_type
from ptxsim.machine.tensor import matrix_product
from ptxsim.types import ScalarType

if TYPE_CHECKING:  # `ptxsim layout` needs no machine
    from ptxsim.machine.port import Port

NOTATION = "mma.sync.aligned.shape.alayout.blayout{words}.dtype.atype.btype.ctype d, a, b, c"

FP8, FP864 = "e4m3 e5m2", "e4m3 e5m2 e3m2 e2m3 e2m1"
INT8, INT4 = "u8 s8", "u4 s4"

# Shapes, types of A and B, types of C and D, since when, words before the types.
TABLE = [
    ("m16n8k8", "f16", "f16 f32", "6.5 sm_75", ""),
    ("m16n8k16", "f16", "f16 f32", "7.0 sm_80", ""),
    ("m16n8k8 m16n8k16", "bf16", "f32", "7.0 sm_80", ""),
    ("m16n8k4 m16n8k8", "tf32", "f32", "7.0 sm_80", ""),
    ("m16n8k32", FP8, "f32 f16@8.7", "8.4 sm_89-sm_89 | 8.7 sm_120", ""),
    ("m16n8k16", FP8, "f32 f16", "8.7 sm_89-sm_89 | 8.7 sm_120", ""),
    ("m16n8k16", FP8, "f32 f16", "8.7 sm_120f", ".kind"),
    ("m16n8k32", FP864, "f32 f16", "8.7 sm_120f", ".kind"),
    ("m8n8k4", "f64", "f64", "7.0 sm_80", "{.rnd}"),
    ("m16n8k4 m16n8k8 m16n8k16", "f64", "f64", "7.8 sm_90-sm_90", "{.rnd}"),
    ("m16n8k16 m16n8k32", INT8, "s32", "7.0 sm_80", "{.satfinite}"),
    ("m8n8k32", INT4, "s32", "6.5 sm_75", "{.satfinite}"),
    ("m16n8k32 m16n8k64", INT4, "s32", "7.0 sm_80", "{.satfinite}"),
    ("m8n8k128", "b1", "s32", "7.0 sm_75", ".bitop.popc"),
    ("m16n8k128 m16n8k256", "b1", "s32", "7.0 sm_80", ".bitop.popc"),
]
# Products that these targets make of others.
EMULATED = [
    ("m16n8k32", FP8, "f32 f16@8.7", "8.4 sm_90-sm_110", ""),
    ("m16n8k16", FP8, "f32 f16", "8.7 sm_90-sm_110", ""),
    ("m16n8k32", FP8, "f32 f16@8.7", "8.6 sm_100f sm_110f", ".kind"),
    ("m16n8k16", FP8, "f32 f16", "8.7 sm_100f sm_110f", ".kind"),
    ("m16n8k4 m16n8k8 m16n8k16", "f64", "f64", "8.6 sm_100", "{.rnd}"),
]
CHOICES = {"rnd": "rn rz rm rp", "bitop": "xor and@7.1:sm_80", "kind": "kind::f8f6f4"}


def same_accumulators(modifiers: Mapping[str, object]) -> str | None:
    d, c = modifiers["dtype"], modifiers["ctype"]
    return None if d == c else f"C and D have one type here, not .{d} and .{c}"


def no_narrowing(modifiers: Words) -> str | None:
    """m8n8k4: an .f32 C gives an .f32 D."""
    narrowed = modifiers["ctype"].name == "f32" and modifiers["dtype"].name == "f16"
    return "D may not be .f16 where C is .f32" if narrowed else None


def fragment_kinds(family: str) -> dict[str, Vec]:
    """Operand kinds of D, A, B and C in braces: as many registers as the fragment has, of the type it needs."""

    def count(operand: str, slot: str) -> Any:
        return lambda words: fragment_layout(family, words["shape"], operand, words[slot].name).registers

    def register(slot: str) -> Any:
        return lambda words: register_type(words[slot].name)

    return {
        "d": Vec(count("D", "dtype"), Reg(register("dtype"), sink=True, unpacked=True)),
        "a": Vec(count("A", "atype"), Reg(register("atype"))),
        "b": Vec(count("B", "btype"), Reg(register("btype"))),
        "c": Vec(count("C", "ctype"), Reg(register("ctype"), unpacked=True)),
    }


def emulated_kinds() -> dict[str, Vec]:
    """The same where the product is made of others: every result is wanted."""
    kinds = fragment_kinds("mma")
    element = kinds["d"].element
    assert isinstance(element, Reg)
    return kinds | {"d": replace(kinds["d"], element=replace(element, sink=False))}


def integer_kinds(*names: str) -> dict[str, Vec]:
    """The same where some fragments go through integer instructions: no other registers do there."""
    kinds = fragment_kinds("mma")
    return kinds | {name: replace(kinds[name], element=Reg("s32", unpacked=True)) for name in names}


def modeled_by(effect: Callable[..., Any]) -> Declare:
    """What registry.declare is for forms without an effect, for those that have this one."""
    return lambda notation, **options: instruction(notation, **options)(effect)


def types_of(words: Words) -> tuple[str, str, str, str]:
    """Element types of D, A, B and C."""
    d, a, b, c = (cast("ScalarType", words[slot]).name for slot in ("dtype", "atype", "btype", "ctype"))
    return d, a, b, c


def product(words: Words, target: str, numerics: str) -> Product:
    layouts = (words["alayout"], words["blayout"])
    kind = str(words.get("kind") or "").removeprefix("kind::")
    return product_of(
        "mma", words["shape"], types_of(words), target, layouts=layouts, kind=kind, satfinite=bool(words.get("satfinite")),
        rounding=words.get("rnd") or "rn", popc_op=words.get("bitop") or "and", numerics_mode=numerics,
    )  # fmt: skip


FACTS = Facts(family="mma", scope=Scope.WARP, product=product)


def mma(m: Port, a: LaneValue, b: LaneValue, c: LaneValue) -> LaneValue:
    return matrix_product(m, m.product(), a, b, c)


def declare_row(
    declare: Declare, kinds: Mapping[str, Kind], shapes: str, factors: str, accumulators: str, since: str, words: str,
    **choices: Any,
) -> None:  # fmt: skip
    """Declare a row of a table through `declare`, with these kinds of operands."""
    choices = {slot: known for slot, known in CHOICES.items() if f".{slot}" in words} | choices
    declare(
        NOTATION.format(words=words), requires=since, facts=FACTS, operands=kinds, rules=(same_accumulators,),
        ordered=(("bitop", "popc"),), shape=shapes, alayout="row", blayout="col", dtype=accumulators, atype=factors,
        btype=factors, ctype=accumulators, **choices,
    )  # fmt: skip


for _table, _kinds in ((TABLE, fragment_kinds("mma")), (EMULATED, emulated_kinds())):
    for _row in _table:
        declare_row(modeled_by(mma), _kinds, *_row)

# An instruction of sm_75 alone; later targets make it of others.
for _since, _integers in (("6.5 sm_75-sm_90", "ab"), ("8.6 sm_100", "a")):
    declare_row(modeled_by(mma), integer_kinds(*_integers), "m8n8k16", INT8, "s32", _since, "{.satfinite}")

# Four computations, one for each pair of quads, with A and B in any layout.
instruction(
    NOTATION.format(words=""), requires="6.4 sm_70", facts=FACTS, operands=fragment_kinds("mma"), rules=(no_narrowing,),
    shape="m8n8k4", alayout="row col", blayout="row col", dtype="f16 f32", atype="f16", btype="f16", ctype="f16 f32",
)(mma)  # fmt: skip
