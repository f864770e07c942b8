"""Counts what accesses cost, as the profiler does: wavefronts of shared memory, requests and sectors of global memory.

The rules are in layout.banks; this listens and adds up. Bulk copies and tensor copies, mbarriers and the shared memory of
other CTAs do not pass through the CTA's load-store pipe: the profiler's counters and these leave them out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ptxsim.checks.banks.expression import Origins
from ptxsim.checks.banks.tally import ELSEWHERE, KIND_OF_EVENT, LEADER, NOTHING, Tallies, tally
from ptxsim.checks.cluster_shared import Homes
from ptxsim.engine.analysis.ptxas.accesses import assembled_accesses
from ptxsim.engine.program.operand import Vector
from ptxsim.engine.program.operation import Program
from ptxsim.isa.facts import Mechanism
from ptxsim.jit.native import PreparedCall, prepared
from ptxsim.lanes import LANES
from ptxsim.layout.banks import KINDS
from ptxsim.layout.fragments import dimensions
from ptxsim.machine.event import Event, Observer, Space

_COUNTED = np.array(KIND_OF_EVENT) != NOTHING
_CODES = {"leader": LEADER, "elsewhere": ELSEWHERE, **{kind: code for code, kind in enumerate(KINDS)}}


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
    addresses: np.ndarray = field(default_factory=lambda: np.zeros(LANES, np.uint64))
    mask: int = 0
    different: dict[tuple[bytes, int], int] = field(default_factory=dict)


@dataclass(slots=True)
class GlobalTally:
    """What one instruction did in global memory: requests, 32-byte sectors, 128-byte lines, the fewest sectors.

    The fewest sectors that could hold the bytes asked for, each byte once: what the same lanes cost side by side.
    """

    kind: str
    width: int
    requests: int
    sectors: int
    lines: int
    ideal: int
    worst: int  # sectors of the worst execution
    addresses: np.ndarray
    mask: int


class BankCounter(Observer):
    """Tallies by instruction site: `tallies` of shared memory, `outer` of global memory; there when the run is over."""

    events = frozenset(event for event in Event if KIND_OF_EVENT[event] != NOTHING) | {Event.MMA}
    spaces = frozenset({Space.SHARED, Space.GLOBAL})
    selects = True  # the loop passes over what it does not count faster than the stream would pick it out

    def __init__(
        self, program: Program, keep: bool = False, grid: tuple[int, int, int] = (1, 1, 1),
        cluster: tuple[int, int, int] = (1, 1, 1),
    ) -> None:  # fmt: skip
        """`keep`: all registers are looked at at the end. grid, cluster: their shapes."""
        self._program = program
        assembled = assembled_accesses(program, keep)
        codes = {site: _CODES[how] for site, how in assembled.items()}
        ranks = Homes(grid, cluster).ranks() if cluster != (1, 1, 1) else np.zeros(0, np.uint8)
        self.state = Tallies.of(len(program.ops), codes, ranks)
        self.tallies: dict[int, Tally] = {}
        self.outer: dict[int, GlobalTally] = {}
        self._consumer: PreparedCall | None = None
        self._products = product_wavefronts(program)
        self._products_done: dict[int, int] = dict.fromkeys(self._products, 0)
        if not self._products:
            self.events = self.events - {Event.MMA}

    @cached_property
    def origins(self) -> Origins:
        """Where addresses come from."""
        return Origins(self._program)

    def consume(self, records: np.ndarray) -> None:
        if self._products:
            for site in records["site"][records["event"] == Event.MMA].tolist():
                if site in self._products:
                    self._products_done[site] += 1
        tally.form(int(_COUNTED[records["event"]].sum()))(records, 0, self.state)

    def consumer(self, records: np.ndarray) -> PreparedCall | None:
        if self._consumer is None and not self._products:
            self._consumer = prepared(tally.form(0), (records, 0, self.state))
        return self._consumer

    def finish(self) -> None:
        inner, outer = self.state.sums
        for site in np.flatnonzero(inner["runs"]).tolist():
            one = inner[site]
            self.tallies[site] = Tally(
                KINDS[one["kind"]], int(one["width"]), int(one["runs"]), int(one["cost"]), int(one["ideal"]), int(one["ratio"]),
                int(one["conflicts"]), int(one["worst"]), one["addresses"], int(one["mask"]), self._different(site),
            )  # fmt: skip
        for site in np.flatnonzero(outer["runs"]).tolist():
            one = outer[site]
            self.outer[site] = GlobalTally(
                KINDS[one["kind"]], int(one["width"]), int(one["runs"]), int(one["cost"]), int(one["conflicts"]),
                int(one["ideal"]), int(one["worst"]), one["addresses"], int(one["mask"]),
            )  # fmt: skip
        for site, runs in self._products_done.items():
            if runs:
                each = self._products[site]
                self.tallies[site] = Tally(
                    self._program.ops[site].family, 16, runs, runs * each, runs * each, 1, worst_wavefronts=each
                )

    def _different(self, site: int) -> dict[tuple[bytes, int], int]:
        """The executions of a shared access that differ, and how often there were such."""
        kept = self.state.kept[site]
        kept = kept[kept["count"] > 0]
        executions = zip([row.tobytes() for row in kept["addresses"]], kept["mask"].tolist())
        return dict(zip(executions, kept["count"].tolist()))


def product_wavefronts(program: Program) -> dict[int, int]:
    """Wavefronts of a warpgroup's products, by site.

    A product reads the operands it has in shared memory 128 bytes at a time, in every layout: 64 rows of A and N of B, 32 bytes
    of each (64 of B's if A is sparse). Measured on an H200 for 19 forms in 12 layouts (tests/data/wavefronts.json.gz).
    """
    found = {}
    for op in program.ops:
        if op.completes_by is Mechanism.PRODUCT_GROUP:
            _, n, _ = dimensions(op.words["shape"])
            sparse = op.source("e") is not None
            rows = 64 * (not isinstance(op.source("a"), Vector)) + n * (2 if sparse else 1)
            found[op.site] = rows * 32 // 128
    return found
