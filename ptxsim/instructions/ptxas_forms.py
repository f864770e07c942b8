"""Forms that the assembler takes and the manual does not give. They bind, so that no file it takes is refused, and are
not modeled. Found by asking ptxas (shared/isa); where a form is refused for some target there, it is refused here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from ptxsim.instructions import ldmatrix, mma, mma_block_scale, mma_sparse, wgmma, wmma
from ptxsim.isa.facts import ASSEMBLER
from ptxsim.isa.operand import Either, Kind, Pred, Reg, Value, Vec
from ptxsim.isa.registry import declare

refused = partial(declare, missing=ASSEMBLER)

# What may stand for one 32-bit word beside a register of that size: a predicate, or a register or two in braces.
_WORD = Either((Reg("b32"), Pred()))
ODD_WORD = Either((Reg("b32"), Pred(negatable=True), Vec(1, _WORD), Vec(2, _WORD)))


def or_predicates(kinds: Mapping[str, Vec], *names: str) -> dict[str, Kind]:
    """The same kinds, with predicates among the registers of some vectors."""
    return {**kinds, **{name: replace(kinds[name], element=Either((kinds[name].element, Pred()))) for name in names}}


# Predicates in place of packed 8-bit and narrower elements, where the product is no sequence of other instructions: those
# of fewer bits are one from sm_90 on.
for _shapes, _factors, _accumulators, _since, _words in mma.TABLE:
    if _factors not in ("f16", "bf16", "tf32", "f64"):
        _since += "-sm_89" if _factors in (mma.INT4, "b1") else ""
        _kinds = or_predicates(mma.fragment_kinds("mma"), "a", "b")
        mma.declare_row(refused, _kinds, _shapes, _factors, _accumulators, _since, _words)
mma.declare_row(
    refused, or_predicates(mma.integer_kinds("a"), "b"), "m8n8k16", mma.INT8, "s32", "8.6 sm_100", "{.satfinite}"
)

# Any word in place of bf16, tf32 and narrower elements and of f32 accumulators of sparse products; odd metadata, and
# for integers an A of one word. In A and in metadata only where the product is no sequence of other instructions: all
# unordered ones of f16 and integers are from sm_100 on, all of four bits from sm_90 on.
_UNORDERED = "sp@7.1:sm_80-sm_90 sp::ordered_metadata@8.5"
_HOPPER = "sp@7.1:sm_80-sm_89 sp::ordered_metadata@8.5:sm_80-sm_89"
_NATIVE = {"f16": _UNORDERED, mma.INT8: _UNORDERED, mma.INT4: _HOPPER}
for _shapes, _factors, _accumulators, _selector, _since, _sparsity, _words in mma_sparse.TABLE:
    _regular, _narrow = mma_sparse.operand_kinds(_selector), _factors not in ("f16", "bf16", "tf32")
    _anywhere = "" if _narrow or _accumulators == "f16" else "dc"
    _anywhere += "b" if _factors in ("bf16", "tf32", mma.INT8) else ""
    for _odd, _where in ((_anywhere, _sparsity), ("abe" + _anywhere, _NATIVE.get(_factors, _sparsity))):
        _kinds = dict(_regular)
        for _name in _odd.replace("e", "") if _factors != "f16" else _anywhere:
            _vector = _regular[_name]
            assert isinstance(_vector, Vec)
            _kinds[_name] = replace(_vector, element=Either((Reg("b32", sink=_name == "d"), Pred())))
        if _accumulators == "s32" and "a" in _odd:
            _kinds["a"] = Either((_kinds["a"], Reg("b32")))
        if "e" in _odd:
            _kinds["e"] = ODD_WORD
        mma_sparse.declare_row(refused, _kinds, _shapes, _factors, _accumulators, _since, _where, _words)

# Odd words as scales and metadata.
for _scaled in mma_block_scale.TABLE:
    mma_block_scale.declare_row(refused, refused, dict.fromkeys(("sa", "sb", "e"), ODD_WORD), *_scaled)

# Predicates in the A of integer products, odd words as metadata of all.
for _row in (*wgmma.DENSE, *wgmma.SPARSE):
    wgmma.declare_row(ODD_WORD, *_row)

# Predicates as results of loads and moves.
for _rows in ldmatrix.TABLE:
    ldmatrix.declare_row(refused, Either((Reg("b32"), Pred())), *_rows)
refused(
    "movmatrix.sync.aligned.m8n8.trans.b16 d, a", requires="7.8 sm_75",
    operands={name: Either((Reg("b32"), Pred())) for name in "da"},
)  # fmt: skip

# bf16 in the shape of the oldest mma, with the registers it has for f16.
refused(
    mma.NOTATION.format(words=""), requires="7.0 sm_80", shape="m8n8k4", alayout="row", blayout="col",
    dtype="f32", atype="bf16", btype="bf16", ctype="f32",
    operands={
        "d": Vec(8, Reg("f32", sink=True)), "a": Vec(2, Reg("bf16x2")), "b": Vec(2, Reg("bf16x2")),
        "c": Vec(8, Reg("f32")),
    },
)  # fmt: skip

# An operation on single bits, named although there is nothing but a product.
for _shapes, _factors, _accumulators, _since, _words in mma.TABLE:
    if _factors == mma.INT4:
        refused(
            mma.NOTATION.format(words=".bitop.popc"), requires=_since, operands=mma.fragment_kinds("mma"),
            ordered=(("bitop", "popc"),), shape=_shapes, alayout="row", blayout="col", bitop="xor and",
            dtype=_accumulators, atype=_factors, btype=_factors, ctype=_accumulators,
        )  # fmt: skip

# Kinds of tensor memory on products of 8-bit floats.
for _kind, _since, _dense, _sparse in (
    ("kind::mxf8f6f4", "8.6 sm_100f sm_110f", mma.emulated_kinds(), mma_sparse.emulated_kinds(0)),
    ("kind::mxf8f6f4", "8.7 sm_120f", or_predicates(mma.fragment_kinds("mma"), *"ab"), mma_sparse.operand_kinds(0)),
    ("kind::f16 kind::tf32", "8.6 sm_100f sm_110f", mma.emulated_kinds(), mma_sparse.emulated_kinds(0)),
    ("kind::i8", "8.6 sm_100a sm_110a", mma.emulated_kinds(), mma_sparse.emulated_kinds(0)),
):
    for _shapes, _accumulators in (("m16n8k32", "f32 f16@8.7"), ("m16n8k16", "f32@8.7 f16@8.7")):
        mma.declare_row(refused, _dense, _shapes, mma.FP8, _accumulators, _since, ".kind", kind=_kind)
    _accumulators = "f32 f16" if "sm_120f" in _since else "f32"
    mma_sparse.declare_row(
        refused, _sparse, "m16n8k64", mma.FP8, _accumulators, _since, mma_sparse.ORDERED, ".kind", kind=_kind
    )

# f64 products of larger shapes, which no load or store has.
for _shape, _count in (("m16n16k16", 8), ("m16n16k8", 4)):
    refused(
        "wmma.mma.sync.aligned.alayout.blayout.shape.dtype.atype.btype.ctype{.rnd} d, a, b, c", name="wmma.mma",
        requires="7.0 sm_80", alayout="row col", blayout="row col", shape=_shape, dtype="f64", atype="f64",
        btype="f64", ctype="f64", rnd="rn rz rm rp",
        operands={
            "d": Vec(8, Reg("f64", sink=True)), "a": Vec(_count, Reg("f64")), "b": Vec(_count, Reg("f64")),
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
        refused(
            _notation, name=_name, requires=_since, layout="row col", shape=_shapes,
            space=wmma.SPACES, type=_type, writes=_writes,
            operands={_operand: Vec(_count, Reg(_type, sink=_writes is None)), "stride": Value("u32", unpacked=True)},
        )  # fmt: skip

# Loads that do not say the type.
for _operand in "ab":
    refused(
        f"wmma.load.{_operand}.sync.aligned.layout.shape{{.space}} d, [a]{{, stride}}", name=f"wmma.load.{_operand}",
        requires="6.3 sm_70-sm_72", layout="row col", shape=wmma.WIDE, space=wmma.SPACES,
        operands={
            "d": Vec(8, Reg("f16x2", sink=True)),
            "stride": Value("u32", unpacked=True),
        },
    )  # fmt: skip
