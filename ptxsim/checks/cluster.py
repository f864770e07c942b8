"""A CTA must not end while other CTAs of its cluster still use its shared memory. PTX ISA, "Cooperative Thread Arrays"."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ptxsim.checks.cluster_shared import Homes
from ptxsim.diagnostic import Finding
from ptxsim.engine.program.operation import Program
from ptxsim.lanes import word_mask
from ptxsim.machine.event import Event, Observer, Space
from ptxsim.machine.memory import RANK_SHIFT

CLUSTER_BARRIER = 16  # the number of the cluster's barrier in events
_ACCESSES = (Event.LOAD, Event.STORE, Event.ATOMIC, Event.CAS, Event.REDUCE)


@dataclass(slots=True)
class Use:
    """An access to another CTA's shared memory; `phase` is that of the cluster barrier its warp arrived at afterwards."""

    site: int
    warp: tuple[int, int]  # CTA, warp
    phase: int | None = None


class ClusterChecker(Observer):
    """Finds accesses that nothing keeps the owner of the memory alive for.

    The owner must leave a cluster barrier that the accessing warp arrived at after the access, or wait on an mbarrier
    after it. `threads` are those of a CTA.
    """

    events = frozenset({*_ACCESSES, Event.ARRIVE, Event.LEAVE, Event.MBARRIER_WAIT, Event.EXIT})

    def __init__(self, threads: int, homes: Homes):
        self.threads, self.homes = threads, homes
        self.uses: dict[int, dict[tuple[int, int], Use]] = {}  # by owner, by accessing warp: the last one
        self.exited: dict[int, int] = {}
        self.problems: dict[int, int] = {}

    def consume(self, records: np.ndarray) -> None:
        event = records["event"]
        access = np.isin(event, [int(e) for e in _ACCESSES])
        elsewhere = np.isin(event, (Event.ARRIVE, Event.LEAVE)) & (records["addresses"][:, 0] != CLUSTER_BARRIER)
        done, shared = 0, access & (records["space"] == Space.SHARED)
        for i in np.flatnonzero(~access & ~elsewhere).tolist():
            self._access(records[done:i][shared[done:i]])
            done = i + 1
            record = records[i]
            cta, warp, kind = int(record["cta"]), int(record["warp"]), int(record["event"])
            if kind == Event.MBARRIER_WAIT:
                self.uses.pop(cta, None)
            elif kind == Event.EXIT:
                self._exit(cta, int(record["mask"]).bit_count())
            else:
                self._barrier(cta, warp, int(record["addresses"][1]), kind == Event.ARRIVE)
        self._access(records[done:][shared[done:]])

    def _access(self, records: np.ndarray) -> None:
        """Accesses to shared memory between which no warp waits, arrives or exits."""
        if not len(records):
            return
        ctas = records["cta"].astype(np.int64)
        ranks, first = self.homes.places(ctas)
        owners = (records["addresses"] >> np.uint64(RANK_SHIFT)).astype(np.int64)
        lanes = word_mask(records["mask"])
        for rank in range(self.homes.size):
            used = np.flatnonzero((lanes & (owners == rank)).any(axis=1) & (ranks != rank))
            if not len(used):
                continue
            warps, sites = records["warp"][used].tolist(), records["site"][used].tolist()
            last = dict(zip(zip(ctas[used].tolist(), warps), zip(self.homes.at(first[used], rank).tolist(), sites)))
            for key, (owner, site) in last.items():
                self.uses.setdefault(owner, {})[key] = Use(site, key)
            if self.exited:
                for owner, site in zip(self.homes.at(first[used], rank).tolist(), sites):
                    if self.exited.get(owner, 0) == self.threads:
                        self._report(site)

    def _barrier(self, cta: int, warp: int, phase: int, arrives: bool) -> None:
        if arrives:
            for by_warp in self.uses.values():
                use = by_warp.get((cta, warp))
                if use is not None and use.phase is None:
                    use.phase = phase
            return
        mine = self.uses.get(cta)
        if mine:
            self.uses[cta] = {key: u for key, u in mine.items() if u.phase is None or u.phase > phase}

    def _exit(self, cta: int, threads: int) -> None:
        self.exited[cta] = self.exited.get(cta, 0) + threads
        if self.exited[cta] == self.threads:
            for use in self.uses.pop(cta, {}).values():
                self._report(use.site)

    def _report(self, site: int) -> None:
        self.problems[site] = self.problems.get(site, 0) + 1

    def findings(self, program: Program) -> list[Finding]:
        """One finding for each accessing instruction."""
        found = []
        for site, times in self.problems.items():
            op = program.ops[site]
            found.append(
                Finding(
                    "cluster-exit",
                    f"{op.opcode} uses the shared memory of a CTA that may have ended",
                    op.line,
                    op.column,
                    len(op.opcode),
                    count=times,
                    help="end with barrier.cluster.arrive and barrier.cluster.wait in every CTA of the cluster",
                )
            )
        return found
