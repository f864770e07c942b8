"""The numpy forms of the lane operations against Python's numbers."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptxsim import lanes
from ptxsim.types import TYPES

few = settings(max_examples=30, deadline=None)
LONG = st.one_of(st.sampled_from([0, 1, 2**63, 2**64 - 1, 2**63 - 1, 2**32]), st.integers(0, 2**64 - 1))
NUMBER = st.floats(allow_nan=False, allow_infinity=False)


def signed(x: int) -> int:
    return x - 2**64 if x >> 63 else x


@few
@given(LONG, LONG)
def test_high_products(a, b):
    x, y = np.array([a], np.uint64), np.array([b], np.uint64)
    assert int(lanes.multiply_high(x, y)[0]) == a * b >> 64
    assert int(lanes.multiply_high(x.view(np.int64), y.view(np.int64))[0]) == signed(a) * signed(b) >> 64


@few
@given(LONG, LONG)
def test_division(a, b):
    x, y = np.array([a], np.uint64), np.array([b], np.uint64)
    assert int(lanes.divide(x, y)[0]) == (a // b if b else 2**64 - 1)
    p, q = signed(a), signed(b)
    expected = abs(p) // abs(q) * (1 if (p < 0) == (q < 0) else -1) if q else -1
    assert int(lanes.divide(x.view(np.int64), y.view(np.int64))[0]) == (expected + 2**63) % 2**64 - 2**63


@few
@given(LONG, st.integers(0, 300))
def test_shifts(a, n):
    count = np.array([n], np.uint32)
    x = np.array([a], np.uint64)
    assert int(lanes.shift_left(x, count)[0]) == a << min(n, 64) & 2**64 - 1
    assert int(lanes.shift_right(x, count)[0]) == a >> min(n, 64)
    assert int(lanes.shift_right(x.view(np.int64), count)[0]) == signed(a) >> min(n, 63)


@few
@given(NUMBER, NUMBER, NUMBER)
def test_fma_rounds_once(a, b, c):
    got = float(lanes.fma(*(np.array([x]) for x in (a, b, c)))[0])
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if math.isfinite(got):
        distance = abs(Fraction(got) - exact)
        for neighbour in (math.nextafter(got, math.inf), math.nextafter(got, -math.inf)):
            assert not math.isfinite(neighbour) or distance <= abs(Fraction(neighbour) - exact)
    else:
        assert abs(exact) > Fraction(np.finfo(np.float64).max)


@few
@given(*[st.integers(0, 2**32 - 1)] * 3)
def test_fma_of_f32_rounds_once(a, b, c):
    x, y, z = (np.array([v], np.uint32).view(np.float32) for v in (a, b, c))
    if not all(np.isfinite(v[0]) for v in (x, y, z)):
        return
    with np.errstate(all="ignore"):
        got = lanes.fma(x, y, z)[0]
    exact = Fraction(float(x[0])) * Fraction(float(y[0])) + Fraction(float(z[0]))
    if np.isfinite(got):
        distance = abs(Fraction(float(got)) - exact)
        for toward in (np.inf, -np.inf):
            neighbour = float(np.nextafter(got, np.float32(toward)))
            assert not math.isfinite(neighbour) or distance <= abs(Fraction(neighbour) - exact)


@pytest.mark.parametrize("name", ["u8", "s8", "u32", "s64", "u64"])
def test_floats_to_integers_saturate(name):
    t = TYPES[name]
    low, high = (-(1 << t.bits - 1), (1 << t.bits - 1) - 1) if t.is_signed else (0, (1 << t.bits) - 1)
    x = np.array([0.0, 3.0, -3.0, 2.0**70, -(2.0**70), np.inf, -np.inf, np.nan, float(low), 2.0**t.bits])
    got = lanes.float_to_int(x, t)
    assert got.dtype == lanes.dtype(t)
    assert [int(v) for v in got] == [0, 3, max(low, -3), high, low, high, low, 0, low, high]


@pytest.mark.parametrize("name", ["u8x4", "f16x2", "bf16x2", "f32x2", "s16x2"])
def test_packed_words_come_apart_and_together(name):
    t = TYPES[name]
    word = np.random.default_rng(3).integers(0, 2**t.bits, 32, dtype=np.uint64).astype(f"u{t.bits // 8}")
    parts = lanes.split(word, t)
    assert len(parts) == t.lanes and all(p.dtype == lanes.dtype(TYPES[t.element]) for p in parts)
    assert np.array_equal(lanes.join(parts, t), word)
    lowest = parts[0].view(f"u{parts[0].dtype.itemsize}")
    assert np.array_equal(lowest, (word & (1 << TYPES[t.element].bits) - 1).astype(lowest.dtype))


def test_a_mask_and_its_word_are_each_others_inverse():
    mask = np.arange(lanes.LANES) % 3 == 0
    word = lanes.mask_word(mask)
    assert word == sum(1 << lane for lane in range(0, 32, 3))
    assert np.array_equal(lanes.word_mask(word), mask)
    words = np.array([[0, word], [1, 0xFFFFFFFF]], np.int64)[:, ::-1]
    assert np.array_equal(lanes.word_mask(words)[0, 0], mask)
    assert lanes.word_mask(words).sum(axis=-1).tolist() == [[11, 0], [32, 1]]
