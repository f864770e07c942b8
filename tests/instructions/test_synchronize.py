"""Barriers, fences and asynchronous stores as effects: events, waits, results, faults."""

from types import SimpleNamespace

import numpy as np
import pytest

from ptxsim.engine.convergence import settle
from ptxsim.engine.splits import wait_at
from ptxsim.instructions import barrier, cluster_barrier
from ptxsim.instructions.async_store import reduce_async, store_async, store_bulk, store_system
from ptxsim.instructions.fence import acquire_tensor_map, fence
from ptxsim.instructions.system import trap
from ptxsim.machine.barriers.cluster import CLUSTER_BARRIER
from ptxsim.machine.barriers.cta import ALL as ALL_OF_THEM
from ptxsim.machine.barriers.cta import ANY, COUNT, result_of_vote
from ptxsim.machine.barriers.mbarrier import MBarrier
from ptxsim.machine.barriers.mbarrier_state import begin
from ptxsim.machine.event import FLAG_STRONG, Event, Proxy, Scope
from ptxsim.machine.fault import AtBarrier, Fault
from ptxsim.machine.memory import SHARED_RESERVED
from ptxsim.machine.records import CLUSTER
from ptxsim.types import TYPES
from tests.machine.bench import ALL, LANE, Bench, lanes

U32 = TYPES["u32"]


def test_bar_sync_waits_and_tells_who_comes_and_leaves():
    bench = Bench(64)
    (cta,) = bench.ctas
    first = barrier.synchronize(bench.port(warp=0), 3, None)
    assert first == AtBarrier(3, cta.barriers.phase(3))
    assert "barrier 3" in cta.describe(3)
    wait_at(cta.warps[0].record.split[0], first.number, first.phase, 0)
    program = SimpleNamespace(ops=[SimpleNamespace(facts=SimpleNamespace(votes=None))])
    settle(cta.warps[0], program, bench.machine)
    assert cta.warps[0].waits_for(cta.warps[0].splits[0]).what == "barrier 3"
    second = barrier.synchronize(bench.port(warp=1), lanes(3), lanes(64))
    assert second == first
    assert cta.barriers.phase(3) != first.phase
    settle(cta.warps[0], program, bench.machine)
    assert cta.warps[0].waits_for(cta.warps[0].splits[0]) is None
    assert list(bench.events(Event.ARRIVE)["warp"]) == [0, 1]
    assert list(bench.events(Event.LEAVE)["warp"]) == [0]
    assert (bench.events(Event.ARRIVE)["addresses"][:, 0] == 3).all()


def test_bar_arrive_does_not_wait():
    bench = Bench(64)
    assert barrier.arrive(bench.port(warp=0), 0, 64) is None
    there = barrier.synchronize(bench.port(warp=1), 0, 64)
    assert bench.ctas[0].barriers.phase(0) != there.phase


def test_bar_red():
    bench = Bench(64)
    (cta,) = bench.ctas
    for votes, expected in [
        ((ALL, LANE < 5), (37, False, True)),
        ((LANE < 5, LANE < 5), (10, False, True)),
        ((ALL, ALL), (64, True, True)),
    ]:
        there = [barrier.reduce(bench.port(warp=warp), 0, None, vote) for warp, vote in enumerate(votes)]
        assert there[0] == there[1] and cta.barriers.phase(0) == there[0].phase + 1
        found = [result_of_vote(cta.record, 0, there[0].phase, what) for what in (COUNT, ALL_OF_THEM, ANY)]
        assert tuple(found) == expected


@pytest.mark.parametrize(
    ("number", "threads", "name"),
    [(lanes(16), None, "barrier-count"), (LANE % 2, None, "operands-not-uniform"), (0, LANE, "operands-not-uniform")],
)
def test_barrier_operands_that_cannot_be(number, threads, name):
    with pytest.raises(Fault) as fault:
        barrier.synchronize(Bench().port(), number, threads)
    assert fault.value.name == name


def test_inactive_lanes_have_no_say_in_barrier_operands():
    bench = Bench()
    barrier.synchronize(bench.port(mask=LANE < 3), np.where(LANE < 3, 2, 99).astype(np.uint32), None)
    assert bench.ctas[0].record.barriers[2].arrived == 3


def test_cluster_barrier():
    bench = Bench(ctas=2)
    cta, warp = bench.ctas[0], bench.ctas[0].warps[0]
    cluster_barrier.arrive(bench.port(cta=0), order=None)
    there = cluster_barrier.wait(bench.port(cta=0))
    assert there == AtBarrier(CLUSTER, 0)
    split = warp.record.split[0]
    wait_at(split, there.number, there.phase, 0)
    split.lanes = 0xFF
    settle(warp, None, bench.machine)
    assert warp.waits_for(split).what == "the cluster barrier"
    assert warp.waits_for(split).describe() == "cluster barrier, phase 0: missing are CTA 1 warp 0"
    cluster_barrier.arrive(bench.port(cta=1), order="relaxed")
    assert cta.barriers.phase(CLUSTER) == 1
    settle(warp, None, bench.machine)
    assert warp.waits_for(split) is None
    rows = bench.events(Event.ARRIVE)["addresses"]
    assert rows[:, :3].tolist() == [[CLUSTER_BARRIER, 0, 0], [CLUSTER_BARRIER, 0, 1]]
    leave = bench.events(Event.LEAVE)
    assert (leave["addresses"][0, 0], leave["mask"][0]) == (CLUSTER_BARRIER, 0xFF)


