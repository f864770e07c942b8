"""Shared memory of another CTA of the cluster: it may be accessed once that CTA is known to have begun, and until it ends.

PTX ISA, "Cooperative Thread Arrays"; CUDA C++ Programming Guide, "Distributed Shared Memory".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np

from ptxsim.checks.cluster_shared import Homes
from ptxsim.diagnostic import NOT_BEGUN, Case, Finding
from ptxsim.engine.program.operation import Program, fact
from ptxsim.jit.body import Array, body, record
from ptxsim.lanes import LANES
from ptxsim.machine.barriers.cluster import CLUSTER_BARRIER
from ptxsim.machine.event import Event, Observer, Space
from ptxsim.machine.memory import RANK_SHIFT

OPEN = -1  # instead of a phase: the warp has not arrived at the cluster's barrier since
# The last access of a warp to another CTA's shared memory: its site + 1, 0 for none, and the phase of the cluster's barrier that
# the warp arrived at afterwards.
USE = record(("site", "i4"), ("phase", "i4"))


class Uses(NamedTuple):
    """CTAs by the number of their cluster times their size plus their rank."""

    numbers: Array  # of CTAs, by their linear index
    uses: Array  # by owner of the memory, by rank and warp of who uses it
    live: Array  # threads of CTAs that have not exited
    problems: Array  # by site: how often
    begun: Array  # by CTA and warp: whether it knows that the others have begun
    early: Array  # by site: how often without that


@body(enough=300)
def scan_uses(records: Array, u: Uses, ctas: int, warps: int) -> None:
    """Go over records. ctas: of a cluster; warps: of a CTA."""
    for i in range(len(records)):
        event = int(records[i]["event"])
        arrives = event == Event.MBARRIER_ARRIVE
        is_access = event <= Event.REDUCE or arrives
        if not is_access and event < Event.ARRIVE:
            continue
        mine, warp, addresses = int(u.numbers[records[i]["cta"]]), int(records[i]["warp"]), records[i]["addresses"]
        rank, mask = mine % ctas, int(records[i]["mask"])
        user = rank * warps + warp
        if is_access:
            if arrives or records[i]["space"] == Space.SHARED:
                has_met = u.begun[mine, warp] != 0 or arrives
                use(u, mine - rank, rank, user, mask, addresses, int(records[i]["site"]), ctas, has_met)
        elif event == Event.MBARRIER_WAIT:
            u.begun[mine, warp] = 1
            for each in range(ctas * warps):
                u.uses[mine, each]["site"] = 0
        elif event == Event.EXIT:
            u.live[mine] -= mask.bit_count()
            for each in range(ctas * warps if u.live[mine] == 0 else 0):
                if u.uses[mine, each]["site"] != 0:
                    u.problems[int(u.uses[mine, each]["site"]) - 1] += 1
                    u.uses[mine, each]["site"] = 0
        elif event == Event.ARRIVE and int(addresses[0]) == CLUSTER_BARRIER:
            for owner in range(mine - rank, mine - rank + ctas):
                if u.uses[owner, user]["phase"] == OPEN:
                    u.uses[owner, user]["phase"] = int(addresses[1])
        elif event == Event.LEAVE and int(addresses[0]) != CLUSTER_BARRIER:
            for each in range(warps):
                u.begun[mine, warp] |= u.begun[mine, each]
        elif event == Event.LEAVE:
            u.begun[mine, warp] = 1
            for each in range(ctas * warps):
                if OPEN < u.uses[mine, each]["phase"] <= int(addresses[1]):
                    u.uses[mine, each]["site"] = 0


def use(
    u: Uses, base: int, rank: int, user: int, mask: int, addresses: Array, site: int, ctas: int, has_met: bool
) -> None:  # fmt: skip
    """A warp accesses shared memory, perhaps of other CTAs. base: the CTA of rank 0; has_met: it knows that they have begun."""
    owners = 0
    for lane in range(LANES):
        if mask >> lane & 1:
            owners |= 1 << (int(addresses[lane]) >> RANK_SHIFT & 31)
    owners &= ~(1 << rank)
    if owners and not has_met:
        u.early[site] += 1
    for owner in range(ctas if owners else 0):
        if owners >> owner & 1:
            last = u.uses[base + owner, user]
            last["site"], last["phase"] = site + 1, OPEN
            if u.live[base + owner] == 0:
                u.problems[site] += 1


@fact
def has_flags(program: Program) -> bool:
    """Whether threads may tell each other something through global memory."""
    return any(
        access.order != "weak" and access.space in ("global", None) for op in program.ops for access in op.accesses
    )


class ClusterChecker(Observer):
    """Finds accesses that nothing keeps the owner of the memory alive for, and those before which nothing says that it has begun.

    The owner must leave a cluster barrier that the accessing warp arrived at after the access, or wait on an mbarrier
    after it. Before it, the warp must have left a cluster barrier, waited on an mbarrier, or left a CTA's barrier with one that
    has; unless `by_flags`: CTAs may tell each other through global memory. `threads` are those of a CTA, `sites` the operations of
    the program.
    """

    events = frozenset({
        Event.LOAD, Event.STORE, Event.ATOMIC, Event.CAS, Event.REDUCE, Event.MBARRIER_ARRIVE, Event.ARRIVE, Event.LEAVE,
        Event.MBARRIER_WAIT, Event.EXIT,
    })  # fmt: skip
    spaces = frozenset({Space.SHARED})
    selects = True

    def __init__(self, threads: int, homes: Homes, sites: int, by_flags: bool):
        self.threads, self.homes, self.by_flags = threads, homes, by_flags
        self.ctas, self.warps = homes.size, -(-threads // LANES)
        numbers = homes.numbers()
        self.uses = Uses(
            numbers, np.zeros((len(numbers), self.ctas * self.warps), USE), np.full(len(numbers), threads, np.int32),
            np.zeros(sites, np.int64), np.full((len(numbers), self.warps), by_flags, np.int8), np.zeros(sites, np.int64),
        )  # fmt: skip

    def consume(self, records: np.ndarray) -> None:
        scan_uses.form(len(records))(records, self.uses, self.ctas, self.warps)

    @property
    def _has_problems(self) -> bool:
        return bool(self.uses.early.any() or self.uses.problems.any())

    def beside(self) -> ClusterChecker | None:
        if self._has_problems:
            return None
        return ClusterChecker(self.threads, self.homes, len(self.uses.early), self.by_flags)

    def take(self, others: Sequence[Self]) -> bool:
        return not any(each._has_problems for each in others)

    def findings(self, program: Program) -> list[Finding]:
        """One finding for each accessing instruction and what is missing there."""
        uses: list[tuple[np.ndarray, str, str, Case | None]] = [
            (self.uses.early, "a CTA that may not have begun", "begin", NOT_BEGUN),
            (self.uses.problems, "a CTA that may have ended", "end", None),
        ]
        return [
            Finding(
                "cluster-exit", f"{program.ops[site].opcode} uses the shared memory of {what}", count=int(times[site]),
                case=case, help=f"{where} with barrier.cluster.arrive and barrier.cluster.wait in every CTA of the cluster",
            ).at(program.ops[site])
            for times, what, where, case in uses
            for site in np.flatnonzero(times).tolist()
        ]  # fmt: skip
