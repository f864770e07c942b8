"""What warps that come to a barrier know is handed on when the first one leaves: the races are those of handing it on at once."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ptxsim.checks.cluster_shared import Homes
from ptxsim.checks.order.checker import OrderChecker
from ptxsim.checks.order.scan import scan
from ptxsim.checks.order.sites import ACQUIRES, ARRIVES, RELEASES, SCOPE, STRONG, UPDATES_SHARED
from ptxsim.checks.order.state import BARRIERS, PLAIN
from ptxsim.machine.event import RECORD, Event, Scope, Space
from ptxsim.machine.memory import RANK_SHIFT

CTAS, WARPS, BYTES = 2, 3, 512
# Those from PLAIN_SITES on acquire and release, those from UPDATES on only update.
ARRIVE_ONLY, PLAIN_SITES, UPDATES, SITES = 0, 200, 300, 350
FLAG_BITS = STRONG | ACQUIRES | RELEASES | int(Scope.CLUSTER) << SCOPE | UPDATES_SHARED
UPDATE_BITS = FLAG_BITS & ~(ACQUIRES | RELEASES)
BITS = (
    ARRIVES, *[0] * (PLAIN_SITES - 1), *[FLAG_BITS] * (UPDATES - PLAIN_SITES), *[UPDATE_BITS] * (SITES - UPDATES)
)  # fmt: skip
LANE = np.arange(32, dtype=np.uint64)


class Cluster:
    """A random run of a cluster's warps in rounds: at each some of them meet at a barrier, at once or in two halves. They hand flags on, or
    else update memory."""

    def __init__(self, seed: int, rounds: int, flags: bool):
        self.random, self.records, self.phases = np.random.default_rng(seed), list[np.ndarray](), dict[tuple, int]()
        self.flags = flags
        live = [(rank, warp) for rank in range(CTAS) for warp in range(WARPS)]
        for _ in range(rounds):
            kind = self.random.choice(["cluster", "cta", "pair", "none"])
            if len(live) > 1 and self.random.random() < 0.1:
                self.add(live.pop(int(self.random.integers(len(live)))), Event.EXIT)
            self.round(live, kind)
        for who in live:
            self.add(who, Event.EXIT)

    def add(self, who, event, addresses=(), site=1, space=Space.SHARED):
        record = np.zeros(1, RECORD)
        record["addresses"][0, : len(addresses)] = addresses
        record["cta"], record["warp"] = who
        for name, value in {"event": event, "mask": 0xFFFFFFFF, "site": site, "space": space, "width": 4}.items():
            record[name] = value
        self.records.append(record)

    def round(self, live, kind):
        groups = {"cluster": [live], "none": []}.get(
            kind, [[who for who in live if who[0] == rank] for rank in range(CTAS)]
        )
        number = {"cluster": BARRIERS, "cta": 0}.get(kind, 1)
        if kind == "pair":
            groups = [group[:2] for group in groups]
        parts: dict = {who: ["access"] * int(self.random.integers(3)) for who in live}
        coming = {}
        for group in filter(None, groups):
            key = number, group[0][0] if kind != "cluster" else 0
            phase = self.phases[key] = self.phases.get(key, -1) + 1
            for place, who in enumerate(group):
                only = kind == "pair" and place and self.random.random() < 0.3
                between = int(self.random.integers(3)) if kind == "cluster" and self.random.random() < 0.4 else 0
                parts[who] += [("arrive", phase, only)] + ["access"] * between + [("leave", phase)] * (not only)
                coming[who] = group
        come: set = set()
        while any(parts.values()):
            who = [who for who in live if parts[who]][int(self.random.integers(sum(map(bool, parts.values()))))]
            part = parts[who][0]
            if part == "access":
                self.access(who)
            elif part[0] == "arrive":
                self.add(who, Event.ARRIVE, (number, part[1]), ARRIVE_ONLY if part[2] else 1)
                come.add(who)
            elif come.issuperset(coming[who]):
                self.add(who, Event.LEAVE, (number, part[1]))
            else:
                continue
            parts[who].pop(0)

    def access(self, who):
        """To one of four lines of each CTA, or to a flag in its last one."""
        home, line = int(self.random.integers(CTAS)) << RANK_SHIFT, 128 * int(self.random.integers(BYTES // 128))
        if self.random.random() < 0.4 and self.flags:
            event, site = self.random.choice([Event.LOAD, Event.STORE]), self.random.integers(PLAIN_SITES, UPDATES)
            self.add(who, event, np.uint64(home + BYTES - 4) + LANE * 0, site)
        elif self.random.random() < 0.4 and not self.flags:
            event = self.random.choice([Event.REDUCE, Event.REDUCE, Event.ATOMIC])
            places = self.random.integers(0, 32, 32).astype(np.uint64) * np.uint64(4)
            self.add(who, event, np.uint64(home + line) + places, self.random.integers(UPDATES, SITES))
        else:
            event, site = (
                self.random.choice([Event.LOAD, Event.LOAD, Event.STORE]),
                self.random.integers(1, PLAIN_SITES),
            )
            self.add(who, event, np.uint64(home + line) + LANE % 31 * 4, site)


@pytest.mark.slow
@given(st.integers(0, 2**32), st.integers(1, 12), st.booleans())
@settings(deadline=None, max_examples=200)
@example(
    51, 8, True
)  # here and below a warp hands on what it knows when it does something else before the others have come
@example(229, 6, True)
def test_the_races_are_the_same(seed, rounds, flags):
    records = np.concatenate(Cluster(seed, rounds, flags).records)
    found = []
    for plain in (0, 1):
        checker = OrderChecker(BITS, WARPS * 32, BYTES, Homes((CTAS, 1, 1), (CTAS, 1, 1)), initialized=True)
        checker.order.n[PLAIN] = plain
        for batch in np.array_split(records, 2):
            checker.go_over(batch, scan.checked)
        found.append(checker.problems)
    assert found[0] == found[1]
