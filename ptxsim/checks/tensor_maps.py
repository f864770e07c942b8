"""Tensor maps that a kernel edits must be published to the tensor-map proxy and acquired by their users.

PTX ISA, "fence.proxy.tensormap", "tensormap.cp_fenceproxy".
"""

from __future__ import annotations

import numpy as np

from ptxsim.diagnostic import Finding, Label
from ptxsim.engine.program.operation import Program
from ptxsim.lanes import word_mask
from ptxsim.machine.event import FLAG_TENSORMAP, Event, Observer, Proxy, Scope, Space

LINE = 7  # tensor maps are 128 bytes
MOST_LINES = 1 << 20  # written lines remembered
# What has not been done, and what does it.
FENCES = {
    "release": ("has not been published", "fence.proxy.tensormap::generic.release.gpu; or tensormap.cp_fenceproxy"),
    "acquire": ("has not been acquired", "fence.proxy.tensormap::generic.acquire.gpu [map], 128;"),
}


class TensorMapChecker(Observer):
    """Finds uses of a tensor map in global memory that was written without a release or is read without an acquire, whose scope has both
    CTAs in it."""

    events = frozenset({Event.STORE, Event.ASYNC_READ, Event.FENCE})
    spaces = frozenset({Space.GLOBAL})

    def __init__(self) -> None:
        self.time = 0
        self.stores: list[tuple[np.ndarray, ...]] = []  # lines that were written; when, by which CTA and site
        self.lines = 0  # of all of these
        self.looked: dict[int, int] = {}  # by line that a copy has used: up to which of `stores` it was looked for
        self.written: dict[int, tuple[int, int, int]] = {}  # of such lines: time, CTA, site
        # When CTAs have published what they wrote, and acquired lines, for themselves (False) and for other CTAs.
        self.released: dict[tuple[int, bool], int] = {}
        self.acquired: dict[tuple[int, int, bool], int] = {}
        self.problems: dict[tuple[int, int, str], int] = {}

    def consume(self, records: np.ndarray) -> None:
        stores = (records["event"] == Event.STORE) & (records["space"] == Space.GLOBAL)
        uses = (records["event"] == Event.ASYNC_READ) & (records["flags"] & FLAG_TENSORMAP != 0)
        uses &= records["space"] == Space.GLOBAL
        fences = (records["event"] == Event.FENCE) & (records["addresses"][:, 1] >= Proxy.TENSORMAP)
        places, stored, done = np.flatnonzero(uses | fences), records[stores], 0
        chosen, before = records[places], np.searchsorted(np.flatnonzero(stores), places)
        for is_use, count, cta, site, mask, addresses in zip(
            uses[places].tolist(), before.tolist(),
            *(chosen[name].tolist() for name in ("cta", "site", "mask", "addresses")),
        ):  # fmt: skip
            self._write(stored[done:count])
            done = count
            self.time += 1
            if is_use:
                self._use(cta, site, [address for lane, address in enumerate(addresses) if mask >> lane & 1])
                continue
            for is_far in (False, True) if addresses[0] > Scope.CTA else (False,):
                if addresses[1] == Proxy.TENSORMAP:
                    self.released[cta, is_far] = self.time
                elif addresses[1] == Proxy.TENSORMAP_ACQUIRE:
                    self.acquired[cta, addresses[2] >> LINE, is_far] = self.time
        self._write(stored[done:])

    def _write(self, stores: np.ndarray) -> None:
        """Remember who wrote each line last."""
        if not len(stores):
            return
        if self.lines > MOST_LINES:
            self.stores, self.looked, self.lines = [], dict.fromkeys(self.looked, 0), 0
        self.time += 1
        lanes = word_mask(stores["mask"])
        lines = (stores["addresses"] >> np.uint64(LINE))[lanes]
        which = np.nonzero(lanes)[0]
        # Neighbours in an instruction mostly write the same line; of several instructions the last one counts.
        changes = np.flatnonzero((np.diff(lines, prepend=~lines[:1]) != 0) | (np.diff(which, prepend=-1) != 0))
        which = which[changes]
        times = np.full(len(which), self.time)
        self.stores.append((lines[changes], times, stores["cta"][which], stores["site"][which]))
        self.lines += len(changes)

    def _look(self, line: int) -> None:
        """See who wrote a line last."""
        if self.looked.get(line, 0) == len(self.stores):
            return
        for lines, *by in self.stores[self.looked.get(line, 0) :]:
            (found,) = np.nonzero(lines == line)
            if len(found):
                time, cta, site = (int(each[found[-1]]) for each in by)
                self.written[line] = time, cta, site
        self.looked[line] = len(self.stores)

    def _use(self, cta: int, site: int, addresses: list[int]) -> None:
        for address in addresses:
            line = address >> LINE
            self._look(line)
            if line not in self.written:
                continue
            time, writer, where = self.written[line]
            missing, is_far = None, writer != cta
            if self.released.get((writer, is_far), 0) < time:
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
