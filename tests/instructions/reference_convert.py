"""What cvt and cvt.pack compute, on fractions and ml_dtypes. See tests/instructions/reference.py."""

from __future__ import annotations

import math
from fractions import Fraction

import ml_dtypes
import numpy as np

from ptxsim.types import TYPES, ScalarType
from tests.instructions.reference_number import (
    ANY_NAN,
    INFINITE,
    UNKNOWN,
    WIDE,
    Number,
    clamp,
    code,
    finished,
    flushed,
    is_nan,
    limits,
    number,
    of,
    reference,
    split,
)  # fmt: skip

NARROW = {
    "e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2, "e2m3": ml_dtypes.float6_e2m3fn,
    "e3m2": ml_dtypes.float6_e3m2fn, "e2m1": ml_dtypes.float4_e2m1fn, "ue8m0": ml_dtypes.float8_e8m0fnu,
}  # fmt: skip


def integral(x: Number, mode: str) -> int:
    exact = -x[1] if x[0] else x[1]
    return {"rn": round, "rz": math.trunc, "rm": math.floor, "rp": math.ceil}[mode](exact)


def scalar_conversion(m, a: int):
    d, s = m["dtype"], m["atype"]
    rounding = m.get("rounding")
    if s.is_integer and d.is_integer:
        return clamp(number(a, s), d) if m.get("sat") else number(a, s)
    if s.is_integer:
        exact = number(a, s)
        return finished(code((exact < 0, Fraction(abs(exact))), d, rounding), m | {"ftz": None}, d)
    if m.get("ftz") and s.name in ("f32", "bf16") and d.name != "f16":
        a = flushed(a, s)
    x = of(a, s)
    if d.is_integer:
        if is_nan(x):
            low = limits(d)[0] if d.is_signed else 1 << d.bits - 1
            return low if 64 in (s.bits, d.bits) else 0
        return limits(d)[not x[0]] if x[1] == INFINITE else clamp(integral(x, rounding[:2]), d)
    if rounding and len(rounding) == 3 and rounding != "rna":
        if not is_nan(x) and x[1] != INFINITE:
            x = x[0], Fraction(abs(integral(x, rounding[:2])))
    elif is_nan(x) and not m.get("sat"):
        return moved_nan(m, a, s, d)
    mode = rounding if rounding in ("rn", "rz", "rm", "rp") else "rn"
    if m.get("ftz") and d.name == "f32" and s.name == "f64" and 0 < x[1] < Fraction(2) ** -126:
        x = x[0], Fraction(0)  # decided before rounding
    return finished(code(x, d, mode), m | {"ftz": m.get("ftz") if d.name == "f32" and s.name != "f64" else None}, d)


def moved_nan(m, a, s, d):
    """A NaN that is only moved stays as it is; f64 keeps payloads, which recordings judge."""
    if s is d and s.bits != 16 and not m.get("ftz"):
        return a
    if s.name == "bf16" and d.name == "f32" and not m.get("ftz"):
        return a << 16
    return ANY_NAN if 64 in (s.bits, d.bits) else code(UNKNOWN, d, "rn")


def element_code(word: int, m, t: ScalarType) -> int:
    """An f32 as an element of a packed type."""
    x = of(word, WIDE)
    mode = m["rounding"]
    if t.name in ("f16", "bf16"):
        return finished(code(x, t, mode), m, t)
    if t.name == "ue8m0":
        if is_nan(x):
            return 0xFF
        if x[1] == INFINITE:
            return 0xFE if m.get("satfinite") else 0xFF
        codes = range(0xFF)
        at_most = [c for c in codes if Fraction(2) ** (c - 127) <= x[1]]
        at_least = [c for c in codes if Fraction(2) ** (c - 127) >= x[1]]
        if mode == "rp":
            return at_least[0] if at_least else 0xFE if m.get("satfinite") else 0xFF
        return at_most[-1] if at_most else 0
    kind = NARROW[t.name]
    if is_nan(x):
        return (1 << t.exponent + t.mantissa) - 1
    if m.get("relu") and x[0]:
        return 0
    largest = float(ml_dtypes.finfo(kind).max)
    single = np.clip(np.array([word], np.uint32).view(np.float32), -largest, largest)
    return int(single.astype(kind).view(np.uint8)[0])


def single_of(bits: int, t: ScalarType) -> int:
    """An element of a packed type as f32 bits; NaN is canonical."""
    if t.name in NARROW:
        bits &= (1 << t.bits) - 1
        number_ = np.array([bits], np.uint8).view(NARROW[t.name]).astype(np.float32)
        return 0x7FFFFFFF if np.isnan(number_[0]) else int(number_.view(np.uint32)[0])
    return code(of(bits, t), WIDE, "rn")


def packed(codes, t: ScalarType) -> int:
    return sum(x << i * (t.bits // t.lanes) for i, x in enumerate(codes))


@reference("cvt")
def cvt(m, a, b=None, c=None):
    d, s = m.get("dtype") or TYPES["tf32"], m.get("atype") or WIDE
    if d.name == "tf32":
        return to_tf32(m, a)
    if m.get("rounding") == "rs":
        raise NotImplementedError  # test_stochastic.py
    if d.lanes == 1:
        return scalar_conversion(m, a)
    to = TYPES[d.element]
    if b is not None:
        return packed((element_code(x, m, to) for x in (b, a)), d)
    step = s.bits // s.lanes
    singles = [single_of(x, TYPES[s.element]) for x in split(a, step, s.lanes)]
    return packed((element_code(x, {"rounding": "rn"} | m, to) for x in singles), d)


def to_tf32(m, a):
    x = of(a, WIDE)
    if m["rounding"] == "rna":
        moved = a if a & 0x7FFFFFFF >= 0x7F800000 else a + 0x1000
        cut = moved & 0xFFFFE000
        return cut - 0x2000 if m.get("satfinite") and cut & 0x7FFFFFFF >= 0x7F800000 else cut
    if is_nan(x):
        return 0x3FFFF << 13
    if m.get("relu") and x[0]:
        return 0
    cut = a & 0xFFFFE000
    rest = a & 0x1FFF
    if m["rounding"] == "rn" and x[1] != INFINITE and (rest > 0x1000 or (rest == 0x1000 and cut & 0x2000)):
        cut += 0x2000
    return cut - 0x2000 if m.get("satfinite") and cut & 0x7FFFFFFF == 0x7F800000 else cut


@reference("cvt.pack")
def cvt_pack(m, a, b, c=None):
    signed, bits = str(m["dtype"])[0] == "s", int(str(m["dtype"])[1:])
    least, most = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    low, high = (max(least, min(most, number(x, TYPES["s32"]))) & (1 << bits) - 1 for x in (b, a))
    return low | high << bits | (c << 2 * bits if c is not None else 0)
