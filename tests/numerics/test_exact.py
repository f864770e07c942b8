from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptxsim.numerics import find, product
from tests.numerics.samples import random_codes


@pytest.mark.parametrize("form", ["mma.m16n8k16.f32.f16.f16.f32", "mma.m16n8k16.f16.f16.f16.f16", "mma.m8n8k4.f64"])
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=20, deadline=None)
def test_one_rounding_of_the_exact_sum(form, seed):
    rng = np.random.default_rng(seed)
    rule = find(form)
    types = {"f16": np.float16, "f32": np.float32, "f64": np.float64}
    k = rule.form.k
    if rule.form.a == "f64":
        a, b, c = (rng.normal(size=s) * 2.0 ** rng.integers(-40, 40, s) for s in [(2, k), (k, 2), (2, 2)])
    else:
        a, b = random_codes(rng, (2, k), "f16", "finite"), random_codes(rng, (k, 2), "f16", "finite")
        a, b = a.view(np.float16), b.view(np.float16)
        c = rng.normal(size=(2, 2)).astype(types[rule.form.c])
    codes = [np.ascontiguousarray(x).view(f"u{x.itemsize}") for x in (a, b, c)]
    d = product(rule, *codes, numerics="exact").view(types[rule.form.d])
    for m in range(2):
        for n in range(2):
            exact = sum(
                (Fraction(float(x)) * Fraction(float(y)) for x, y in zip(a[m], b[:, n])), Fraction(float(c[m, n]))
            )
            got = d[m, n]
            if not np.isfinite(got):
                assert abs(exact) > 65519
                continue
            for other in (np.nextafter(got, got.dtype.type(-np.inf)), np.nextafter(got, got.dtype.type(np.inf))):
                if np.isfinite(other):
                    assert abs(Fraction(float(got)) - exact) <= abs(Fraction(float(other)) - exact)


def test_special_values():
    a = np.array([[np.inf, 1, 0, 0], [np.inf, 0, 0, 0], [1, 2, 3, 4]])
    b = np.array([[1.0, 0.0], [1, 1], [1, 1], [1, 1]])
    d = product("mma.m8n8k4.f64", a.view(np.uint64), b.view(np.uint64), np.zeros((3, 2), np.uint64), numerics="exact")
    assert np.array_equal(d.view(np.float64), [[np.inf, np.nan], [np.inf, np.nan], [10, 9]], equal_nan=True)
