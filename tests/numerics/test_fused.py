"""The vectorised block against the plain-integer reference, special values, and a few published bits."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptxsim.numerics import find, product
from tests.numerics import reference
from tests.numerics.samples import KINDS, random_codes

# form, target: every length, fraction, zero exponent and accumulator of the table
CASES = [
    ("mma.m8n8k4.f32.f16.f16.f32", "sm_70"),
    ("mma.m8n8k4.f16.f16.f16.f16", "sm_70"),
    ("mma.m16n8k8.f32.f16.f16.f32", "sm_75"),
    ("mma.m16n8k16.f16.f16.f16.f16", "sm_80"),
    ("mma.m16n8k16.f32.bf16.bf16.f32", "sm_86"),
    ("mma.m16n8k8.f32.tf32.tf32.f32", "sm_80"),
    ("mma.m16n8k32.f32.e4m3.e5m2.f32", "sm_89"),
    ("mma.m16n8k32.f16.e5m2.e5m2.f16", "sm_89"),
    ("mma.m16n8k16.f32.f16.f16.f32", "sm_90"),
    ("mma.m16n8k16.f16.f16.f16.f16", "sm_90"),
    ("wgmma.m64n8k16.f32.bf16.bf16.f32", "sm_90a"),
    ("wgmma.m64n8k8.f32.tf32.tf32.f32", "sm_90a"),
    ("wmma.m16n16k8.f32.tf32.tf32.f32", "sm_90"),
    ("wgmma.m64n8k32.f32.e4m3.e5m2.f32", "sm_90a"),
    ("wgmma.m64n8k32.f16.e5m2.e4m3.f16", "sm_90a"),
    ("tcgen05.m128n8k32.f32.e3m2.e2m3.f32", "sm_100a"),
    ("mma.m16n8k32.f32.e2m1.e4m3.f32", "sm_120a"),
]


@pytest.mark.thin(5)
@pytest.mark.parametrize("form, target", CASES)
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_blocks_equal_the_integer_reference(form, target, kind, seed):
    rng = np.random.default_rng(seed)
    rule = find(form, target)
    a_type, b_type, c_type = rule.form.a, rule.form.b, rule.form.c
    k = 2 * rule.length
    a, b = random_codes(rng, (2, k), a_type, kind), random_codes(rng, (k, 2), b_type, kind)
    c = random_codes(rng, (2, 2), c_type, "zeros" if kind in ("tiny", "zeros") else kind)
    if rng.random() < 0.3:  # cancellation: the second half undoes the first
        half = k // 2
        top = np.array(1 << (8 * a.itemsize - 1 if a_type in ("f16", "bf16", "tf32", "e4m3", "e5m2") else 0), a.dtype)
        a[:, half:], b[half:] = a[:, :half] ^ top, b[:half]
    d = product(rule, a, b, c)
    for m in range(2):
        for n in range(2):
            expected = reference.chain(
                a[m].tolist(), b[:, n].tolist(), int(c[m, n]), a_type, b_type, c_type,
                rule.length, rule.fraction, rule.zero_exponent, rule.accumulator,
            )  # fmt: skip
            assert d[m, n] == expected


def row(*values, dtype=np.float16, k=16):
    codes = np.zeros(k, dtype)
    codes[: len(values)] = values
    return codes.view(f"u{codes.itemsize}")[None, :]


def dot(a, b, c=0.0, form="mma.m16n8k16.f32.f16.f16.f32"):
    word = np.array([[c]], np.float16 if form.endswith("f16") else np.float32)
    return int(product(form, a, b.T, word.view(f"u{word.itemsize}"))[0, 0])


@pytest.mark.parametrize(
    "a, b, c, bits",
    [
        ([np.inf], [1], 0, 0x7F800000),
        ([-np.inf], [1], 0, 0xFF800000),
        ([np.inf], [0], 0, 0x7FFFFFFF),
        ([np.inf, np.inf], [1, -1], 0, 0x7FFFFFFF),
        ([np.inf], [1], -np.inf, 0x7FFFFFFF),
        ([np.nan], [0], 0, 0x7FFFFFFF),
        ([1], [1], -np.nan, 0x7FFFFFFF),
        ([1], [1], -np.inf, 0xFF800000),
        ([1, -1], [1, 1], 0.0, 0),
        ([1], [-1], 1.0, 0),
        ([], [], -0.0, 0),
    ],
)
def test_special_values(a, b, c, bits):
    assert dot(row(*a), row(*b), c) == bits


def test_zero_is_negative_only_if_every_term_is():
    minus = np.full((1, 16), 0x8000, np.uint16)
    one = row(*[1.0] * 16)
    assert dot(minus, one, -0.0) == 0x80000000
    assert dot(minus, one, 0.0) == 0
    assert dot(minus, minus, -0.0) == 0


def test_f32_overflow_is_infinite_and_f16_overflow_starts_at_65520():
    big = np.full((1, 16), 0x7F7F, np.uint16)  # the largest bf16
    assert dot(big, big, form="wgmma.m64n8k16.f32.bf16.bf16.f32") == 0x7F800000
    form = "mma.m16n8k16.f16.f16.f16.f16"
    assert dot(row(65504, 15.5), row(1, 1), form=form) == 0x7BFF
    assert dot(row(65504, 16), row(1, 1), form=form) == 0x7C00


def test_products_may_exceed_f32_and_still_cancel():
    a = np.array([2.0**127, -(2.0**127), 1.0] + [0] * 5, np.float32).view(np.uint32)[None, :]
    b = np.array([2.0**127, 2.0**127, 1.0] + [0] * 5, np.float32).view(np.uint32)[None, :]
    assert dot(a, b, form="mma.m16n8k8.f32.tf32.tf32.f32") == 0


@pytest.mark.parametrize("last, bits", [(16, 0), (17, 1)])
def test_tiny_products_are_cut_at_the_zero_exponent(last, bits):
    # With C = 0 terms count in steps of 2^(-133 - 25): fifteen of 33.75 steps are 33 each, and 512 steps are 2^-149.
    a = np.array([[135 / 128 * 2.0**-80] * 15 + [2.0**-80]], np.float32).view(np.uint32) >> 16
    b = np.array([[2.0**-73] * 15 + [last * 2.0**-78]], np.float32).view(np.uint32) >> 16
    assert dot(a.astype(np.uint16), b.astype(np.uint16), form="mma.m16n8k16.f32.bf16.bf16.f32") == bits


def test_large_and_small_problems_agree():
    rng = np.random.default_rng(3)
    rule = find("wgmma.m64n256k16.f32.f16.f16")
    a, b = random_codes(rng, (64, 16), "f16", "finite"), random_codes(rng, (16, 256), "f16", "finite")
    c = random_codes(rng, (64, 256), "f32", "finite")
    whole = product(rule, a, b, c)
    assert np.array_equal(whole[5:7, 30:40], product(rule, a[5:7], b[:, 30:40], c[5:7, 30:40]))
    batch = product(rule, np.stack([a, a]), b, np.stack([c, c]))
    assert np.array_equal(batch, np.stack([whole, whole]))
