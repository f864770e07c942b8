"""Arithmetic of four narrow floats in a register, and fixed point, against exact fractions on random codes."""

import math
from fractions import Fraction

import numpy as np
import pytest

from tests.helpers import launch
from tests.numerics.reference import FORMATS, decode

WIDE = {
    "e4m3x4": "e4m3",
    "e5m2x4": "e5m2",
    "e2m3x4": "e2m3",
    "e3m2x4": "e3m2",
    "e2m1x4": "e2m1",
    "e2m1p4x4": "e2m1",
    "ue8m0x4": "ue8m0",
}
FORMS = [
    "add.rn.satfinite.e4m3x4.e2m1x4", "add.e5m2x4.ue8m0x4", "sub.satfinite.e5m2x4.e2m1p4x4", "sub.rn.e4m3x4.e3m2x4",
    "mul.rn.satfinite.e4m3x4.e2m1x4.e4m3x4", "mul.e5m2x4.ue8m0x4.e5m2x4", "mul.satfinite.e4m3x4.ue8m0x4.ue8m0x4",
    "fma.rn.e4m3x4.e2m3x4.e3m2x4", "fma.satfinite.e5m2x4.ue8m0x4.e5m2x4", "fma.rn.satfinite.e4m3x4.e4m3x4.e4m3x4",
]  # fmt: skip


def number(code: int, name: str):
    """A fraction, an infinity or NaN of a code; and whether its sign is set."""
    if name == "ue8m0":
        return (math.nan if code == 255 else Fraction(2) ** (code - 127)), False
    exponent_bits, fraction_bits, *_ = FORMATS[name]
    found = decode(code & (1 << 1 + exponent_bits + fraction_bits) - 1, name)
    if found == ("nan",):
        return math.nan, False
    if found[0] == "inf":
        return (-math.inf if found[1] else math.inf), bool(found[1])
    sign, significand, bits, exponent = found
    return (-1) ** sign * significand * Fraction(2) ** (exponent - bits), bool(sign)


FINITE = {
    name: sorted((number(c, name)[0], c) for c in range(128) if math.isfinite(number(c, name)[0]))
    for name in ("e4m3", "e5m2")
}


def nearest(value, negative: bool, name: str, satfinite: bool) -> int:
    """The code of a value, to nearest even: ties go to the even code."""
    if value != value:
        return 0x7F
    codes, sign = FINITE[name], 0x80 if negative else 0
    top, last = codes[-1]
    size = abs(value)
    beyond = top + (top - codes[-2][0]) / 2
    if size >= beyond if last & 1 else size > beyond:
        return sign | last + (0 if satfinite else 1)
    return sign | min((abs(known - size), c & 1, c) for known, c in codes)[2]


def wanted(form: str, words: list[int]) -> int:
    words_of = form.split(".")
    types = [w for w in words_of if w in WIDE]
    name, satfinite = words_of[0], "satfinite" in words_of
    sources = {
        "add": [types[1], types[0]],
        "sub": [types[1], types[0]],
        "mul": types[1:],
        "fma": [*types[1:], types[0]],
    }[name]
    result = 0
    for i in range(4):
        values = []
        for word, t in zip(words, sources):
            step = 4 if t == "e2m1x4" else 8
            values.append(number(word >> step * i & (1 << step) - 1, WIDE[t]))
        (x, negative_x), (y, negative_y), *rest = values
        with_sign = negative_x != negative_y
        if name in ("add", "sub"):
            product, sign = x, negative_x
            z, negative_z = (y, negative_y) if name == "add" else (-y, not negative_y)
        else:
            special = any(not isinstance(v, Fraction) for v in (x, y))
            product = (
                (math.nan if 0 in (x, y) or x != x or y != y else (-1) ** with_sign * math.inf) if special else x * y
            )
            sign = with_sign
            z, negative_z = rest[0] if rest else (None, False)
        total = product
        if z is not None:
            special = any(not isinstance(v, Fraction) for v in (product, z))
            total = (
                float(product if not isinstance(product, Fraction) else 0)
                + float(z if not isinstance(z, Fraction) else 0)
                if special
                else product + z
            )
            sign = (sign and negative_z) if total == 0 else total < 0
        elif total == total and total != 0:
            sign = total < 0
        result |= nearest(total, sign, WIDE[types[0]], satfinite) << 8 * i
    return result


@pytest.mark.thin(7)
@pytest.mark.parametrize("form", FORMS)
def test_results_are_exact_ones_rounded_once(form, engine):
    rng = np.random.default_rng(len(form))
    count = 3 if form.startswith("fma") else 2
    inputs = rng.integers(0, 1 << 32, (count, 256), np.uint32)
    inputs[:, ::3] &= 0x8F8F8F8F  # small and zero
    inputs[-1, 1::5] = 0x00807F7E
    if "ue8m0x4" in form:
        inputs[0, ::2] = inputs[0, ::2] & 0x0F0F0F0F | 0x78787878  # near to one
    output = np.zeros(256, np.uint32)
    narrow = [t == "e2m1x4" for t in form.split(".") if t in WIDE][1:]
    names = [f"%h{i}" if i < len(narrow) and narrow[i] else f"%r{i}" for i in range(count)]
    loads = "".join(f"ld.global.b32 %r{i}, [%i+{1024 * i}]; cvt.u16.u32 %h{i}, %r{i};\n" for i in range(count))
    text = f""".version 9.4
.target sm_100a
.address_size 64
.visible .entry k(.param .u64 I, .param .u64 O)
{{
    .reg .b32 %r<4>, %t, %d;
    .reg .b16 %h<4>;
    .reg .b64 %i, %o, %x;
    ld.param.u64 %i, [I];
    ld.param.u64 %o, [O];
    mov.u32 %t, %tid.x;
    mul.wide.u32 %x, %t, 4;
    add.u64 %i, %i, %x;
    add.u64 %o, %o, %x;
    {loads}
    {form} %d, {", ".join(names)};
    st.global.b32 [%o], %d;
    ret;
}}
"""
    run = launch(text, [inputs, output], block=256, engine=engine)
    assert not run.findings
    for lane in range(256):
        expected = wanted(form, [int(row[lane]) for row in inputs])
        assert int(output[lane]) == expected, (
            form,
            lane,
            [hex(int(row[lane])) for row in inputs],
            hex(expected),
            hex(int(output[lane])),
        )
