"""mma.sp: mma with an A of which only half is stored. PTX ISA, "Multiply-and-Accumulate Instruction: mma.sp"."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from ptxsim.instructions.mma import FP8, FP864, INT4, INT8, fragment_kinds, modeled_by, same_accumulators, types_of
from ptxsim.isa.facts import Facts, Scope, Word, Words
from ptxsim.isa.operand import Imm, Kind, Reg
from ptxsim.isa.registry import Declare
from ptxsim.lanes import LaneValue
from ptxsim.machine.product import Product, product_of
from ptxsim.machine.tensor import check_metadata, matrix_product

if TYPE_CHECKING:  # `ptxsim layout` needs no machine
    from ptxsim.machine.port import Port

NOTATION = "mma.sparsity.sync.aligned.shape.alayout.blayout{words}.dtype.atype.btype.ctype d, a, b, c, e, f"
EITHER, ORDERED = "sp sp::ordered_metadata@8.5", "sp::ordered_metadata"

# Shapes, types of A and B, types of C and D, largest selector the assembler takes, since when, how the metadata is
# said to be, words before the types.
TABLE = [
    ("m16n8k16", "f16", "f16", 3, "7.1 sm_80", EITHER, ""),
    ("m16n8k16", "f16", "f32", 3, "7.1 sm_80", EITHER, ""),
    ("m16n8k32", "f16", "f16", 1, "7.1 sm_80", EITHER, ""),
    ("m16n8k32", "f16", "f32", 3, "7.1 sm_80", EITHER, ""),
    ("m16n8k16", "bf16", "f32", 3, "7.1 sm_80", EITHER, ""),
    ("m16n8k32", "bf16", "f32", 1, "7.1 sm_80", EITHER, ""),
    ("m16n8k8", "tf32", "f32", 3, "7.1 sm_80", EITHER, ""),
    ("m16n8k16", "tf32", "f32", 1, "7.1 sm_80", EITHER, ""),
    ("m16n8k32", INT8, "s32", 1, "7.1 sm_80", EITHER, "{.satfinite}"),
    ("m16n8k64", INT8, "s32", 0, "7.1 sm_80", EITHER, "{.satfinite}"),
    ("m16n8k64", INT4, "s32", 1, "7.1 sm_80", EITHER, "{.satfinite}"),
    ("m16n8k128", INT4, "s32", 0, "7.1 sm_80", EITHER, "{.satfinite}"),
    ("m16n8k64", FP8, "f32", 0, "8.4 sm_89-sm_89 | 8.7 sm_120", EITHER, ""),
    ("m16n8k64", FP8, "f16", 0, "8.7 sm_120f", ORDERED, ""),
    ("m16n8k64", FP864, "f32 f16", 0, "8.7 sm_120f", ORDERED, ".kind"),
]
# Products that these targets make of others.
EMULATED = [
    ("m16n8k64", FP8, "f32", 0, "8.4 sm_90-sm_110", EITHER, ""),
    ("m16n8k64", FP8, "f32", 0, "8.6 sm_100f sm_110f", ORDERED, ".kind"),
]


def product(words: Words, target: str, numerics: str) -> Product:
    return product_of(
        "mma", words["shape"], types_of(words), target, sparse=True, kind=str(words.get("kind") or "").removeprefix("kind::"),
        satfinite=bool(words.get("satfinite")), numerics_mode=numerics,
    )  # fmt: skip


FACTS = Facts(family="mma", scope=Scope.WARP, product=product)


def mma_sparse(m: Port, a: LaneValue, b: LaneValue, c: LaneValue, e: LaneValue, f: int, *, sparsity: Word) -> LaneValue:
    product = m.product()
    check_metadata(m, product, e, f, sparsity == "sp::ordered_metadata")
    return matrix_product(m, product, a, b, c, e, f)


def operand_kinds(selector: int) -> dict[str, Kind]:
    """Kinds of all operands, for the largest selector."""
    return {**fragment_kinds("mma.sp"), "e": Reg("b32"), "f": Imm(0, selector)}


def emulated_kinds(selector: int) -> dict[str, Kind]:
    """The same where the product is made of others: every result is wanted, and the metadata is no float."""
    kinds = operand_kinds(selector)
    d = replace(fragment_kinds("mma.sp")["d"], element=Reg("f32"))
    return kinds | {"d": d, "e": Reg(lambda modifiers: "u32")}


def declare_row(
    declare: Declare, kinds: Mapping[str, Kind], shapes: str, factors: str, accumulators: str, since: str, sparsity: str,
    words: str, kind: str = "kind::f8f6f4",
) -> None:  # fmt: skip
    """Declare a row of the table through `declare`, with these kinds of operands."""
    declare(
        NOTATION.format(words=words), requires=since, facts=FACTS, operands=kinds, rules=(same_accumulators,),
        sparsity=sparsity, shape=shapes, alayout="row", blayout="col",
        dtype=accumulators, atype=factors, btype=factors, ctype=accumulators,
        **({"kind": kind} if "kind" in words else {}),
    )  # fmt: skip


for _shapes, _factors, _accumulators, _selector, *_rest in TABLE:
    declare_row(modeled_by(mma_sparse), operand_kinds(_selector), _shapes, _factors, _accumulators, *_rest)
for _shapes, _factors, _accumulators, _selector, *_rest in EMULATED:
    declare_row(modeled_by(mma_sparse), emulated_kinds(_selector), _shapes, _factors, _accumulators, *_rest)
