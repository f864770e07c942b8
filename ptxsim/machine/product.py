"""What a matrix product means for one form on one target, made once, and how it is computed on words and matrices.

PTX ISA, "Matrix Multiply-Accumulate Operation using mma instruction".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from ptxsim import lanes, numerics
from ptxsim.layout.fragments import Fragment, dimensions, fragment_layout, register_operands
from ptxsim.layout.sparsity import Sparsity, sparsity
from ptxsim.numerics.forms import Form
from ptxsim.types import TYPES

Scales = tuple[np.ndarray, np.ndarray]  # codes of the block scales: (rows, blocks) and (blocks, columns)


def register_type(element: str) -> str:
    """The register type that holds elements of a type: any 32-bit register holds packed integers and 8-bit floats."""
    if element in ("f32", "f64", "s32", "tf32"):
        return element
    return {"f16": "f16x2", "bf16": "bf16x2"}.get(element, "b32")


@dataclass(frozen=True, eq=False)
class Product:
    """One matrix product on one target: its arithmetic, the fragments of its operands, how a sparse A is stored.

    The B of an asynchronous product has no fragment: it comes from shared memory.
    """

    rule: numerics.Rule
    a: Fragment
    b: Fragment | None
    c: Fragment
    d: Fragment
    sparsity: Sparsity | None = None
    numerics: str = "target"

    @property
    def form(self) -> Form:
        form: Form = self.rule.form
        return form


@cache
def product_of(
    family: str, shape: str, types: tuple[str, str, str, str], target: str, *, sparse: bool = False,
    layouts: tuple[str | None, str | None] = (None, None), kind: str = "", scale: str = "", satfinite: bool = False,
    rounding: str = "rn", popc_op: str = "and", numerics_mode: str = "target",
) -> Product:  # fmt: skip
    """The product of a form: its family (numerics.forms), element types of D, A, B and C, layouts of A and B.

    Raises PtxError (not-modeled) where the arithmetic of the form is not known on the target.
    """
    d, a, b, c = types
    m, n, k = dimensions(shape)
    form = Form(family, sparse, m, n, k, d, a, b, c, kind, scale, satfinite, rounding, popc_op)
    storage = f"{family}.sp" if sparse else family
    return Product(
        numerics.find(form, target), fragment_layout(storage, shape, "A", a, layouts[0]),
        fragment_layout(storage, shape, "B", b, layouts[1]) if "B" in register_operands(family) else None,
        fragment_layout(storage, shape, "C", c), fragment_layout(storage, shape, "D", d),
        sparsity(storage, shape, a) if sparse else None, numerics_mode,
    )  # fmt: skip


def multiply(
    product: Product, a: np.ndarray, b: np.ndarray, c: np.ndarray, metadata: np.ndarray | None = None,
    selector: int = 0, scales: Scales | None = None,
) -> np.ndarray:  # fmt: skip
    """D of words: uint32 (..., words, lanes) of each operand, metadata (..., lanes). Any number of products."""
    assert product.b is not None
    codes = _factor(product.a, a), _factor(product.b, b), product.c.to_matrix(c)
    return product.d.from_matrix(multiply_matrices(product, *codes, metadata, selector, scales))


def _factor(fragment: Fragment, words: np.ndarray) -> np.ndarray:
    """The codes of A or B. A 4-bit float in a byte has its bits in the middle, where those of a 6-bit one begin."""
    codes = fragment.to_matrix(words)
    return codes >> 2 if (fragment.element_bits, TYPES[fragment.type].bits) == (8, 4) else codes


def multiply_matrices(
    product: Product, a: np.ndarray, b: np.ndarray, c: np.ndarray, metadata: np.ndarray | None = None,
    selector: int = 0, scales: Scales | None = None, **options: Any,
) -> np.ndarray:  # fmt: skip
    """D of matrices of element codes; the A of a sparse product is the compressed one."""
    options["numerics"] = product.numerics
    if product.sparsity is None:
        if scales:
            options.update(scale_a=scales[0], scale_b=scales[1])
        dense: np.ndarray = numerics.product(product.rule, a, b, c, **options)
        return dense
    assert metadata is not None
    columns = product.sparsity.columns(metadata, selector)
    if scales:
        # sparse_product makes one problem of every row of A; so must the scales.
        options.update(scale_a=scales[0][..., None, :], scale_b=scales[1][..., None, :, :])
    found: np.ndarray = numerics.sparse_product(product.rule, a, columns, b, c, **options)
    return found


def to_words(registers: Sequence[np.ndarray]) -> np.ndarray:
    """Lane values as uint32 (words, lanes); a 64-bit one is two words, the low one first."""
    stacked = np.stack(registers)
    if stacked.dtype.itemsize == 8:
        pairs = stacked.view(np.uint32).reshape(*stacked.shape, 2)
        return np.ascontiguousarray(np.moveaxis(pairs, -1, 1)).reshape(-1, stacked.shape[1])
    return stacked.view(np.uint32)


def from_words(words: np.ndarray, element: str) -> list[np.ndarray]:
    """Words as lane values of the register type of an element type."""
    kind = TYPES[register_type(element)]
    if kind.bits == 64:
        pairs = np.ascontiguousarray(np.moveaxis(words.reshape(-1, 2, words.shape[-1]), 1, -1))
        return list(pairs.view(lanes.dtype(kind))[..., 0])
    return list(np.ascontiguousarray(words).view(lanes.dtype(kind)))
