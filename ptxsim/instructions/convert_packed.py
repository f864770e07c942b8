"""Conversion to and from pairs and quadruples of narrow floats, tf32, and cvt.pack of integers.

PTX ISA, "Data Movement and Conversion Instructions": cvt, cvt.pack.
"""

from __future__ import annotations

from typing import Any

from ptxsim import lanes
from ptxsim.instructions import folding
from ptxsim.isa.facts import Word
from ptxsim.isa.operand import Reg, Value, Vec
from ptxsim.isa.registry import Kinds, Options, computes, instruction
from ptxsim.lanes import LaneValue
from ptxsim.numerics import narrow, scalar
from ptxsim.numerics.scalar import F32, double, finish
from ptxsim.types import TYPES, ScalarType

# f6, f4 and ue8m0 came with Blackwell's architecture- and family-specific targets.
BLACKWELL = "8.6 sm_100f sm_110f sm_120f"
LATER_SOURCES = "9.1 sm_100f sm_110f sm_120f"
FP8 = "7.8 sm_90 | 8.1 sm_89"
_FINITE = "satfinite@8.1"


def encode(x: LaneValue, t: ScalarType, rounding: Word, satfinite: Word, relu: Word) -> LaneValue:
    """An f32 lane value as a code of the element type t, in u32."""
    if t.name == "ue8m0":
        return narrow.encode_scale(x, rounding, satfinite)
    if t.name not in ("f16", "bf16"):
        return narrow.encode(x, t, rounding, satfinite, relu)
    result = scalar.narrow(double(x), t, rounding)
    if satfinite:
        result = scalar.keep_finite(result, t)
    return lanes.cast(lanes.bits(finish(result, t, relu=relu), "u16"), "u32")


def element_of(t: ScalarType) -> ScalarType:
    return TYPES[str(t.element)]


def step(t: ScalarType) -> int:
    """Bits from one element of a packed type to the next: six-bit ones lie in bytes."""
    return t.bits // t.lanes


def pack(codes: Any, t: ScalarType) -> LaneValue:
    """Codes in u32, the first lowest, as a word of the packed type."""
    word = codes[0]
    for i, code in enumerate(codes[1:], 1):
        word = word | code << i * step(t)
    return lanes.cast(word, lanes.bits_type(t))


def unpack(word: LaneValue, t: ScalarType) -> LaneValue:
    word = lanes.cast(word, "u32")
    return [word >> i * step(t) & (1 << step(t)) - 1 for i in range(t.lanes)]


# ---- from two f32; the first becomes the upper element ----

_TWO: Options = {"operands": {"d": Reg("dtype"), "a": Value("f32"), "b": Value("f32")}, "implies": {"atype": F32}}


@instruction(
    "cvt.rounding{.relu}{.satfinite}.dtype.f32 d, a, b", rounding="rn rz", satfinite=_FINITE, cost="alu", dtype="bf16x2",
    requires="7.0 sm_80", **_TWO,
)  # fmt: skip
@instruction(
    "cvt.rounding{.relu}{.satfinite}.dtype.f32 d, a, b", rounding="rn rz", satfinite=_FINITE, cost="alu", dtype="f16x2",
    requires="7.0 sm_80", **_TWO | {"operands": {**_TWO["operands"], "d": Reg("dtype", wide=True)}},
)  # fmt: skip
@instruction(
    "cvt.rounding.satfinite{.relu}.dtype.f32 d, a, b", rounding="rn", satfinite="satfinite", cost="alu", dtype="e4m3x2 e5m2x2",
    requires=FP8, **_TWO,
)  # fmt: skip
@instruction(
    "cvt.rounding.satfinite{.relu}.dtype.f32 d, a, b", rounding="rn", satfinite="satfinite", dtype="e2m3x2 e3m2x2 e2m1x2",
    requires=BLACKWELL, **_TWO,
)  # fmt: skip
@instruction(
    "cvt.rounding{.satfinite}.dtype.f32 d, a, b", rounding="rz rp", dtype="ue8m0x2", requires=BLACKWELL, **_TWO
)
@computes(folds=folding.two_halves)
def two_singles(
    a: LaneValue, b: LaneValue, *, dtype: ScalarType, rounding: Word, satfinite: Word, relu: Word
) -> LaneValue:
    return pack([encode(x, element_of(dtype), rounding, satfinite, relu) for x in (b, a)], dtype)


