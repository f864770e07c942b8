"""vote, match, redux, elect, activemask over groups of lanes, against Python's sets."""

import functools
import operator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptxsim.instructions.elect import active_mask, elect
from ptxsim.instructions.match import match_all, match_any
from ptxsim.instructions.redux import redux, redux_float
from ptxsim.instructions.vote import vote
from ptxsim.lanes import word_mask
from tests.machine.bench import LANE, Bench, lanes

BENCH = Bench()
WORD = st.integers(0, 2**32 - 1)
# The executing lanes: some word, not empty. Lanes split into the set and its complement, each a group of its own.
GROUPS = st.integers(1, 2**32 - 1)


def groups(word):
    """Member masks where the lanes of `word` are one group and the others another, and the groups as lane lists."""
    inside = word_mask(word)
    masks = np.where(inside, word, ~word & 0xFFFFFFFF).astype(np.uint32)
    return masks, [list(np.flatnonzero(g)) for g in (inside, ~inside) if g.any()]


@given(GROUPS, WORD)
def test_vote(word, votes):
    masks, parts = groups(word)
    condition = word_mask(votes)
    found = {mode: vote(BENCH.port(), condition, masks, mode=mode) for mode in ("all", "any", "uni", "ballot")}
    for part in parts:
        holds = [bool(condition[lane]) for lane in part]
        for lane in part:
            assert bool(found["all"][lane]) == all(holds)
            assert bool(found["any"][lane]) == any(holds)
            assert bool(found["uni"][lane]) == (len(set(holds)) == 1)
            assert int(found["ballot"][lane]) == sum(1 << i for i in part if condition[i])


def test_vote_without_members_is_over_the_executing_lanes():
    port = BENCH.port(mask=LANE < 4)
    assert vote(port, LANE < 9, None, mode="all")[0]
    assert vote(port, LANE < 2, None, mode="ballot")[0] == 3
    assert active_mask(port)[0] == 15


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.uint32, np.uint64])
@given(GROUPS, st.lists(st.integers(0, 3), min_size=32, max_size=32))
def test_match(dtype, word, values):
    masks, parts = groups(word)
    a = lanes(values, dtype) << dtype(8 * dtype().itemsize - 3)
    any_found = match_any(BENCH.port(), a, masks)
    all_found, same = match_all(BENCH.port(), a, masks)
    for part in parts:
        one = len({values[lane] for lane in part}) == 1
        for lane in part:
            assert int(any_found[lane]) == sum(1 << i for i in part if values[i] == values[lane])
            assert bool(same[lane]) == one
            assert int(all_found[lane]) == (int(masks[lane]) if one else 0)


INTEGER_OPERATIONS = {"min": min, "max": max, "and": operator.and_, "or": operator.or_, "xor": operator.xor}


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.uint32, np.int32])
@given(GROUPS, st.lists(WORD, min_size=32, max_size=32))
def test_redux(dtype, word, values):
    masks, parts = groups(word)
    a = lanes(values).view(dtype)
    numbers = [int(x) for x in a]
    for op, function in INTEGER_OPERATIONS.items():
        found = redux(BENCH.port(), a, masks, op=op)
        for part in parts:
            assert {int(found[lane]) for lane in part} == {functools.reduce(function, [numbers[i] for i in part])}
    total = redux(BENCH.port(), a, masks, op="add").view(np.uint32)
    for part in parts:
        assert {int(total[lane]) for lane in part} == {sum(numbers[i] for i in part) % 2**32}


@pytest.mark.slow
@given(GROUPS, st.lists(st.sampled_from([0.0, -0.0, 1.5, -2.5, np.inf, -np.inf, np.nan]), min_size=32, max_size=32))
def test_redux_of_floats(word, values):
    masks, parts = groups(word)
    a = lanes(values, np.float32)
    order = {x: i for i, x in enumerate(("-inf", "-2.5", "-0.0", "0.0", "1.5", "inf"))}
    for op, pick in (("min", min), ("max", max)):
        for absolute in (False, True):
            for keep in (False, True):
                found = redux_float(BENCH.port(), a, masks, op=op, abs=absolute, NaN=keep).view(np.uint32)
                for part in parts:
                    group = [abs(values[i]) if absolute else values[i] for i in part]
                    numbers = [x for x in group if x == x]
                    if not numbers or (keep and len(numbers) < len(group)):
                        expected = 0x7FFFFFFF
                    else:
                        best = pick(numbers, key=lambda x: order.get(str(float(x)), 4.5))
                        expected = int(np.float32(best).view(np.uint32))
                    assert {int(found[lane]) for lane in part} == {expected}


@given(GROUPS)
def test_elect(word):
    masks, parts = groups(word)
    leader, chosen = elect(BENCH.port(), masks)
    for part in parts:
        assert {int(leader[lane]) for lane in part} == {min(part)}
        assert [lane for lane in part if chosen[lane]] == [min(part)]
