"""The barrier of a cluster."""

import pytest

from ptxsim.machine.barrier import lanes_exit
from ptxsim.machine.cluster_barrier import ClusterBarrier
from ptxsim.machine.fault import Fault
from tests.machine.bench import ALL, LANE, Bench

SOME = LANE < 5


def setup(threads=32):
    ctas = Bench(threads, ctas=2).ctas
    return ClusterBarrier.of(ctas[0].cluster), ctas[0].warps[0], ctas[1].warps[0]


def test_one_barrier_for_a_cluster():
    ctas = Bench(ctas=2).ctas
    assert ClusterBarrier.of(ctas[0].cluster) is ClusterBarrier.of(ctas[1].cluster)


def test_all_lanes_of_all_ctas():
    barrier, first, second = setup()
    barrier.arrive(first, ALL)
    barrier.arrive(second, SOME)
    phase = barrier.arrived_in(first, ALL)
    assert not barrier.over(phase)
    assert "CTA 1 warp 0" in barrier.describe()
    barrier.arrive(second, ~SOME)
    assert barrier.over(phase)


def test_phases_repeat():
    barrier, first, second = setup()
    for number in range(3):
        barrier.arrive(first, ALL)
        barrier.arrive(second, ALL)
        assert barrier.arrived_in(first, ALL) == number
        assert barrier.over(number)
        assert not barrier.over(number + 1)


def test_exited_lanes_are_not_waited_for():
    barrier, first, second = setup(20)
    barrier.arrive(first, first.live)
    lanes_exit(second.cta.record, second.record, second.record.live)
    assert barrier.over(0)


def test_two_arrivals_without_a_wait():
    barrier, first, _ = setup()
    barrier.arrive(first, SOME)
    with pytest.raises(Fault) as fault:
        barrier.arrive(first, ALL)
    assert (fault.value.name, fault.value.lane) == ("barrier-count", 0)


def test_a_wait_without_arrival():
    barrier, first, _ = setup()
    barrier.arrive(first, SOME)
    with pytest.raises(Fault) as fault:
        barrier.arrived_in(first, ALL)
    assert (fault.value.name, fault.value.lane) == ("barrier-count", 5)
