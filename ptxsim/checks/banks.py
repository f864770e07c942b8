"""Counts what accesses cost, as the profiler does: wavefronts of shared memory, requests and sectors of global memory.

The rules are in layout.banks; this listens and adds up. What the async proxy moves (wgmma operands, bulk copies) does
not pass through the load-store pipe, so the profiler's counters and these leave it out.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ptxsim.checks.expression import Origins
from ptxsim.checks.lowered import COUNT, LEADER, lowered_atomics
from ptxsim.engine.program import Program
from ptxsim.layout import banks
from ptxsim.machine.event import FLAG_ASYNC_PROXY, FLAG_READ, Event, Observer, Space

KINDS = {
    Event.LOAD: "ld",
    Event.STORE: "st",
    Event.ATOMIC: "atom",
    Event.CAS: "cas",
    Event.REDUCE: "red",
    Event.LDMATRIX: "ldmatrix",
    Event.STMATRIX: "stmatrix",
    Event.ASYNC_ISSUE: "st",  # cp.async fills shared memory as a store of its width does
}
_GLOBAL = frozenset({"ld", "st", "atom", "red", "cas"})
_ENOUGH = 16_384  # records after which batches are large enough for numba to pay


@dataclass(slots=True)
class Tally:
    """What one instruction did in shared memory: executions, wavefronts, the fewest they could take, the worst one.

    `runs` counts accesses: wmma loads and stores are made of several.
    """

    kind: str
    width: int
    runs: int = 0
    wavefronts: int = 0
    ideal: int = 0
    worst: int = 0  # wavefronts over ideal of the worst execution, rounded up
    worst_wavefronts: int = 0
    addresses: np.ndarray = field(default_factory=lambda: np.zeros(32, np.uint64))
    mask: int = 0

    def add(self, kind: str, width: int, records: np.ndarray) -> None:
        found = banks.analyze(records["addresses"], width, kind, records["mask"])
        wavefronts, ideal = np.atleast_1d(found.wavefronts), np.atleast_1d(found.ideal)
        self.runs += len(records)
        self.wavefronts += int(wavefronts.sum())
        self.ideal += int(ideal.sum())
        self.worst = max(self.worst, int((-(-wavefronts // ideal)).max()))
        top = int(np.argmax(wavefronts - ideal))
        if wavefronts[top] > self.worst_wavefronts:
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
        top = int(np.argmax(found.sectors - fewest))
        if found.sectors[top] > self.worst:
            self.worst = int(found.sectors[top])
            self.addresses, self.mask = records["addresses"][top].copy(), int(records["mask"][top])


class BankCounter(Observer):
    """Tallies by instruction site: `tallies` of shared memory, `outer` of global memory."""

    events = frozenset(KINDS)

    def __init__(self, program: Program, keep: bool = False) -> None:
        """`keep`: somebody will look at all registers at the end."""
        self.origins = Origins(program)
        self.lowered = lowered_atomics(program, self.origins, keep)
        self.tallies: dict[int, Tally] = {}
        self.outer: dict[int, GlobalTally] = {}
        self._held: list[np.ndarray] = []
        self._held_count = self._seen = 0

    def consume(self, records: np.ndarray) -> None:
        issued = records["event"] == Event.ASYNC_ISSUE
        if issued.any():
            records = records[~issued | (records["flags"] & (FLAG_ASYNC_PROXY | FLAG_READ) == 0)]
        # Batches of one instruction are counted together, so small ones are gathered first.
        self._held.append(records.copy())
        self._held_count += len(records)
        if self._held_count >= _ENOUGH:
            self._count()

    def finish(self) -> None:
        if self._held:
            self._count()

    def _count(self) -> None:
        records = np.concatenate(self._held)
        self._held, self._held_count = [], 0
        self._seen += len(records)
        if self._seen >= _ENOUGH:
            from ptxsim.layout import banks_native  # noqa: F401  from here on every batch takes the compiled loops
        kept = (records["space"] == Space.SHARED) | (records["space"] == Space.GLOBAL)
        # One key for what is counted alike: site, width, event and space.
        key = records["site"].astype(np.int64) << 32 | records["width"].astype(np.int64) << 16
        key |= records["event"].astype(np.int64) << 8 | records["space"]
        order = np.flatnonzero(kept)
        order = order[np.argsort(key[order], kind="stable")]
        if not len(order):
            return
        key = key[order]
        starts = np.flatnonzero(np.r_[True, key[1:] != key[:-1]])
        for part in np.split(order, starts[1:]):
            self._add(records[part])

    def _add(self, records: np.ndarray) -> None:
        first = records[0]
        site, width, kind = int(first["site"]), int(first["width"]), KINDS[Event(first["event"])]
        if first["space"] == Space.SHARED:
            if self.lowered.get(site) == COUNT:
                kind = COUNT
            elif self.lowered.get(site) == LEADER:
                records = records.copy()
                records["mask"] &= -records["mask"].astype(np.int64).astype(np.uint32)  # the lowest active lane
            tally = self.tallies.setdefault(site, Tally(kind, width))
        elif kind in _GLOBAL and first["event"] != Event.ASYNC_ISSUE:
            tally = self.outer.setdefault(site, GlobalTally(kind, width))
        else:
            return
        tally.add(kind, width, records)
