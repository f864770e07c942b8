"""What atomics do to one word, against exact arithmetic."""

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptxsim import lanes
from ptxsim.instructions.atomic_update import update
from ptxsim.types import TYPES

WORD16, WORD32, WORD64 = (st.integers(0, 2**n - 1) for n in (16, 32, 64))
FLOATS = {"f16": np.float16, "bf16": ml_dtypes.bfloat16}


def one(value, name):
    """A bit pattern as one lane of a type."""
    dtype = lanes.dtype(TYPES[name])
    return np.array([value], f"u{dtype.itemsize}").view(dtype)


def apply(op, name, *words, **options):
    """New bit pattern of `old op operands`."""
    result = update(op, TYPES[name], **options)(*(one(w, name) for w in words))
    return int(np.asarray(result).view(f"u{result.dtype.itemsize}")[0])


@given(WORD32, WORD32, WORD32)
def test_integers(old, b, c):
    assert apply("add", "u32", old, b) == (old + b) % 2**32
    assert apply("inc", "u32", old, b) == (0 if old >= b else old + 1)
    assert apply("dec", "u32", old, b) == (b if old == 0 or old > b else old - 1)
    assert apply("exch", "b32", old, b) == b
    assert apply("cas", "b32", old, b, c) == (c if old == b else old)
    assert apply("cas", "b32", old, old, c) == c
    assert apply("max", "u32", old, b) == max(old, b)
    signed = [x - 2**32 if x >> 31 else x for x in (old, b)]
    assert apply("min", "s32", old, b) == min(signed) % 2**32
    for op, word in (("and", old & b), ("or", old | b), ("xor", old ^ b)):
        assert apply(op, "b32", old, b) == word


@pytest.mark.slow
@given(WORD64, WORD64)
def test_long_integers(old, b):
    assert apply("add", "u64", old, b) == (old + b) % 2**64
    assert apply("max", "u64", old, b) == max(old, b)
    assert apply("xor", "b64", old, b) == old ^ b


def nearest(exact, sign, dtype):
    """The float nearest to a fraction, ties to even, by searching among neighbours. `sign` decides the sign of zero."""
    if exact == 0:
        return dtype(-0.0 if sign else 0.0)
    low = dtype(float(exact))
    candidates = [low]
    for step in (-1, 1):
        word = int(low.view(np.uint16)) + step
        candidates.append(np.uint16(word & 0xFFFF).view(dtype))

    def distance(x):
        value = float(x)
        if value != value:
            return (2, 0)
        if abs(value) == float("inf"):
            # Infinity stands where the next power of two would.
            top = Fraction(65536) if dtype is np.float16 else Fraction(2) ** 128
            return (abs(exact - (top if value > 0 else -top)), 0)
        return (abs(exact - Fraction(value)), int(x.view(np.uint16)) & 1)

    return min((c for c in candidates if float(c) == float(c)), key=distance)


@pytest.mark.parametrize("name", ["f16", "bf16"])
@given(WORD16, WORD16)
def test_half_sums_are_the_nearest(name, old, b):
    dtype = FLOATS[name]
    x, y = (float(np.uint16(w).view(dtype)) for w in (old, b))
    found = apply("add", name, old, b)
    if not (np.isfinite(x) and np.isfinite(y)):
        expected = np.float32(x) + np.float32(y)
        assert found == (0x7FFF if expected != expected else int(dtype(expected).view(np.uint16)))
        return
    expected = nearest(Fraction(x) + Fraction(y), old >> 15 and b >> 15, dtype)
    assert found == int(expected.view(np.uint16))


@pytest.mark.parametrize("name", ["f16", "bf16"])
@given(WORD16, WORD16)
def test_half_minimum_and_maximum(name, old, b):
    values = [np.uint16(w).view(FLOATS[name]) for w in (old, b)]
    numbers = [v for v in values if float(v) == float(v)]
    for op, sign in (("min", 1), ("max", -1)):
        found = apply(op, name, old, b)
        if not numbers:
            assert found == 0x7FFF
        else:
            best = min(numbers, key=lambda v: (sign * float(v), sign * (0 if np.signbit(v) else 1)))
            assert found == int(best.view(np.uint16))


@given(WORD32, WORD32)
def test_packed_halves_are_two_halves(old, b):
    for name, element in (("f16x2", "f16"), ("bf16x2", "bf16")):
        for op in ("add", "min", "max"):
            low = apply(op, element, old & 0xFFFF, b & 0xFFFF)
            high = apply(op, element, old >> 16, b >> 16)
            assert apply(op, name, old, b) == high << 16 | low


def test_single_sums_flush_in_global_memory_only():
    tiny = 0x00400000
    assert apply("add", "f32", tiny, 0, in_global=False) == tiny
    assert apply("add", "f32", tiny, 0) == 0
    assert apply("add", "f32", tiny | 1 << 31, 1 << 31) == 1 << 31
    normal = 0x00800001  # its difference from the least normal number is subnormal
    assert apply("add", "f32", normal, 0x80800000, in_global=False) == 1
    assert apply("add", "f32", normal, 0x80800000) == 0
    assert apply("add", "f32", 0x7F800000, 0xFF800000) == 0x7FFFFFFF


# Old words and operands of f64 sums with NaN, and what an H200 left of them in shared and in global memory.
NAN_SUMS = (
    (0x7FF0000000000001, 0x3FF0000000000000, 0x7FF8000000000001, 0x7FF0000000000001),
    (0x3FF0000000000000, 0xFFF4000000001234, 0xFFFC000000001234, 0xFFF4000000001234),
    (0x7FFFFFFFFFFFFFFF, 0x7FF0000000000001, 0x7FFFFFFFFFFFFFFF, 0x7FF0000000000001),
    (0xFFF4000000001234, 0x7FF8000000000000, 0xFFFC000000001234, 0x7FF8000000000000),
    (0xFFF0000000000000, 0x7FF0000000000000, 0xFFF8000000000000, 0xFFF8000000000000),
)


@pytest.mark.parametrize(("old", "b", "in_shared", "in_global"), NAN_SUMS)
def test_double_sums_keep_a_nan_that_is_quiet_in_shared_memory_alone(old, b, in_shared, in_global):
    assert apply("add", "f64", old, b, in_global=False) == in_shared
    assert apply("add", "f64", old, b) == in_global


@given(WORD32, WORD32)
def test_single_sums(old, b):
    with np.errstate(all="ignore"):
        expected = one(old, "f32") + one(b, "f32")
    word = 0x7FFFFFFF if np.isnan(expected[0]) else int(expected.view(np.uint32)[0])
    assert apply("add", "f32", old, b, in_global=False) == word
