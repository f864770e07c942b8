"""What lines show to be in order is in order: with and without a look at them the races are the same."""

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ptxsim.checks.cluster_shared import Homes
from ptxsim.checks.order.checker import OrderChecker
from ptxsim.checks.order.scan import scan
from ptxsim.checks.order.state import PLAIN
from ptxsim.machine.event import FLAG_UNCHANGED, RECORD, Event, Space

WARPS, BYTES = 3, 1024
STRONG_CTA, TOGETHER, ATOMIC = 1 | 2 | 4, 64, 1 | 2 << 4 | 1024 | 512
BITS = (0, 0, STRONG_CTA, TOGETHER, 0, ATOMIC)  # by site
LANE = np.arange(32, dtype=np.uint64)


class Run:
    """Records of CTAs that run one after the other, as a kernel might make them."""

    def __init__(self, seed: int, cta: int, stores: float):
        self.random, self.cta, self.stores, self.phase = np.random.default_rng(seed), cta, stores, 0
        self.records: list[np.ndarray] = []
        self.last: tuple | None = None  # warp, addresses, mask, space and width of an access

    def add(self, warp, event, addresses=(), mask=0xFFFFFFFF, site=0, space=Space.GLOBAL, width=4, flags=0):
        record = np.zeros(1, RECORD)
        record["addresses"][0, : len(addresses)] = addresses
        fields = {"cta": self.cta, "warp": warp, "event": event, "mask": mask, "site": site, "space": space}
        for name, value in (fields | {"width": width, "flags": flags}).items():
            record[name] = value
        self.records.append(record)

    def barrier(self):
        for event in (Event.ARRIVE, Event.LEAVE):
            for warp in self.random.permutation(WARPS):
                self.add(int(warp), event, (0, self.phase))
        self.phase += 1

    def access(self, apart: bool):
        """A load or a store of a warp: of its own part of memory if `apart`, in one of the patterns that kernels have."""
        choose = self.random.choice
        warp, width = int(choose(WARPS)), int(choose([4, 4, 8, 16]))
        pattern = (LANE, LANE * 0, LANE // 8, LANE % 8 * 4, self.random.permutation(32).astype(np.uint64))[choose(5)]
        part = 128 * width // 4 * 2 if apart else 64
        start = warp * part * apart + int(choose(4)) * width * (4 if apart else 8)
        addresses = np.minimum(start + pattern * np.uint64(width), BYTES - width)
        event = Event.STORE if self.random.random() < self.stores else Event.LOAD
        site, flags = int(choose([0, 0, 1, 4])), 0
        if choose(12) == 0:
            site, event = (3, Event.LOAD) if choose(2) else (2, event)
        if self.random.random() < self.stores / 6:
            site, event = 5, Event.ATOMIC
        if event == Event.STORE and choose(6) == 0:
            flags = FLAG_UNCHANGED
        mask = int(choose([0xFFFFFFFF, 0xFFFFFFFF, 0xFFFF, 0x10, 0x80000001]))
        space = choose([Space.SHARED, Space.SHARED, Space.GLOBAL])
        if self.last and choose(4) == 0:  # the same once more
            warp, addresses, mask, space, width = self.last
        self.last = warp, addresses, mask, space, width
        self.add(warp, int(event), addresses, mask, site, space, width, flags)

    def of(self, steps: int, barriers: float, apart: bool) -> "Run":
        for _ in range(steps):
            if self.random.random() < barriers:
                self.barrier()
            elif self.random.random() < barriers:
                members = int(self.random.choice([0xFFFFFFFF, 0xFF]))
                self.add(int(self.random.choice(WARPS)), Event.SYNC_WARP, [members] * 32, members)
            else:
                self.access(apart)
        for warp in range(WARPS):
            self.add(warp, Event.EXIT)
        return self


def in_turns(runs: list[list[np.ndarray]], seed: int) -> list[np.ndarray]:
    """The records of CTAs that run side by side."""
    random, found, open_ = np.random.default_rng(seed), [], [run[:] for run in runs]
    while open_:
        run, count = open_[random.integers(len(open_))], int(random.integers(1, 20))
        found += run[:count]
        del run[:count]
        open_ = [each for each in open_ if each]
    return found


@given(
    st.integers(0, 2**32), st.sampled_from([0.02, 0.1, 0.4]), st.sampled_from([0.3, 0.03]), st.booleans(), st.booleans(),
    st.integers(1, 12),
)  # fmt: skip
@settings(deadline=None, max_examples=150)
@example(723, 0.02, 0.3, True, True, 10)  # a lane writes what it has read, then the warp writes there together
def test_lines_never_change_the_verdict(seed, barriers, stores, apart, together, ctas):
    runs = [Run(seed + cta, cta, stores).of(60, barriers, apart).records for cta in range(ctas)]
    records = np.concatenate(in_turns(runs, seed) if together else [record for run in runs for record in run])
    checkers = []
    for plain in (0, 1):
        checker = OrderChecker(BITS, WARPS * 32, BYTES, Homes((ctas, 1, 1), (1, 1, 1)), initialized=seed % 2 == 0)
        checker.order.n[PLAIN] = plain
        for batch in np.array_split(records, 3):
            checker.go_over(batch, scan.compiled)
        checkers.append(checker)
    assert checkers[0].problems == checkers[1].problems
