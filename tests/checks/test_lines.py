"""What lines show to be in order is in order: with and without a look at them the races are the same."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ptxsim.checks.cluster_shared import Homes
from ptxsim.checks.order.checker import OrderChecker
from ptxsim.checks.order.scan import scan
from ptxsim.checks.order.state import PLAIN
from ptxsim.machine.event import (
    FLAG_ASYNC_PROXY,
    FLAG_EACH,
    FLAG_ISSUED,
    FLAG_READ,
    FLAG_UNCHANGED,
    LANE_SHIFT,
    RECORD,
    Event,
    Space,
)
from ptxsim.machine.memory import RANK_SHIFT

WARPS, BYTES = 3, 1024
STRONG_CTA, TOGETHER, ATOMIC, BULK = 1 | 2 | 4, 64, 1 | 2 << 4 | 1024 | 512, 65536
BITS = (0, 0, STRONG_CTA, TOGETHER, 0, ATOMIC, BULK)  # by site
PLAIN_ACCESS, PRODUCT, CP_ASYNC, COPY, BULK_STORE, AT_MBARRIER, SEND, LANE_STORES = range(8)
ASYNC_BITS = (0, 128, 256, 2048, 0, 1 | 2 | 4 | 1 << 4, 2048, 1 | 2048 | 1 << 4)  # of these sites
GROUPS = 2  # warpgroups
SENDER = 4 * GROUPS  # the warp after them, which does nothing but to send to other CTAs
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
        if choose(10) == 0:  # a bulk copy
            site, event, flags = 6, Event.ASYNC_WRITE, FLAG_ASYNC_PROXY
        mask = int(choose([0xFFFFFFFF, 0xFFFFFFFF, 0xFFFF, 0x10, 0x80000001]))
        space = choose([Space.SHARED, Space.SHARED, Space.GLOBAL])
        if self.last and choose(4) == 0:  # the same once more
            warp, addresses, mask, space, width = self.last
        space = Space.GLOBAL if site == 6 else space
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


@pytest.mark.slow
@given(
    st.integers(0, 2**32), st.sampled_from([0.02, 0.1, 0.4]), st.sampled_from([0.3, 0.03]), st.booleans(), st.booleans(),
    st.integers(1, 12),
)  # fmt: skip
@settings(deadline=None, max_examples=150)
@example(723, 0.02, 0.3, True, True, 10)  # a lane writes what it has read, then the warp writes there together
@example(
    1048577, 0.02, 0.3, False, False, 6
)  # lanes write what they have read in one line, and what another lane has written in the next
@example(
    2221499, 0.02, 0.3, False, False, 4
)  # lanes write one place together, which a lane has read and written before
def test_lines_never_change_the_verdict(seed, barriers, stores, apart, together, ctas):
    runs = [Run(seed + cta, cta, stores).of(60, barriers, apart).records for cta in range(ctas)]
    records = np.concatenate(in_turns(runs, seed) if together else [record for run in runs for record in run])
    by_lines, by_granules = verdicts(records, ctas, initialized=seed % 2 == 0)
    assert by_lines == by_granules


@given(st.integers(0, 2**32), st.sampled_from([0.0, 0.1, 0.3]), st.integers(1, 3))
@settings(deadline=None, max_examples=60)
def test_lines_that_are_written_piece_by_piece_never_change_the_verdict(seed, care, ctas):
    """As fragments of accumulators are: eight rows, of each of which four lanes write next to each other."""
    runs = []
    for cta in range(ctas):
        run = Run(seed + cta, cta, 1.0)
        choose = run.random.choice
        pieces = [(row, piece, int(choose([4, 8, 16]))) for row in (0, 8, 16) for piece in range(8)]
        for row, piece, width in [pieces[n] for n in run.random.permutation(len(pieces))]:
            if run.random.random() < care:
                run.barrier()
            rows = (np.uint64(row) + LANE // 4 + np.uint64(cta * 24 * bool(choose(8)))) * np.uint64(128)
            addresses = rows + np.uint64(piece * 4 * width % 128) + LANE % 4 * np.uint64(width)
            event = Event.LOAD if choose(12) == 0 else Event.STORE
            site, flags = (6, FLAG_ASYNC_PROXY) if choose(12) == 0 else (int(choose([0, 1, 4])), 0)
            if site == 6:
                event, addresses, width = Event.ASYNC_WRITE, rows[:1] + LANE * np.uint64(16), 16
            mask = int(choose([0xFFFFFFFF] * 6 + [0xFFFF, 0x10]))
            run.add(int(choose(WARPS)), int(event), addresses, mask, site, Space.GLOBAL, width, flags)
        for warp in range(WARPS):
            run.add(warp, Event.EXIT)
        runs.append(run.records)
    by_lines, by_granules = verdicts(np.concatenate(in_turns(runs, seed)), ctas, initialized=True)
    assert by_lines == by_granules


@pytest.mark.slow
@given(st.integers(0, 2**32), st.sampled_from([0.02, 0.1, 0.4]), st.booleans(), st.booleans(), st.integers(1, 12))
@settings(deadline=None, max_examples=100)
def test_stores_that_leave_global_memory_as_it_was_are_like_reads(seed, barriers, apart, together, ctas):
    """In programs without strong accesses and bulk copies."""
    runs = [Run(seed + cta, cta, 0.4).of(60, barriers, apart).records for cta in range(ctas)]
    records = np.concatenate(in_turns(runs, seed) if together else [record for run in runs for record in run])
    records = records[(records["site"] != BITS.index(BULK)) & (records["event"] != Event.ATOMIC)]
    stores = (records["event"] == Event.STORE) & (np.random.default_rng(seed).random(len(records)) < 0.5)
    records["flags"][stores] = FLAG_UNCHANGED
    by_lines, by_granules = verdicts(records, ctas, bits=tuple(each & TOGETHER for each in BITS))
    assert by_lines == by_granules


def verdicts(
    records: np.ndarray, ctas: int, initialized: bool = True, bits: tuple[int, ...] = BITS
) -> list[list]:  # fmt: skip
    """What is found by lines, and granule by granule."""
    found = []
    for plain in (0, 1):
        checker = OrderChecker(bits, WARPS * 32, BYTES, Homes((ctas, 1, 1), (1, 1, 1)), initialized=initialized)
        checker.order.n[PLAIN] = plain
        for batch in np.array_split(records, 3):
            checker.go_over(batch, scan.compiled)
        found.append(checker.problems)
    return found


@pytest.mark.slow
@given(st.integers(0, 2**32), st.sampled_from([4, 8, 40]), st.booleans())
@settings(deadline=None, max_examples=40)
def test_lines_that_many_ctas_read_word_by_word_remember_the_same_readers(seed, words, together):
    """Until granules are full, and after it: the write at the end races with those that are remembered."""
    runs, ctas = [Run(seed + cta, cta, 0) for cta in range(12)], 12
    for run in runs:
        for _ in range(30):
            site, mask = int(run.random.choice([0, 0, 0, 3])), int(run.random.choice([0xFFFFFFFF, 0x10]))
            run.add(0, Event.LOAD, 4 * run.random.integers(0, words, 32).astype(np.uint64), mask, site)
    last = int(runs[0].random.integers(ctas))
    runs[last].add(1, Event.STORE, 4 * LANE, (1 << min(words, 32)) - 1)
    for run in runs:
        for warp in range(WARPS):
            run.add(warp, Event.EXIT)
    lists = [run.records for run in runs]
    records = np.concatenate(in_turns(lists, seed) if together else [record for one in lists for record in one])
    by_lines, by_granules = verdicts(records, ctas)
    assert by_lines == by_granules and by_lines


class Pipeline(Run):
    """Records of a CTA that fills tiles by asynchronous copies and reads them by products, in more or less of an order."""

    def __init__(self, seed: int, cta: int, ctas: int, care: float):
        super().__init__(seed, cta, 0.3)
        self.rank, self.ctas, self.care = cta % ctas, ctas, care
        self.reading: list[tuple] = []  # products, bulk stores, that no wait has covered
        self.copies: list[tuple] = []  # that have not landed
        self.landed: list[tuple] = []  # cp.async
        self.waited = [0] * GROUPS  # products
        self.sent: np.ndarray | None = None  # on which mbarrier the last copy to another CTA has completed

    def tile(self) -> tuple[np.ndarray, int, int]:
        """Addresses, a mask, and the width of rows."""
        choose = self.random.choice
        width, count = int(choose([16, 32, 128])), int(choose([1, 4, 32]))
        step = int(choose([width, width, 128]))
        start = int(choose(BYTES // 128)) * 128 + int(choose(128 // width)) * width
        addresses = np.minimum(start + LANE[:count] * np.uint64(step), BYTES - width)
        rank = self.rank if choose(8) else int(choose(self.ctas))
        return addresses + np.uint64(rank << RANK_SHIFT), (1 << count) - 1, width

    def flight(self, warp, event, tile, site, flags=0):
        self.add(warp, int(event), *tile[:2], site, Space.SHARED, tile[2], flags)

    def step(self):
        choose, group = self.random.choice, int(self.random.choice(GROUPS))
        match choose(12):
            case 0:
                self.reading.append((4 * group + int(choose(4)), self.tile(), PRODUCT, FLAG_ASYNC_PROXY))
                warp, tile, site, flags = self.reading[-1]
                self.flight(warp, Event.ASYNC_READ, tile, site, flags)
                self.flight(warp, Event.ASYNC_ISSUE, tile, site, flags | FLAG_READ)
            case 1:
                flags = FLAG_ASYNC_PROXY | int(choose([0, 0, 5])) << LANE_SHIFT
                self.copies.append((4 * group, self.tile(), int(choose([COPY, COPY, BULK_STORE])), flags))
                warp, tile, site, flags = self.copies[-1]
                self.flight(warp, Event.ASYNC_ISSUE, tile, site, flags | FLAG_READ * (site == BULK_STORE))
            case 2:
                addresses, mask, _ = self.tile()
                self.copies.append((int(choose(4 * GROUPS)), (addresses, mask, 16), CP_ASYNC, 0))
                self.flight(self.copies[-1][0], Event.ASYNC_ISSUE, *self.copies[-1][1:])
            case 3 if self.copies:
                warp, tile, site, flags = self.copies.pop(0)
                if site in (SEND, LANE_STORES):
                    self.land(warp, tile, site, flags)
                elif site == BULK_STORE:
                    self.flight(warp, Event.ASYNC_READ, tile, site, flags)
                    self.reading.append((warp, tile, site, flags))
                else:
                    if site == COPY:
                        place = [(self.rank << RANK_SHIFT) + int(choose(2)) * 8] * 32
                        mask = 1 << (flags >> LANE_SHIFT)
                        self.add(warp, Event.MBARRIER_ARRIVE, place, mask, site, Space.SHARED, 8, FLAG_ASYNC_PROXY)
                    self.flight(warp, Event.ASYNC_WRITE, tile, site, flags)
                    self.landed.append((warp, tile, site, flags))
            case 4 if self.landed:
                warp, tile, site, flags = self.landed.pop(0)
                self.flight(warp, Event.ASYNC_WAIT, tile, site, flags)
            case 5 if self.reading:
                warp, tile, site, flags = self.reading.pop(0)
                self.flight(warp, Event.ASYNC_WAIT, tile, site, flags | FLAG_READ)
                if site == PRODUCT:
                    self.waited[warp // 4] += 1
            case 5:
                group = int(choose(GROUPS))
                self.add(4 * group + int(choose(4)), int(Event.WGMMA_WAIT), [self.waited[group]])
            case 6:
                tile = self.tile()
                self.flight(4 * group + int(choose(4)), choose([Event.LOAD, Event.STORE]), tile, PLAIN_ACCESS)
            case 9 if all(copy[2] != SEND for copy in self.copies):
                if self.sent is not None:  # of several copies of a warp, the granules remember the last
                    self.add(SENDER, int(Event.MBARRIER_WAIT), self.sent, site=AT_MBARRIER, space=Space.SHARED, width=8)
                flags = FLAG_ASYNC_PROXY | int(choose([0, 0, 5])) << LANE_SHIFT
                source, target = self.tile(), self.tile()
                source = (
                    source[0] & np.uint64((1 << RANK_SHIFT) - 1) | np.uint64(self.rank << RANK_SHIFT),
                    *source[1:],
                )
                self.copies.append((SENDER, (source, target), SEND, flags))
                self.flight(SENDER, Event.ASYNC_READ, source, SEND, flags)
                self.flight(SENDER, Event.ASYNC_ISSUE, source, SEND, flags | FLAG_READ)
                self.flight(SENDER, Event.ASYNC_ISSUE, target, SEND, flags)
                self.at_mbarrier(SENDER, SEND, flags | FLAG_ISSUED, 1 << (flags >> LANE_SHIFT))
            case 10:
                warp, width = int(choose(4 * GROUPS)), int(choose([4, 16]))
                start, rank = 128 * int(choose(BYTES // 128 // 2)), int(choose(self.ctas))
                tile = start + LANE * width + np.uint64(rank << RANK_SHIFT), int(choose([0xFFFFFFFF, 0xFF])), width
                flags = FLAG_ASYNC_PROXY | FLAG_EACH
                self.copies.append((warp, tile, LANE_STORES, flags))
                self.flight(warp, Event.ASYNC_ISSUE, tile, LANE_STORES, flags)
                self.at_mbarrier(warp, LANE_STORES, FLAG_ASYNC_PROXY | FLAG_ISSUED, tile[1])
            case _ if self.random.random() < self.care / 2:
                self.barrier()
            case _ if self.random.random() < self.care:
                place = [(self.rank << RANK_SHIFT) + int(choose(2)) * 8] * 32
                mask = int(choose([0xFFFFFFFF, 1]))
                event = choose([Event.MBARRIER_ARRIVE, Event.MBARRIER_WAIT])
                self.add(int(choose(4 * GROUPS)), int(event), place, mask, AT_MBARRIER, Space.SHARED, 8)

    def at_mbarrier(self, warp: int, site: int, flags: int, mask: int) -> np.ndarray:
        """Copies will complete, or complete, on an mbarrier; those of lanes now and then on two."""
        place = np.full(32, (self.rank << RANK_SHIFT) + int(self.random.choice(2)) * 8, np.uint64)
        place[:16] += np.uint64(16 * (self.random.random() < 0.2))
        self.add(warp, int(Event.MBARRIER_ARRIVE), place, mask, site, Space.SHARED, 8, flags)
        return place

    def land(self, warp: int, tile: tuple, site: int, flags: int):
        """What goes to the memory of another CTA, or of the own, is there."""
        if site == LANE_STORES:
            self.at_mbarrier(warp, site, FLAG_ASYNC_PROXY, tile[1])
            self.flight(warp, Event.ASYNC_WRITE, tile, site)
            self.flight(warp, Event.ASYNC_WAIT, tile, site, FLAG_ASYNC_PROXY)
            return
        source, target = tile
        place = self.at_mbarrier(warp, site, FLAG_ASYNC_PROXY, 1 << (flags >> LANE_SHIFT))
        self.sent = np.full(32, place[flags >> LANE_SHIFT], np.uint64)
        self.flight(warp, Event.ASYNC_WRITE, target, site, flags)
        self.flight(warp, Event.ASYNC_WAIT, source, site, flags | FLAG_READ)
        self.flight(warp, Event.ASYNC_WAIT, target, site, flags)

    def barrier(self):
        for event in (Event.ARRIVE, Event.LEAVE):
            for warp in range(SENDER + 1):
                self.add(warp, event, (0, self.phase))
        self.phase += 1

    def of_steps(self, steps: int) -> list[np.ndarray]:
        for _ in range(steps):
            self.step()
        return self.records


@pytest.mark.slow
@given(st.integers(0, 2**32), st.sampled_from([0.1, 0.5, 1.0]), st.sampled_from([1, 2]), st.booleans())
@settings(deadline=None, max_examples=150)
def test_lines_never_change_the_verdict_about_asynchronous_operations(seed, care, ctas, initialized):
    runs = [Pipeline(seed + cta, cta, ctas, care).of_steps(90) for cta in range(2 * ctas)]
    records = np.concatenate(in_turns(runs, seed))
    checkers = []
    for plain in (0, 1):
        homes = Homes((2 * ctas, 1, 1), (ctas, 1, 1))
        checker = OrderChecker(ASYNC_BITS, (SENDER + 1) * 32, BYTES, homes, initialized=initialized)
        checker.order.n[PLAIN] = plain
        for batch in np.array_split(records, 3):
            checker.go_over(batch, scan.compiled)
        checkers.append(checker)
    assert checkers[0].problems == checkers[1].problems