# ---- from a pair of halves ----

_PAIR: Options = {"operands": {"d": Reg("dtype"), "a": Value("atype")}}
_NARROWER = "cvt.rounding.satfinite{.relu}.dtype.atype d, a"
_SATURATING: Options = {"rounding": "rn", "satfinite": "satfinite"} | _PAIR


@instruction(_NARROWER, cost="alu", dtype="e4m3x2 e5m2x2", atype="f16x2", requires=FP8, **_SATURATING)
@instruction(_NARROWER, dtype="e2m1x2", atype="f16x2", requires=BLACKWELL, **_SATURATING)
@instruction(_NARROWER, dtype="e4m3x2 e5m2x2 e2m1x2", atype="bf16x2", requires=LATER_SOURCES, **_SATURATING)
@instruction(_NARROWER, dtype="e2m3x2 e3m2x2", atype="f16x2 bf16x2", requires=LATER_SOURCES, **_SATURATING)
@instruction(
    "cvt.rounding{.satfinite}.dtype.atype d, a", rounding="rz rp", dtype="ue8m0x2", atype="bf16x2", requires=BLACKWELL, **_PAIR
)  # fmt: skip
def pair_of_halves(
    a: LaneValue, *, dtype: ScalarType, atype: ScalarType, rounding: Word, satfinite: Word, relu: Word
) -> LaneValue:
    values = (lanes.cast(x, F32) for x in lanes.split(a, atype))
    return pack([encode(x, element_of(dtype), rounding, satfinite, relu) for x in values], dtype)


# ---- to a pair of halves ----

_WIDER = "cvt.rn{.relu}.dtype.atype d, a"
_SCALED: Options = {
    "operands": {"d": Reg("dtype"), "a": Value("atype"), "b": Value("f32"), "scale": Reg("b16", untyped=True)}
}
_FIXED = "9.1 sm_100a sm_103a sm_110a sm_120a sm_121a | 9.4 sm_107a"
_NARROW = "e4m3x2 e5m2x2 e2m3x2 e3m2x2 e2m1x2"
_WITH_SCALES = ".scaled::n2::ue8m0"


@instruction(_WIDER, cost="alu", dtype="f16x2", atype="e4m3x2 e5m2x2", requires=FP8, **_PAIR)
@instruction(_WIDER, dtype="f16x2", atype="e2m3x2 e3m2x2 e2m1x2", requires=BLACKWELL, **_PAIR)
@instruction("cvt.rn.dtype.atype d, a", dtype="bf16x2", atype="ue8m0x2", requires=BLACKWELL, **_PAIR)
@instruction(
    "cvt.rn{.relu}{.satfinite}.dtype.atype d, a", dtype="bf16x2", atype=_NARROW, requires="9.2 sm_100f sm_110f sm_120f",
    **_PAIR,
)  # fmt: skip
@instruction(
    f"cvt.rn{{.relu}}{{.satfinite}}{_WITH_SCALES}.dtype.atype d, a, scale", dtype="bf16x2", atype=_NARROW,
    requires="9.2 sm_100f sm_110f sm_120f", **_SCALED,
)  # fmt: skip
@instruction("cvt.rn{.satfinite}{.relu}.dtype.atype d, a", dtype="bf16x2", atype="s2f6x2", requires=_FIXED, **_SCALED)
@instruction(
    f"cvt.rn{{.satfinite}}{{.relu}}{_WITH_SCALES}.dtype.atype d, a, scale", dtype="bf16x2", atype="s2f6x2",
    requires=_FIXED, **_SCALED,
)  # fmt: skip
def pair_to_halves(
    a: LaneValue, scale: LaneValue, *, dtype: ScalarType, atype: ScalarType, relu: Word, satfinite: Word
) -> LaneValue:
    """Scales are powers of two: in f32 the products are exact, and rounded once."""
    values = [decode(x, element_of(atype)) for x in unpack(a, atype)]
    if scale is not None:
        values = [x * narrow.decode_scale(s) for x, s in zip(values, unpack(scale, TYPES["ue8m0x2"]), strict=True)]
    return pack([encode(x, element_of(dtype), "rn", satfinite, relu) for x in values], dtype)


