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
        access = np.isin(records["event"], [int(e) for e in _ACCESSES])
        ranks, _ = self.homes.places(records["cta"].astype(np.int64))
        far = access & (records["space"] == Space.SHARED)
        far &= (records["addresses"] >> np.uint64(RANK_SHIFT) != ranks.astype(np.uint64)[:, None]).any(axis=1)
        for i in np.flatnonzero(far | ~access):
            record = records[i]
            cta, warp = int(record["cta"]), int(record["warp"])
            match record["event"]:
                case Event.ARRIVE | Event.LEAVE:
                    if record["addresses"][0] == CLUSTER_BARRIER:
                        self._barrier(cta, warp, int(record["addresses"][1]), record["event"] == Event.ARRIVE)
                case Event.MBARRIER_WAIT:
                    self.uses.pop(cta, None)
                case Event.EXIT:
                    self._exit(cta, int(record["mask"]).bit_count())
                case _:
                    self._access(record, cta, warp, int(ranks[i]))

    def _access(self, record: np.void, cta: int, warp: int, rank: int) -> None:
        owners = np.unique(record["addresses"][word_mask(int(record["mask"]))] >> np.uint64(RANK_SHIFT))
        for owner_rank in owners.tolist():
            if owner_rank == rank:
                continue
            owner = self.homes.member(cta, owner_rank)
            if self.exited.get(owner, 0) == self.threads:
                self._report(int(record["site"]))
            self.uses.setdefault(owner, {})[cta, warp] = Use(int(record["site"]), (cta, warp))

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
