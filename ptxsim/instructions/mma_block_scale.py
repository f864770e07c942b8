"""mma and mma.sp with block scales. PTX ISA, "Block Scaling for mma.sync", "Scale Matrix Selectors".

A lane's scale register holds four 8-bit scales; {byte-id, thread-id} say which byte (the first of two, or all) of
which lanes of every quad: a pair of lanes for the rows of A, one lane for the columns of B.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ptxsim.instructions.mma import FP864, fragment_kinds, modeled_by, types_of
from ptxsim.isa.facts import Facts, Scope, Word, Words
from ptxsim.isa.operand import Either, Imm, Kind, Reg, Vec
from ptxsim.isa.registry import Declare
from ptxsim.lanes import LaneValue
from ptxsim.machine.product import Product, product_of
from ptxsim.machine.tensor import check_metadata, matrix_product

if TYPE_CHECKING:  # `ptxsim layout` needs no machine
    from ptxsim.machine.port import Port

# Shape, sparse shape, kind, types of A and B, type of the scales, scales of a row (its scale_vec) and whether that may
# be left out, since when for dense and for sparse.
TABLE = [
    ("m16n8k32", "m16n8k64", "mxf8f6f4", FP864, "ue8m0", 1, True, "8.7 sm_120f", "8.7 sm_120f"),
    ("m16n8k64", "m16n8k128", "mxf4", "e2m1", "ue8m0", 2, True, "8.7 sm_120f", "8.7 sm_120a sm_121a"),
    ("m16n8k64", "m16n8k128", "mxf4nvf4", "e2m1", "ue8m0", 2, False, "8.7 sm_120f", "8.7 sm_120a sm_121a"),
    ("m16n8k64", "m16n8k128", "mxf4nvf4", "e2m1", "ue4m3 ue8m0@9.1", 4, False, "8.7 sm_120f", "8.7 sm_120a sm_121a"),
]
BYTES = {1: (0, 1, 2, 3), 2: (0, 2), 4: (0,)}


def selectors(bytes_: tuple[int, ...], threads: int) -> Vec:
    """{byte-id, thread-id}: literals in their ranges, or 16-bit registers."""
    return Vec(2, Reg("u16"), each=tuple(Either((Imm(choices=c), Reg("u16"))) for c in (bytes_, tuple(range(threads)))))


def mma_block_scale(
    m: Port, a: LaneValue, b: LaneValue, c: LaneValue, sa: LaneValue, ia: LaneValue, sb: LaneValue, ib: LaneValue, *, kind: Word, vec: Word
) -> LaneValue:  # fmt: skip
    return matrix_product(m, m.product(), a, b, c, scales=scales(sa, ia, sb, ib, _count(kind, vec)))


def mma_block_scale_sparse(
    m: Port, a: LaneValue, b: LaneValue, c: LaneValue, e: LaneValue, f: int, sa: LaneValue, ia: LaneValue, sb: LaneValue, ib: LaneValue, *, kind: Word, vec: Word
) -> LaneValue:  # fmt: skip
    product = m.product()
    check_metadata(m, product, e, f, ordered=True)
    return matrix_product(m, product, a, b, c, e, f, scales(sa, ia, sb, ib, _count(kind, vec)))


def _facts(sparse: bool) -> Facts:
    def product(words: Words, target: str, numerics: str) -> Product:
        return product_of(
            "mma", words["shape"], types_of(words), target, sparse=sparse, kind=str(words["kind"]).removeprefix("kind::"),
            scale=words["stype"].name, numerics_mode=numerics,
        )  # fmt: skip

    return Facts(family="mma", scope=Scope.WARP, product=product)


def _count(kind: str, vec: str | None) -> int:
    """Scales of a row: what scale_vec says, or the kind's only choice."""
    return int(vec[-2]) if vec else {"kind::mxf8f6f4": 1, "kind::mxf4": 2}[kind]


def scales(sa: LaneValue, ia: LaneValue, sb: LaneValue, ib: LaneValue, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Codes of the scales: of A (16 rows, count) and of B (count, 8 columns)."""
    (byte_a, thread_a), (byte_b, thread_b) = ([_number(i) for i in ids] for ids in (ia, ib))
    row, column = np.arange(16), np.arange(8)
    of_a = _bytes(sa[4 * (row % 8) + 2 * thread_a + row // 8], byte_a, count)
    of_b = _bytes(sb[4 * column + thread_b], byte_b, count)
    return of_a, of_b.T


def _bytes(words: np.ndarray, first: int, count: int) -> np.ndarray:
    return (words[:, None] >> np.arange(8 * first, 8 * (first + count), 8, dtype=np.uint32) & np.uint32(255)).astype(
        np.uint8
    )


def _number(selector: Any) -> int:
    return int(selector[0]) if isinstance(selector, np.ndarray) else int(selector)


_NOTATION = (
    "mma{}.sync.aligned.shape.alayout.blayout.kind.block_scale{}.dtype.atype.btype.ctype.stype "
    "d, a, b, c{}, sa, ia, sb, ib"
)

_IDS = {count: {"ia": selectors(BYTES[count], 2), "ib": selectors(BYTES[count], 4)} for count in BYTES}
_WORDS = {"sa": Reg("b32"), "sb": Reg("b32"), "e": Reg("b32")}


def _fragments(family: str) -> dict[str, Vec]:
    """Fragments as of other products, but A and B lie in registers of untyped bits."""
    kinds = fragment_kinds(family)
    return kinds | {name: replace(kinds[name], element=Reg("b32", untyped=True)) for name in "ab"}


def declare_row(
    declare: Declare, declare_sparse: Declare, kinds: Mapping[str, Kind], dense: str, sparse: str, kind: str, factors: str,
    scale: str, count: int, optional: bool, since: str, since_sparse: str,
) -> None:  # fmt: skip
    """Declare a row of the table; `kinds` are those of the scale registers and the metadata."""
    for family, shape, requires, how, words, metadata in (
        ("mma", dense, since, declare, "", ""),
        ("mma.sp", sparse, since_sparse, declare_sparse, ".sp::ordered_metadata", ", e, f"),
    ):
        how(
            _NOTATION.format(words, "{.vec}" if optional else ".vec", metadata), requires=requires, facts=_facts(family == "mma.sp"),
            operands={**_fragments(family), **_IDS[count], **kinds, "f": Imm(0, 0)}, shape=shape, alayout="row",
            blayout="col", kind=f"kind::{kind}", vec=f"scale_vec::{count}X", dtype="f32", atype=factors, btype=factors,
            ctype="f32", stype=scale,
        )  # fmt: skip


for _row in TABLE:
    declare_row(modeled_by(mma_block_scale), modeled_by(mma_block_scale_sparse), _WORDS, *_row)
