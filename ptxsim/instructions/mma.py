"""mma.sync: D = A*B + C on fragments of a warp. PTX ISA, "Warp Level Matrix Multiply-Accumulate Instructions: mma"."""

from __future__ import annotations

from collections.abc import Mapping

from ptxsim.isa.operand import Reg, Vec
from ptxsim.isa.registry import instruction
from ptxsim.layout.fragments import fragment_layout
from ptxsim.machine.tensor import matrix_product, product_of, register_type

NOTATION = "mma.sync.aligned.shape.alayout.blayout{words}.dtype.atype.btype.ctype d, a, b, c"

FP8, FP864 = "e4m3 e5m2", "e4m3 e5m2 e3m2 e2m3 e2m1"
INT8, INT4 = "u8 s8", "u4 s4"

# Shapes, types of A and B, types of C and D, since when, words before the types.
TABLE = [
    ("m16n8k8", "f16", "f16 f32", "6.5 sm_75", ""),
    ("m16n8k16", "f16", "f16 f32", "7.0 sm_80", ""),
    ("m16n8k8 m16n8k16", "bf16", "f32", "7.0 sm_80", ""),
    ("m16n8k4 m16n8k8", "tf32", "f32", "7.0 sm_80", ""),
    ("m16n8k32", FP8, "f32 f16@8.7", "8.4 sm_89", ""),
    ("m16n8k16", FP8, "f32 f16", "8.7 sm_89", ""),
    ("m16n8k32", FP8, "f32 f16@8.7", "8.6 sm_100f sm_110f sm_120f", ".kind"),
    ("m16n8k16", FP8, "f32 f16", "8.7 sm_100f sm_110f sm_120f", ".kind"),
    ("m16n8k32", FP864, "f32 f16", "8.7 sm_120f", ".kind"),
    ("m8n8k4", "f64", "f64", "7.0 sm_80", "{.rnd}"),
    ("m16n8k4 m16n8k8 m16n8k16", "f64", "f64", "7.8 sm_90", "{.rnd}"),
    ("m8n8k16", INT8, "s32", "6.5 sm_75", "{.satfinite}"),
    ("m16n8k16 m16n8k32", INT8, "s32", "7.0 sm_80", "{.satfinite}"),
    ("m8n8k32", INT4, "s32", "6.5 sm_75", "{.satfinite}"),
    ("m16n8k32 m16n8k64", INT4, "s32", "7.0 sm_80", "{.satfinite}"),
    ("m8n8k128", "b1", "s32", "7.0 sm_75", ".bitop.popc"),
    ("m16n8k128 m16n8k256", "b1", "s32", "7.0 sm_80", ".bitop.popc"),
]
CHOICES = {"rnd": "rn rz rm rp", "bitop": "xor and@7.1:sm_80", "kind": "kind::f8f6f4"}


def same_accumulators(modifiers: Mapping[str, object]) -> str | None:
    d, c = modifiers["dtype"], modifiers["ctype"]
    return None if d == c else f"C and D have one type here, not .{d} and .{c}"


def no_narrowing(modifiers: Mapping[str, object]) -> str | None:
    """m8n8k4: an .f32 C gives an .f32 D."""
    narrowed = modifiers["ctype"].name == "f32" and modifiers["dtype"].name == "f16"
    return "D may not be .f16 where C is .f32" if narrowed else None


def fragment_kinds(family: str) -> dict[str, Vec]:
    """Operand kinds of D, A, B and C in braces: as many registers as the fragment has, of the type it needs."""

    def count(operand: str, slot: str):
        return lambda words: fragment_layout(family, words["shape"], operand, words[slot].name).registers

    def register(slot: str):
        return lambda words: register_type(words[slot].name)

    return {
        "d": Vec(count("D", "dtype"), Reg(register("dtype"), sink=True, unpacked=True)),
        "a": Vec(count("A", "atype"), Reg(register("atype"))),
        "b": Vec(count("B", "btype"), Reg(register("btype"))),
        "c": Vec(count("C", "ctype"), Reg(register("ctype"), unpacked=True)),
    }


def modeled_by(effect):
    """What registry.declare is for forms without an effect, for those that have this one."""
    return lambda notation, **options: instruction(notation, **options)(effect)


def mma(m, a, b, c, *, shape, alayout, blayout, kind, dtype, atype, btype, ctype, rnd, satfinite, bitop):
    product = product_of(
        "mma", shape, (dtype.name, atype.name, btype.name, ctype.name), str(m.machine.target),
        layouts=(alayout, blayout), kind=(kind or "").removeprefix("kind::"), satfinite=bool(satfinite),
        rounding=rnd or "rn", popc_op=bitop or "and", numerics_mode=m.machine.numerics,
    )  # fmt: skip
    return matrix_product(m, product, a, b, c)


for _shapes, _factors, _accumulators, _since, _words in TABLE:
    instruction(
        NOTATION.format(words=_words), requires=_since, unit="mma", operands=fragment_kinds("mma"),
        rules=(same_accumulators,), ordered=(("bitop", "popc"),), shape=_shapes, alayout="row", blayout="col",
        dtype=_accumulators, atype=_factors, btype=_factors, ctype=_accumulators,
        **{slot: words for slot, words in CHOICES.items() if f".{slot}" in _words},
    )(mma)  # fmt: skip

# Four computations, one for each pair of quads, with A and B in any layout.
instruction(
    NOTATION.format(words=""), requires="6.4 sm_70", unit="mma", operands=fragment_kinds("mma"), rules=(no_narrowing,),
    shape="m8n8k4", alayout="row col", blayout="row col", dtype="f16 f32", atype="f16", btype="f16", ctype="f16 f32",
)(mma)  # fmt: skip
