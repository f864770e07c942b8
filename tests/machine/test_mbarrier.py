"""mbarrier objects: counts, phases, bytes, and the word in shared memory."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptxsim.machine.fault import Fault
from ptxsim.machine.mbarrier import MBarrier, find
from ptxsim.machine.mbarrier_state import (
    DONE,
    DROP,
    MAX_COUNT,
    STALE_TOKEN,
    TOKEN_PHASE,
    begin,
    describe,
    open_lanes,
    watch_parity,
    watch_token,
)
from ptxsim.machine.records import WarpRecord
from tests.machine.bench import Bench

ME = (0, 0, 1)


CTA = Bench().ctas[0]


def fresh(count):
    table = CTA.mbarriers
    return MBarrier(table.all[begin(table, 8, 0x408, count)])


def passed(barrier, look, wanted):
    """Whether a wait of lane 3 succeeds, None for a token of no recent phase."""
    warp = WarpRecord()
    status = look(warp, 3, barrier.record, wanted)
    assert status in (DONE, STALE_TOKEN)
    return open_lanes(warp, 8) == 0 if status == DONE else None


def test_a_phase_ends_with_the_last_arrival():
    barrier = fresh(3)
    assert [barrier.arrive(1, ME) & MAX_COUNT for _ in range(3)] == [3, 2, 1]
    assert barrier.record.phase == 1 and passed(barrier, watch_parity, 0) and not passed(barrier, watch_parity, 1)


def test_bytes_hold_the_phase_open():
    barrier = fresh(1)
    barrier.expect_bytes(96)
    barrier.arrive(1, ME)
    assert barrier.record.phase == 0
    barrier.complete_bytes(64)
    assert barrier.record.phase == 0 and "64 of 96 bytes" in describe(barrier.record)
    barrier.complete_bytes(32)
    assert barrier.record.phase == 1


def test_bytes_may_come_before_they_are_announced():
    barrier = fresh(1)
    barrier.complete_bytes(32)
    barrier.expect_bytes(32)
    barrier.arrive(1, ME)
    assert barrier.record.phase == 1


def test_dropping_lowers_later_phases():
    barrier = fresh(3)
    barrier.arrive(1, ME, DROP)
    barrier.arrive(2, ME)
    assert (barrier.record.phase, barrier.record.pending, barrier.record.expected) == (1, 2, 2)


@given(st.lists(st.integers(1, 7), min_size=1, max_size=40), st.integers(7, 20))
def test_phases_count_all_arrivals(arrivals, count):
    barrier, total = fresh(count), 0
    for n in arrivals:
        if n > barrier.record.pending:
            with pytest.raises(Fault, match="arrivals"):
                barrier.arrive(n, ME)
            continue
        token = barrier.arrive(n, ME)
        assert token >> TOKEN_PHASE == total // count
        assert token & MAX_COUNT == count - total % count
        total += n
        assert passed(barrier, watch_token, token) == (total // count > token >> TOKEN_PHASE)
    assert (barrier.record.phase, barrier.record.pending) == (total // count, count - total % count)
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
    CTA.shared[12] ^= 1
    with pytest.raises(Fault) as caught:
        barrier.check_intact()
    assert caught.value.name == "mbarrier-init"


def test_what_is_found():
    first = fresh(4)
    assert find(CTA, 8, 0x408).record.called == first.record.called
    with pytest.raises(Fault, match="there is one at 0x8"):
        find(CTA, 12, 0x40C)
    first.record.live = 0
    with pytest.raises(Fault, match="no mbarrier has been initialised at 0x408"):
        find(CTA, 8, 0x408)
    again, other = fresh(2), CTA.mbarriers.used
    assert again.record.pending == 2 and find(CTA, 8, 0x408).record.live
    fresh(3)
    assert CTA.mbarriers.used == other  # the same record
