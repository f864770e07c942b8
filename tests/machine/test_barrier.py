"""Named barriers: who is counted, when a phase ends, what is refused."""

import numpy as np
import pytest

from ptxsim.machine.fault import Fault
from tests.machine.bench import ALL, LANE, Bench

SOME = LANE < 12


def warps(threads):
    bench = Bench(threads)
    return bench.ctas[0].barriers[1], bench.ctas[0].warps


def test_the_last_warp_of_the_cta_ends_the_phase():
    barrier, (first, second) = warps(64)
    phase = barrier.arrive(first, ALL, None, 1)
    assert not phase.done
    assert barrier.arrive(second, ALL, None, 1) is phase
    assert phase.done
    assert barrier.phase.number == 1
    assert not barrier.phase.arrived


def test_half_a_warp_in_the_cta_is_a_warp():
    barrier, (first, second) = warps(48)
    phase = barrier.arrive(first, ALL, None, 1)
    barrier.arrive(second, second.live, None, 1)
    assert phase.done


def test_a_count_and_the_whole_cta_are_the_same_if_they_are_equal():
    barrier, (first, second) = warps(48)
    phase = barrier.arrive(first, ALL, 64, 1)
    barrier.arrive(second, second.live, None, 1)
    assert phase.done


def test_a_count_below_the_cta():
    barrier, (first, second, third) = warps(96)
    phase = barrier.arrive(first, ALL, 64, 1)
    barrier.arrive(third, ALL, 64, 1)
    assert phase.done
    assert not barrier.arrive(second, ALL, 64, 1).done


def test_lanes_of_a_warp_may_come_apart():
    barrier, (first, second) = warps(64)
    phase = barrier.arrive(first, SOME, None, 1)
    barrier.arrive(second, ALL, None, 1)
    assert not phase.done
    barrier.arrive(first, ~SOME, None, 1)
    assert phase.done


def test_the_same_warp_may_arrive_twice_for_a_count():
    barrier, (first, _, _) = warps(96)
    phase = barrier.arrive(first, ALL, 64, 1)
    barrier.arrive(first, ALL, 64, 1)
    assert phase.done


def test_lanes_that_exit_are_not_waited_for():
    barrier, (first, second) = warps(64)
    phase = barrier.arrive(first, ALL, None, 1)
    second.exit(SOME)
    assert not phase.done
    barrier.arrive(second, second.live, None, 1)
    assert phase.done


def test_the_last_missing_warp_may_exit():
    barrier, (first, second) = warps(64)
    phase = barrier.arrive(first, ALL, None, 1)
    second.exit(ALL)
    assert phase.done


def test_lanes_that_exit_while_others_of_their_warp_wait():
    barrier, (first,) = warps(32)
    phase = barrier.arrive(first, SOME, None, 1)
    first.exit(~SOME)
    assert phase.done


def test_votes_are_counted_over_the_phase():
    barrier, (first, second) = warps(64)
    phase = barrier.arrive(first, ALL, None, 1, SOME)
    barrier.arrive(second, ALL, None, 1, ALL)
    assert (phase.voted, phase.true) == (64, 12 + 32)


@pytest.mark.parametrize("counts", [(100,), (128,), (32, 64)])
def test_counts_that_cannot_be(counts):
    barrier, members = warps(96)
    with pytest.raises(Fault) as fault:
        for warp, count in zip(members, counts):
            barrier.arrive(warp, SOME if count == 32 else ALL, count, 1)
    assert fault.value.name == "barrier-count"


def test_too_many_threads():
    barrier, (first, second, third) = warps(96)
    barrier.arrive(first, SOME, 64, 1)
    barrier.arrive(second, ALL, 64, 1)
    with pytest.raises(Fault) as fault:
        barrier.arrive(third, ALL, 64, 1)
    assert fault.value.name == "barrier-count"


def test_the_description_names_who_is_missing():
    bench = Bench(96)
    cta = bench.ctas[0]
    cta.barriers[3].arrive(cta.warps[1], ALL, None, 3)
    text = cta.barriers[3].describe(3, cta)
    assert "barrier 3" in text
    assert "32 of 96" in text
    assert "warps 0, 2 have not" in text


def test_phases_follow_each_other():
    barrier, (first, second) = warps(64)
    for number in range(3):
        phase = barrier.arrive(first, ALL, None, 1)
        assert phase.number == number
        assert not phase.done
        barrier.arrive(second, ALL, None, 1, np.zeros(32, bool))
        assert phase.done
        assert phase.true == 0
