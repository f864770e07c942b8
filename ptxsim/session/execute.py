"""One matrix instruction on whole matrices, without registers or a kernel."""

from __future__ import annotations

from functools import partial
from typing import cast

import numpy as np

from ptxsim.diagnostic import Finding, PtxError, problem
from ptxsim.layout.sparsity import Sparsity
from ptxsim.machine.product import Product, multiply_matrices
from ptxsim.numerics.arrays import codes
from ptxsim.numerics.host import with_ieee
from ptxsim.session.form_names import Meaning, one_meaning
from ptxsim.types import TYPES, parse_target

_mismatch = partial(problem, "operand-mismatch")


@with_ieee
def execute(
    form: str, a: np.ndarray, b: np.ndarray, c: np.ndarray | None = None, *, target: str = "sm_90",
    metadata: np.ndarray | None = None, selector: int = 0, scale_a: np.ndarray | None = None,
    scale_b: np.ndarray | None = None, scale_d: int = 1, negate_a: bool = False, negate_b: bool = False,
    trans_a: bool = False, trans_b: bool = False, numerics: str = "target",
) -> np.ndarray:  # fmt: skip
    """D = A @ B + C as the instruction `form` computes it on `target`, bit for bit.

    a (..., M, K), b (..., K, N), c (..., M, N) or None for zeros, of the shape the form names and of its element types
    (numpy or ml_dtypes arrays, or unsigned codes); b1 elements are 0 or 1, tf32 is float32. mma.m8n8k4 with .f16 takes
    and gives stacks of 4. A sparse A is the compressed one (..., M, K/2) with `metadata`, the words uint32 of the lanes
    (..., 32 or 128) or the nibbles (M, groups); or the whole one (..., M, K) without. Block scales are scale_a (..., M,
    blocks) and scale_b (..., blocks, N). scale_d 0 leaves C out; trans_a and trans_b say that a is (..., K, M) and b
    (..., N, K). Returns an array of D's type; codes where c is given as codes. Raises PtxError.
    """
    meaning = _meaning(form)
    try:
        parse_target(target)
    except ValueError as error:
        raise PtxError(Finding("wrong-target", str(error))) from None
    types = meaning.types
    product = _product(meaning, form, target, numerics)
    a, b = codes(a, types[1], "A"), codes(b, types[2], "B")
    a, b = (np.swapaxes(x, -1, -2) if flip else x for x, flip in ((a, trans_a), (b, trans_b)))
    as_codes = c is not None and np.asarray(c).dtype.kind == "u"
    shape = (*a.shape[:-1], b.shape[-1])
    word = np.dtype(f"u{max(1, TYPES[types[3]].bits // 8)}")
    c = np.zeros(shape, word) if c is None or not scale_d else codes(c, types[3], "C")
    if product.sparsity is not None:
        a, metadata = _compressed(product.sparsity, a, metadata, selector)
    _check_shapes(form, product, a, b, c)
    scales = None
    if product.form.scale:
        if scale_a is None or scale_b is None:
            raise _mismatch(f"{form} needs scale_a and scale_b", "the codes of the block scales")
        scales = codes(scale_a, product.form.scale, "scale_a"), codes(scale_b, product.form.scale, "scale_b")
    d = multiply_matrices(product, a, b, c, metadata, selector, scales, negate_a=negate_a, negate_b=negate_b)
    if as_codes:
        return d
    d = np.ascontiguousarray(d, np.dtype(f"u{TYPES[types[0]].bits // 8}"))
    result: np.ndarray = d.view("int32" if types[0] == "s32" else f"float{TYPES[types[0]].bits}")
    return result


def _meaning(form: str) -> Meaning:
    meaning = one_meaning(
        form, lambda m: (m.family, m.shape, m.types, m.word("kind"), m.word("bitop"), m.word("stype"))
    )
    if meaning.form.definition.facts.product is None:
        raise PtxError(Finding("illegal-form", f"{form} is no product of matrices", help="see ptxsim.snippet"))
    return meaning


def _product(meaning: Meaning, form: str, target: str, numerics: str) -> Product:
    words: dict[str, object] = dict.fromkeys(("alayout", "blayout")) | dict(meaning.words)
    words |= {slot: TYPES[name] for slot, name in zip(("dtype", "atype", "btype", "ctype"), meaning.types, strict=True)}
    if scale := _scale_type(meaning, form):
        words["stype"] = TYPES[scale]
    find = meaning.form.definition.facts.product
    assert find is not None, form  # _meaning has seen to that
    return cast("Product", find(words | {"shape": meaning.shape}, target, numerics))


def _scale_type(meaning: Meaning, form: str) -> str:
    """The type of the block scales, the last type a block-scaled form names."""
    if meaning.word("block_scale") is None:
        return ""
    last = form.rpartition(".")[2]
    return last if last in ("ue8m0", "ue4m3") else "ue8m0"


def _compressed(
    storage: Sparsity, a: np.ndarray, metadata: np.ndarray | None, selector: int
) -> tuple[np.ndarray, np.ndarray]:
    """A compressed A and the metadata words of the lanes."""
    if metadata is None:
        if a.shape[-1] != storage.k:
            raise _mismatch(
                f"A is {a.shape} and there is no metadata", f"give the whole A, {storage.k} wide, or metadata"
            )
        a, metadata = storage.compress(a)
    metadata = np.asarray(metadata)
    if metadata.shape[-2:] == (storage.rows, storage.k // storage.group):
        metadata = storage.words(metadata, selector)
    return a, metadata.astype(np.uint32)


def _check_shapes(form: str, product: Product, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> None:
    shape = product.form
    many = len(product.c.shape) == 3
    k = shape.k // 2 if shape.sparse else shape.k
    for name, matrix, one in (("A", a, (shape.m, k)), ("B", b, (shape.k, shape.n)), ("C", c, (shape.m, shape.n))):
        wanted = (4, *one) if many else one
        if matrix.shape[-len(wanted) :] != wanted:
            raise _mismatch(f"{name} is {matrix.shape}, {form} takes {wanted}", "see `ptxsim layout`")
