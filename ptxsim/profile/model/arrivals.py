"""What loads, stores and atomics of other CTAs of a cluster want of shared memory of each: its SM does it one sector after the other.

The replay is of one SM, so what all CTAs of a cluster want of each other by an instruction is counted in the run. Where the replayed one wants less than
comes to a CTA that it goes to, or has less to do than those that come to it, its accesses take as long as that does.
"""

from __future__ import annotations

import numpy as np

from ptxsim.engine.program.operation import Program
from ptxsim.isa.facts import AccessKind
from ptxsim.lanes import LANES, word_mask
from ptxsim.machine.event import FLAG_READ, Event, Space
from ptxsim.machine.memory import RANK_SHIFT
from ptxsim.profile.figures import Figures
from ptxsim.profile.lowering.fusion import is_remote, maps_shared
from ptxsim.profile.model.accesses import by_lane, distinct, lowest
from ptxsim.profile.model.entries import SEND, SHARED

SECTOR = 5  # bits of an address within 32 bytes


def is_atomic(records: np.ndarray) -> np.ndarray:
    """Which records are of atomics and reductions."""
    found: np.ndarray = (records["event"] >= Event.ATOMIC) & (records["event"] <= Event.REDUCE)
    return found


def elsewhere(records: np.ndarray, cluster: int) -> np.ndarray:
    """Which lanes access shared memory of another CTA of the cluster, (n, 32)."""
    own = (records["cta"] % cluster).astype(np.uint64)[:, None]
    found: np.ndarray = word_mask(records["mask"]) & (records["addresses"] >> np.uint64(RANK_SHIFT) != own)
    return found


def sending_cycles(figures: Figures, records: np.ndarray, cluster: int) -> np.ndarray:
    """Cycles of the SM's port to the others' shared memory that loads and stores take: by lines of 128 bytes and by sectors of them."""
    away = elsewhere(records, cluster)
    found, rows = np.zeros(len(records)), np.flatnonzero(away.any(axis=1))
    lines = distinct(records["addresses"][rows] >> np.uint64(7), away[rows])
    sectors = distinct(records["addresses"][rows] >> np.uint64(SECTOR), away[rows])
    found[rows] = figures.remote_line * lines + figures.remote_sector * sectors
    return found


def operations(figures: Figures, records: np.ndarray, cluster: int) -> np.ndarray:
    """Operations that another SM of the cluster does for atomics on its shared memory: one for neighbouring lanes that have words of a sector side by
    side (tools/data/late, f_red and f_atom); those of lanes that have one word follow each other."""
    away = elsewhere(records, cluster)
    first = records["addresses"].astype(np.int64)
    words = np.sort(np.where(away, first, -1), axis=1)
    lanes = np.arange(32)
    begins = np.maximum.accumulate(np.where(np.diff(words, axis=1, prepend=-2) != 0, lanes, 0), axis=1)
    together = np.where(words >= 0, lanes - begins + 1, 0).max(axis=1)
    beside = np.diff(first, axis=1, prepend=-1) == records["width"].astype(np.int64)[:, None]
    beside &= first % (1 << SECTOR) != 0
    beside[:, 1:] &= away[:, :-1]
    one_by_one = figures.remote_word * np.where(together > 1, together, 0)
    found: np.ndarray = np.maximum((away & ~beside).sum(axis=1), one_by_one)
    return found


