"""Conversions against fractions, Python's integers and ml_dtypes."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

from tests.instructions.rounding import round_to, value
from tests.instructions.scalar_form import run

REGISTER = {8: "h", 16: "h", 32: "r", 64: "rd"}
FLOAT = {"f16": "h", "bf16": "h", "f32": "f", "f64": "d"}
INTEGERS = ("u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64")
BLACKWELL = ("sm_100a", (9, 0))
SOURCE = np.random.default_rng(11)


def limits(name: str) -> tuple[int, int]:
    bits = int(name[1:])
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if name[0] == "s" else (0, (1 << bits) - 1)


def codes(bits: int, count: int = 300) -> np.ndarray:
    """Words of all magnitudes, with their extremes."""
    words = SOURCE.integers(0, 2**bits, count, dtype=np.uint64) >> SOURCE.integers(0, bits, count).astype(np.uint64)
    edges = [0, 1, (1 << bits) - 1, 1 << bits - 1, (1 << bits - 1) - 1]
    return np.concatenate([np.array(edges, np.uint64), words]).astype(f"u{max(bits, 16) // 8}")


def number(word: int, name: str) -> int:
    bits = int(name[1:])
    word &= (1 << bits) - 1
    return word - (1 << bits) if name[0] == "s" and word >> bits - 1 else word


@pytest.mark.parametrize("target", INTEGERS)
@pytest.mark.parametrize("source", INTEGERS)
def test_integers(source, target):
    words = codes(int(source[1:]))
    low, high = limits(target)
    source_low, source_high = limits(source)
    d, a = REGISTER[int(target[1:])] + "1", REGISTER[int(source[1:])] + "2"
    forms = {"": lambda x: x}
    if low > source_low or high < source_high:
        forms[".sat"] = lambda x: max(low, min(high, x))
    for modifier, expected in forms.items():
        got = run(f"cvt{modifier}.{target}.{source} {d}, {a};", **{a: words})[d]
        for word, result in zip(words, got):
            assert number(int(result), target) == number(expected(number(int(word), source)), target)


@pytest.mark.thin(5)
@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
@pytest.mark.parametrize("target", FLOAT)
@pytest.mark.parametrize("source", ["u16", "s32", "u64", "s64"])
def test_integers_to_floats(source, target, mode):
    words = codes(int(source[1:]))
    d, a = FLOAT[target] + "1", REGISTER[int(source[1:])] + "2"
    got = run(f"cvt.{mode}.{target}.{source} {d}, {a};", **{a: words})[d]
    for word, result in zip(words, got):
        exact = number(int(word), source)
        assert int(result) == (round_to(exact, target, mode) if exact else 0), f"{exact}"


@pytest.mark.thin(5)
@pytest.mark.parametrize("mode", ["rni", "rzi", "rmi", "rpi"])
@pytest.mark.parametrize("target", ["u8", "s16", "u32", "s64", "u64"])
@pytest.mark.parametrize("source", ["f16", "f32", "f64"])
def test_floats_to_integers(source, target, mode):
    bits = {"f16": 16, "f32": 32, "f64": 64}[source]
    words = SOURCE.integers(0, 2**bits, 300, dtype=np.uint64).astype(f"u{bits // 8}")
    d, a = REGISTER[int(target[1:])] + "1", FLOAT[source] + "2"
    got = run(f"cvt.{mode}.{target}.{source} {d}, {a};", **{a: words})[d]
    low, high = limits(target)
    rounding = {"rni": round, "rzi": math.trunc, "rmi": math.floor, "rpi": math.ceil}[mode]
    for word, result in zip(words, got):
        x = value(int(word), source)
        if isinstance(x, float):
            if math.isnan(x):
                continue
            whole = high if x > 0 else low
        else:
            whole = rounding(x)
        assert number(int(result), target) == max(low, min(high, whole))


@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
@pytest.mark.parametrize(
    ("source", "target"),
    [("f32", "f16"), ("f32", "bf16"), ("f64", "f32"), ("f64", "f16"), ("f64", "bf16"), ("bf16", "f16")],
)
def test_narrowing(source, target, mode):
    bits = {"f32": 32, "f64": 64, "bf16": 16}[source]
    exponent = {"f32": 23, "f64": 52, "bf16": 7}[source]
    bias = {"f32": 127, "f64": 1023, "bf16": 127}[source]
    fields = np.clip(bias + SOURCE.integers(-30, 25, 400), 0, 2 * bias).astype(np.uint64)
    words = fields << np.uint64(exponent) | SOURCE.integers(0, 2**exponent, 400, dtype=np.uint64)
    words |= SOURCE.integers(0, 2, 400, dtype=np.uint64) << np.uint64(bits - 1)
    words = words.astype(f"u{bits // 8}")
    d, a = FLOAT[target] + "1", FLOAT[source] + "2"
    got = run(f"cvt.{mode}.{target}.{source} {d}, {a};", **{a: words})[d]
    for word, result in zip(words, got):
        exact = value(int(word), source)
        if exact != 0:
            assert int(result) == round_to(exact, target, mode), hex(int(word))


NARROW = {
    "e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2, "e2m3": ml_dtypes.float6_e2m3fn,
    "e3m2": ml_dtypes.float6_e3m2fn, "e2m1": ml_dtypes.float4_e2m1fn,
}  # fmt: skip


def singles() -> np.ndarray:
    """f32 numbers around the ranges of the narrow formats, their midpoints included."""
    x = SOURCE.normal(size=4000) * 2.0 ** SOURCE.integers(-20, 17, 4000)
    return np.concatenate([x, np.round(x * 16) / 16, [0.0, -0.0, 448, 464, 57344, 61440, 28, 7.5, 6, 0.0625]]).astype(
        np.float32
    )


@pytest.mark.parametrize("name", NARROW)
def test_narrow_floats_from_f32(name):
    x = singles()
    y = np.roll(x, 1)
    register = "b1" if name == "e2m1" else "h1"
    got = run(
        f"cvt.rn.satfinite.{name}x2.f32 {register}, f2, f3;", *BLACKWELL, f2=x.view(np.uint32), f3=y.view(np.uint32)
    )[register]
    largest = float(ml_dtypes.finfo(NARROW[name]).max)
    step = 4 if name == "e2m1" else 8
    for numbers, result in ((y, got & ((1 << step) - 1)), (x, got >> step)):
        expected = np.clip(numbers, -largest, largest).astype(NARROW[name]).view(np.uint8)
        assert np.array_equal(result, expected)


@pytest.mark.parametrize("name", NARROW)
def test_narrow_floats_to_f16(name):
    bits = {"e4m3": 8, "e5m2": 8, "e2m3": 6, "e3m2": 6, "e2m1": 4}[name]
    code = np.arange(1 << bits).astype(np.uint8)
    word = code | code << 4 if name == "e2m1" else code.astype(np.uint16) | code.astype(np.uint16) << 8
    register = "b2" if name == "e2m1" else "h2"
    got = run(f"cvt.rn.f16x2.{name}x2 r1, {register};", *BLACKWELL, **{register: word})["r1"]
    numbers = code.view(NARROW[name]).astype(np.float16)
    expected = np.where(np.isnan(numbers), 0x7FFF, numbers.view(np.uint16))
    assert np.array_equal(got & 0xFFFF, expected) and np.array_equal(got >> 16, expected)


@pytest.mark.parametrize(("mode", "up"), [("rz", False), ("rp", True)])
def test_scales(mode, up):
    """ue8m0 holds powers of two from 2^-127 to 2^127."""
    x = np.abs(SOURCE.normal(size=500) * 2.0 ** SOURCE.integers(-126, 126, 500)).astype(np.float32)
    x = np.concatenate([x, np.float32(2.0) ** np.arange(-126, 128, dtype=np.float32)]).astype(np.float32)
    got = run(f"cvt.{mode}.satfinite.ue8m0x2.f32 h1, f2, f3;", *BLACKWELL, f2=x.view(np.uint32), f3=x.view(np.uint32))[
        "h1"
    ]
    fraction, exponent = np.frexp(x.astype(np.float64))
    expected = np.maximum(exponent - 1 + 127 + (up & (fraction != 0.5)), 0)
    assert np.array_equal(got & 0xFF, expected) and np.array_equal(got >> 8, expected)
    back = run("cvt.rn.bf16x2.ue8m0x2 r1, h2;", *BLACKWELL, h2=np.arange(255, dtype=np.uint16))["r1"]
    assert np.array_equal(
        (back & 0xFFFF).astype(np.uint16).view(ml_dtypes.bfloat16).astype(np.float64), 2.0 ** np.arange(-127.0, 128)
    )


def test_infinities_and_nan_of_narrow_floats():
    x = np.array([0x7F800000, 0xFF800000, 0x7FC00000], np.uint32)
    for name, largest, nan in (("e4m3", 0x7E, 0x7F), ("e5m2", 0x7B, 0x7F), ("e3m2", 0x1F, 0x1F), ("e2m3", 0x1F, 0x1F)):
        got = run(f"cvt.rn.satfinite.{name}x2.f32 h1, f2, f2;", *BLACKWELL, f2=x)["h1"] & 0xFF
        sign = 0x20 if name[1] != "4" and name[1] != "5" else 0x80
        assert list(got) == [largest, largest | sign, nan]


def test_packed_integers():
    a, b, c = np.array([-300, 5], np.int32), np.array([300, -7], np.int32), np.array([0xABCD, 0x1234], np.uint32)
    got = run("cvt.pack.sat.s8.s32.b32 r1, r2, r3, r4;", r2=a.view(np.uint32), r3=b.view(np.uint32), r4=c)["r1"]
    assert [hex(v) for v in got] == ["0xabcd807f", "0x123405f9"]
    got = run("cvt.pack.sat.u16.s32 r1, r2, r3;", r2=a.view(np.uint32), r3=b.view(np.uint32))["r1"]
    assert [hex(v) for v in got] == ["0x12c", "0x50000"]
