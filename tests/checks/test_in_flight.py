"""What may still run when a programmatic dependent launch begins."""

from __future__ import annotations

import numpy as np
import pytest

from ptxsim.checks.in_flight import MOST, Grid, Left, Prior, Streams
from ptxsim.source import Source


def grid(name: str) -> Grid:
    return Grid(name, name.encode(), None, Source(""), np.zeros((0, 6), np.int64))


A, B, C = map(grid, "ABC")


@pytest.mark.parametrize(
    ("second", "at_start", "after_wait"),
    [
        (Left(), (A,), (A,)),  # ends, and has not waited
        (Left(waits=True), (), ()),
        (Left(B), (B, A), (A,)),
        (Left(B, waits=True), (B,), ()),
        (Left(B, waits=True, is_early=True), (B, A), ()),
        (None, (), ()),
    ],
)
def test_the_third_of_a_chain(second, at_start, after_wait):
    streams = Streams()
    streams.launched(1, "A", streams.prior(1, True), Left(A))
    before = streams.prior(1, True)
    assert before == Prior((A,), (), "A")
    streams.launched(1, "B", before, second)
    found = streams.prior(1, True)
    assert (found.at_start, found.after_wait) == (at_start, after_wait)
    assert streams.prior(1, False) == streams.prior(2, True) == Prior()


def test_a_launch_without_the_attribute_and_other_work_end_the_chain():
    streams = Streams()
    streams.launched(1, "A", Prior(), Left(A))
    streams.launched(1, "B", streams.prior(1, False), Left())
    assert streams.prior(1, True) == Prior()
    for end in (lambda: streams.synchronise(1), streams.synchronise_all):
        streams.launched(1, "A", Prior(), Left(A))
        end()
        assert streams.prior(1, True) == Prior()


def test_no_more_are_remembered_than_run_side_by_side():
    streams = Streams()
    for number in range(2 * MOST):
        streams.launched(1, "k", streams.prior(1, True), Left(grid(str(number)), is_early=True))
    assert [each.kernel for each in streams.prior(1, True).at_start] == ["7", "6", "5", "4"]
