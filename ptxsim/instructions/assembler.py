"""Forms that the assembler takes and the manual does not give. They bind, so that no file it takes is refused, and are
not modeled. Found by asking ptxas (shared/isa); where a form is refused for some target there, it is refused here.
"""

from __future__ import annotations

from dataclasses import replace

from ptxsim.instructions import ldmatrix, mma, mma_block_scale, mma_sparse, wgmma, wmma
from ptxsim.isa.operand import Either, Kind, Pred, Reg, Value, Vec
from ptxsim.isa.registry import declare

# What may stand for one 32-bit word beside a register of that size: a predicate, or a register or two in braces.
ODD_WORD = Either((Reg("b32"), Pred(negatable=True), Vec(1, Reg("b32")), Vec(2, Reg("b32"))))


def or_predicates(kinds: dict[str, Kind], *names: str) -> dict[str, Kind]:
    """The same kinds, with predicates among the registers of some vectors."""
    return kinds | {name: replace(kinds[name], element=Either((kinds[name].element, Pred()))) for name in names}


# Predicates in place of packed 8-bit and narrower elements.
for _shapes, _factors, _accumulators, _since, _words in mma.TABLE:
    if _factors not in ("f16", "bf16", "tf32", "f64"):
        declare(
            mma.NOTATION.format(words=_words), requires=_since, unit="mma", rules=(mma.same_accumulators,),
            operands=or_predicates(mma.fragment_kinds("mma"), "a", "b"), ordered=(("bitop", "popc"),), shape=_shapes,
            alayout="row", blayout="col", dtype=_accumulators, atype=_factors, btype=_factors, ctype=_accumulators,
            **{slot: words for slot, words in mma.CHOICES.items() if f".{slot}" in _words},
        )  # fmt: skip

# Any word in place of bf16, tf32 and narrower elements and of f32 accumulators of sparse products; odd metadata.
for _shapes, _factors, _accumulators, _selector, *_rest in mma_sparse.TABLE:
    _kinds = mma_sparse.operand_kinds(_selector)
    _odd = [*("" if _factors == "f16" else "ab"), *("dc" if _accumulators.startswith("f32") else "")]
    for _name in _odd:
        _kinds[_name] = replace(_kinds[_name], element=Either((Reg("b32", sink=_name == "d"), Pred())))
    if _accumulators == "s32":
        _kinds["a"] = Either((_kinds["a"], Reg("b32")))
    mma_sparse.declare_row(declare, _kinds | {"e": ODD_WORD}, _shapes, _factors, _accumulators, *_rest)

# Odd words as scales and metadata.
for _row in mma_block_scale.TABLE:
    mma_block_scale.declare_row(declare, declare, dict.fromkeys(("sa", "sb", "e"), ODD_WORD), *_row)

# Predicates in the A of integer products, odd words as metadata of all.
for _row in (*wgmma.DENSE, *wgmma.SPARSE):
    wgmma.declare_row(ODD_WORD, *_row)

# Predicates as results of loads and moves.
for _notation, _since, _shape, _num in ldmatrix.TABLE:
    ldmatrix.declare_row(declare, Either((Reg("b32"), Pred())), _notation, _since, _shape, _num)
declare(
    "movmatrix.sync.aligned.m8n8.trans.b16 d, a", requires="7.8 sm_75", unit="shuffle",
    operands={name: Either((Reg("b32"), Pred())) for name in "da"},
)  # fmt: skip

# bf16 in the shape of the oldest mma, with the registers it has for f16.
declare(
    mma.NOTATION.format(words=""), requires="7.0 sm_80", unit="mma", shape="m8n8k4", alayout="row", blayout="col",
    dtype="f32", atype="bf16", btype="bf16", ctype="f32",
    operands={
        "d": Vec(8, Reg("f32", sink=True)), "a": Vec(2, Reg("bf16x2")), "b": Vec(2, Reg("bf16x2")),
        "c": Vec(8, Reg("f32")),
    },
)  # fmt: skip

