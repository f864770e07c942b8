import numpy as np
import pytest

from ptxsim.layout.bits import BitLayout

A = "lane k1 k2 m0 m1 m2 | elem k0 m3 k3"


def test_a_line_is_the_manuals_formula():
    layout = BitLayout(A, "mk", (16, 16))
    for lane in range(32):
        for i in range(8):
            row = lane // 4 + (0 if i < 2 or 4 <= i < 6 else 8)
            column = lane % 4 * 2 + (i & 1) + (8 if i >= 4 else 0)
            assert layout.forward(lane, i) == (row, column)


def test_owners_invert_the_layout():
    layout = BitLayout(A, "mk", (16, 16))
    assert all(layout.owners(*layout.forward(lane, i)) == [(lane, i)] for lane in range(32) for i in range(8))


@pytest.mark.parametrize("columns", [8, 24, 40, 256])
def test_open_ended_digits_take_any_multiple(columns):
    layout = BitLayout("lane n1 n2 m0 m1 m2 | warp m4 m5 | elem n0 m3 n3..", "mn", (64, columns))
    assert layout.lanes == 128 and layout.elements == columns // 2
    assert np.array_equal(np.sort(layout.flat.ravel()), np.arange(64 * columns))
    assert layout.forward(127, columns // 2 - 1) == (63, columns - 1)


def test_copies_repeat_the_fragment():
    layout = BitLayout("lane k1 k2 m0 m1 m2 | elem k0 m3 k3", "mk", (16, 16), copies=2)
    assert layout.elements == 16
    assert layout.owners(9, 3) == [(5, 3), (5, 11)]


@pytest.mark.parametrize("line", ["lane k1 k2 m0 m1 m2 | elem k0 m3", "lane k1 k1 m0 m1 m2 | elem k0 m3 k3", "lane q0"])
def test_lines_that_are_no_bijection_are_refused(line):
    with pytest.raises(ValueError):
        BitLayout(line, "mk", (16, 16))
