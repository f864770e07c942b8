"""Products of whole float matrices: prepares operands, picks a kernel of fused_numba.py, computes what it leaves out.

Imported only when needed: numba is slow to import.
"""

from __future__ import annotations

import math

import numpy as np
from numba import types

from ptxsim.numerics import fused, fused_numba
from ptxsim.numerics.float_codes import f16_codes, numbers
from ptxsim.numerics.formats import decode, encode, number_elements, widening
from ptxsim.numerics.numba_support import compiled, fma
from ptxsim.numerics.operand_stripes import STRIPE
from ptxsim.numerics.parameters import Rule
from ptxsim.types import TYPES

CALL = 1 << 13  # what the call of a kernel costs, in outputs of one block
# Elements of an item's operands: STRIPE items of so many fit the caches, or may be laid out at all (200 MB).
CACHED, MOST = 1 << 13, 1 << 18
SPARSE = 8  # of so many outputs one, they are computed one by one
PIECE = 1 << 18  # products of outputs that are computed one by one, at a time


_doubles = types.Array(types.float64, 2, "C")


@compiled(types.void(_doubles, _doubles, _doubles))
def _fma_chain(a: np.ndarray, b: np.ndarray, result: np.ndarray) -> None:
    for m in range(a.shape[0]):
        for k in range(a.shape[1]):
            for n in range(b.shape[1]):
                result[m, n] = fma(a[m, k], b[k, n], result[m, n])


def fma_chain(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """float64 c (M, N) plus a (M, K) times b (K, N), one fma to nearest even after the other, k ascending."""
    result = c.copy()
    _fma_chain(np.ascontiguousarray(a), np.ascontiguousarray(b), result)
    return result


def product(rule: Rule, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """D's codes (..., M, N) from codes a (..., M, K), b (..., K, N), c (..., M, N), for the rules that matrix.compilable
    names. With leading axes K is a multiple of the rule's length, if its algorithm is "fused"."""
    a, b = (_item_by_item(x, c.shape[:-2]) for x in (a, b))
    items = _item_by_item(c, c.shape[:-2])
    count, m, n = items.shape
    apart = count * (CALL + m * (-(-n // STRIPE) * STRIPE))
    together = -(-count // STRIPE) * STRIPE * m * n
    elements = (m + n) * a.shape[-1]
    if count > 1 and elements <= MOST and together * (1 if elements <= CACHED else 4) <= apart:
        result = _products(rule, a, b, items)
    else:
        result = np.stack([_product(rule, *item) for item in zip(a, b, items)])
    _compute_extreme(rule, a, b, items, result)
    return result.reshape(c.shape)


def _item_by_item(x: np.ndarray, batch: tuple[int, ...]) -> np.ndarray:
    """(..., M, N), broadcast to the leading axes `batch`, as (items, M, N)."""
    if x.shape[:-2] != batch:
        x = np.broadcast_to(x, (*batch, *x.shape[-2:]))
    return x.reshape(math.prod(batch), *x.shape[-2:])  # a size, not -1: arrays may be empty


def _product(rule: Rule, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """product of matrices, NaN where float64 is needed."""
    form, whole = rule.form, a.shape[1] // rule.length * rule.length
    left, right, total = numbers(a, form.a), numbers(b, form.b), numbers(c, form.c)

    def run(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        kernel = fused_numba.product_kernel(rule.length, rule.accumulator == "f16")
        result = kernel(*(np.ascontiguousarray(v) for v in (x, y, z)), *_arithmetic(rule))
        return result if result.shape == z.shape else np.ascontiguousarray(result[:, : z.shape[1]])

    if rule.algorithm == "halves":
        return _encoded(fused.halves(rule, left, right, total, lambda x, y, z: run(*_filled(rule, x, y), z)), form.d)
    total = run(left[:, :whole], right[:whole], total)
    if whole == a.shape[1]:
        return _codes(rule, total)
    last = number_elements(total.astype(np.float16) if rule.accumulator == "f16" else total)
    return _encoded(fused.chain(decode(a[:, whole:], form.a), decode(b[whole:], form.b), last, rule), form.d)


def _products(rule: Rule, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """product of many items, a (items, M, K), b (items, K, N), c (items, M, N), NaN where float64 is needed."""
    items, m, n = c.shape
    form = rule.form
    total = numbers(c.reshape(items, -1), form.c)

    def run(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        kernel = fused_numba.products_kernel(rule.length, rule.accumulator == "f16")
        (x, x_bits), (y, y_bits) = _words(x), _words(y)
        return kernel(x, y, z, m, n, x_bits, y_bits, widening(form.a), widening(form.b), *_arithmetic(rule))

    if rule.algorithm == "halves":
        total = _encoded(fused.halves(rule, a, b, total, lambda x, y, z: run(*_filled(rule, x, y), z)), form.d)
    else:
        total = _codes(rule, run(a, b, total))
    return total.reshape(c.shape)


def _compute_extreme(rule: Rule, a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray) -> None:
    """Recompute with fused.py the outputs whose codes in d (items, M, N) are NaN."""
    extreme = np.isnan(d.view(f"f{d.itemsize}"))
    if not extreme.any():
        return
    item, row, column = np.nonzero(extreme)
    items, rows, columns = (np.unique(x) for x in (item, row, column))
    whole = np.ix_(items, rows, columns)
    if len(item) * SPARSE > items.size * rows.size * columns.size:  # with what lies between them
        d[whole] = fused.product(rule, a[np.ix_(items, rows)], b[items][..., columns], c[whole])
        return
    step = max(1, PIECE // a.shape[-1])
    for part in (slice(start, start + step) for start in range(0, len(item), step)):
        i, m, n = item[part], row[part], column[part]
        d[i, m, n] = fused.product(rule, a[i, m][:, None], b[i, :, n][..., None], c[i, m, n][:, None, None])[:, 0, 0]


def _arithmetic(rule: Rule) -> tuple[int, ...]:
    """The last arguments of every kernel: exponents of the smallest normal numbers of A and B, then the rule's numbers."""
    # 8-bit floats as halves are never so small that zeros in a block would show.
    smallest = (-14, -14) if rule.algorithm == "halves" else (1 - TYPES[x].bias for x in (rule.form.a, rule.form.b))
    return *smallest, rule.fraction, rule.zero_exponent, fused.KEPT_BITS[rule.accumulator]


def _filled(rule: Rule, a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A (..., M, K) and B (..., K, N) with zeros up to whole blocks."""
    missing = -a.shape[-1] % rule.length
    if not missing:
        return a, b
    axes = [(0, 0)] * (a.ndim - 2)
    return np.pad(a, [*axes, (0, 0), (0, missing)]), np.pad(b, [*axes, (0, missing), (0, 0)])


def _words(codes: np.ndarray) -> tuple[np.ndarray, int]:
    """Codes (items, ...) as words (items, W), and how many bits of a word a code takes."""
    codes = np.require(codes.reshape(len(codes), -1), requirements=["C", "W"])
    if codes.shape[1] * codes.itemsize % 4:
        codes = codes.astype(np.uint32)
    return codes.view(np.uint32), 8 * codes.itemsize


def _codes(rule: Rule, total: np.ndarray) -> np.ndarray:
    """The result of a kernel as codes of D."""
    if rule.accumulator == "f16":
        return f16_codes(total)
    return total.view(np.uint32) if rule.form.d == "f32" else _encoded(total, rule.form.d)


def _encoded(total: np.ndarray, name: str) -> np.ndarray:
    with np.errstate(all="ignore"):
        return encode(total, name)
