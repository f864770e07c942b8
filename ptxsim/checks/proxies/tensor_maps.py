"""Tensor maps that a kernel edits must be published to the tensor-map proxy and acquired by their users.

PTX ISA, "fence.proxy.tensormap", "tensormap.cp_fenceproxy".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np

from ptxsim.checks.order.state import hashed
from ptxsim.diagnostic import Finding, Label
from ptxsim.engine.program.operation import Program
from ptxsim.jit.body import Array, body, record
from ptxsim.lanes import LANES, lane_numbers
from ptxsim.machine.event import FLAG_STRONG, FLAG_TENSORMAP, Event, Observer, Proxy, Scope, Space

LINE_BITS = 7  # tensor maps are 128 bytes
MOST_LINES = 1 << 20  # written lines remembered
WARPS = 1 << 12  # places for warps of the grid; those that share one are taken for one
# Who wrote a line last: its number and 1, when, from where, by which lanes of a warp.
WRITTEN = record(("line", "<i8"), ("time", "<i8"), ("cta", "<i4"), ("site", "<i4"), ("warp", "<i4"), ("lanes", "<u4"))
# What has not been done, and what does it.
FENCES = {
    "release": ("has not been published", "fence.proxy.tensormap::generic.release.gpu; or tensormap.cp_fenceproxy"),
    "acquire": ("has not been acquired", "fence.proxy.tensormap::generic.acquire.gpu [map], 128;"),
}


def place_of(written: Array, line: int) -> int:
    """Where a line stands in a table of 2**n rows, or would."""
    last = len(written) - 1
    place = hashed(line, 0) & last
    while written[place]["line"] != 0 and written[place]["line"] != line + 1:
        place = place + 1 & last
    return place


def has_room(written: Array, count: int) -> bool:
    """Whether a table that holds so many lines has room for those of one more record, and is not too full to look into."""
    return 4 * (count + LANES) <= 3 * len(written)


def place_of_warp(cta: int, warp: int) -> int:
    """Where a warp stands in a table of the times at which warps have synchronised."""
    return (cta * LANES + warp) % WARPS


@body(enough=500)
def follow(records: Array, at: int, written: Array, synced: Array, count: int, time: int) -> tuple[int, int, int]:
    """Remember the lines that records from one on write to, up to a fence of tensor maps, the use of a map in such a line, or no room.

    synced: by place of a warp, when it has last learnt what others have done: time goes on then. Returns the record, or how many there are,
    how many lines are remembered, and the time.
    """
    for i in range(at, records.shape[0]):
        record = records[i]
        event, addresses, mask = int(record["event"]), record["addresses"], int(record["mask"])
        if event == Event.FENCE and addresses[1] >= Proxy.TENSORMAP:
            return i, count, time
        learns = event in (Event.LEAVE, Event.SYNC_WARP, Event.MBARRIER_WAIT)
        if learns or (event <= Event.CAS and int(record["flags"]) & FLAG_STRONG != 0):
            time += 1
            synced[place_of_warp(int(record["cta"]), int(record["warp"]))] = time
        if record["space"] != Space.GLOBAL:
            continue
        is_use = event == Event.ASYNC_READ and int(record["flags"]) & FLAG_TENSORMAP != 0
        if event != Event.STORE and not is_use:
            continue
        if not has_room(written, count):
            return i, count, time
        before = -1
        for lane in range(LANES):
            line = int(addresses[lane]) >> LINE_BITS
            if not mask >> lane & 1 or line == before:  # neighbours mostly write to the same line
                continue
            before = line
            row = written[place_of(written, line)]
            if is_use and row["line"] != 0:
                return i, count, time
            if not is_use:
                if row["line"] == 0:
                    count += 1
                row["line"], row["time"], row["cta"], row["site"] = line + 1, time, record["cta"], record["site"]
                row["warp"], row["lanes"] = record["warp"], mask
    return records.shape[0], count, time


@body
def move(rows: Array, written: Array) -> int:
    """Copy lines that are remembered into an empty table; returns how many."""
    count = 0
    for i in range(rows.shape[0]):
        if rows[i]["line"] != 0:
            written[place_of(written, int(rows[i]["line"]) - 1)] = rows[i]
            count += 1
    return count


class TensorMapChecker(Observer):
    """Finds uses of a tensor map in global memory that was written without a release or is read without an acquire, whose scope has both
    CTAs in it."""

    events = frozenset(
        {
            Event.LOAD,
            Event.STORE,
            Event.ATOMIC,
            Event.CAS,
            Event.ASYNC_READ,
            Event.FENCE,
            Event.LEAVE,
            Event.SYNC_WARP,
            Event.MBARRIER_WAIT,
        }
    )
    spaces = frozenset({Space.GLOBAL})
    selects = True

    def __init__(self) -> None:
        self.time, self.count = 1, 0
        self.written = np.zeros(1 << 14, WRITTEN)  # `count` lines
        self.used: set[int] = set()  # lines
        self.synced = np.zeros(WARPS, np.int64)
        # When threads of CTAs have published what they knew, for their CTA (False) and for other CTAs, and when they had last met others by
        # then; when CTAs have last acquired lines. Who knows of that is found by order.
        self.released: dict[tuple[int, bool], dict[tuple[int, int], tuple[int, int]]] = {}
        self.acquired: dict[tuple[int, int, bool], int] = {}
        self.problems: dict[tuple[int, int, str], int] = {}

    def consume(self, records: np.ndarray) -> None:
        form, at = follow.form(len(records)), 0
        while True:
            at, self.count, self.time = form(records, at, self.written, self.synced, self.count, self.time)
            if at == len(records):
                return
            if not has_room(self.written, self.count):
                self._make_room()
                continue
            record = records[at]
            cta, warp, addresses = int(record["cta"]), int(record["warp"]), record["addresses"].tolist()
            threads = [(warp, lane) for lane in range(LANES) if record["mask"] >> lane & 1]
            if record["event"] == Event.FENCE:
                self._fence(cta, threads, *addresses[:3])
            else:
                self._use(cta, int(record["site"]), [addresses[lane] for _, lane in threads])
            self.time += 1
            at += 1

    def beside(self) -> TensorMapChecker | None:
        return None if self.problems else TensorMapChecker()

    def take(self, others: Sequence[Self]) -> bool:
        """Maps that another CTA uses than has changed them are a race, which checks.order finds."""
        return not any(each.problems for each in others)

    def _make_room(self) -> None:
        rows = self.written
        if self.count > MOST_LINES:
            rows = rows[np.isin(rows["line"] - 1, list(self.used))]
        self.written = np.zeros(min(4 * len(self.written), 4 * MOST_LINES), WRITTEN)
        self.count = move.form(len(rows))(rows, self.written)

    def _fence(self, cta: int, threads: list[tuple[int, int]], scope: int, proxy: int, address: int) -> None:
        for is_far in (False, True) if scope > Scope.CTA else (False,):
            if proxy == Proxy.TENSORMAP:
                by_thread = self.released.setdefault((cta, is_far), {})
                for thread in threads:
                    by_thread[thread] = self.time, int(self.synced[place_of_warp(cta, thread[0])])
            elif proxy == Proxy.TENSORMAP_ACQUIRE:
                self.acquired[cta, address >> LINE_BITS, is_far] = self.time

    def _has_released(self, row: np.void, is_far: bool) -> bool:
        """Whether who wrote a line has published it, or a thread that has met others since."""
        by_thread, time = self.released.get((int(row["cta"]), is_far), {}), int(row["time"])
        lanes = lane_numbers(int(row["lanes"]))
        itself = all(by_thread.get((int(row["warp"]), lane), (0, 0))[0] >= time for lane in lanes)
        return itself or any(when >= time and synced > time for when, synced in by_thread.values())

    def _use(self, cta: int, site: int, addresses: list[int]) -> None:
        for address in addresses:
            line = address >> LINE_BITS
            row = self.written[place_of(self.written, line)]
            if not row["line"]:
                continue
            self.used.add(line)
            time, writer, where = int(row["time"]), int(row["cta"]), int(row["site"])
            missing, is_far = None, writer != cta
            if not self._has_released(row, is_far):
                missing = "release"
            elif self.acquired.get((cta, line, is_far), 0) < time:
                missing = "acquire"
            if missing:
                key = (site, where, missing)
                self.problems[key] = self.problems.get(key, 0) + 1

    def findings(self, program: Program) -> list[Finding]:
        """One finding for each pair of instructions."""
        found = []
        for (site, where, missing), times in self.problems.items():
            op, before = program.ops[site], program.ops[where]
            what, fence = FENCES[missing]
            finding = Finding(
                "tensormap-fence", f"{op.name} uses a tensor map that was changed and {what} since", count=times,
                labels=(Label.at(before, "changed here"),), help=f"between the two: {fence}",
            )  # fmt: skip
            found.append(finding.at(op))
        return found
