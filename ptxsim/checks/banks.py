"""Counts what accesses cost, as the profiler does: wavefronts of shared memory, requests and sectors of global memory.

The rules are in layout.banks; this listens and adds up. Bulk copies and tensor copies, mbarriers and the shared memory of
other CTAs do not pass through the CTA's load-store pipe: the profiler's counters and these leave them out.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ptxsim.checks.cluster_shared import Homes
from ptxsim.checks.expression import Origins
from ptxsim.checks.lowered import BYPASS, COPY, ELSEWHERE, LEADER, lowered_accesses, product_wavefronts
from ptxsim.engine.program.operation import Program
from ptxsim.layout import banks, cp_async_wavefronts
from ptxsim.machine.event import FLAG_ASYNC_PROXY, FLAG_MORE, FLAG_READ, Event, Observer, Space
from ptxsim.machine.memory import RANK_SHIFT

KINDS = {
    Event.LOAD: "ld",
    Event.STORE: "st",
    Event.ATOMIC: "atom",
    Event.CAS: "cas",
    Event.REDUCE: "red",
    Event.LDMATRIX: "ldmatrix",
    Event.STMATRIX: "stmatrix",
    Event.ASYNC_ISSUE: "copy",
}
_GLOBAL = frozenset({"ld", "st", "atom", "red", "cas"})
_COUNTED = [int(event) for event in KINDS]
_SKIPPED = FLAG_ASYNC_PROXY | FLAG_READ
_ENOUGH = 16_384  # records from which on loading numba pays
_SLOWER = 15  # what a copy or a loop takes longer without numba
DIFFERENT = 32  # executions of an instruction that are kept as long as there are no more different ones


@dataclass(slots=True)
class Tally:
    """What one instruction did in shared memory: executions, wavefronts, the fewest they could take, the worst one.

    `runs` counts accesses: wmma loads and stores are made of several. `different` are the executions that differ, with
    their masks and how often there were such, as long as they are few.
    """

    kind: str
    width: int
    runs: int = 0
    wavefronts: int = 0
    ideal: int = 0
    worst: int = 0  # wavefronts over ideal of the worst execution, rounded up
    conflicts: int = 0
    worst_wavefronts: int = 0
    addresses: np.ndarray = field(default_factory=lambda: np.zeros(32, np.uint64))
    mask: int = 0
    different: dict[tuple[bytes, int], int] = field(default_factory=dict)

    def add(self, kind: str, width: int, records: np.ndarray, found: banks.Wavefronts | None = None) -> None:
        """Count accesses. found: what they cost, where that depends on more than the addresses."""
        for addresses, mask in zip(records["addresses"], records["mask"].tolist()):
            if len(self.different) > DIFFERENT:
                break
            key = addresses.tobytes(), mask
            self.different[key] = self.different.get(key, 0) + 1
        found = found or banks.analyze(records["addresses"], width, kind, records["mask"])
        wavefronts, ideal = np.atleast_1d(found.wavefronts), np.atleast_1d(found.ideal)
        self.runs += len(records)
        self.wavefronts += int(wavefronts.sum())
        self.ideal += int(ideal.sum())
        self.worst = max(1, self.worst, int((-(-wavefronts // np.maximum(1, ideal))).max()))
        self.conflicts += int(np.sum(found.conflicts))
        top = _first_worst(wavefronts, records)
        if wavefronts[top] > self.worst_wavefronts or not self.mask:
            self.worst_wavefronts = int(wavefronts[top])
            self.addresses, self.mask = records["addresses"][top].copy(), int(records["mask"][top])
            self.kind, self.width = kind, width


@dataclass(slots=True)
class GlobalTally:
    """What one instruction did in global memory: requests, 32-byte sectors, 128-byte lines, the fewest sectors.

    The fewest sectors that could hold the bytes asked for, each byte once: what the same lanes cost side by side.
    """

    kind: str
    width: int
    requests: int = 0
    sectors: int = 0
    lines: int = 0
    ideal: int = 0
    worst: int = 0  # sectors of the worst execution
    addresses: np.ndarray = field(default_factory=lambda: np.zeros(32, np.uint64))
    mask: int = 0

    def add(self, kind: str, width: int, records: np.ndarray) -> None:
        atomic = kind in banks.ATOMIC_KINDS
        found = banks.global_access(records["addresses"].astype(np.int64), width, records["mask"], atomic)
        lanes = np.bitwise_count(records["mask"]).astype(np.int64)
        fewest = np.maximum(1, -(-lanes * width // 32))
        self.requests += len(records)
        self.sectors += int(found.sectors.sum())
        self.lines += int(found.lines.sum())
        # Lanes that share words can do with less than side by side.
        self.ideal += int(np.minimum(fewest, found.sectors).sum())
        top = _first_worst(found.sectors, records)
        if found.sectors[top] > self.worst:
            self.worst = int(found.sectors[top])
            self.addresses, self.mask = records["addresses"][top].copy(), int(records["mask"][top])


def _first_worst(costs: np.ndarray, records: np.ndarray) -> int:
    """The costliest record; of several, that of the first CTA and warp, whatever order they ran in."""
    return int(np.lexsort((records["warp"], records["cta"], -costs))[0])


class BankCounter(Observer):
    """Tallies by instruction site: `tallies` of shared memory, `outer` of global memory; there when the run is over."""

    events = None  # the loop passes over what it does not count faster than the stream would pick it out
    proxies = False

    def __init__(self, program: Program, keep: bool = False, grid=(1, 1, 1), cluster=(1, 1, 1)) -> None:
        """`keep`: somebody will look at all registers at the end. grid, cluster: their shapes."""
        self._homes = Homes(grid, cluster)
        self.origins = Origins(program)
        self.lowered = lowered_accesses(program, self.origins, keep)
        self.tallies: dict[int, Tally] = {}
        self.outer: dict[int, GlobalTally] = {}
        self._sites = len(program.ops)
        self._products = product_wavefronts(program)
        self._products_done: dict[int, int] = dict.fromkeys(self._products, 0)
        self._slow = [site for site, how in self.lowered.items() if how in (COPY, *banks.LOOP_KINDS)]
        self._held: list[np.ndarray] = []
        self._held_count = 0
        self._loop: _Loop | None = None

    def consume(self, records: np.ndarray) -> None:
        if self._products:
            for site in records["site"][records["event"] == Event.MMA].tolist():
                if site in self._products:
                    self._products_done[site] += 1
        if self._homes.cluster != (1, 1, 1):
            records = _near(records, self._homes)
        if self._loop is not None:
            self._loop.add(records)
            return
        records = records[np.isin(records["event"], _COUNTED)]
        self._held.append(records)
        slow = np.count_nonzero(np.isin(records["site"], self._slow)) if self._slow else 0
        self._held_count += len(records) + _SLOWER * slow
        if self._held_count >= _ENOUGH:
            self._loop = _Loop(self._sites, self.lowered)
            for held in self._held:
                self._loop.add(held)
            self._held = []

    def finish(self) -> None:
        if self._loop is not None:
            self.tallies, self.outer = self._loop.tallies()
        elif self._held:
            self._count(np.concatenate(self._held))
        for site, runs in self._products_done.items():
            if runs:
                each = self._products[site]
                self.tallies[site] = Tally("wgmma", 16, runs, runs * each, runs * each, 1, worst_wavefronts=each)

    def _count(self, records: np.ndarray) -> None:
        """Few records: each group that is counted alike by numpy."""
        for row in np.flatnonzero(records["flags"] & FLAG_MORE)[::-1].tolist():
            records["mask"][row - 1] |= records["mask"][row]
            records["width"][row - 1] = max(records["width"][row - 1], records["width"][row])
        records = records[records["flags"] & FLAG_MORE == 0]
        before = np.roll(records, 1)
        issued = records["event"] == Event.ASYNC_ISSUE
        skipped = issued & ((records["flags"] & _SKIPPED != 0) | (records["space"] != Space.SHARED))
        kept = ((records["space"] == Space.SHARED) | (records["space"] == Space.GLOBAL)) & ~skipped
        groups: dict[tuple, list[int]] = {}
        for row in np.flatnonzero(kept).tolist():
            record = records[row]
            key = tuple(int(record[name]) for name in ("site", "width", "event", "space"))
            groups.setdefault(key, []).append(row)
        for (site, width, event, space), rows in groups.items():
            self._add(site, width, KINDS[Event(event)], space, records[rows], before[rows])

    def _add(self, site: int, width: int, kind: str, space: int, records: np.ndarray, before: np.ndarray) -> None:
        """Count records of one site. before: the records before them, which say what a cp.async has read."""
        if space == Space.SHARED:
            how = self.lowered.get(site)
            if how == ELSEWHERE:
                return
            if how in (COPY, BYPASS):
                found = _copied(records, before, width, how)
                self.tallies.setdefault(site, Tally(how, width)).add(how, width, records, found)
                return
            if how == LEADER:
                records["mask"] &= -records["mask"].astype(np.int64).astype(np.uint32)  # the lowest active lane
            elif how:
                kind = how
            self.tallies.setdefault(site, Tally(kind, width)).add(kind, width, records)
        elif kind in _GLOBAL:
            whole = 1 << (width - 1).bit_length()  # cp.async may read a part of its aligned element
            self.outer.setdefault(site, GlobalTally(kind, whole)).add(kind, whole, records)


def _near(records: np.ndarray, homes: Homes) -> np.ndarray:
    """Without accesses to the shared memory of other CTAs, which are counted as none; an atomic there is one wavefront.

    Measured on an H200 with clusters of two (tests/data/wavefronts.json.gz).
    """
    first = np.bitwise_count((records["mask"] & -records["mask"].astype(np.int64)) - 1)
    rank = records["addresses"][np.arange(len(records)), first & 31] >> np.uint64(RANK_SHIFT)
    far = (records["space"] == Space.SHARED) & np.isin(records["event"], _COUNTED)
    far &= rank != homes.places(records["cta"].astype(np.int64))[0].astype(np.uint64)
    atomic = np.isin(records["event"], (Event.ATOMIC, Event.CAS, Event.REDUCE))
    records = records.copy()
    one = records["mask"] & -records["mask"].astype(np.int64).astype(np.uint32)
    records["mask"] = np.where(far, one, records["mask"])
    return records[~far | atomic]


def _copied(records: np.ndarray, before: np.ndarray, width: int, how: str) -> banks.Wavefronts:
    """What each cp.async costs: all of it, or what writes zeros past one that bypasses the pipe."""
    rows = []
    for record, source in zip(records, before):
        mask = int(record["mask"])
        reads = source["event"] == Event.LOAD and source["site"] == record["site"] and source["warp"] == record["warp"]
        reading = mask & int(source["mask"]) if reads else 0
        if how == COPY:
            to, origin = (one["addresses"].astype(np.int64).tolist() for one in (record, source))
            rows.append(cp_async_wavefronts.copy_wavefronts(to, origin, mask, reading, width))
        elif zeros := mask & ~reading:
            found = banks.analyze(record["addresses"], width, "st", zeros)
            rows.append((found.wavefronts, found.ideal))
        else:
            rows.append((0, 0))
    wavefronts, ideal = np.array(rows).T
    return banks.Wavefronts(wavefronts, wavefronts - ideal, ideal, wavefronts)


class _Loop:
    """Many records: sums by site, kept by the compiled loop."""

    def __init__(self, sites: int, lowered: dict[int, str]):
        from ptxsim.checks import tally_native as native

        self.native = native
        self.events = np.full(256, -1, np.int64)
        for event, kind in KINDS.items():
            self.events[event] = banks.KINDS.index(kind)
        self.sites = np.full(sites, -1, np.int64)
        others = {LEADER: native.LEADER, ELSEWHERE: native.ELSEWHERE}
        for site, how in lowered.items():
            self.sites[site] = others[how] if how in others else banks.KINDS.index(how)
        self.sums = np.zeros((2, sites, native.COLUMNS), np.int64)
        self.addresses = np.zeros((2, sites, 32), np.uint64)
        self.last = np.full((2, sites, 7), -1, np.int64), np.zeros((2, sites, 32), np.uint32)
        keys, counts, masks = (np.zeros((sites, native.SLOTS), np.int64) for _ in range(3))
        addresses, different = np.zeros((sites, native.SLOTS, 32), np.uint64), np.zeros(sites, np.int64)
        self.kept = keys, counts, masks, addresses, different
        self.sources = np.zeros((sites, 32), np.int64), np.zeros(sites, np.int64)

    def add(self, records: np.ndarray) -> None:
        if not len(records):
            return
        spaces = int(Space.SHARED), int(Space.GLOBAL)
        self.native.tally(
            records,
            records.view(np.uint32).reshape(len(records), -1),
            self.events,
            self.sites,
            spaces,
            _SKIPPED,
            FLAG_MORE,
            self.sums,
            self.addresses,
            *self.last,
            self.kept,
            self.sources,
        )

    def different(self, site: int) -> dict[tuple[bytes, int], int]:
        """The executions of a shared access that differ, and how often there were such."""
        _, counts, masks, addresses, _ = self.kept
        return {
            (addresses[site, slot].tobytes(), int(masks[site, slot])): int(counts[site, slot])
            for slot in np.flatnonzero(counts[site]).tolist()
        }

    def tallies(self) -> tuple[dict[int, Tally], dict[int, GlobalTally]]:
        n = self.native
        (shared, outer), (shared_at, outer_at) = self.sums, self.addresses
        inner, others = {}, {}
        for site in np.flatnonzero(shared[:, n.RUNS]).tolist():
            row = shared[site].tolist()
            inner[site] = Tally(
                banks.KINDS[row[n.KIND]], row[n.WIDTH], row[n.RUNS], row[n.COST], row[n.IDEAL], row[n.WORST_RATIO],
                row[n.CONFLICTS], row[n.WORST], shared_at[site], row[n.MASK], self.different(site),
            )  # fmt: skip
        for site in np.flatnonzero(outer[:, n.RUNS]).tolist():
            row = outer[site].tolist()
            others[site] = GlobalTally(
                banks.KINDS[row[n.KIND]], row[n.WIDTH], row[n.RUNS], row[n.COST], row[n.LINES], row[n.IDEAL],
                row[n.WORST], outer_at[site], row[n.MASK],
            )  # fmt: skip
        return inner, others
