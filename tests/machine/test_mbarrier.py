"""mbarrier objects: counts, phases, bytes, and the word in shared memory."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptxsim.machine.fault import Fault
from ptxsim.machine.mbarrier import MAX_COUNT, TOKEN_PHASE, MBarrier


def fresh(count):
    return MBarrier(np.zeros(64, np.uint8), 8, 0x408, count)


def test_a_phase_ends_with_the_last_arrival():
    barrier = fresh(3)
    assert [barrier.arrive(1, "w") & MAX_COUNT for _ in range(3)] == [3, 2, 1]
    assert barrier.phase == 1 and barrier.passed_parity(0) and not barrier.passed_parity(1)


def test_bytes_hold_the_phase_open():
    barrier = fresh(1)
    barrier.expect_bytes(96)
    barrier.arrive(1, "w")
    assert barrier.phase == 0
    barrier.complete_bytes(64)
    assert barrier.phase == 0 and "64 of 96 bytes" in barrier.describe()
    barrier.complete_bytes(32)
    assert barrier.phase == 1


def test_bytes_may_come_before_they_are_announced():
    barrier = fresh(1)
    barrier.complete_bytes(32)
    barrier.expect_bytes(32)
    barrier.arrive(1, "w")
    assert barrier.phase == 1


def test_dropping_lowers_later_phases():
    barrier = fresh(3)
    barrier.arrive(1, "w", drop=True)
    barrier.arrive(2, "w")
    assert (barrier.phase, barrier.pending, barrier.expected) == (1, 2, 2)


@given(st.lists(st.integers(1, 7), min_size=1, max_size=40), st.integers(7, 20))
def test_phases_count_all_arrivals(arrivals, count):
    barrier, total = fresh(count), 0
    for n in arrivals:
        if n > barrier.pending:
            with pytest.raises(Fault, match="arrivals"):
                barrier.arrive(n, "w")
            continue
        token = barrier.arrive(n, "w")
        assert token >> TOKEN_PHASE == total // count
        assert token & MAX_COUNT == count - total % count
        total += n
        assert barrier.passed_token(token) == (total // count > token >> TOKEN_PHASE)
    assert (barrier.phase, barrier.pending) == (total // count, count - total % count)
    barrier.check_intact()


def test_limits():
    barrier = fresh(1)
    barrier.expect_bytes(MAX_COUNT)
    with pytest.raises(Fault) as caught:
        barrier.expect_bytes(1)
    assert caught.value.name == "mbarrier-overflow"


def test_a_store_on_the_object_is_found():
    barrier = fresh(4)
    barrier.check_intact()
    barrier.memory[12] ^= 1
    with pytest.raises(Fault) as caught:
        barrier.check_intact()
    assert caught.value.name == "mbarrier-init"
