"""The tensor core: matrix products on the registers of a warp: registers in, registers out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ptxsim.machine import provenance
from ptxsim.machine.event import Event
from ptxsim.machine.fault import Fault
from ptxsim.machine.product import Product, Scales, from_words, multiply, to_words

if TYPE_CHECKING:
    from ptxsim.machine.port import Port


def matrix_product(
    m: Port, product: Product, a: Sequence[np.ndarray], b: Sequence[np.ndarray], c: Sequence[np.ndarray],
    metadata: np.ndarray | None = None, selector: int = 0, scales: Scales | None = None,
) -> list[np.ndarray]:  # fmt: skip
    """D's registers (lane values of D's register type) from those of A, B and C.

    `metadata` is a lane value; `scales` are the codes of the block scales (rows, blocks) and (blocks, columns).
    """
    m.emit(Event.MMA)
    factors = to_words(a), to_words(b), to_words(c)
    is_checked = m.machine.checks != "none" and product.form.family == "mma"
    if is_checked:
        fragments = product.a, product.b, product.c
        for words, fragment, operand in zip(factors, fragments, provenance.operands(m), strict=False):
            assert fragment is not None
            provenance.check_operand(m, words, fragment, operand)
    metadata = None if metadata is None else to_words([metadata])[0]
    words = multiply(product, *factors, metadata, selector, scales)
    if is_checked:
        provenance.remember_product(m.warp, words, product.d, m.line)
    return from_words(words, product.d.type)


def check_metadata(m: Port, product: Product, metadata: np.ndarray, selector: int, ordered: bool) -> None:
    """Raise the fault of a selector the hardware refuses; report metadata that means nothing."""
    storage = product.sparsity
    assert storage is not None
    if selector >= storage.selectors:
        raise Fault(
            "illegal-instruction",
            f"sparsity selector {selector}: this shape has 0..{storage.selectors - 1}",
            help="the assembler takes it, the GPU stops with an illegal instruction",
        )
    words = to_words([metadata])[0]
    problems = storage.problems(words, selector, ordered)
    if problems:
        row, group, nibble = problems[0]
        m.report(
            "sparse-metadata",
            f"the metadata of row {row}, columns {group * storage.group}..{(group + 1) * storage.group - 1} is "
            f"{nibble:#06b}, which names no two different elements in order" if ordered or storage.group == 2
            else f"the metadata of row {row}, columns {group * storage.group}..{(group + 1) * storage.group - 1} is "
            f"{nibble:#06b}: the same element twice",
            help="two 2-bit indices a group, the lower one first; for tf32 0b0100 or 0b1110",
        )  # fmt: skip
