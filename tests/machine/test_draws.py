"""What seeds draw: the same in Python and in native code, evenly, and in every order."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptxsim.engine.turns import TURN, some_blocks
from ptxsim.jit.body import body
from ptxsim.machine.draws import Draws, draw, shuffle


@body
def drawn(state: np.ndarray, below: int, found: np.ndarray) -> None:
    for i in range(len(found)):
        found[i] = draw(state[0], below)


@body
def shuffled(state: np.ndarray, found: np.ndarray, first: int) -> None:
    shuffle(state[0], found, first, len(found) - first)


def both(function, seed: int, size: int, *more: int) -> list[int]:
    """What a body finds, after asserting that it finds it in both forms, and draws as much."""
    found, states = [], []
    for form in (function.function, function.compiled):
        state, numbers = np.zeros(1, np.dtype((np.record, Draws.dtype))), np.zeros(size, np.int64)
        state[0]["state"] = Draws.of_seed(seed).state
        form(state, *((more[0], numbers) if function is drawn else (numbers, *more)))
        found.append(numbers.tolist())
        states.append(int(state[0]["state"]))
    assert found[0] == found[1] and states[0] == states[1]
    return found[0]


@settings(deadline=None)
@given(st.integers(0, 2**64), st.integers(1, 2**31))
def test_numbers_are_below_what_is_asked_for(seed, below):
    assert all(0 <= number < below for number in both(drawn, seed, 20, below))


@settings(deadline=None)
@given(st.integers(0, 2**64), st.integers(0, 40), st.integers(0, 5))
def test_orders_are_orders(seed, count, first):
    assert sorted(both(shuffled, seed, first + count, first)[first:]) == list(range(first, first + count))


@pytest.mark.parametrize("below", [2, 4, 6, 64])
def test_numbers_come_evenly(below):
    counts = Counter(both(drawn, 7, 1000 * below, below))
    assert len(counts) == below and all(abs(count - 1000) < 200 for count in counts.values())


def test_all_orders_of_three_come():
    draws = Draws.of_seed(1)
    orders = Counter()
    for _ in range(600):
        order = [0] * 3
        shuffle(draws, order, 0, 3)
        orders[tuple(order)] += 1
    assert len(orders) == 6 and min(orders.values()) > 60


def test_turns_are_of_all_lengths_but_a_whole_one():
    draws = Draws.of_seed(3)
    assert {some_blocks(draws) for _ in range(3000)} == set(range(1, TURN))
