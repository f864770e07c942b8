"""The public bit-exact matrix product of whole arrays."""

from __future__ import annotations

from functools import cache, partial

import numpy as np

from ptxsim.diagnostic import Finding, PtxError, problem
from ptxsim.numerics.formats import code_dtype
from ptxsim.numerics.forms import parse_form
from ptxsim.numerics.host import with_ieee
from ptxsim.numerics.matrix import compilable, product
from ptxsim.numerics.parameters import Rule, find
from ptxsim.types import DTYPES, TYPES

_mismatch = partial(problem, "operand-mismatch")

# From this many multiplications on a product goes to the compiled kernel.
BULK = 1 << 14


@with_ieee
def matmul(
    a: np.ndarray, b: np.ndarray, c: np.ndarray | None = None, form: str = "wgmma.m64n256k16.f32.f16.f16",
    target: str = "sm_90a", *, scale_a: np.ndarray | None = None, scale_b: np.ndarray | None = None,
    numerics: str = "target",
) -> np.ndarray:  # fmt: skip
    """D = A @ B + C bit for bit as the instruction `form` computes it on `target`, k by k in steps of its shape.

    a (..., M, K), b (..., K, N), c (..., M, N) or None for zeros; any M, N and K, where K is cut into steps of the
    form's k (a last step may be shorter) that chain through the accumulator. Arrays have the form's element types
    (numpy or ml_dtypes) or are unsigned codes of that width; b1 elements are 0 or 1, tf32 is float32. Block-scaled
    forms take scale_a (..., M, K/block) and scale_b (..., K/block, N). numerics="exact" rounds once instead.
    Returns an array of D's type; codes if c is given as codes. Raises PtxError: syntax-error or illegal-form for an
    unreadable form, not-modeled, operand-mismatch for arrays that do not fit.
    """
    try:
        rule = find(parse_form(form), target)
    except ValueError as error:
        raise PtxError(Finding("wrong-target", str(error))) from None
    parsed = rule.form
    if parsed.sparse:
        raise PtxError(Finding("not-modeled", f"{form}: matmul takes dense forms", help="use sparse_product"))
    a, b = codes(a, parsed.a, "A"), codes(b, parsed.b, "B")
    if a.ndim < 2 or b.ndim < 2 or a.shape[-1] != b.shape[-2]:
        raise _mismatch(f"A {a.shape} and B {b.shape} do not multiply", "A is (..., M, K) and B (..., K, N)")
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2]) if a.ndim + b.ndim > 4 else ()
    shape = (*batch, a.shape[-2], b.shape[-1])
    as_codes = c is not None and np.asarray(c).dtype.kind == "u"
    c = np.zeros(shape, code_dtype(parsed.c)) if c is None else codes(c, parsed.c, "C")
    if c.shape != shape:
        raise _mismatch(f"C is {c.shape}, A @ B is {shape}", "give C the shape of the product")
    if a.shape[-1] == 0:  # nothing but C: one product of zeros has the same sum
        a, b = np.zeros((*a.shape[:-1], 1), a.dtype), np.zeros((*b.shape[:-2], 1, b.shape[-1]), b.dtype)
    if parsed.scale:
        if scale_a is None or scale_b is None:
            raise _mismatch(f"{form} needs scale_a and scale_b", "one scale code per block of k")
        scale_a, scale_b = codes(scale_a, parsed.scale, "scale_a"), codes(scale_b, parsed.scale, "scale_b")
    if numerics == "exact":
        result = product(rule, a, b, c, scale_a=scale_a, scale_b=scale_b, numerics="exact")
    elif c.size * a.shape[-1] >= BULK and compilable(rule) and (c.ndim == 2 or _whole_blocks(rule, a.shape[-1])):
        from ptxsim.numerics import matmul_numba  # numba takes a while to import

        result = matmul_numba.product(rule, a, b, c)
    elif parsed.satfinite:  # every instruction clamps
        result = c
        for k in range(0, a.shape[-1], parsed.k):
            result = product(rule, a[..., k : k + parsed.k], b[..., k : k + parsed.k, :], result)
    else:
        result = product(rule, a, b, c, scale_a=scale_a, scale_b=scale_b)
    return result if as_codes else result.view(DTYPES[parsed.d])


def _whole_blocks(rule: Rule, k: int) -> bool:
    """Whether the compiled kernels accept batches of products with this k."""
    return rule.algorithm == "halves" or k % rule.length == 0


def codes(array: np.ndarray, name: str, operand: str = "operand") -> np.ndarray:
    """An array of an element type, or of its codes, as unsigned codes. Raises PtxError (operand-mismatch)."""
    array = np.asarray(array)
    kind = code_dtype(name)
    if _fits(array.dtype, name):
        return np.ascontiguousarray(array).view(kind)
    raise _mismatch(
        f"{operand} has elements {array.dtype}, the form takes {name}",
        f"convert it: array.astype({DTYPES.get(name, kind.name)!r}), or pass {kind} codes",
    )


@cache
def _fits(dtype: np.dtype, name: str) -> bool:
    """Whether elements of this numpy type are elements of the PTX type, or its codes."""
    return dtype.name == DTYPES.get(name) or dtype == code_dtype(name) or (TYPES[name].bits == 4 and dtype == np.int8)
