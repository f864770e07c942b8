"""The barrier of a cluster: its bodies, and the words of the instructions that use it."""

from random import Random

import pytest

from ptxsim.instructions.cluster_barrier import ClusterBarrier
from ptxsim.lanes import mask_word
from ptxsim.machine.barriers import cluster as state
from ptxsim.machine.barriers.cta import lanes_exit
from ptxsim.machine.fault import Fault
from ptxsim.machine.records import BARRIERS, CLUSTER
from tests.jit.alike import exported
from tests.machine.bench import ALL, LANE, Bench

SOME = LANE < 5


def arrive(bench, cta, mask):
    ClusterBarrier(bench.port(cta, mask=mask)).arrive(False)


def awaited(bench, cta, mask=ALL):
    """The phase that lanes wait for."""
    return ClusterBarrier(bench.port(cta, mask=mask)).wait().phase


def over(bench, phase):
    """Whether a phase is over, in every CTA alike."""
    (now,) = {cta.barriers.phase(CLUSTER) for cta in bench.ctas}
    return now > phase


def test_all_lanes_of_all_ctas():
    bench = Bench(ctas=2)
    arrive(bench, 0, ALL)
    arrive(bench, 1, SOME)
    phase = awaited(bench, 0)
    assert not over(bench, phase)
    assert "CTA 1 warp 0" in bench.ctas[0].cluster.describe()
    arrive(bench, 1, ~SOME)
    assert over(bench, phase)


def test_phases_repeat():
    bench = Bench(ctas=2)
    for number in range(3):
        arrive(bench, 0, ALL)
        assert awaited(bench, 0) == number
        arrive(bench, 1, ALL)
        assert awaited(bench, 1) == number
        assert over(bench, number)
        assert not over(bench, number + 1)


def test_exited_lanes_are_not_waited_for():
    bench = Bench(20, ctas=2)
    first, second = (cta.warps[0] for cta in bench.ctas)
    arrive(bench, 0, first.live)
    lanes_exit(second.cta.record, second.record, second.record.live)
    assert over(bench, 0)


def test_lanes_that_came_and_exited():
    bench = Bench(ctas=2)
    first, second = (cta.warps[0] for cta in bench.ctas)
    arrive(bench, 0, ALL)
    lanes_exit(first.cta.record, first.record, mask_word(ALL))
    lanes_exit(second.cta.record, second.record, mask_word(~SOME))
    assert not over(bench, 0)
    lanes_exit(second.cta.record, second.record, mask_word(SOME))
    assert over(bench, 0)


def test_two_arrivals_without_a_wait():
    bench = Bench(ctas=2)
    arrive(bench, 0, SOME)
    with pytest.raises(Fault) as fault:
        arrive(bench, 0, ALL)
    assert (fault.value.name, fault.value.lane) == ("barrier-count", 0)


def test_two_arrivals_without_a_wait_in_a_later_phase():
    bench = Bench(ctas=2)
    for cta in (0, 1):
        arrive(bench, cta, ALL)
    with pytest.raises(Fault) as fault:
        arrive(bench, 0, ALL)
    assert fault.value.name == "barrier-count"


def test_a_second_wait_without_arrival():
    bench = Bench(ctas=2)
    for cta in (0, 1):
        arrive(bench, cta, ALL)
    awaited(bench, 0, SOME)
    with pytest.raises(Fault) as fault:
        awaited(bench, 0)
    assert (fault.value.name, fault.value.lane) == ("barrier-count", 0)


def test_a_wait_without_arrival():
    bench = Bench(ctas=2)
    arrive(bench, 0, SOME)
    with pytest.raises(Fault) as fault:
        awaited(bench, 0)
    assert (fault.value.name, fault.value.lane) == ("barrier-count", 5)


@pytest.mark.parametrize("seed", range(3))
def test_bodies_do_the_same_compiled(seed):
    """Random arrivals and exits of two CTAs of two warps, plain and as native code calls the bodies."""
    random, benches = Random(seed), [Bench(64, ctas=2) for _ in range(2)]
    plain = {
        body.function.__name__: body for body in (state.come_again, state.come_to_cluster, state.arrived_in, lanes_exit)
    }
    sides = list(zip(benches, (plain, {name: exported(body) for name, body in plain.items()})))

    def both(name, cta, warp, mask):
        one, other = (
            bodies[name](bench.ctas[cta].record, bench.ctas[cta].warps[warp].record, mask) for bench, bodies in sides
        )
        assert one == other
        states = [
            [
                (
                    [getattr(cta.record.barriers[CLUSTER], name) for name in ("phase", "arrived", "expected", "here")],
                    cta.record.live,
                )
                for cta in bench.ctas
            ]
            + [
                (warp.record.live, warp.record.came[BARRIERS], warp.record.arrived)
                for cta in bench.ctas
                for warp in cta.warps
            ]
            for bench in benches
        ]
        assert states[0] == states[1]
        return one

    for _ in range(400):
        cta, warp = random.randrange(2), random.randrange(2)
        live = benches[0].ctas[cta].warps[warp].record.live
        mask = random.choice((random.getrandbits(32), 0xFFFFFFFF)) & live
        new = mask & ~both("come_again", cta, warp, mask)
        if random.random() < 0.02:
            both("lanes_exit", cta, warp, mask & random.getrandbits(32) & random.getrandbits(32))
        elif new:
            both("come_to_cluster", cta, warp, new)
        both("arrived_in", cta, warp, live & benches[0].ctas[cta].warps[warp].record.arrived & random.getrandbits(32))
        both("arrived_in", cta, warp, live)