@pytest.mark.parametrize(
    ("scope", "proxy", "expected"),
    [
        ("cta", "generic", (Scope.CTA, Proxy.GENERIC)),
        ("gl", "generic", (Scope.GPU, Proxy.GENERIC)),
        ("sys", "async", (Scope.SYS, Proxy.ASYNC)),
        ("sys", "shared::cta", (Scope.SYS, Proxy.ASYNC_SHARED)),
        ("cluster", "mbarrier_init", (Scope.CLUSTER, Proxy.MBARRIER_INIT)),
    ],
)
def test_fences_say_scope_and_proxy(scope, proxy, expected):
    bench = Bench()
    fence(bench.port(), scope=scope, proxy=proxy)
    assert tuple(bench.events(Event.FENCE)["addresses"][0, :2]) == expected


def test_the_tensor_map_fence_names_the_map():
    bench = Bench()
    acquire_tensor_map(bench.port(mask=LANE == 4), bench.address(offsets=LANE * 128), scope="gpu")
    row = bench.events(Event.FENCE)["addresses"][0]
    assert tuple(row[:3]) == (Scope.GPU, Proxy.TENSORMAP_ACQUIRE, bench.allocations["buffer"].address + 512)


def test_trap():
    with pytest.raises(Fault) as fault:
        trap(Bench().port(mask=LANE > 6))
    assert (fault.value.name, fault.value.lane) == ("trap", 7)


def remote():
    """Two CTAs; an mbarrier of one arrival in CTA 1, and addresses in its shared memory as CTA 0 writes them."""
    bench = Bench(ctas=2)
    target, base = bench.ctas[1], 1 << 24
    bar = MBarrier(target.mbarriers.all[begin(target.mbarriers, SHARED_RESERVED, SHARED_RESERVED, 1, 0, 1)])
    data = np.uint64(base + SHARED_RESERVED + 64) + LANE.astype(np.uint64) * np.uint64(4)
    return bench, target, bar, data, lanes(base + SHARED_RESERVED, np.uint64)


def test_st_async_lands_later_and_tells_the_mbarrier():
    bench, target, bar, data, where = remote()
    bar.expect_bytes(128)
    bar.arrive(1, (0, 0, 1))
    store_async(bench.port(), data, LANE + 1, where, space="shared::cluster", vec=None, type=U32)
    landed = target.shared[SHARED_RESERVED + 64 :][:128].view(np.uint32)
    assert not landed.any()
    assert bar.record.phase == 0
    bench.machine.complete_next()
    np.testing.assert_array_equal(landed, LANE + 1)
    assert bar.record.phase == 1
    assert bench.events(Event.ASYNC_WRITE)["addresses"][0, 1] == (1 << 24) + SHARED_RESERVED + 68


def test_red_async():
    bench, target, bar, data, where = remote()
    bar.expect_bytes(128)
    bar.arrive(1, (0, 0, 1))
    reduce_async(bench.port(), lanes(data[0], np.uint64), LANE, where, op="add", space="shared::cluster", type=U32)
    assert bench.machine.complete_next()
    assert target.shared[SHARED_RESERVED + 64 :][:4].view(np.uint32)[0] == 496
    assert bar.record.phase == 1


def test_bytes_that_come_without_an_mbarrier_are_reported_where_they_were_sent():
    bench, _, bar, data, where = remote()
    bar.record.live = 0
    found = []
    port = bench.port()
    port.report = lambda name, *rest: found.append(name)
    store_async(port, data, LANE, where, space="shared::cluster", vec=None, type=U32)
    bench.machine.complete_next()
    assert found == ["mbarrier-init"]


def test_release_store_to_global_memory():
    bench = Bench()
    store_system(bench.port(), bench.address(offsets=LANE * 4), LANE, type=U32)
    assert bench.events(Event.STORE)["flags"][0] & FLAG_STRONG
    np.testing.assert_array_equal(bench.bytes()[:128].view(np.uint32), LANE)


def test_st_bulk_writes_zeros():
    bench = Bench()
    shared = bench.ctas[0].shared
    shared[:] = 255
    start = SHARED_RESERVED + 16
    store_bulk(bench.port(mask=LANE == 0), lanes(start, np.uint64), lanes(320, np.uint64), 0, space="shared::cta")
    assert not shared[start : start + 320].any()
    assert (shared[SHARED_RESERVED:start] == 255).all()
    assert shared[start + 320] == 255
    assert sum(int(mask).bit_count() for mask in bench.events(Event.STORE)["mask"]) == 40
    with pytest.raises(Fault) as fault:
        store_bulk(bench.port(), lanes(start, np.uint64), lanes(12, np.uint64), 0, space=None)
    assert fault.value.name == "misaligned-address"
