"""Block-scaled products of Blackwell: kind::mxf8f6f4, kind::mxf4, kind::mxf4nvf4.

PTX ISA, "Block Scaling for mma.sync"; the arithmetic is MMA-Sim's (not recorded here).
"""

from __future__ import annotations

import numpy as np

from ptxsim.numerics import fused
from ptxsim.numerics.formats import ZERO_EXPONENT, Elements, decode, number_elements
from ptxsim.numerics.parameters import Rule

GROUP = 16


def _scales(rule: Rule, codes: np.ndarray, axis: int, count: int) -> Elements:
    """Scale codes along an axis as Elements, each repeated to make `count`."""
    repeat = count // np.shape(codes)[axis]
    return Elements(*(np.repeat(x, repeat, axis=axis) for x in decode(codes, rule.form.scale)))


def scaled_operands(
    rule: Rule, a: Elements, b: Elements, scale_a: np.ndarray, scale_b: np.ndarray
) -> tuple[Elements, Elements]:
    """A (..., M, K) and B (..., K, N) times their block scales: values multiplied, exponents raised."""
    scale_a = _scales(rule, scale_a, -1, a.value.shape[-1])
    scale_b = _scales(rule, scale_b, -2, b.value.shape[-2])
    with np.errstate(all="ignore"):
        return (
            Elements(a.value * scale_a.value, a.exponent + scale_a.exponent),
            Elements(b.value * scale_b.value, b.exponent + scale_b.exponent),
        )


def grouped_chain(
    rule: Rule, a: Elements, b: Elements, c: Elements, scale_a: np.ndarray, scale_b: np.ndarray
) -> np.ndarray:
    """Steps of 64 fp4 products: the exact sums of 16 are the terms, and the scales alone make a term's exponent.

    A group whose products are all zero counts as a zero term; one that cancels keeps its exponent. Returns float32.
    """
    length = a.value.shape[-1]
    groups = length // GROUP
    scale_a = _scales(rule, scale_a, -1, groups)
    scale_b = _scales(rule, scale_b, -2, groups)
    a_groups, b_groups = (
        np.moveaxis(a.value.reshape(*a.value.shape[:-1], groups, GROUP), -2, 0),
        np.moveaxis(b.value.reshape(*b.value.shape[:-2], groups, GROUP, b.value.shape[-1]), -3, 0),
    )
    sums = np.matmul(a_groups, b_groups)
    present = np.matmul((a_groups != 0) * 1.0, (b_groups != 0) * 1.0) > 0
    factors = (
        [np.moveaxis(x, -1, 0)[..., None] for x in scale_a],
        [np.moveaxis(x, -2, 0)[..., None, :] for x in scale_b],
    )
    (a_scale, a_exponent), (b_scale, b_exponent) = factors
    result = None
    with np.errstate(all="ignore"):
        values = sums * (a_scale * b_scale)
        exponents = np.where(present, a_exponent + b_exponent, np.int16(ZERO_EXPONENT))
        step = rule.length // GROUP
        for start in range(0, groups, step):
            c = c if result is None else number_elements(result)
            here = slice(start, start + step)
            terms, term_exponents = values[here], exponents[here]
            total = fused.add_terms(
                len(terms),
                term_exponents.__getitem__,
                lambda piece, terms=terms: terms[piece].copy(),
                c,
                rule.fraction,
                rule.zero_exponent,
            )
            result = fused.rounded(*total, rule.accumulator)
    return result
