"""cvt.rs against its definition in fractions: up where the dropped part and the random bits together make a step."""

from __future__ import annotations

import struct
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.instructions.scalar_form import run

WORD = st.integers(0, 2**32 - 1)
SINGLE = st.one_of(WORD, st.integers(0x38000000, 0x44000000), st.sampled_from([0, 1, 0x7F800000, 0x7FC00000]))
KINDS = {
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2,
    "e2m3": ml_dtypes.float6_e2m3fn, "e3m2": ml_dtypes.float6_e3m2fn, "e2m1": ml_dtypes.float4_e2m1fn,
}  # fmt: skip


def grid(kind) -> list[Fraction]:
    """The finite numbers from 0 up, by code."""
    bits = ml_dtypes.finfo(kind).bits
    values = np.arange(2 ** (bits - 1), dtype=f"u{np.dtype(kind).itemsize}").view(kind).astype(np.float64)
    return [Fraction(float(v)) for v in values if np.isfinite(v)]


GRIDS = {name: grid(kind) for name, kind in KINDS.items() if name not in ("f16", "bf16")}


def code(word: int, name: str, random: Fraction) -> int:
    """The code of an f32 in a format of at most eight bits, saturating; `random` is less than 1."""
    numbers, bits = GRIDS[name], ml_dtypes.finfo(KINDS[name]).bits
    x = struct.unpack("<f", struct.pack("<I", word))[0]
    if x != x:
        return {"e4m3": 0x7F, "e5m2": 0x7F}.get(name, len(numbers) - 1)
    sign = (word >> 31) << bits - 1
    size = Fraction(abs(x)) if abs(x) != float("inf") else numbers[-1]
    if size >= numbers[-1]:
        return sign | len(numbers) - 1
    lower = max(i for i, number in enumerate(numbers) if number <= size)
    part = (size - numbers[lower]) / (numbers[lower + 1] - numbers[lower])
    return sign | lower + (part + random >= 1)


def reverse(value: int, bits: int) -> int:
    return int(f"{value:0{bits}b}"[::-1], 2)


@pytest.mark.thin(5)
@pytest.mark.parametrize("name", GRIDS)
@settings(max_examples=60, deadline=None)
@given(a=st.tuples(SINGLE, SINGLE, SINGLE, SINGLE), random=WORD)
def test_four_share_a_word(name, a, random):
    registers = {f"f{i + 2}": np.array([x], np.uint32) for i, x in enumerate(a)}
    destination = "h1" if name == "e2m1" else "r1"
    text = f"cvt.rs.satfinite.{name}x4.f32 {destination}, {{f2, f3, f4, f5}}, r6;"
    found = int(run(text, "sm_100a", r6=np.array([random], np.uint32), **registers)[destination][0])
    octets = random.to_bytes(4, "little")
    low, high = random & 0xFFFF, random >> 16
    if name == "e2m1":
        low, high = octets[2] << 8 | octets[0], octets[3] << 8 | octets[1]
    drawn = [low, reverse(low, 16), high, reverse(high, 16)]
    step = 4 if name == "e2m1" else 8
    codes = [code(x, name, Fraction(bits, 1 << 16)) for x, bits in zip(reversed(a), drawn)]
    assert found == sum(c << i * step for i, c in enumerate(codes))


@pytest.mark.parametrize(("name", "dropped"), [("f16", 13), ("bf16", 16)])
@settings(max_examples=60, deadline=None)
@given(a=st.integers(0x38800000, 0x47000000), b=st.integers(0xB8800000, 0xC7000000), random=WORD)
def test_two_have_a_half_each(name, dropped, a, b, random):
    """Adding to the dropped bits and cutting them, on numbers that are normal in both formats."""
    registers = {"f2": a, "f3": b, "r4": random}
    found = run(
        f"cvt.rs.{name}x2.f32 r1, f2, f3, r4;", "sm_100a", **{k: np.array([v], np.uint32) for k, v in registers.items()}
    )
    expected = []
    for x, bits in ((b, random), (a, random >> 16)):
        cut = (x + (bits & (1 << dropped) - 1)) >> dropped << dropped
        expected.append(int(np.array([cut], np.uint32).view(np.float32).astype(KINDS[name]).view(np.uint16)[0]))
    assert int(found["r1"][0]) == expected[0] | expected[1] << 16


def test_negative_numbers_and_infinity():
    one = {k: np.array([v], np.uint32) for k, v in {"f2": 0xBF800000, "f3": 0x7F800000, "r4": 0xFFFFFFFF}.items()}
    assert int(run("cvt.rs.relu.f16x2.f32 r1, f2, f3, r4;", "sm_100a", **one)["r1"][0]) == 0x7C00
    assert int(run("cvt.rs.satfinite.f16x2.f32 r1, f2, f3, r4;", "sm_100a", **one)["r1"][0]) == 0xBC007BFF