def decode(x: LaneValue, t: ScalarType) -> LaneValue:
    """A code as an f32 value; a signed byte, of .s2f6x2, is a number of 64ths."""
    if t.name == "ue8m0":
        return narrow.decode_scale(x)
    if t.name == "s8":
        return lanes.cast(lanes.cast((x ^ 0x80) - 0x80, "s32"), F32) * (1 / 64)
    return narrow.decode(x, t)


# ---- to fixed point of two bits before the point and six after ----

# The manual's text has two bf16, its pseudocode two bytes of the source; the assembler makes an instruction on bf16 of it.
_DOWN = "rn rz@9.4:sm_107a"
_NARROWING: Options = {"rounding": _DOWN, "satfinite": "satfinite", "dtype": "s2f6x2", "requires": _FIXED, **_SCALED}


@instruction("cvt.rounding.satfinite{.relu}.dtype.atype d, a, b", atype="f32", **_NARROWING)
@instruction(f"cvt.rounding.satfinite{{.relu}}{_WITH_SCALES}.dtype.atype d, a, b, scale", atype="f32", **_NARROWING)
@instruction("cvt.rounding.satfinite{.relu}.dtype.atype d, a", atype="bf16x2", **_NARROWING)
@instruction(f"cvt.rounding.satfinite{{.relu}}{_WITH_SCALES}.dtype.atype d, a, scale", atype="bf16x2", **_NARROWING)
def to_fixed_point(
    a: LaneValue, b: LaneValue, scale: LaneValue, *, dtype: ScalarType, atype: ScalarType, rounding: Word, relu: Word
) -> LaneValue:
    """Numbers of 64ths, of values that are divided by scales, which is exact in f64: scales are powers of two. NaN is the largest."""
    values = [b, a] if atype is F32 else list(lanes.split(a, atype))
    divisors = [1.0, 1.0] if scale is None else [
        double(narrow.decode_scale(s)) for s in unpack(scale, TYPES["ue8m0x2"])
    ]  # fmt: skip
    codes = [fixed_point(double(x) / y, rounding, relu) for x, y in zip(values, divisors, strict=True)]
    return pack(codes, dtype)


def fixed_point(x: LaneValue, rounding: Word, relu: Word) -> LaneValue:
    """An f64 as a signed byte of 64ths, in u32, within -2 and 127/64."""
    whole = lanes.float_to_int(lanes.round_to_integral(x * 64, str(rounding)), TYPES["s32"])
    whole = lanes.where(x == x, lanes.minimum(lanes.maximum(whole, -128), 127), 127)
    if relu:
        whole = lanes.maximum(whole, 0)
    return lanes.bits(whole, "u32") & 0xFF


# ---- tf32 ----

_TF32: Options = {"operands": {"d": Reg("tf32"), "a": Value("f32")}}


# Rounding halves away from zero is made of moves of bits, which take literals of 32 bits.
@instruction(
    "cvt.rounding{.satfinite}.tf32.f32 d, a", cost="tf32.rna", rounding="rna", satfinite=_FINITE, requires="7.0 sm_80",
    operands={"d": Reg("tf32"), "a": Value("f32", pattern=True)},
)  # fmt: skip
@instruction(
    "cvt.rounding{.satfinite}{.relu}.tf32.f32 d, a", cost="alu", rounding="rn rz", satfinite="satfinite@8.6:sm_100",
    requires="7.8 sm_90", **_TF32,
)  # fmt: skip
@computes(folds=lambda words: bool(words.get("rounding") == "rna"))
def to_tf32(a: LaneValue, *, rounding: Word, satfinite: Word, relu: Word) -> LaneValue:
    return narrow.encode_tf32(a, rounding, satfinite, relu)


