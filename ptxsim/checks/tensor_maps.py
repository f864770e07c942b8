"""Tensor maps that a kernel edits must be published to the tensor-map proxy and acquired by their users.

PTX ISA, "fence.proxy.tensormap", "tensormap.cp_fenceproxy".
"""

from __future__ import annotations

import numpy as np

from ptxsim.diagnostic import Finding, Label
from ptxsim.engine.program.operation import Program
from ptxsim.lanes import word_mask
from ptxsim.machine.event import FLAG_TENSORMAP, Event, Observer, Proxy, Space

LINE = 7  # tensor maps are 128 bytes
MOST_LINES = 1 << 20  # written lines remembered
# What has not been done, and what does it.
FENCES = {
    "release": ("has not been published", "fence.proxy.tensormap::generic.release.gpu; or tensormap.cp_fenceproxy"),
    "acquire": ("has not been acquired", "fence.proxy.tensormap::generic.acquire.gpu [map], 128;"),
}


class TensorMapChecker(Observer):
    """Finds uses of a tensor map in global memory that was written without a release or is read without an acquire."""

    events = frozenset({Event.STORE, Event.ASYNC_READ, Event.FENCE})

    def __init__(self, program: Program):
        self.active = any(op.family == "tensor_copy" for op in program.ops)
        self.time = 0
        self.written: dict[int, tuple[int, int, int]] = {}  # line: time, CTA, site
        self.released: dict[int, int] = {}  # CTA: time
        self.acquired: dict[tuple[int, int], int] = {}  # CTA, line: time
        self.problems: dict[tuple[int, int, str], int] = {}

    def consume(self, records: np.ndarray) -> None:
        if not self.active:
            return
        stores = (records["event"] == Event.STORE) & (records["space"] == Space.GLOBAL)
        uses = (records["event"] == Event.ASYNC_READ) & (records["flags"] & FLAG_TENSORMAP != 0)
        uses &= records["space"] == Space.GLOBAL
        fences = (records["event"] == Event.FENCE) & (records["addresses"][:, 1] >= Proxy.TENSORMAP)
        for i in np.flatnonzero(stores | uses | fences):
            record = records[i]
            self.time += 1
            if stores[i]:
                self._write(record)
            elif uses[i]:
                self._use(record)
            elif record["addresses"][1] == Proxy.TENSORMAP:
                self.released[int(record["cta"])] = self.time
            elif record["addresses"][1] == Proxy.TENSORMAP_ACQUIRE:
                self.acquired[int(record["cta"]), int(record["addresses"][2]) >> LINE] = self.time

    def _write(self, record: np.void) -> None:
        if len(self.written) > MOST_LINES:
            self.written.clear()
        lines = record["addresses"][word_mask(int(record["mask"]))] >> np.uint64(LINE)
        for line in dict.fromkeys(lines.tolist()):
            self.written[line] = (self.time, int(record["cta"]), int(record["site"]))

    def _use(self, record: np.void) -> None:
        cta, site = int(record["cta"]), int(record["site"])
        for address in record["addresses"][word_mask(int(record["mask"]))].tolist():
            line = address >> LINE
            if line not in self.written:
                continue
            time, writer, where = self.written[line]
            missing = None
            if self.released.get(writer, 0) < time:
                missing = "release"
            elif self.acquired.get((cta, line), 0) < time:
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
