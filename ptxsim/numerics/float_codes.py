"""Codes of floats to float32 numbers and back, and the exponents of such numbers, compiled. Imported when needed."""

from __future__ import annotations

import numpy as np
from numba import types

from ptxsim.numerics.formats import widening
from ptxsim.numerics.fused import SPECIAL, ZERO
from ptxsim.numerics.numba_support import Scalar, compiled, float_of_word, inner, shift_left, truncate, word_of_float

INFINITE, NAN = 0x7F800000, 0x7FFFFFFF

i16, i32, u16, u32 = np.int16, np.int32, np.uint16, np.uint32
f32 = np.float32

NUMBERS = types.Array(types.float32, 2, "C")
WIDENING = [types.uint32] * 4 + [types.float32]  # the types of what `widening` gives
_codes = [types.Array(kind, 2, "C") for kind in (types.uint8, types.uint16, types.uint32)]


@inner
def widened(
    code: Scalar, magnitude_mask: Scalar, sign_shift: Scalar, shift: Scalar, infinity: Scalar, scale: Scalar
) -> Scalar:
    """The word of a float code as float32: the magnitude's bits moved to float32's place, times `scale` for the bias.

    Magnitudes from `infinity` on are infinite or NaN. Bits of `code` above the sign are ignored; the sign moves left by
    `sign_shift`, the magnitude by `shift`.
    """
    magnitude = u32(code & magnitude_mask)
    moved = shift_left(magnitude, shift)
    word = u32(word_of_float(f32(float_of_word(i32(moved)) * scale)))
    word = u32(moved | u32(INFINITE)) if magnitude >= infinity else word
    return i32(u32(word | u32(shift_left(code, sign_shift) & u32(0x80000000))))


@compiled([NUMBERS(kind, *WIDENING) for kind in _codes])
def _widen(
    codes: np.ndarray, magnitude_mask: Scalar, sign_shift: Scalar, shift: Scalar, infinity: Scalar, scale: Scalar
) -> np.ndarray:
    """Float codes (M, N) as float32."""
    result = np.empty(codes.shape, f32)
    for m in range(codes.shape[0]):
        for n in range(codes.shape[1]):
            word = widened(u32(codes[m, n]), magnitude_mask, sign_shift, shift, infinity, scale)
            result[m, n] = float_of_word(word)
    return result


def numbers(codes: np.ndarray, name: str) -> np.ndarray:
    """Codes (M, N) of a float type of at most 32 bits as float32 numbers."""
    codes = np.require(codes, requirements=["C", "W"])  # the compiled functions take no others
    return codes.view(f32) if name == "f32" else _widen(codes, *widening(name))


@compiled(types.Array(types.uint16, 2, "C")(NUMBERS))
def f16_codes(values: np.ndarray) -> np.ndarray:
    """float32 numbers that f16 represents exactly as f16 codes, NaN canonical."""
    result = np.empty(values.shape, u16)
    for m in range(values.shape[0]):
        for n in range(values.shape[1]):
            word = u32(word_of_float(values[m, n]))
            magnitude = u32(word & u32(NAN))
            normal = u32(u32(magnitude - u32(112 << 23)) >> u32(13))
            subnormal = u32(truncate(f32(abs(values[m, n]) * f32(2**24))))
            code = subnormal if magnitude < u32(113 << 23) else normal
            code = u32(0x7C00) if magnitude == u32(INFINITE) else code
            code = u32(code | u32(u32(word >> u32(16)) & u32(0x8000)))
            result[m, n] = u16(u32(0x7FFF) if magnitude > u32(INFINITE) else code)
    return result


@inner
def exponent_of_word(word: Scalar, smallest: Scalar) -> Scalar:
    """The exponent as decoded of a float32 number's word; `smallest` is the type's smallest normal one."""
    field = i32(i32(word >> i32(23)) & i32(255))
    exponent = i32(field - i32(127))
    exponent = exponent if exponent > smallest else smallest
    exponent = i32(ZERO) if i32(word & i32(NAN)) == 0 else exponent
    return i16(i32(SPECIAL) if field == 255 else exponent)


@inner
def exponents(values: np.ndarray, smallest: Scalar) -> np.ndarray:
    """Exponents as decoded, of float32 numbers."""
    result = np.empty(values.shape, i16)
    flat, out = values.reshape(-1), result.reshape(-1)
    for i in range(flat.size):
        out[i] = exponent_of_word(word_of_float(flat[i]), smallest)
    return result
