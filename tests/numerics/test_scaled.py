"""Block-scaled products against the rule in plain fractions."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptxsim.numerics import find, product
from tests.numerics import reference
from tests.numerics.samples import random_codes

quick = settings(max_examples=20, deadline=None)
seeds = st.integers(0, 2**32 - 1)


def element(code, name):
    """(value, exponent as decoded) or None for NaN."""
    parts = reference.decode(int(code), name)
    if parts[0] in ("nan", "inf"):
        return None
    sign, significand, bits, exponent = parts
    return Fraction((-1) ** sign * significand) * Fraction(2) ** (exponent - bits), exponent


def scale(code, name):
    if name == "ue8m0":
        return None if code == 255 else (Fraction(2) ** (int(code) - 127), int(code) - 127)
    return element(code & 0x7F, "e4m3")


def cut_sum(terms, c, fraction, floor):
    """Bits of the sum of (value, exponent) terms and the f32 code c, each cut toward zero."""
    accumulator = element(c, "f32")
    terms = [*terms, accumulator]
    largest = max([floor] + [exponent for value, exponent in terms if exponent is not None])
    unit = Fraction(2) ** (largest - fraction)
    total = sum(int(value / unit) for value, exponent in terms)
    return reference.round_sum(total, largest - fraction, False, "f32")


@pytest.mark.thin(3)
@pytest.mark.parametrize("a_type, b_type", [("e4m3", "e5m2"), ("e2m3", "e3m2"), ("e2m1", "e4m3")])
@given(seed=seeds)
@quick
def test_mxf8f6f4(a_type, b_type, seed):
    rng = np.random.default_rng(seed)
    form = f"mma.sync.aligned.kind::mxf8f6f4.block_scale.scale_vec::1X.m16n8k32.row.col.f32.{a_type}.{b_type}.f32.ue8m0"
    a, b = random_codes(rng, (2, 32), a_type, "alike"), random_codes(rng, (32, 2), b_type, "alike")
    a[0, :5] = 0
    c = rng.normal(size=(2, 2)).astype(np.float32).view(np.uint32)
    scale_a = rng.integers(118, 136, (2, 1)).astype(np.uint8)
    scale_b = rng.integers(118, 136, (1, 2)).astype(np.uint8)
    d = product(find(form, "sm_120a"), a, b, c, scale_a=scale_a, scale_b=scale_b)
    for m in range(2):
        for n in range(2):
            (x, x_exponent), (y, y_exponent) = scale(scale_a[m, 0], "ue8m0"), scale(scale_b[0, n], "ue8m0")
            terms = []
            for k in range(32):
                (p, p_exponent), (q, q_exponent) = element(a[m, k], a_type), element(b[k, n], b_type)
                terms.append((p * q * x * y, p_exponent + q_exponent + x_exponent + y_exponent if p * q else -133))
            assert d[m, n] == cut_sum(terms, c[m, n], 25, -133)


@pytest.mark.parametrize("kind, scale_type, block", [("mxf4", "ue8m0", 32), ("mxf4nvf4", "ue4m3", 16)])
@given(seed=seeds)
@quick
def test_fp4_in_groups_of_16(kind, scale_type, block, seed):
    rng = np.random.default_rng(seed)
    vectors = "2X" if block == 32 else "4X"
    form = f"mma.kind::{kind}.block_scale.scale_vec::{vectors}.m16n8k64.row.col.f32.e2m1.e2m1.f32.{scale_type}"
    a, b = random_codes(rng, (2, 64), "e2m1", "bits"), random_codes(rng, (64, 2), "e2m1", "bits")
    a[0, 16:32] = 0
    c = rng.normal(size=(2, 2)).astype(np.float32).view(np.uint32)
    low, high = (110, 140) if scale_type == "ue8m0" else (0, 0x7E)
    scale_a = rng.integers(low, high, (2, 64 // block)).astype(np.uint8)
    scale_b = rng.integers(low, high, (64 // block, 2)).astype(np.uint8)
    d = product(find(form, "sm_120a"), a, b, c, scale_a=scale_a, scale_b=scale_b)
    for m in range(2):
        for n in range(2):
            terms = []
            for group in range(4):
                k = slice(16 * group, 16 * group + 16)
                products = [element(x, "e2m1")[0] * element(y, "e2m1")[0] for x, y in zip(a[m, k], b[k, n])]
                x, y = (
                    scale(scale_a[m, 16 * group // block], scale_type),
                    scale(scale_b[16 * group // block, n], scale_type),
                )
                present = any(products) and x[0] and y[0]
                terms.append((sum(products) * x[0] * y[0], x[1] + y[1] if present else -139))
            assert d[m, n] == cut_sum(terms, c[m, n], 35, -139)


def test_a_nan_scale_makes_nan_of_zeros():
    form = "mma.kind::mxf8f6f4.block_scale.m16n8k32.f32.e4m3.e4m3.f32.ue8m0"
    zeros, one = np.zeros((1, 32), np.uint8), np.array([[127]], np.uint8)
    d = product(
        find(form, "sm_120a"),
        zeros,
        zeros.T,
        np.zeros((1, 1), np.uint32),
        scale_a=np.array([[255]], np.uint8),
        scale_b=one,
    )
    assert d[0, 0] == 0x7FFFFFFF