# An operation on single bits, named although there is nothing but a product.
for _shapes, _factors, _accumulators, _since, _words in mma.TABLE:
    if _factors == mma.INT4:
        declare(
            mma.NOTATION.format(words=".bitop.popc"), requires=_since, unit="mma", operands=mma.fragment_kinds("mma"),
            ordered=(("bitop", "popc"),), shape=_shapes, alayout="row", blayout="col", bitop="xor and",
            dtype=_accumulators, atype=_factors, btype=_factors, ctype=_accumulators,
        )  # fmt: skip

# Kinds of tcgen05 on products of 8-bit floats.
for _kind, _since in (
    ("kind::mxf8f6f4", "8.6 sm_100f sm_110f sm_120f"),
    ("kind::f16 kind::tf32", "8.6 sm_100f sm_110f"),
    ("kind::i8", "8.6 sm_100a sm_110a"),
):
    for _shapes, _accumulators in (("m16n8k32", "f32 f16@8.7"), ("m16n8k16", "f32@8.7 f16@8.7")):
        declare(
            mma.NOTATION.format(words=".kind"), requires=_since, unit="mma", operands=mma.fragment_kinds("mma"),
            rules=(mma.same_accumulators,), shape=_shapes, alayout="row", blayout="col", kind=_kind,
            dtype=_accumulators, atype=mma.FP8, btype=mma.FP8, ctype=_accumulators,
        )  # fmt: skip
    mma_sparse.declare_row(
        declare, mma_sparse.operand_kinds(0), "m16n8k64", mma.FP8,
        "f32 f16@8.7:sm_120f" if "mx" in _kind else "f32", _since, mma_sparse.ORDERED, ".kind", kind=_kind,
    )  # fmt: skip

# f64 products of larger shapes, which no load or store has.
for _shape, _factors in (("m16n16k16", 8), ("m16n16k8", 4)):
    declare(
        "wmma.mma.sync.aligned.alayout.blayout.shape.dtype.atype.btype.ctype{.rnd} d, a, b, c", name="wmma.mma",
        requires="7.0 sm_80", unit="mma", alayout="row col", blayout="row col", shape=_shape, dtype="f64", atype="f64",
        btype="f64", ctype="f64", rnd="rn rz rm rp",
        operands={
            "d": Vec(8, Reg("f64", sink=True)), "a": Vec(_factors, Reg("f64")), "b": Vec(_factors, Reg("f64")),
            "c": Vec(8, Reg("f64")),
        },
    )  # fmt: skip

# Accumulators of other types: f32 in the narrow shapes, u32 on the oldest targets.
for _type, _shapes, _count, _since in (
    ("f32", "m8n8k32 m8n8k128", 2, "6.3 sm_75"),
    ("u32", wmma.WIDE, 8, "6.3 sm_70-sm_72"),
):
    for _notation, _name, _operand, _writes in (
        ("wmma.load.c.sync.aligned.layout.shape{.space}.type d, [a]{, stride}", "wmma.load.c", "d", None),
        ("wmma.store.d.sync.aligned.layout.shape{.space}.type [a], b{, stride}", "wmma.store.d", "b", ""),
    ):
        declare(
            _notation, name=_name, requires=_since, unit="wmma_memory", layout="row col", shape=_shapes,
            space=wmma.SPACES, type=_type, writes=_writes,
            operands={_operand: Vec(_count, Reg(_type, sink=_writes is None)), "stride": Value("u32", unpacked=True)},
        )  # fmt: skip

# Loads that do not say the type.
for _operand in "ab":
    declare(
        f"wmma.load.{_operand}.sync.aligned.layout.shape{{.space}} d, [a]{{, stride}}", name=f"wmma.load.{_operand}",
        requires="6.3 sm_70-sm_72", unit="wmma_memory", layout="row col", shape=wmma.WIDE, space=wmma.SPACES,
        operands={
            "d": Vec(8, Reg("f16x2", sink=True)),
            "stride": Value("u32", unpacked=True),
        },
    )  # fmt: skip
