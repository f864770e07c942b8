"""Formats of fewer bits than f16, and tf32: codes from f32 and back, as expressions over lane values.

PTX ISA, "Alternate Floating-Point Data Formats" and cvt.
"""

from __future__ import annotations

from ptxsim import lanes
from ptxsim.lanes import LaneValue
from ptxsim.numerics.formats import widening
from ptxsim.numerics.scalar import F32, Modifier
from ptxsim.types import TYPES, ScalarType

_SIGN, _MAGNITUDE, _INFINITY = 0x80000000, 0x7FFFFFFF, 0x7F800000


def largest(t: ScalarType) -> int:
    """The code of the largest finite number."""
    top = (1 << t.exponent + t.mantissa) - 1
    if not t.finite:
        return ((1 << t.exponent) - 1 << t.mantissa) - 1
    return top - 1 if t.name == "e4m3" else top


def nan_code(t: ScalarType) -> int:
    """The code of NaN; in formats without one, of the largest number."""
    return (1 << t.exponent + t.mantissa) - 1


def encode(
    x: LaneValue, t: ScalarType, mode: str, satfinite: Modifier = None, relu: Modifier = None,
    random: tuple[LaneValue, int] | None = None,
) -> LaneValue:  # fmt: skip
    """f32 lane values to codes of a format with at most 10 mantissa bits, in u32, rounded as rn, rz or rs.

    `random`, of rs alone, are a u32 lane value and how many bits it has: these are added to the highest bits that are dropped.
    """
    word = lanes.bits(x, "u32")
    size = word & _MAGNITUDE
    field = lanes.maximum(size >> 23, 1)
    significand = lanes.where(size < 1 << 23, size, size & 0x7FFFFF | 1 << 23)
    smallest = 128 - t.bias  # the f32 exponent field of the format's smallest normal number
    # Beyond this many dropped bits nothing is rounded up any more.
    most = 25 + (random[1] if random else 0)
    below = lanes.minimum(lanes.maximum(field, smallest) - field, most - (23 - t.mantissa))
    drop = below + (23 - t.mantissa)
    kept = lanes.shift_right(significand, drop)
    if mode == "rn":
        rest = significand - lanes.shift_left(kept, drop)
        half = lanes.shift_left((drop ^ drop) + 1, drop - 1)
        up = (rest > half) | (rest == half) & ((kept & 1) != 0)
        kept = kept + lanes.cast(up, "u32")
    elif random:
        word_of, count = random
        dither = lanes.shift_left(lanes.cast(word_of, "u64"), drop - count)
        kept = lanes.cast(lanes.shift_right(lanes.cast(significand, "u64") + dither, drop), "u32")
    code = kept + ((lanes.maximum(field, smallest) - smallest) << t.mantissa)
    code = lanes.minimum(code, largest(t) + (0 if satfinite else 1))
    negative = (word & _SIGN) != 0
    code = code | lanes.cast(negative, "u32") << t.exponent + t.mantissa
    if relu:
        code = lanes.where(negative, code ^ code, code)
    return lanes.where(size > _INFINITY, nan_code(t), code)


def decode(code: LaneValue, t: ScalarType) -> LaneValue:
    """Codes in u32 to the f32 numbers they stand for."""
    mask, sign, shift, infinity, _ = widening(t.name)
    size = code & mask
    word = (size << shift) + (127 - t.bias << 23)
    if t.bias < 127:
        # Subnormal numbers have the smallest normal one, which is added and taken away: as f32 ones, which a multiplication would make
        # normal at once, they would cost a CPU a hundred cycles.
        lifted = lanes.bits(word + (1 << 23), F32) - 2.0 ** (1 - t.bias)
        word = lanes.where(size < 1 << t.mantissa, lanes.bits(lifted, "u32"), word)
    if infinity <= mask:
        word = lanes.where(size >= infinity, _MAGNITUDE, word)
        word = word if t.finite else lanes.where(size == infinity, _INFINITY, word)
    return lanes.bits(code << sign & _SIGN | word, F32)


def encode_scale(x: LaneValue, mode: str, satfinite: Modifier = None) -> LaneValue:
    """f32 lane values to ue8m0 codes: the exponent of the magnitude, rounded to zero (rz) or up (rp). NaN is 0xff."""
    size = lanes.bits(x, "u32") & _MAGNITUDE
    code = size >> 23
    if mode == "rp":
        # The smallest code, 2^-127, is half of the smallest normal f32.
        up = lanes.where(size < 1 << 23, size > 1 << 22, (size & 0x7FFFFF) != 0)
        code = code + lanes.cast(up, "u32")
    code = lanes.minimum(code, 0xFE if satfinite else 0xFF)
    return lanes.where(size > _INFINITY, 0xFF, code)


def decode_scale(code: LaneValue) -> LaneValue:
    """ue8m0 codes in u32 to f32 numbers."""
    word = lanes.where(code == 0, 1 << 22, code << 23)
    return lanes.bits(lanes.where(code == 0xFF, _MAGNITUDE, word), F32)


TF32 = TYPES["tf32"]


def encode_tf32(x: LaneValue, mode: str, satfinite: Modifier = None, relu: Modifier = None) -> LaneValue:
    """f32 lane values to tf32 ones, in u32: ten mantissa bits in the place where f32 has them.

    rna is no instruction of the GPU but a few integer ones, which let NaN and its payload through.
    """
    word = lanes.bits(x, "u32")
    if mode != "rna":
        code = encode(x, TF32, mode, satfinite, relu)
        return code << 13
    word = lanes.where(word & _MAGNITUDE < _INFINITY, word + 0x1000, word) & 0xFFFFE000
    if not satfinite:
        return word
    return lanes.where(word & _MAGNITUDE >= _INFINITY, word - 0x2000, word)
