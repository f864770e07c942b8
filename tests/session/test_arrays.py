"""Test data by PTX type: rules, initialiser texts, files."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptxsim import arrays
from ptxsim.diagnostic import PtxError
from ptxsim.session.initialiser import parse_initialiser


def test_ints_are_small_and_the_same_for_the_same_seed():
    first, again, other = (
        arrays.ints((64, 16), "f16", 1),
        arrays.ints((64, 16), "f16", 1),
        arrays.ints((64, 16), "f16", 2),
    )
    assert first.dtype == np.float16 and first.shape == (64, 16)
    assert np.array_equal(first, again) and not np.array_equal(first, other)
    assert set(np.unique(first)) <= set(range(-4, 5)) and len(np.unique(first)) > 5


@pytest.mark.parametrize("type", sorted(arrays.DTYPES))
def test_every_type_holds_ints_and_zeros(type):
    values = arrays.ints((5, 3), type)
    assert values.dtype == arrays.dtype_of(type) and values.shape == (5, 3)
    assert not np.any(arrays.zeros(4, type).astype(np.float64)) or type == "ue8m0"


@pytest.mark.parametrize("type", ["e4m3", "e5m2", "e2m1", "e3m2", "e2m3", "bf16", "f16"])
def test_ints_are_exact_in_every_float_type(type):
    values = arrays.ints(200, type).astype(np.float64)
    assert np.array_equal(values, np.round(values)) and values.max() == 4 and values.min() == -4


def test_ramp_wraps_in_integers_and_counts_in_floats():
    assert list(arrays.ramp(300, "u8")[254:258]) == [254, 255, 0, 1]
    assert list(arrays.ramp((2, 3), "f32").ravel()) == [0, 1, 2, 3, 4, 5]


def test_eye_takes_one_or_two_sizes():
    assert np.array_equal(arrays.eye(3, "f16"), np.eye(3))
    assert arrays.eye((2, 4), "s8").shape == (2, 4)


def test_uniform_fills_all_bits_of_untyped_words():
    assert arrays.uniform(1000, "b16").max() > 60000
    assert np.abs(arrays.uniform(1000, "f32")).max() < 1


def test_tf32_data_have_no_low_bits():
    assert not np.any(arrays.normal(100, "tf32").view(np.uint32) & 0x1FFF)


@pytest.mark.parametrize(
    ("text", "shape", "dtype"),
    [
        ("ints(64,16):f16", (64, 16), "float16"),
        ("normal(8, 4, seed=3):bf16", (8, 4), "bfloat16"),
        ("zeros(7):.b32", (7,), "uint32"),
        ("eye(16):e4m3", (16, 16), "float8_e4m3fn"),
    ],
)
def test_initialiser_of_a_rule(text, shape, dtype):
    value = parse_initialiser(text).build()
    assert value.shape == shape and value.dtype.name == dtype


@pytest.mark.parametrize(
    ("text", "value"),
    [("64", 64), ("-3", -3), ("0x10", 16), ("1.5", 1.5), ("1e3", 1000.0), ("0f3F800000", 1.0), ("007", 7)],
)
def test_initialiser_of_a_number(text, value):
    assert parse_initialiser(text).build() == value


def test_the_seed_of_an_initialiser_wins_over_the_callers():
    stated = parse_initialiser("ints(50,seed=4):s32")
    assert np.array_equal(stated.build(9), arrays.ints(50, "s32", 4))
    assert np.array_equal(parse_initialiser("ints(50):s32").build(9), arrays.ints(50, "s32", 9))


@pytest.mark.parametrize(
    ("text", "help"),
    [
        ("intz(4):f16", "ints"),
        ("ints(4):f17", "f16"),
        ("ints(4)", ":f16"),
        ("ints(4,sed=1):f16", "seed"),
        ("ints(a):f16", "ints(64,16,seed=1)"),
        ("normal(4):s32", "ints"),
        ("a.npy", ":bf16"),
        ("what", "file.npy"),
        ("tensormap(ints(4,4):f16, bx=4x4)", "box"),
        ("tensormap(ints(4,4):f16, box=4,4)", "write box=4x4, innermost first"),
        ("tensormap(ints(4,4):f16, box=four)", "innermost first"),
        ("tensormap(7)", "tensormap("),
        ("tensormap(ints(4,4):f16", "tensormap("),
    ],
)
def test_what_is_wrong_with_an_initialiser_is_said_with_help(text, help):
    with pytest.raises(PtxError) as caught:
        parse_initialiser(text)
    assert caught.value.findings[0].name == "bad-directive" and help in caught.value.findings[0].help


def test_a_huge_array_is_refused():
    with pytest.raises(PtxError):
        parse_initialiser("zeros(100000,100000):f64")


@given(st.text(max_size=30))
def test_any_text_is_a_value_or_a_finding(text):
    try:
        parse_initialiser(text)
    except PtxError as error:
        assert error.findings[0].name == "bad-directive"


@pytest.mark.parametrize("type", ["f16", "bf16", "e4m3", "e5m2", "e2m1", "s8", "b16", "f64"])
def test_a_saved_array_comes_back_under_its_type(tmp_path, type):
    array = arrays.ints((4, 8), type)
    line = arrays.save(tmp_path / "a.npy", array)
    assert "4x8" in line and (type in ("f16", "s8", "b16", "f64") or f"a.npy:{type}" in line)
    again = arrays.load(tmp_path / "a.npy", type)
    assert again.dtype == array.dtype and np.array_equal(again.astype(np.float64), array.astype(np.float64))


def test_numpys_own_file_of_bf16_is_read_by_the_stated_type(tmp_path):
    np.save(tmp_path / "raw.npy", np.array([1.5, -2], ml_dtypes.bfloat16))
    assert list(arrays.load(tmp_path / "raw.npy", "bf16").astype(float)) == [1.5, -2]


def test_a_file_of_another_width_or_no_file_is_a_finding(tmp_path):
    np.save(tmp_path / "wide.npy", np.zeros(3, np.float32))
    (tmp_path / "broken.npy").write_bytes(b"nonsense")
    for name in ("wide.npy", "none.npy", "broken.npy"):
        with pytest.raises(PtxError):
            arrays.load(tmp_path / name, "bf16")
