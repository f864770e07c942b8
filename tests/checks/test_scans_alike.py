"""The scans of the checks find the same in Python and compiled, for records of any kind."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ptxsim.checks import proxy_scan, shadow
from ptxsim.machine.event import RECORD, Event, Proxy, Space
from tests.jit.alike import alike

WARPS, BYTES, SITES = 3, 256, 12
WARP_WIDE = np.arange(SITES) % 4 == 0


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


@given(st.integers(0, 2**32), st.integers(0, 60))
@settings(deadline=None, max_examples=25)
def test_races(seed, count):
    given = records(seed, count, [event for event in Event if event != Event.FENCE])
    room = np.zeros((shadow.KINDS * count, 7), np.int64)
    alike(shadow.scan, given, shadow.Shadow.of(WARPS, BYTES), WARP_WIDE, room)


@given(st.integers(0, 2**32), st.integers(0, 60))
@settings(deadline=None, max_examples=25)
def test_proxies(seed, count):
    given = records(seed, count, list(Event))
    useful, room = np.zeros(SITES, np.int8), np.zeros((32 * count, 6), np.int64)
    alike(proxy_scan.scan, given, proxy_scan.ProxyShadow.of(0, WARPS, BYTES), WARP_WIDE, useful, room)
