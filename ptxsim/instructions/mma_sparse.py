"""mma.sp: mma with an A of which only half is stored. PTX ISA, "Multiply-and-Accumulate Instruction: mma.sp"."""

from __future__ import annotations

from ptxsim.instructions.mma import FP8, FP864, INT4, INT8, fragment_kinds, same_accumulators
from ptxsim.isa.operand import Imm, Reg
from ptxsim.isa.registry import instruction
from ptxsim.machine.tensor import check_metadata, matrix_product, product_of

NOTATION = "mma.sparsity.sync.aligned.shape.alayout.blayout{words}.dtype.atype.btype.ctype d, a, b, c, e, f"
EITHER, ORDERED = "sp sp::ordered_metadata@8.5", "sp::ordered_metadata"

# Shapes, types of A and B, types of C and D, largest selector the assembler takes, since when, how the metadata is
# said to be, words before the types.
TABLE = [
    ("m16n8k16 m16n8k32", "f16", "f16 f32", 3, "7.1 sm_80", EITHER, ""),
    ("m16n8k16 m16n8k32", "bf16", "f32", 3, "7.1 sm_80", EITHER, ""),
    ("m16n8k8 m16n8k16", "tf32", "f32", 3, "7.1 sm_80", EITHER, ""),
    ("m16n8k32 m16n8k64", INT8, "s32", 3, "7.1 sm_80", EITHER, "{.satfinite}"),
    ("m16n8k64 m16n8k128", INT4, "s32", 3, "7.1 sm_80", EITHER, "{.satfinite}"),
    ("m16n8k64", FP8, "f32", 0, "8.4 sm_89", EITHER, ""),
    ("m16n8k64", FP8, "f32 f16@8.7:sm_120f", 0, "8.6 sm_100f sm_110f sm_120f", ORDERED, ".kind"),
    ("m16n8k64", FP864, "f32 f16", 0, "8.7 sm_120f", ORDERED, ".kind"),
]


def mma_sparse(
    m, a, b, c, e, f, *, shape, sparsity, alayout, blayout, kind, dtype, atype, btype, ctype, satfinite
):  # fmt: skip
    product = product_of(
        "mma", shape, (dtype.name, atype.name, btype.name, ctype.name), str(m.machine.target), sparse=True,
        kind=(kind or "").removeprefix("kind::"), satfinite=bool(satfinite), numerics_mode=m.machine.numerics,
    )  # fmt: skip
    check_metadata(m, product, e, f, sparsity == "sp::ordered_metadata")
    return matrix_product(m, product, a, b, c, e, f)


for _shapes, _factors, _accumulators, _selector, _since, _sparsity, _words in TABLE:
    instruction(
        NOTATION.format(words=_words), requires=_since, unit="mma",
        operands=fragment_kinds("mma.sp") | {"e": Reg("b32"), "f": Imm(0, _selector)}, rules=(same_accumulators,),
        sparsity=_sparsity, shape=_shapes, alayout="row", blayout="col",
        dtype=_accumulators, atype=_factors, btype=_factors, ctype=_accumulators,
        **({"kind": "kind::f8f6f4"} if "kind" in _words else {}),
    )(mma_sparse)  # fmt: skip
