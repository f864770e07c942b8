"""Floating-point arithmetic in every rounding against exact fractions."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pytest

from tests.instructions.rounding import round_to, value
from tests.instructions.scalar_form import run

REGISTER = {"f16": "h", "bf16": "h", "f32": "f", "f64": "d"}
WIDTH = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64}
LAYOUT = {"f16": (5, 10), "bf16": (8, 7), "f32": (8, 23), "f64": (11, 52)}
COUNT = 400


def operands(name: str, count: int, seed: int) -> list[list[int]]:
    """Codes: near one, anywhere, subnormal, powers of two; some of them cancel."""
    source = random.Random(seed)
    exponent, mantissa = LAYOUT[name]
    bits, bias = WIDTH[name], (1 << exponent - 1) - 1

    def code() -> int:
        kind = source.random()
        field = source.randrange(1 << exponent) if kind < 0.3 else min(bias + source.randrange(-12, 13), 2 * bias)
        fraction = source.getrandbits(mantissa)
        if kind > 0.9:
            field, fraction = source.choice([(0, fraction), (source.randrange(1 << exponent), 0)])
        return source.getrandbits(1) << bits - 1 | max(field, 0) << mantissa | fraction

    columns = [[code() for _ in range(COUNT)] for _ in range(count)]
    for i in range(0, COUNT, 7):
        columns[-1][i] = columns[0][i] ^ 1 << bits - 1
    return columns


def check(text: str, name: str, exact, columns: list[list[int]], mode: str) -> None:
    """Compare where all operands and the result are finite and the result is not zero."""
    dtype = f"u{WIDTH[name] // 8}"
    arrays = {f"{REGISTER[name]}{i}": np.array(column, dtype) for i, column in enumerate(columns, 2)}
    got = next(iter(run(text, **arrays).values()))
    compared = 0
    for row, result in zip(zip(*columns), got):
        numbers = [value(code, name) for code in row]
        if any(isinstance(x, float) for x in numbers):
            continue
        number = exact(*numbers)
        if number is None or number == 0:
            continue
        compared += 1
        assert int(result) == round_to(number, name, mode), f"{text} of {[hex(c) for c in row]}"
    assert compared > COUNT // 3


EXACT = {
    "add": (2, lambda a, b: a + b),
    "sub": (2, lambda a, b: a - b),
    "mul": (2, lambda a, b: a * b),
    "fma": (3, lambda a, b, c: a * b + c),
    "div": (2, lambda a, b: a / b if b else None),
    "rcp": (1, lambda a: 1 / a if a else None),
}


@pytest.mark.thin(5)
@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
@pytest.mark.parametrize("name", ["f32", "f64"])
@pytest.mark.parametrize("operation", EXACT)
def test_rounded_once(operation, name, mode):
    count, exact = EXACT[operation]
    registers = ", ".join(f"{REGISTER[name]}{i}" for i in range(1, count + 2))
    check(f"{operation}.{mode}.{name} {registers};", name, exact, operands(name, count, 1), mode)


@pytest.mark.parametrize("name", ["f16", "bf16"])
@pytest.mark.parametrize("operation", ["add", "sub", "mul", "fma"])
def test_halves_are_rounded_once(operation, name):
    count, exact = EXACT[operation]
    registers = ", ".join(f"h{i}" for i in range(1, count + 2))
    check(f"{operation}.rn.{name} {registers};", name, exact, operands(name, count, 2), "rn")


@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
@pytest.mark.parametrize("name", ["f32", "f64"])
def test_square_root(name, mode):
    """The root lies between the neighbours that the rounding allows: squares decide it exactly."""
    (column,) = operands(name, 1, 3)
    column = [code & (1 << WIDTH[name] - 1) - 1 for code in column]
    r, dtype = REGISTER[name], f"u{WIDTH[name] // 8}"
    got = run(f"sqrt.{mode}.{name} {r}1, {r}2;", **{f"{r}2": np.array(column, dtype)})[f"{r}1"]
    for code, result in zip(column, got):
        x = value(code, name)
        if isinstance(x, float) or x == 0:
            continue
        below, root, above = (value(int(result) + i, name) for i in (-1, 0, 1))
        if mode in ("rz", "rm"):
            assert root**2 <= x < above**2
        elif mode == "rp":
            assert below**2 < x <= root**2
        else:
            assert ((below + root) / 2) ** 2 <= x <= ((root + above) / 2) ** 2


@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
def test_mixed_precision_adds_in_f32(mode):
    """PTX 8.6, "Mixed Precision Floating Point Instructions"."""
    halves, (singles,) = operands("f16", 1, 4)[0], operands("f32", 1, 5)
    text = f"add.{mode}.f32.f16 f1, h2, f3;"
    got = run(text, "sm_100a", (9, 0), h2=np.array(halves, np.uint16), f3=np.array(singles, np.uint32))["f1"]
    for half, single, result in zip(halves, singles, got):
        x, y = value(half, "f16"), value(single, "f32")
        if isinstance(x, float) or isinstance(y, float) or x + y == 0:
            continue
        assert int(result) == round_to(x + y, "f32", mode)


def test_pairs_of_f32_work_by_halves():
    a, b = (np.array(column, np.uint32) for column in operands("f32", 2, 6))
    low = run("add.rz.ftz.f32 f1, f2, f3;", f2=a, f3=b)["f1"].astype(np.uint64)
    high = run("add.rz.ftz.f32 f1, f2, f3;", f2=b, f3=b)["f1"].astype(np.uint64)
    wide = lambda upper, lower: upper.astype(np.uint64) << np.uint64(32) | lower.astype(np.uint64)  # noqa: E731
    got = run("add.rz.ftz.f32x2 rd1, rd2, rd3;", "sm_100a", (9, 0), rd2=wide(b, a), rd3=wide(b, b))["rd1"]
    assert np.array_equal(got, wide(high, low))


def test_three_operand_extrema():
    columns = [np.array(column, np.uint32) for column in operands("f32", 3, 7)]
    registers = dict(zip(("f2", "f3", "f4"), columns))
    first = run("max.NaN.f32 f1, f2, f3;", **registers)["f1"]
    expected = run("max.NaN.f32 f1, f2, f3;", f2=first, f3=columns[2])["f1"]
    assert np.array_equal(run("max.NaN.f32 f1, f2, f3, f4;", "sm_100a", (9, 0), **registers)["f1"], expected)


ZERO, MINUS_ZERO, ONE, INFINITY, NAN = 0, 0x80000000, 0x3F800000, 0x7F800000, 0x7FFFFFFF


@pytest.mark.parametrize(
    ("text", "a", "b", "expected"),
    [
        ("add.rn.f32 f1, f2, f3;", ONE, ONE | MINUS_ZERO, ZERO),
        ("add.rm.f32 f1, f2, f3;", ONE, ONE | MINUS_ZERO, MINUS_ZERO),
        ("add.rm.f32 f1, f2, f3;", ZERO, ZERO, ZERO),
        ("add.rp.f32 f1, f2, f3;", MINUS_ZERO, MINUS_ZERO, MINUS_ZERO),
        ("add.f32 f1, f2, f3;", INFINITY, INFINITY | MINUS_ZERO, NAN),
        ("mul.rz.f32 f1, f2, f3;", 0x7F7FFFFF, 0x7F7FFFFF, 0x7F7FFFFF),
        ("mul.rp.f32 f1, f2, f3;", 0x7F7FFFFF, 0x7F7FFFFF, INFINITY),
        ("mul.rp.f32 f1, f2, f3;", 1, 1, 1),
        ("mul.sat.f32 f1, f2, f3;", NAN, ONE, ZERO),
        ("mul.ftz.f32 f1, f2, f3;", 0x00400000, 0x7F000000, ZERO),
        ("min.f32 f1, f2, f3;", ZERO, MINUS_ZERO, MINUS_ZERO),
        ("min.f32 f1, f2, f3;", NAN, ONE, ONE),
        ("min.NaN.f32 f1, f2, f3;", 0x7FC00001, ONE, NAN),
        ("div.rn.f32 f1, f2, f3;", ONE, MINUS_ZERO, INFINITY | MINUS_ZERO),
    ],
)
def test_special_values(text, a, b, expected):
    got = run(text, f2=np.array([a], np.uint32), f3=np.array([b], np.uint32))["f1"]
    assert int(got[0]) == expected


def test_the_exact_sign_of_a_fused_sum():
    """a * b + c near the ends of the range, where an error term could be lost."""
    tiny, one_up = 2.0**-1000, math.nextafter(2.0**-74, 1)
    bits = lambda x: np.array([np.float64(x).view(np.uint64)])  # noqa: E731
    got = run("fma.rz.f64 d1, d2, d3, d4;", d2=bits(tiny), d3=bits(one_up), d4=bits(-5e-324))["d1"]
    exact = Fraction(tiny) * Fraction(one_up) - Fraction(5e-324)
    assert exact > 0 and int(got[0]) == 0  # positive, and below the smallest number
    got = run("fma.rp.f64 d1, d2, d3, d4;", d2=bits(tiny), d3=bits(one_up), d4=bits(-5e-324))["d1"]
    assert int(got[0]) == 1