class Arrivals:
    """Sectors that the CTAs of each cluster access of each other, and how long the one that does takes."""

    def __init__(self, program: Program, ctas: int, cluster: int, figures: Figures):
        self.cluster, self.figures, generic = cluster, figures, maps_shared(program)
        found = [op for op in program.ops if op.accesses and (is_remote(op, generic) or op.family == "async_store")]
        self.sites = np.array([op.site for op in found] if cluster > 1 else [], np.int64)
        self.tells = np.array([op.family == "async_store" for op in found], np.bool_)
        changes = [any(access.kind is AccessKind.ATOMIC for access in op.accesses) for op in found]
        self.rates = np.where(changes, figures.remote_added, figures.remote_arriving)  # of what tells an mbarrier
        self.unit = np.ones(len(self.sites))  # cycles that `count` of an instruction's entries is in
        # By instruction, cluster, who sends, (to whom): cycles of the one, and of the other.
        self.cycles = np.zeros((len(self.sites), -(-ctas // cluster), cluster))
        self.taken = np.zeros((*self.cycles.shape, cluster))

    def note(self, records: np.ndarray) -> None:
        """Count what these records access."""
        if not len(self.sites):
            return
        shared = (records["space"] == Space.SHARED) & np.isin(records["site"], self.sites)
        self._sent(records[np.flatnonzero(shared & (records["event"] == Event.ASYNC_ISSUE))])
        plain = by_lane(records) & ~np.isin(records["site"], self.sites[self.tells])
        rows = records[np.flatnonzero(shared & plain & (records["event"] <= Event.STMATRIX))]
        who, stores = self._who(rows), rows["event"] == Event.STORE
        atomic = is_atomic(rows)
        self.unit[who[0][atomic]] = self.figures.remote_atomic
        changed = self.figures.remote_atomic * operations(self.figures, rows, self.cluster)
        np.add.at(self.cycles, who, np.where(atomic, changed, sending_cycles(self.figures, rows, self.cluster)))
        away = elsewhere(rows, self.cluster)
        sectors = np.sort(np.where(away, rows["addresses"].astype(np.int64) >> SECTOR, -1), axis=1)
        new = sectors >= 0
        new[:, 1:] &= sectors[:, 1:] != sectors[:, :-1]
        row, column = np.nonzero(new)
        to = sectors[row, column] >> RANK_SHIFT - SECTOR
        cost = np.where(stores, self.figures.remote_arriving, self.figures.remote_served)
        np.add.at(self.taken, (*(index[row] for index in who), to), cost[row])

    def _sent(self, records: np.ndarray) -> None:
        """Count what asynchronous stores and reductions send, a record of each lane, to the CTA's own memory, too."""
        rows = records[np.flatnonzero(records["flags"] & FLAG_READ == 0)]
        who = self._who(rows)
        tells = np.flatnonzero(self.tells[who[0]])
        rows, who = rows[tells], tuple(index[tells] for index in who)
        place = rows["addresses"][np.arange(len(rows)), lowest(rows["mask"])].astype(np.int64)
        sectors = rows["width"] / (1 << SECTOR)
        np.add.at(self.cycles, who, self.figures.send_start / LANES + self.figures.send_sector * sectors)
        np.add.at(self.taken, (*who, place >> RANK_SHIFT & 0xFF), self.rates[who[0]] * sectors)

    def _who(self, rows: np.ndarray) -> tuple[np.ndarray, ...]:
        """Of records or entries: the instruction's number, the cluster's, and which CTA of it."""
        return np.searchsorted(self.sites, rows["site"]), *np.divmod(rows["cta"], self.cluster)

    def settle(self, entries: np.ndarray) -> None:
        """Have those accesses take the port, `count`, for so long."""
        if not self.taken.any():
            return
        sends = self.taken > 0
        taken = self.taken.sum(axis=2)
        there = np.where(sends, taken[:, :, None, :], 0.0).max(axis=3)
        longest_sender = np.where(sends, self.cycles[:, :, :, None], 0.0).max(axis=2)
        longest = np.maximum(there, np.maximum(taken, longest_sender))
        rows = np.flatnonzero((entries["code"] == SHARED) & np.isin(entries["site"], self.sites))
        who = self._who(entries[rows])
        own, number = self.cycles[who], np.zeros(longest.shape)
        np.add.at(number, who, 1)
        scaled = entries["count"][rows] * np.maximum(1.0, longest[who] / np.maximum(own, 1.0))
        alone = longest[who] / number[who] / self.unit[who[0]]
        entries["count"][rows] = np.rint(np.where(own > 0, scaled, alone))
        rows = np.flatnonzero((entries["code"] == SEND) & np.isin(entries["site"], self.sites))
        who = self._who(entries[rows])
        entries["cycles"][rows] *= np.maximum(1.0, longest[who] / np.maximum(self.cycles[who], 1.0))
