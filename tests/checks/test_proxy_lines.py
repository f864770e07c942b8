"""What the proxy checks keep by lines of shared memory finds what they find word by word."""

from unittest import mock

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ptxsim.checks.proxies import scan as proxy_scan
from ptxsim.checks.proxies.running import FOUND, Running
from ptxsim.checks.proxies.state import ProxyShadow, tell_counts, tell_writers
from ptxsim.jit.kinds import Alike
from ptxsim.machine.event import FLAG_ASYNC_PROXY, FLAG_READ, FLAG_STRONG, RECORD, Event, Proxy, Space

WARPS, LINES = 8, 12
BYTES = LINES * 128
CP_ASYNC, PRODUCT, COPY, SUM, SEND, OWN = range(6)  # sites
KINDS = np.array([proxy_scan.GENERIC, proxy_scan.WARPGROUP, 0, proxy_scan.REDUCTION, 0, proxy_scan.GENERIC], np.int8)
# Of each site: what it does to memory, in turn, as (event, flags).
STEPS = {
    CP_ASYNC: [(Event.ASYNC_ISSUE, 0), (Event.ASYNC_WRITE, 0), (Event.ASYNC_WAIT, 0)],
    PRODUCT: [(Event.ASYNC_READ, FLAG_ASYNC_PROXY), (Event.ASYNC_WAIT, FLAG_ASYNC_PROXY | FLAG_READ)],
    COPY: [(event, FLAG_ASYNC_PROXY) for event in (Event.ASYNC_ISSUE, Event.ASYNC_WRITE, Event.ASYNC_WAIT)],
    SEND: [
        (Event.ASYNC_ISSUE, FLAG_ASYNC_PROXY | FLAG_READ), (Event.ASYNC_READ, FLAG_ASYNC_PROXY),
        (Event.ASYNC_WAIT, FLAG_ASYNC_PROXY | FLAG_READ),
    ],
    OWN: [(Event.STORE, 0), (Event.LOAD, 0)],
}  # fmt: skip
STEPS[SUM] = STEPS[COPY]


def addresses(random: np.random.Generator, width: int) -> np.ndarray:
    """Of lanes that mostly fill lines, swizzled or not."""
    lane, each = np.arange(32), 128 // width
    rows = random.integers(0, LINES, 32) if random.random() < 0.2 else random.integers(0, LINES) + np.arange(32)
    found = rows[lane // each] % LINES * 128 + (lane % each * width ^ random.integers(0, each) * width)
    if random.random() < 0.15:
        found = found + random.choice([4, 16, 64, -128])
    return np.clip(found, 0, BYTES - width).astype(np.uint64)


def made(seed: int, count: int, care: float) -> np.ndarray:
    """Records of operations whose steps come in order, many at a time; care: how often what is between them orders them."""
    random, under_way, found = np.random.default_rng(seed), [], []
    while len(found) < count:
        record = np.zeros((), RECORD)
        if random.random() < care:
            record["event"] = random.choice(
                [Event.FENCE, Event.ARRIVE, Event.LEAVE, Event.MBARRIER_ARRIVE, Event.MBARRIER_WAIT]
            )
            record["warp"], record["mask"] = random.integers(0, WARPS), 0xFFFFFFFF
            record["addresses"][1] = Proxy.ASYNC
            found.append(record)
            continue
        if not under_way or (len(under_way) < 4 and random.random() < 0.4):
            site = int(random.choice([CP_ASYNC, CP_ASYNC, PRODUCT, PRODUCT, COPY, SUM, SEND, OWN]))
            width = int(random.choice([16, 32, 128] if site in (PRODUCT, COPY, SUM, SEND) else [4, 8, 16]))
            mask = int(random.choice([0xFFFFFFFF, 0xFFFFFFFF, 0xFF, 0xFFFF0000]))
            under_way.append((site, width, mask, int(random.integers(0, WARPS)), addresses(random, width), 0))
        site, width, mask, warp, there, step = under_way.pop(int(random.integers(0, len(under_way))))
        event, flags = STEPS[site][step]
        record["site"], record["width"], record["mask"], record["warp"] = site, width, mask, warp
        record["event"], record["space"], record["addresses"] = event, Space.SHARED, there
        record["flags"] = flags | (FLAG_STRONG if random.random() < 0.02 else 0)
        if step + 1 < len(STEPS[site]):
            under_way.append((site, width, mask, warp, there, step + 1))
        found.append(record)
    return np.array(found)


@given(st.integers(0, 2**32), st.sampled_from([0.0, 0.2, 0.5]))
@settings(deadline=None, max_examples=40)
def test_lines_never_change_the_verdict(seed, care):
    given = made(seed, 150, care)
    runs = []
    for by_line in (True, False):
        shadow, running = ProxyShadow.of(WARPS, BYTES), Running.of(32 * WARPS, np.zeros(1, np.uint8), 1, 1)
        useful, found = np.zeros(len(KINDS), np.int8), np.zeros((32 * len(given), proxy_scan.FIELDS), np.int64)
        arguments = given, 0, running, Alike([shadow]), KINDS, np.zeros(len(KINDS), bool), useful, found
        if by_line:
            assert proxy_scan.scan.compiled(*arguments) == len(given)
        else:
            with mock.patch.object(proxy_scan, "fill_lines", lambda *_: False):
                assert proxy_scan.scan.function(*arguments) == len(given)
        count = running.n[FOUND]
        found[found[:, 0] != proxy_scan.UNWAITED, 6] = 0  # who copies is of no matter
        tell_counts(shadow, 0, BYTES)
        tell_writers(shadow, 0, BYTES)
        runs.append(
            (found[:count], useful, shadow.reading, shadow.writing, shadow.writer, shadow.clock, shadow.unfenced)
        )
    assert all(map(np.array_equal, *runs))
