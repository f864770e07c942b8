"""Named barriers: who is counted, when a phase ends, what is refused."""

import pytest

from ptxsim.lanes import mask_word
from ptxsim.machine.barriers.cta import ALL as EVERYONE
from ptxsim.machine.barriers.cta import ANY, COUNT, lanes_exit, result_of_vote, vote
from ptxsim.machine.fault import Fault
from tests.machine.bench import ALL, LANE, Bench

SOME = LANE < 12


class First:
    """Barrier 1 of a CTA; `arrive` gives the phase that the lanes come to."""

    def __init__(self, cta):
        self.cta = cta

    @property
    def phase(self):
        return self.cta.barriers.phase(1)

    def arrive(self, warp, mask, count):
        phase = self.phase
        self.cta.barriers.arrive(warp.record, mask, count, 1)
        return phase

    def done(self, phase):
        return self.phase != phase

    def exit(self, warp, mask):
        lanes_exit(self.cta.record, warp.record, mask_word(mask))


def warps(threads):
    (cta,) = Bench(threads).ctas
    return First(cta), cta.warps


def test_the_last_warp_of_the_cta_ends_the_phase():
    barrier, (first, second) = warps(64)
    phase = barrier.arrive(first, ALL, None)
    assert not barrier.done(phase)
    assert barrier.arrive(second, ALL, None) == phase
    assert barrier.phase == 1
    assert not barrier.cta.record.barriers[1].arrived


def test_half_a_warp_in_the_cta_is_a_warp():
    barrier, (first, second) = warps(48)
    phase = barrier.arrive(first, ALL, None)
    barrier.arrive(second, second.live, None)
    assert barrier.done(phase)


def test_a_count_and_the_whole_cta_are_the_same_if_they_are_equal():
    barrier, (first, second) = warps(48)
    phase = barrier.arrive(first, ALL, 64)
    barrier.arrive(second, second.live, None)
    assert barrier.done(phase)


def test_a_count_below_the_cta():
    barrier, (first, second, third) = warps(96)
    phase = barrier.arrive(first, ALL, 64)
    barrier.arrive(third, ALL, 64)
    assert barrier.done(phase)
    assert not barrier.done(barrier.arrive(second, ALL, 64))


def test_lanes_of_a_warp_may_come_apart():
    barrier, (first, second) = warps(64)
    phase = barrier.arrive(first, SOME, None)
    barrier.arrive(second, ALL, None)
    assert not barrier.done(phase)
    barrier.arrive(first, ~SOME, None)
    assert barrier.done(phase)


def test_the_same_warp_may_arrive_twice_for_a_count():
    barrier, (first, _, _) = warps(96)
    phase = barrier.arrive(first, ALL, 64)
    barrier.arrive(first, ALL, 64)
    assert barrier.done(phase)


def test_lanes_that_exit_are_not_waited_for():
    barrier, (first, second) = warps(64)
    phase = barrier.arrive(first, ALL, None)
    barrier.exit(second, SOME)
    assert not barrier.done(phase)
    barrier.arrive(second, second.live, None)
    assert barrier.done(phase)


def test_the_last_missing_warp_may_exit():
    barrier, (first, second) = warps(64)
    phase = barrier.arrive(first, ALL, None)
    barrier.exit(second, ALL)
    assert barrier.done(phase)


def test_a_count_is_not_met_by_an_exit():
    barrier, (first, second) = warps(64)
    phase = barrier.arrive(first, ALL, 64)
    barrier.exit(second, ALL)
    assert not barrier.done(phase)
    assert "warps 1 have exited" in barrier.cta.describe(1)


def test_a_count_is_met_by_a_warp_whose_other_lanes_exit():
    barrier, (first, second) = warps(64)
    phase = barrier.arrive(first, ALL, 64)
    barrier.arrive(second, SOME, 64)
    barrier.exit(second, ~SOME)
    assert barrier.done(phase)


def test_lanes_that_came_and_exited_are_counted_once():
    barrier, (first, second, third) = warps(96)
    phase = barrier.arrive(first, SOME, 96)
    barrier.exit(first, SOME)
    barrier.arrive(first, ~SOME, 96)
    barrier.arrive(second, ALL, 96)
    assert not barrier.done(phase)
    barrier.arrive(third, ALL, 96)
    assert barrier.done(phase)


def test_lanes_that_exit_while_others_of_their_warp_wait():
    barrier, (first,) = warps(32)
    phase = barrier.arrive(first, SOME, None)
    barrier.exit(first, ~SOME)
    assert barrier.done(phase)


def test_votes_are_counted_over_the_phase():
    barrier, (first, second) = warps(64)
    cta = barrier.cta.record
    for phase in range(6):
        votes = [mask_word(each) for each in ((SOME, ALL) if phase % 2 else (ALL, ALL))]
        for warp, word in zip((first, second), votes):
            vote(cta, 1, phase, mask_word(ALL), word)
            barrier.arrive(warp, ALL, None)
        expected = (12 + 32, False, True) if phase % 2 else (64, True, True)
        assert tuple(result_of_vote(cta, 1, phase, what) for what in (COUNT, EVERYONE, ANY)) == expected


@pytest.mark.parametrize("counts", [(100,), (128,), (32, 64)])
def test_counts_that_cannot_be(counts):
    barrier, members = warps(96)
    with pytest.raises(Fault) as fault:
        for warp, count in zip(members, counts):
            barrier.arrive(warp, SOME if count == 32 else ALL, count)
    assert fault.value.name == "barrier-count"


def test_too_many_threads():
    barrier, (first, second, third) = warps(96)
    barrier.arrive(first, SOME, 64)
    barrier.arrive(second, ALL, 64)
    with pytest.raises(Fault) as fault:
        barrier.arrive(third, ALL, 64)
    assert fault.value.name == "barrier-count"


def test_the_description_names_who_is_missing():
    (cta,) = Bench(96).ctas
    cta.barriers.arrive(cta.warps[1].record, ALL, None, 3)
    text = cta.describe(3)
    assert "barrier 3" in text
    assert "32 of 96" in text
    assert "warps 0, 2 have not" in text


def test_phases_follow_each_other():
    barrier, (first, second) = warps(64)
    for number in range(3):
        assert barrier.arrive(first, ALL, None) == number
        assert not barrier.done(number)
        barrier.arrive(second, ALL, None)
        assert barrier.done(number)
