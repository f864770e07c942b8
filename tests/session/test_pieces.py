"""Expectations of arrays that are judged a piece at a time."""

import numpy as np
import pytest

from ptxsim.diagnostic import PtxError
from ptxsim.session.ptxfile.expectations import explain_difference
from tests.session.test_expectations import check

LARGE = 5_000_000


def large(shape, wrong):
    array = np.zeros(shape, np.int8)
    array[wrong] = 1
    return array


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(LARGE,), (5000, 1000), (2, LARGE)])
def test_large_arrays_are_judged_in_pieces_and_name_the_element_and_all_that_is_wrong(shape):
    last = tuple(size - 3 for size in shape[:-1]) + (shape[-1] - 7,)
    array = large(shape, last)
    array[-1, ...] = 1
    assert check("D == 0", D=np.zeros(shape, np.int8)) == []
    assert check("abs(D) <= E + 0.5 < 2", D=array, E=array) == []
    (finding,) = check("D == 2 * E", D=array, E=large(shape, last) * 0)
    first = tuple(int(at) for at in np.argwhere(array)[0])
    assert finding.message.startswith(f"D == 2 * E does not hold: D[{','.join(map(str, first))}] is 1, expected 0")
    assert f"in all, {int(array.sum())} of {array.size} elements are wrong" in finding.notes[-1]


def test_of_an_assertion_the_elements_are_counted_in_all_pieces():
    finding = explain_difference(large(LARGE, [4_300_000, 4_900_000]), np.zeros(LARGE, np.int8))
    assert "result[4300000] is 1, expected 0" in finding.message
    assert "in all, 2 of 5000000" in finding.notes[-1]


@pytest.mark.slow
@pytest.mark.parametrize("signal, level", [(0.5, "warning"), (3.0, None)])
def test_the_largest_magnitude_of_all_pieces_says_whether_a_tolerance_is_too_wide(signal, level):
    array = np.zeros(LARGE, np.float32)
    array[[100, LARGE - 1]] = 0.25, signal
    assert [finding.level for finding in check("D == E rtol=0 atol=1", D=array, E=array)] == [level] * bool(level)


def test_what_is_not_computed_element_by_element_is_bounded():
    array = np.zeros(34_000_000, np.int8)
    with pytest.raises(PtxError) as caught:
        check("sum(D) == 0", D=array)
    assert "D has 34000000 elements" in caught.value.findings[0].message
    assert check("sum(D[:1000]) == 0", D=array) == []
