"""What wrong elements of an array have in common, in words."""

import numpy as np
import pytest

from ptxsim.session.ptxfile.differences import pattern_of


@pytest.mark.parametrize(
    ("indices", "text"),
    [
        (np.s_[3, :], ", exactly those in row 3"),
        (np.s_[:, 1::2], ", exactly those with column bit 0 set"),
        (np.s_[8:16, 0:2], ", exactly those at [8:16,0:2]"),
        (np.s_[5::4, :], ", exactly those at [5:14:4,:]"),
        (([1, 2, 13], [3, 8, 5]), ""),
        (np.s_[:, :], ", every one"),
    ],
)
def test_patterns_over_index_bits(indices, text):
    wrong = np.zeros((16, 16), bool)
    wrong[indices] = True
    assert pattern_of(wrong) == text
