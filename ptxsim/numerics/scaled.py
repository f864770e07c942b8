"""Block-scaled products of Blackwell: kind::mxf8f6f4, kind::mxf4, kind::mxf4nvf4.

PTX ISA, "Block Scaling for mma.sync"; the arithmetic is MMA-Sim's (not recorded here).
"""

from __future__ import annotations

import numpy as np

from ptxsim.numerics import fused
from ptxsim.numerics.formats import ZERO_EXPONENT, Elements
from ptxsim.numerics.parameters import Rule

GROUP = 16


def _repeated(scales: Elements, axis: int, count: int) -> Elements:
    """Scales along an axis, each repeated to make `count`."""
    repeat = count // scales.value.shape[axis]
    return Elements(*(np.repeat(x, repeat, axis=axis) for x in scales))


def scaled(a: Elements, scales: Elements, axis: int) -> Elements:
    """An operand times its block scales, its k on `axis`: values multiplied, exponents raised."""
    scales = _repeated(scales, axis, a.value.shape[axis])
    with np.errstate(all="ignore"):
        return Elements(a.value * scales.value, a.exponent + scales.exponent)


def grouped_chain(
    rule: Rule, a: Elements, b: Elements, c: Elements, scale_a: Elements, scale_b: Elements
) -> np.ndarray:
    """Steps of 64 fp4 products: the exact sums of 16 are the terms, and the scales alone make a term's exponent.

    A group whose products are all zero counts as a zero term; one that cancels keeps its exponent. Returns float32.
    """
    groups = a.value.shape[-1] // GROUP
    a_groups = np.moveaxis(a.value.reshape(*a.value.shape[:-1], groups, GROUP), -2, 0)
    b_groups = np.moveaxis(b.value.reshape(*b.value.shape[:-2], groups, GROUP, b.value.shape[-1]), -3, 0)
    present = np.matmul((a_groups != 0) * 1.0, (b_groups != 0) * 1.0) > 0
    sums = Elements(np.matmul(a_groups, b_groups), np.where(present, 0, ZERO_EXPONENT).astype(np.int16))
    x, y = fused.k_first(_repeated(scale_a, -1, groups), _repeated(scale_b, -2, groups))
    with np.errstate(all="ignore"):
        scales = Elements(x.value * y.value, x.exponent + y.exponent)
    return fused.blocks(sums, scales, c, rule, rule.length // GROUP)
