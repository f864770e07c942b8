"""Integer arithmetic against Python's integers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.instructions.scalar_form import run

few = settings(max_examples=20, deadline=None)

TYPES = ("u16", "s16", "u32", "s32", "u64", "s64")
REGISTER = {16: "h", 32: "r", 64: "rd"}


def words(bits: int):
    edges = [0, 1, 2, (1 << bits) - 1, 1 << bits - 1, (1 << bits - 1) - 1]
    return st.one_of(st.sampled_from(edges), st.integers(0, (1 << bits) - 1))


def number(word: int, name: str) -> int:
    bits = int(name[1:])
    return word - (1 << bits) if name[0] == "s" and word >> bits - 1 else word


def compute(text: str, name: str, *operands: int, result: str | None = None) -> int:
    """One value through an instruction whose registers all have the type `name`; the result as a number of `result`."""
    bits = int(name[1:])
    given_registers = {
        f"{REGISTER[bits]}{i}": np.array([x & (1 << bits) - 1], f"u{bits // 8}") for i, x in enumerate(operands, 2)
    }
    found = run(text, **given_registers)
    return number(int(next(iter(found.values()))[0]), result or name)


def wrap(x: int, name: str) -> int:
    return number(x & (1 << int(name[1:])) - 1, name)


def quotient(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


REFERENCE = {
    "add": lambda a, b, t: a + b,
    "sub": lambda a, b, t: a - b,
    "mul.lo": lambda a, b, t: a * b,
    "mul.hi": lambda a, b, t: a * b >> int(t[1:]),
    "min": lambda a, b, t: min(a, b),
    "max": lambda a, b, t: max(a, b),
    "div": lambda a, b, t: quotient(a, b) if b else -1,
    "rem": lambda a, b, t: a - quotient(a, b) * b if b else -1,
}


@pytest.mark.thin(5)
@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("operation", REFERENCE)
def test_two_operands(operation, name):
    bits = int(name[1:])
    r = REGISTER[bits]

    @few
    @given(words(bits), words(bits))
    def check(a, b):
        expected = wrap(REFERENCE[operation](number(a, name), number(b, name), name), name)
        assert compute(f"{operation}.{name} {r}1, {r}2, {r}3;", name, a, b) == expected

    check()


@pytest.mark.thin(5)
@pytest.mark.parametrize("name", TYPES)
@few
@given(data=st.data())
def test_three_operands(name, data):
    bits = int(name[1:])
    a, b, c = (data.draw(words(bits)) for _ in range(3))
    r = REGISTER[bits]
    x, y, z = (number(v, name) for v in (a, b, c))
    for operation, expected in (
        ("mad.lo", x * y + z), ("mad.hi", (x * y >> bits) + z), ("sad", z + abs(x - y)),
    ):  # fmt: skip
        assert compute(f"{operation}.{name} {r}1, {r}2, {r}3, {r}4;", name, a, b, c) == wrap(expected, name)


@pytest.mark.thin(4)
@pytest.mark.parametrize(("name", "wide"), [("u16", "u32"), ("s16", "s32"), ("u32", "u64"), ("s32", "s64")])
@few
@given(data=st.data())
def test_the_whole_product(name, wide, data):
    bits = int(name[1:])
    a, b = data.draw(words(bits)), data.draw(words(bits))
    text = f"mul.wide.{name} {REGISTER[2 * bits]}1, {REGISTER[bits]}2, {REGISTER[bits]}3;"
    assert compute(text, name, a, b, result=wide) == number(a, name) * number(b, name)


@few
@given(words(32), words(32))
def test_saturation(a, b):
    clamp = lambda x: max(-(1 << 31), min((1 << 31) - 1, x))  # noqa: E731
    x, y = number(a, "s32"), number(b, "s32")
    assert compute("add.sat.s32 r1, r2, r3;", "s32", a, b) == clamp(x + y)
    assert compute("sub.sat.s32 r1, r2, r3;", "s32", a, b) == clamp(x - y)
    assert compute("max.relu.s32 r1, r2, r3;", "s32", a, b) == max(x, y, 0)


@few
@given(st.lists(words(32), min_size=8, max_size=8))
def test_carries_chain(limbs):
    """Four-word sums and differences, and the product by one word, of 128-bit numbers; nothing borrowed is a carry."""
    a, b = (sum(w << 32 * i for i, w in enumerate(part)) for part in (limbs[:4], limbs[4:]))

    def chain(first: str, later: str, operands) -> tuple[int, bool]:
        total, carry = 0, None
        for i, registers in enumerate(operands):
            given_registers = {k: np.array([v], np.uint32) for k, v in registers.items()}
            if carry is not None:
                given_registers["carry"] = carry
            found = run(first if i == 0 else later, **given_registers)
            carry = found["carry"]
            total |= int(found["r1"][0]) << 32 * i
        return total, bool(carry[0])

    pairs = [{"r2": x, "r3": y} for x, y in zip(limbs[:4], limbs[4:])]
    assert chain("add.cc.u32 r1, r2, r3;", "addc.cc.u32 r1, r2, r3;", pairs) == ((a + b) % 2**128, a + b >= 2**128)
    assert chain("sub.cc.u32 r1, r2, r3;", "subc.cc.u32 r1, r2, r3;", pairs) == ((a - b) % 2**128, a >= b)
    factor = limbs[7]
    lows = sum((w * factor & 0xFFFFFFFF) << 32 * i for i, w in enumerate(limbs[:4]))
    triples = [{"r2": x, "r3": factor, "r4": y} for x, y in zip(limbs[:4], limbs[4:])]
    got = chain("mad.lo.cc.u32 r1, r2, r3, r4;", "madc.lo.cc.u32 r1, r2, r3, r4;", triples)
    assert got == ((lows + b) % 2**128, lows + b >= 2**128)


@few
@given(st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1))
def test_dot_products_of_bytes(a, b, c):
    element = lambda word, t, bits, i: number(word >> bits * i & (1 << bits) - 1, f"{t}{bits}")  # noqa: E731
    for s in "us":
        for t in "us":
            four = sum(element(a, s, 8, i) * element(b, t, 8, i) for i in range(4))
            assert compute(f"dp4a.{s}32.{t}32 r1, r2, r3, r4;", "u32", a, b, c) == (four + c) % 2**32
            for half, first in (("lo", 0), ("hi", 2)):
                two = sum(element(a, s, 16, i) * element(b, t, 8, first + i) for i in range(2))
                assert compute(f"dp2a.{half}.{s}32.{t}32 r1, r2, r3, r4;", "u32", a, b, c) == (two + c) % 2**32
