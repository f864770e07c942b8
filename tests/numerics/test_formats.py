import ml_dtypes
import numpy as np
import pytest

from ptxsim.numerics.formats import ZERO_EXPONENT, decode, decode_integers, encode, floats
from tests.numerics import reference

ARRAYS = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "e4m3": ml_dtypes.float8_e4m3fn,
    "e5m2": ml_dtypes.float8_e5m2,
    "e3m2": ml_dtypes.float6_e3m2fn,
    "e2m3": ml_dtypes.float6_e2m3fn,
    "e2m1": ml_dtypes.float4_e2m1fn,
    "ue8m0": ml_dtypes.float8_e8m0fnu,
}
BITS = {"f16": 16, "bf16": 16, "e3m2": 6, "e2m3": 6, "e2m1": 4}


@pytest.mark.parametrize("name", ARRAYS)
def test_every_code_has_its_value(name):
    bits = BITS.get(name, 8)
    codes = np.arange(1 << bits).astype(np.uint16 if bits == 16 else np.uint8)
    with np.errstate(invalid="ignore"):
        expected = codes.view(ARRAYS[name]).astype(np.float64)
    assert np.array_equal(decode(codes, name).value, expected, equal_nan=True)
    if name != "ue8m0":
        with np.errstate(invalid="ignore"):
            assert np.array_equal(floats(codes, name), expected.astype(np.float32), equal_nan=True)


@pytest.mark.parametrize("name", ["f16", "bf16", "e4m3", "e5m2", "e3m2", "e2m3", "e2m1"])
def test_exponents_are_those_of_the_code_not_of_the_value(name):
    codes = np.arange(1 << BITS.get(name, 8))
    exponents = decode(codes, name).exponent
    for code in codes[:: max(1, len(codes) // 512)]:
        parts = reference.decode(int(code), name)
        if parts[0] in (0, 1):
            assert exponents[code] == (parts[3] if parts[1] else ZERO_EXPONENT)


def test_tf32_drops_the_low_bits_of_a_word():
    words = np.array([0x3F803FFF, 0x7F800001, 0x00000001, 0x00002000], np.uint32)
    value, exponent = decode(words, "tf32")
    assert value.tolist() == [1.0 + 2**-10, np.inf, 0.0, 2.0**-136]
    assert exponent.tolist()[2:] == [ZERO_EXPONENT, -126]


def test_ue4m3_ignores_bit_7():
    assert decode(np.array([0xB8, 0x38], np.uint8), "ue4m3").value.tolist() == [1.0, 1.0]


def test_integers():
    assert decode_integers(np.array([0x7, 0x8, 0xF]), "s4").tolist() == [7, -8, -1]
    assert decode_integers(np.array([0x8, 0xF]), "u4").tolist() == [8, 15]
    assert decode_integers(np.array([0x80, 0xFF], np.uint8), "s8").tolist() == [-128, -1]


def test_encode_makes_nan_canonical():
    nan = np.array([0xFFC12345], np.uint32).view(np.float32)
    assert encode(nan, "f32")[0] == 0x7FFFFFFF
    assert encode(nan, "f16")[0] == 0x7FFF
    assert encode(np.array([-0.0, 1.5, -np.inf]), "f16").tolist() == [0x8000, 0x3E00, 0xFC00]
