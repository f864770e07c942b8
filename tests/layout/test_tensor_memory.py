"""Where tensor memory keeps things: the tables of CuTe's copy traits (C++ header copy_traits_sm100.hpp), and descriptors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptxsim.layout.instruction_descriptor import KINDS, InstructionDescriptor, decode
from ptxsim.layout.tensor_descriptor import SWIZZLE_CODES, TensorDescriptor
from ptxsim.layout.tensor_memory import accumulators, moved


def cute(bit, columns):
    """The (row, column) of a bit as the traits number them: rows of `columns` words one after the other."""
    return bit // (32 * columns), bit % (32 * columns) // 32


# (thread, value) -> bit of the destination layouts for number n, and words of a row.
TRAITS = {
    "16x64b": lambda t, r, n: (t % 2 * 512 * n + t // 2 % 2 * 32 + t // 4 * 64 * n + r * 64, 2 * n),
    "16x128b": lambda t, r, n: (t % 4 * 32 + t // 4 * 128 * n + r % 2 * 1024 * n + r // 2 * 128, 4 * n),
    "16x256b": lambda t, r, n: (t % 4 * 64 + t // 4 * 256 * n + r % 2 * 32 + r // 2 % 2 * 2048 * n + r // 4 * 256, 8 * n),
    "32x32b": lambda t, r, n: (t * 32 * n + r * 32, n),
}  # fmt: skip


@pytest.mark.parametrize("number", [1, 2, 8, 32])
@pytest.mark.parametrize("shape", TRAITS)
def test_loads_have_the_fragments_of_cute(shape, number):
    rows, columns = moved(shape, number)
    for register in range(len(rows)):
        for lane in range(32):
            bit, width = TRAITS[shape](lane, register, number)
            assert (rows[register, lane], columns[register, lane]) == cute(bit, width)


def test_the_second_half_of_16x32bx2_lies_apart():
    rows, columns = moved("16x32bx2", 4, split=100)
    assert (rows == np.arange(32) % 16).all()
    assert (columns == np.arange(4)[:, None] + 100 * (np.arange(32) // 16)).all()


@pytest.mark.parametrize("shape", TRAITS)
def test_packing_takes_the_low_halves_of_two_columns(shape):
    rows, columns = moved(shape, 4)
    packed = moved(shape, 4, packed=True)
    for half in (0, 1):
        assert (packed.rows[half] == rows).all()
        assert (packed.columns[half] == 2 * columns + half).all()


@pytest.mark.parametrize(("rows", "spread"), [(128, True), (64, True), (128, False), (64, False), (32, False)])
def test_accumulators_overlap_nowhere(rows, spread):
    lanes, columns = accumulators(rows, 64, spread)
    assert len(set(zip(lanes.ravel().tolist(), columns.ravel().tolist()))) == rows * 64
    assert columns.max() + 1 == (64 if spread else 64 * rows // 128)


def test_64_rows_take_every_other_16():
    lanes, _ = accumulators(64, 8, True)
    assert lanes[:, 0].tolist() == [*range(16), *range(32, 48), *range(64, 80), *range(96, 112)]


@pytest.mark.slow
@given(st.sampled_from([*KINDS]), st.data())
def test_instruction_descriptors_come_back(kind, data):
    row, flag, two = KINDS[kind], st.booleans(), st.integers(0, 3)
    factor = st.sampled_from([*row.factors.values()])
    sparse = data.draw(flag)
    scaled = row.scales is not None
    given_ = InstructionDescriptor(
        kind, 16 * data.draw(st.integers(2, 16)), 8 * data.draw(st.integers(1, 32)), row.k * (1 + sparse),
        "f32" if scaled else data.draw(st.sampled_from([*row.d.values()])), data.draw(factor), data.draw(factor), sparse,
        data.draw(two), not scaled and data.draw(flag), *(data.draw(flag) for _ in range(4)),
        shift=0 if scaled else data.draw(two), scale=data.draw(st.sampled_from([*row.scales.values()])) if scaled else "",
        scale_a=data.draw(two) if scaled else 0, scale_b=data.draw(two) if scaled else 0,
    )  # fmt: skip
    assert decode(given_.encode(), kind) == given_


def test_an_instruction_descriptor_says_what_it_has_not():
    assert "type of A is 2" in decode(2 << 7, "f16")
    assert "type of D is 2" in decode(2 << 4, "f16")
    assert "type of the scales is 0" in decode(0, "mxf8f6f4")


@given(st.sampled_from([*SWIZZLE_CODES]), *[st.integers(0, (1 << 14) - 1)] * 3, st.integers(0, 7))
def test_matrix_descriptors_come_back(swizzle, start, leading, stride, base):
    fields = TensorDescriptor(16 * start, 16 * leading, 16 * stride, swizzle, base)
    assert TensorDescriptor.decode(fields.encode()) == fields
    assert fields.encode() >> 46 & 7 == 1


def test_a_swizzle_that_is_none_is_said():
    fields = TensorDescriptor.decode(3 << 61 | 1 << 46)
    assert [name for name, _ in fields.problems()] == ["descriptor-invalid"]


def test_a_leading_address_is_said():
    """Rows of 48 bytes alone have one (K = 96 of sm_103): anything else would be read by a distance that is none."""
    (problem,) = TensorDescriptor.decode(1 << 52 | 1 << 46).problems()
    assert problem[0] == "descriptor-invalid" and "bit 52" in problem[1]
