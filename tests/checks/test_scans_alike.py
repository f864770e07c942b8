"""The scans of the checks find the same in Python and compiled, for records of any kind."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptxsim.checks.cluster import ClusterChecker, scan_uses
from ptxsim.checks.cluster_shared import Homes
from ptxsim.checks.order.checker import OrderChecker
from ptxsim.checks.order.scan import scan
from ptxsim.checks.order.state import GRANULES, PAGE_BITS, SHIFT, Order
from ptxsim.checks.proxies import scan as proxy_scan
from ptxsim.checks.proxies import tensor_maps
from ptxsim.checks.proxies.running import Running, drop, is_to_go
from ptxsim.checks.proxies.state import ProxyShadow
from ptxsim.jit.kinds import Alike
from ptxsim.machine.event import FLAG_TENSORMAP, RECORD, Event, Proxy, Space
from tests.jit.alike import alike, same

WARPS, BYTES, SITES = 3, 256, 12
KINDS = np.arange(SITES, dtype=np.int8) % 3
ACQUIRES = np.arange(SITES) % 2 == 0


def records(seed: int, count: int, events: list[Event]) -> np.ndarray:
    generator = np.random.default_rng(seed)
    found = np.zeros(count, RECORD)
    found["site"], found["warp"] = generator.integers(0, SITES, count), generator.integers(0, WARPS, count)
    found["event"] = generator.choice([int(event) for event in events], count)
    found["space"] = generator.choice([Space.SHARED, Space.SHARED, Space.SHARED, Space.GLOBAL], count)
    found["width"] = generator.choice([1, 2, 4, 8, 16], count)
    found["flags"] = generator.choice([0, 0, 1, 2, 8, 10, 64], count)
    found["mask"] = generator.choice([0xFFFFFFFF, 1, 0x80000001, 0x0F0F0F0F], count)
    found["addresses"] = generator.integers(0, BYTES // 8, (count, 32)) * 8
    barrier = np.isin(found["event"], (Event.ARRIVE, Event.LEAVE))
    found["addresses"][barrier] = generator.integers(0, 16, (barrier.sum(), 32))
    fence = found["event"] == Event.FENCE
    found["addresses"][fence] = generator.integers(0, len(Proxy), (fence.sum(), 32))
    return found


# What sites of every kind order: see checks.order.sites.
BITS = (0, 1 | 32, 1 | 2 | 32, 1 | 4 | 16, 2 | 4, 8, 64, 128, 256, 2 | 4 | 8192, 1 | 2 | 4 | 32 | 512 | 1024, 2048)
SHAPES = (((2, 1, 1), (1, 1, 1)), ((4, 1, 1), (2, 1, 1)))


def remembered(order: Order) -> list[np.ndarray]:
    """What a scan has written to: granules of global memory only as far as pages have some (there is room for gigabytes)."""
    used = int(order.n[GRANULES]) << PAGE_BITS - int(order.n[SHIFT])
    return [
        part[:used] if name in ("far_cells", "far_reads", "far_updates") else part
        for name, part in zip(Order._fields, order, strict=True)
    ]


@pytest.mark.slow
@given(st.integers(0, 2**32), st.integers(0, 60), st.sampled_from(SHAPES))
@settings(deadline=None, max_examples=25)
def test_races(seed, count, shape):
    given = records(seed, count, list(Event))
    grid, cluster = shape
    given["cta"] = np.random.default_rng(seed).integers(0, grid[0], count)
    given["addresses"][given["event"] <= Event.ASYNC_WAIT] |= np.uint64((cluster[0] - 1) << 24 if seed % 2 else 0)
    given["addresses"][given["event"] >= Event.TENSOR_USE, 0] = seed % cluster[0]  # a rank
    forms = []
    for form in (scan, scan.compiled, scan.checked):
        checker = OrderChecker(BITS, WARPS * 32 - 5, BYTES, Homes(*shape))
        with np.errstate(all="raise"):
            checker.go_over(given, form)
        forms.append(checker)
    for other in forms[1:]:
        assert other.problems == forms[0].problems
        assert all(map(same, remembered(other.order), remembered(forms[0].order)))


@given(st.integers(0, 2**32), st.integers(0, 60))
@settings(deadline=None, max_examples=25)
def test_proxies(seed, count):
    given = records(seed, count, list(Event))
    given["cta"] = np.sort(np.random.default_rng(seed).integers(0, 6, count) // 2) * (1 + np.arange(count) % 2)
    ranks = np.arange(6, dtype=np.uint8) % 2
    runs = []
    for form in (proxy_scan.scan, proxy_scan.scan.compiled, proxy_scan.scan.checked):
        # Arrays that share memory, which copies of them would not.
        running, shadows = Running.of(WARPS * 32 - 8, ranks, 2, 3), Alike([ProxyShadow.of(WARPS, BYTES)])
        useful, room, at, stops = np.zeros(SITES, np.int8), np.zeros((32 * count, proxy_scan.FIELDS), np.int64), 0, []
        with np.errstate(all="raise"):
            while (at := form(given, at, running, shadows, KINDS, ACQUIRES, useful, room)) < count:
                stops.append(at)
                if is_to_go(running, shadows):
                    drop(running)
                else:
                    shadows.append(ProxyShadow.of(WARPS, BYTES))
        runs.append((stops, *running, *map(tuple, shadows), useful, room))
    assert same(runs[0], runs[1]) and same(runs[0], runs[2])


@given(st.integers(0, 2**32), st.integers(0, 60))
@settings(deadline=None, max_examples=25)
def test_writers_of_tensor_maps(seed, count):
    given = records(seed, count, [Event.STORE, Event.ASYNC_READ, Event.FENCE, Event.LEAVE, Event.SYNC_WARP])
    given["space"], given["flags"] = Space.GLOBAL, np.random.default_rng(seed).choice([0, FLAG_TENSORMAP], count)
    given["addresses"] *= 128
    alike(tensor_maps.follow, given, 0, np.zeros(256, tensor_maps.WRITTEN), np.zeros(tensor_maps.WARPS, np.int64), 0, 1)


@given(st.integers(0, 2**32), st.integers(0, 60))
@settings(deadline=None, max_examples=25)
def test_uses_of_the_memory_of_other_ctas(seed, count):
    given = records(seed, count, list(Event))
    random = np.random.default_rng(seed)
    given["cta"], given["mask"] = random.integers(0, 4, count), random.choice([1, 2**32 - 1], count)
    given["addresses"] |= random.integers(0, 2, given["addresses"].shape).astype(np.uint64) << np.uint64(24)
    barrier = np.isin(given["event"], (Event.ARRIVE, Event.LEAVE))
    given["addresses"][barrier] = random.integers(16, 18, (barrier.sum(), 32))
    checker = ClusterChecker(32, Homes((4, 1, 1), (2, 1, 1)), SITES, False)
    given["warp"] = 0
    alike(scan_uses, given, checker.uses, 2, 1)
