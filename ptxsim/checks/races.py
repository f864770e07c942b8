"""Races and uninitialised reads in shared memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from ptxsim.checks.cluster_shared import Homes
from ptxsim.checks.shadow import RACE, RACE_IN_WARP, Shadow, problems
from ptxsim.diagnostic import DOUBTFUL, Finding, Label
from ptxsim.engine.program.operation import Op, Program
from ptxsim.isa.facts import Proxy, Scope
from ptxsim.machine.event import Event, Observer

_NAMES = {RACE: "race-shared", RACE_IN_WARP: "race-warp"}


class SharedChecker(Observer):
    """Finds bytes of shared memory that warps (or lanes of one warp) touch without order, and reads of unwritten ones.

    warps: of a CTA; shared_bytes: end of its shared memory; initialized: whether it was filled before the launch;
    homes: gives accesses within clusters to the CTA whose memory they touch.
    """

    events = frozenset(
        {
            Event.LOAD, Event.STORE, Event.ATOMIC, Event.CAS, Event.REDUCE, Event.LDMATRIX, Event.STMATRIX,
            Event.ASYNC_READ, Event.ASYNC_WRITE, Event.ASYNC_ISSUE, Event.ASYNC_WAIT, Event.ARRIVE, Event.LEAVE,
            Event.MBARRIER_ARRIVE, Event.MBARRIER_WAIT, Event.SYNC_WARP,
        }
    )  # fmt: skip

    def __init__(
        self, program: Program, warps: int, shared_bytes: int, initialized: bool = False, keep: int = 64,
        homes: Homes | None = None,
    ):  # fmt: skip
        self.warps, self.shared_bytes, self.initialized, self.keep = warps, shared_bytes, initialized, keep
        self.homes = homes
        self.shadows: dict[int, Shadow] = {}
        self.warp_wide = np.array([op.facts.scope is Scope.WARPGROUP for op in program.ops], bool)
        self.problems: dict[tuple[int, int, int], tuple[int, np.ndarray]] = {}

    def consume(self, records: np.ndarray) -> None:
        if self.homes is not None:
            records = self.homes(records)
            if not len(records):
                return
        ctas = records["cta"]
        order = list(dict.fromkeys(ctas.tolist())) if ctas[0] != ctas[-1] or (ctas != ctas[0]).any() else [int(ctas[0])]
        for cta in order:
            of_cta = records if len(order) == 1 else records[ctas == cta]
            for row in problems(of_cta, self._shadow(cta), self.warp_wide):
                key = (int(row[0]), int(row[1]), int(row[2]))
                count, first = self.problems.get(key, (0, np.append(row, cta)))
                self.problems[key] = (count + 1, first)

    def _shadow(self, cta: int) -> Shadow:
        shadow = self.shadows.get(cta)
        if shadow is None:
            while len(self.shadows) >= self.keep:  # CTAs end in order; the oldest has ended
                self.shadows.pop(next(iter(self.shadows)))
            shadow = self.shadows[cta] = Shadow.of(self.warps, self.shared_bytes)
            shadow.initialized[:] = self.initialized
        return shadow

    def findings(self, program: Program) -> list[Finding]:
        """One finding for each pair of instructions; races within a warp are left out where warps race."""
        between_warps = {frozenset((site, other)) for what, site, other in self.problems if what == RACE}
        return [
            self._finding(program, key, count, row)
            for key, (count, row) in self.problems.items()
            if key[0] != RACE_IN_WARP or frozenset(key[1:]) not in between_warps
        ]

    def _finding(self, program: Program, key: tuple[int, int, int], count: int, row: np.ndarray) -> Finding:
        what, site, other = key
        op = program.ops[site]
        address, warp, other_warp, lane = (int(v) for v in row[3:7])
        place: dict[str, Any] = {
            "line": op.line,
            "column": op.column,
            "length": len(op.opcode),
            "warp": warp,
            "count": count,
        }
        if not _is_fetch(op):  # what those read belongs to no lane
            place["lane"] = lane
        if what not in _NAMES:
            return self._read_too_early(program, site, address, place)
        before = program.ops[other]
        verb = "wrote" if _writes(before) else "read"
        who = f"warp {other_warp}" if what == RACE else "another lane of the warp"
        return Finding(
            _NAMES[what], f"{op.opcode} touches shared byte {address:#x}, which {who} {verb} without order between the two",
            **place,
            labels=(Label(before.line, f"{verb} here", before.column, len(before.opcode)),),
            help="put a barrier between them (bar.sync)" if what == RACE else "put bar.warp.sync between them",
        )  # fmt: skip

    def _read_too_early(self, program: Program, site: int, address: int, place: dict[str, Any]) -> Finding:
        """A read of what is not written; where another warp stores to what this reads only later, that store is named."""
        op = program.ops[site]
        later = next(
            (
                (program.ops[store], int(row[4]))
                for (what, store, other), (_, row) in self.problems.items()
                if what == RACE and _writes(program.ops[store]) and (other == site or row[3] == address)
            ),
            None,
        )
        help = "store to it first, put a barrier between, or check the index"
        labels: tuple[Label, ...] = ()
        if op.facts.scope is Scope.WARPGROUP:
            help = "write the whole tile first, or fix the descriptor: `ptxsim desc` says what one reads"
        if later is not None:
            store, warp = later
            help = f"put a barrier between line {store.line} and line {op.line} (bar.sync)"
            text = f"warp {warp} stores to what line {op.line} reads, and only later"
            labels = (Label(store.line, text, store.column, len(store.opcode)),)
        return Finding(
            "uninitialized-read", f"{op.opcode} reads shared byte {address:#x}, which had not been written by then",
            **place, labels=labels, level=DOUBTFUL, help=help,
        )  # fmt: skip


def _is_fetch(op: Op) -> bool:
    """Whether an instruction accesses memory through the async proxy."""
    return any(access.proxy is Proxy.ASYNC for access in op.accesses)


def _writes(op: Op) -> bool:
    """Whether an instruction changes shared memory; bulk stores read it."""
    return any(access.writes and access.space in ("shared", None) for access in op.accesses)