# ---- stochastic rounding ----
#
# The manual shows in figures which random bits are for which element; these are in words what they show and what others
# have measured on a B200 (public: the nvidia_rs_bit_probe experiments with e4m3x4, e5m2x4, e2m1x4 and bf16x2).

_STOCHASTIC: Options = {"rounding": "rs", "requires": "8.7 sm_100a sm_103a"}


@instruction(
    "cvt.rounding{.relu}{.satfinite}.dtype.f32 d, a, b, c", dtype="f16x2 bf16x2",
    operands={"d": Reg("dtype"), "a": Value("f32"), "b": Value("f32"), "c": Reg("b32", untyped=True)}, **_STOCHASTIC,
)  # fmt: skip
def two_singles_at_random(
    a: LaneValue, b: LaneValue, c: LaneValue, *, dtype: ScalarType, rounding: Word, satfinite: bool, relu: bool
) -> LaneValue:
    """Each element has a half of the random word to itself; f16 takes as many of its bits as it drops."""
    element = element_of(dtype)
    count = 23 - element.mantissa
    halves = [x & (1 << count) - 1 for x in (c, c >> 16)]
    codes = [
        narrow.encode(x, element, rounding, satfinite, relu, (bits, count)) for x, bits in zip((b, a), halves, strict=True)
    ]  # fmt: skip
    return pack(codes, dtype)


@instruction(
    "cvt.rounding.satfinite{.relu}.dtype.f32 d, a, b", satfinite="satfinite", dtype="e4m3x4 e5m2x4 e2m3x4 e3m2x4 e2m1x4",
    operands={"d": Reg("dtype"), "a": Vec(4, Value("f32")), "b": Reg("b32", untyped=True)}, **_STOCHASTIC,
)  # fmt: skip
def four_singles_at_random(
    a: LaneValue, b: LaneValue, *, dtype: ScalarType, rounding: Word, satfinite: Word, relu: bool
) -> LaneValue:
    """Two elements share 16 random bits, the second of the two from the other end."""
    low, high = b & 0xFFFF, b >> 16
    if dtype.name == "e2m1x4":  # bytes 2 and 0, 3 and 1
        low, high = b >> 8 & 0xFF00 | b & 0xFF, b >> 16 & 0xFF00 | b >> 8 & 0xFF
    words = (low, lanes.reverse_bits(low) >> 16, high, lanes.reverse_bits(high) >> 16)
    codes = [
        narrow.encode(x, element_of(dtype), rounding, satfinite, relu, (bits, 16))
        for x, bits in zip(reversed(a), words, strict=True)
    ]
    return pack(codes, dtype)


# ---- integers ----


def packed_integers(a: LaneValue, b: LaneValue, c: LaneValue, name: str) -> LaneValue:
    """Saturate a and b to the type, b lowest, and put the low bits of c above them."""
    bits, signed = int(name[1:]), name[0] == "s"
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    clamped = (lanes.bits(lanes.minimum(lanes.maximum(x, low), high), "u32") & (1 << bits) - 1 for x in (b, a))
    lower, upper = clamped
    word = lower | upper << bits
    return word if c is None else word | lanes.shift_left(c, 2 * bits)


_SOURCES: Kinds = {
    "d": Reg(lambda modifiers: "u32", wide=True),
    "a": Value("s32"),
    "b": Value("s32"),
    "c": Value("b32"),
}


@instruction(
    "cvt.pack.sat.dtype.s32 d, a, b", cost="alu", name="cvt.pack", dtype="u16 s16", requires="6.5 sm_72", operands=_SOURCES
)  # fmt: skip
@instruction(
    "cvt.pack.sat.dtype.s32.b32 d, a, b, c", cost="alu", name="cvt.pack", dtype="u8 s8 u4@6.5:sm_75 s4@6.5:sm_75 u2@6.5:sm_75 s2@6.5:sm_75",
    requires="6.5 sm_72", operands=_SOURCES, ordered=(("dtype", "s32", "b32"),),
)  # fmt: skip
def pack_integers(a: LaneValue, b: LaneValue, c: LaneValue, *, dtype: Word) -> LaneValue:
    return packed_integers(a, b, c, str(dtype))
