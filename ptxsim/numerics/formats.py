"""Element formats of the matrix instructions: codes (bit patterns) to numbers and back.

A code is an unsigned integer; a float number is held as a float64, which every product of two of these formats
(f64 apart) fits exactly. The tensor core aligns terms by their exponents *as decoded*: a subnormal keeps the exponent
of the smallest normal number, so the exponent is part of what decoding gives.
PTX ISA, "Alternate Floating-Point Data Formats".
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from ptxsim.types import TYPES

# The exponent of a zero: below every other, and the sum of three still fits int16.
ZERO_EXPONENT = -10000

CANONICAL_NAN = {"f16": 0x7FFF, "f32": 0x7FFFFFFF, "f64": 0x7FF8000000000000}


class Elements(NamedTuple):
    """Decoded codes: `value` float64 (infinities and NaN included) and `exponent` int16 (ZERO_EXPONENT for a zero).

    value = +-significand * 2^(exponent - mantissa bits), the significand below 2^(mantissa bits + 1).
    """

    value: np.ndarray
    exponent: np.ndarray


@cache
def code_dtype(name: str) -> np.dtype:
    """The unsigned numpy type that holds a code of the element type: uint8, uint16, uint32 or uint64."""
    bits = TYPES[name].bits
    return np.dtype(f"u{max(1, bits // 8)}")


def sign_bit(name: str) -> int:
    """Position of a signed float type's sign in its code."""
    return TYPES[name].bits - 1


def decode(codes: np.ndarray, name: str) -> Elements:
    """Float codes of any shape as Elements. Bits above the element's width are ignored. Raises KeyError."""
    if name in ("f32", "tf32"):
        return _decode_words(np.asarray(codes, np.uint32), name)
    values, exponents = _table(name)
    index = np.asarray(codes)
    if index.dtype.itemsize * 8 > TYPES[name].bits:
        index = index & ((1 << TYPES[name].bits) - 1)
    return Elements(values.take(index), exponents.take(index))


def _decode_words(codes: np.ndarray, name: str) -> Elements:
    if name == "tf32":  # the tensor core ignores the low 13 bits: truncation, never rounding
        codes = codes & np.uint32(0xFFFFE000)
    magnitude = codes & np.uint32(0x7FFFFFFF)
    exponent = np.maximum(magnitude >> np.uint32(23), 1).astype(np.int16)
    exponent -= 127
    exponent[magnitude == 0] = ZERO_EXPONENT
    with np.errstate(invalid="ignore"):  # signaling NaN
        return Elements(codes.view(np.float32).astype(np.float64), exponent)


def number_elements(values: np.ndarray) -> Elements:
    """float16 or float32 numbers as Elements."""
    if values.dtype == np.float16:
        return decode(values.view(np.uint16), "f16")
    return _decode_words(values.view(np.uint32), "f32")


def floats(codes: np.ndarray, name: str) -> np.ndarray:
    """Codes of a float type of at most 32 bits as float32 numbers (exact)."""
    if name == "f16":
        with np.errstate(invalid="ignore"):  # signaling NaN
            return np.ascontiguousarray(codes, np.uint16).view(np.float16).astype(np.float32)
    if name == "bf16":
        return (np.asarray(codes).astype(np.uint32) << np.uint32(16)).view(np.float32)
    if name == "tf32":
        return (np.asarray(codes, np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)
    if name == "f32":
        return np.ascontiguousarray(codes, np.uint32).view(np.float32)
    return decode(codes, name).value.astype(np.float32)


@cache
def _table(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Value and exponent of every code of a float format of at most 16 bits."""
    kind = TYPES[name]
    codes = np.arange(1 << kind.bits, dtype=np.int64)
    if name == "ue8m0":
        value, field = np.ldexp(1.0, codes - kind.bias), codes
        return np.where(codes == 0xFF, np.nan, value), (field - kind.bias).astype(np.int16)
    unsigned = name.startswith("u")
    fraction = codes & ((1 << kind.mantissa) - 1)
    field = codes >> kind.mantissa & ((1 << kind.exponent) - 1)
    negative = np.zeros_like(codes) if unsigned else codes >> (kind.exponent + kind.mantissa) & 1
    significand = fraction + (field > 0) * (1 << kind.mantissa)
    exponent = np.maximum(field, 1) - kind.bias
    value = np.ldexp(significand.astype(np.float64), exponent - kind.mantissa)
    top = field == (1 << kind.exponent) - 1
    if not kind.finite:
        value = np.where(top, np.where(fraction == 0, np.inf, np.nan), value)
    elif kind.mantissa == 3 and kind.exponent == 4:  # e4m3 and ue4m3: one NaN, no infinity
        value = np.where(top & (fraction == 7), np.nan, value)
    exponent = np.where(significand == 0, ZERO_EXPONENT, exponent)
    return np.where(negative == 1, -value, value), exponent.astype(np.int16)


@cache
def widening(name: str) -> tuple[int, int, int, int, float]:
    """How codes of a float type of at most 32 bits become float32 words.

    (mask, sign, shift, infinity, scale): the magnitude is code & mask; moved left by `shift` and, as a float32,
    multiplied by `scale` it is the number, but infinite or NaN from `infinity` on. The sign moves left by `sign`.
    """
    kind = TYPES[name]
    if name == "tf32":  # an f32 word without its low 13 bits
        return 0x7FFFE000, 0, 0, 0x7F800000, 1.0
    width = kind.exponent + kind.mantissa
    infinity = 0xFFFFFFFF if kind.finite else (1 << width) - (1 << kind.mantissa)
    if name == "e4m3":  # it has a NaN alone
        infinity = 0x7F
    return (1 << width) - 1, 31 - width, 23 - kind.mantissa, infinity, 2.0 ** (127 - kind.bias)


def decode_integers(codes: np.ndarray, name: str) -> np.ndarray:
    """s8, u8, s4, u4, b1 or s32 codes as float64 numbers (exact)."""
    kind = TYPES[name]
    numbers = np.asarray(codes).astype(np.int64) & ((1 << kind.bits) - 1)
    if kind.is_signed:
        numbers -= (numbers >> (kind.bits - 1)) << kind.bits
    return numbers.astype(np.float64)


def encode(values: np.ndarray, name: str) -> np.ndarray:
    """Codes of float64 or float32 numbers that the type represents exactly (f16, bf16, f32, f64).

    Every NaN becomes the canonical one, which has no sign and no payload. Raises KeyError.
    """
    if name == "bf16":
        codes = (values.astype(np.float32).view(np.uint32) >> np.uint32(16)).astype(np.uint16)
        codes[np.isnan(values)] = 0x7FFF
        return codes
    codes = values.astype({"f16": np.float16, "f32": np.float32}[name]).view(code_dtype(name))
    nan = values != values
    if nan.any():
        codes[nan] = CANONICAL_NAN[name]
    return codes
