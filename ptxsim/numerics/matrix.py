"""Matrix products on arrays of element codes, as the tensor core of a target computes them.

PTX ISA, "Warp Level Matrix Multiply-Accumulate Instructions" and "Asynchronous Warpgroup Level Matrix Instructions".
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ptxsim.lanes import fma
from ptxsim.numerics import fused
from ptxsim.numerics.exact import exact_product
from ptxsim.numerics.fma import fma_f64
from ptxsim.numerics.formats import decode, decode_integers, encode, floats, sign_bit
from ptxsim.numerics.forms import Form
from ptxsim.numerics.host import with_ieee
from ptxsim.numerics.parameters import Rule, find
from ptxsim.numerics.scaled import grouped_chain, scaled

INVALID_F64 = 0xFFF8000000000000  # what inf * 0 and inf - inf give in DMMA


@with_ieee
def product(
    rule: Rule | Form | str, a: np.ndarray, b: np.ndarray, c: np.ndarray, *, scale_a: np.ndarray | None = None,
    scale_b: np.ndarray | None = None, negate_a: bool = False, negate_b: bool = False, satfinite: bool = False,
    rounding: str | None = None, popc_op: str | None = None, numerics: str = "target", compiled: bool | None = None,
) -> np.ndarray:  # fmt: skip
    """D = A*B + C of one instruction, or of many along leading axes.

    Unsigned codes: a (..., M, K), b (..., K, N), c (..., M, N); b1 elements are 0 or 1. K may be any number of
    elements: the instruction's arithmetic runs over all of them in ascending order. scale_a (..., M, K/block) and
    scale_b (..., K/block, N) are the codes of block scales. `rule` is a row found by parameters.find, or a form of the
    default target. Modifiers that are not given are the form's. numerics="exact" is the infinitely precise sum,
    rounded once to nearest even. compiled: whether compiled kernels may do it; None lets them once that pays. Returns
    codes (..., M, N) of the form's D type.
    """
    rule = rule if isinstance(rule, Rule) else find(rule)
    form = rule.form
    if negate_a:
        a = a ^ a.dtype.type(1 << sign_bit(form.a))
    if negate_b:
        b = b ^ b.dtype.type(1 << sign_bit(form.b))
    scales = [decode(x, form.scale) for x in (scale_a, scale_b) if x is not None]
    if numerics == "exact" and form.d in ("f16", "f32", "f64"):
        return exact_product(form, a, b, c, scales)
    if rule.algorithm == "integer":
        return _integer(form, a, b, c, satfinite or form.satfinite)
    if rule.algorithm == "popcount":
        return _popcount(a, b, c, popc_op or form.popc_op)
    if rule.algorithm == "fma64":
        return _fma64(a, b, c, rounding or form.rounding, compiled)
    if compilable(rule) and _worth_compiling(a, b, compiled):
        from ptxsim.numerics import matmul_numba

        return matmul_numba.product(rule, a, b, c)
    if rule.algorithm in ("fused", "halves"):
        return fused.product(rule, a, b, c)
    left, right = decode(a, form.a), decode(b, form.b)
    if rule.algorithm == "fma":
        result = _fma_chain(form, left.value, right.value, floats(c, form.c))
    elif rule.algorithm == "grouped":
        result = grouped_chain(rule, left, right, fused.accumulator(rule, c), *scales)
    else:
        left, right = scaled(left, scales[0], -1), scaled(right, scales[1], -2)
        result = fused.chain(left, right, fused.accumulator(rule, c), rule)
    with np.errstate(all="ignore"):
        return encode(result, form.d)


@with_ieee
def sparse_product(
    rule: Rule | Form | str, a: np.ndarray, columns: np.ndarray, b: np.ndarray, c: np.ndarray, **options: Any
) -> np.ndarray:
    """D = A*B + C with a sparse A: codes a (..., M, K/2) of the kept elements, `columns` (..., M, K/2) their k.

    b (..., K, N) and c (..., M, N) as in product, options too. Returns codes (..., M, N).
    """
    b, columns = np.asarray(b), np.asarray(columns)
    # Every row of A meets its own selection of B's rows: M problems of one row each.
    rows = np.take_along_axis(b[..., None, :, :], columns[..., None], axis=-2)
    return product(rule, a[..., None, :], rows, c[..., None, :], **options)[..., 0, :]


def compilable(rule: Rule) -> bool:
    """Whether compiled kernels implement this arithmetic: C and the accumulators are all f32, or all f16."""
    return rule.algorithm in ("fused", "halves") and (rule.c_type == "f16") == (rule.accumulator == "f16")


class _Work:
    """Multiplications that `product` has done without compiled kernels; each call adds CALL for its overhead."""

    CALL, LIMIT = 1 << 13, 1 << 27
    done = 0


def _worth_compiling(a: np.ndarray, b: np.ndarray, asked: bool | None, cost: int = 1) -> bool:
    """Whether enough has been computed (about a second's worth) for compiled kernels to pay, compile time included."""
    if a.ndim != 2 or b.ndim != 2:
        return False
    if asked is not None:
        return asked
    _Work.done += _Work.CALL + cost * a.size * b.shape[1]
    return _Work.done > _Work.LIMIT


def _fma_chain(form: Form, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """f16 m8n8k4 where no tensor core runs it: four products a step in f32 arithmetic."""
    a, b = a.astype(np.float32), b.astype(np.float32)
    terms = [(a[..., k, None], b[..., k, None, :]) for k in range(a.shape[-1])]
    with np.errstate(all="ignore"):
        for start in range(0, len(terms), 4):
            step = terms[start : start + 4]
            if form.d == "f16":
                p = fma(*step[1], step[0][0] * step[0][1])
                q = fma(*step[3], step[2][0] * step[2][1])
                c = ((c + p) + q).astype(np.float16).astype(np.float32)
            else:
                total = np.zeros(c.shape, np.float32)
                for left, right in step:
                    total = fma(left, right, total)
                c = c + total
    return c


def _fma64(a: np.ndarray, b: np.ndarray, c: np.ndarray, rounding: str, compiled: bool | None) -> np.ndarray:
    """One fma after the other. A NaN keeps its sign and payload, quieted: B's before C's before A's (recorded)."""
    a, b, total = (np.ascontiguousarray(x, np.uint64).view(np.float64) for x in (a, b, c))
    if rounding == "rn" and _worth_compiling(a, b, compiled, cost=32):
        from ptxsim.numerics import matmul_numba

        result = matmul_numba.fma_chain(a, b, total)
        if not np.isnan(result).any():  # which NaN comes out is decided below
            return result.view(np.uint64)
    for k in range(a.shape[-1]):
        left, right = a[..., k, None], b[..., k, None, :]
        result = fma_f64(left, right, total, rounding)
        if np.isnan(result).any():
            codes = np.where(np.isnan(result), np.uint64(INVALID_F64), result.view(np.uint64))
            for operand in (left, total, right):
                quiet = operand.view(np.uint64) | np.uint64(1 << 51)
                codes = np.where(np.isnan(operand), quiet, codes)
            result = codes.view(np.float64)
        total = result
    return total.view(np.uint64)


def _integer(form: Form, a: np.ndarray, b: np.ndarray, c: np.ndarray, satfinite: bool) -> np.ndarray:
    # Float64 sums of these products are exact, and numpy multiplies float matrices much faster than integer ones.
    dot = np.matmul(decode_integers(a, form.a), decode_integers(b, form.b))
    total: np.ndarray = dot.astype(np.int64) + np.asarray(c, np.uint32).view(np.int32)
    if satfinite:
        total = np.clip(total, -(2**31), 2**31 - 1)
    return total.astype(np.uint32)


def _popcount(a: np.ndarray, b: np.ndarray, c: np.ndarray, popc_op: str) -> np.ndarray:
    a, b = np.asarray(a).astype(np.float32), np.asarray(b).astype(np.float32)
    both: np.ndarray = np.matmul(a, b)
    if popc_op == "xor":
        both = a.sum(axis=-1)[..., None] + b.sum(axis=-2)[..., None, :] - 2 * both
    both = both.astype(np.uint32)
    return both + np.asarray(c, np.uint32)
