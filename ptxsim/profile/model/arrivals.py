"""What plain stores bring to shared memory of each CTA of a cluster: its SM takes it in one sector after the other.

The replay is of one SM, so what all CTAs of a cluster send to each other by an instruction is counted in the run. Where the replayed one sends less than
comes to a CTA that it sends to, or has less to send than those that send to it, its stores take as long as that does.
"""

from __future__ import annotations

import numpy as np

from ptxsim.engine.program.operation import Program
from ptxsim.lanes import word_mask
from ptxsim.machine.event import Event, Space
from ptxsim.machine.memory import RANK_SHIFT
from ptxsim.profile.lowering.fusion import is_remote, maps_shared
from ptxsim.profile.model.accesses import by_lane, distinct
from ptxsim.profile.model.entries import SHARED
from ptxsim.profile.model.figures import Figures

SECTOR = 5  # bits of an address within 32 bytes


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


class Arrivals:
    """Sectors that the CTAs of each cluster send to each other by plain stores, and how long the one that sends takes."""

    def __init__(self, program: Program, ctas: int, cluster: int, figures: Figures):
        self.cluster, self.figures, generic = cluster, figures, maps_shared(program)
        stores = [op.site for op in program.ops if any(a.writes for a in op.accesses) and is_remote(op, generic)]
        self.sites = np.array(stores if cluster > 1 else [], np.int64)
        # By instruction, cluster, who sends, (to whom).
        self.cycles = np.zeros((len(self.sites), -(-ctas // cluster), cluster))
        self.sectors = np.zeros((*self.cycles.shape, cluster))

    def note(self, records: np.ndarray) -> None:
        """Count what these records send."""
        if not len(self.sites):
            return
        stores = (records["event"] == Event.STORE) & (records["space"] == Space.SHARED) & by_lane(records)
        rows = records[np.flatnonzero(stores & np.isin(records["site"], self.sites))]
        who = self._who(rows)
        np.add.at(self.cycles, who, sending_cycles(self.figures, rows, self.cluster))
        away = elsewhere(rows, self.cluster)
        sectors = np.sort(np.where(away, rows["addresses"].astype(np.int64) >> SECTOR, -1), axis=1)
        new = sectors >= 0
        new[:, 1:] &= sectors[:, 1:] != sectors[:, :-1]
        row, column = np.nonzero(new)
        to = sectors[row, column] >> RANK_SHIFT - SECTOR
        np.add.at(self.sectors, (*(index[row] for index in who), to), 1)

    def _who(self, rows: np.ndarray) -> tuple[np.ndarray, ...]:
        """Of records or entries: the instruction's number, the cluster's, and which CTA of it."""
        return np.searchsorted(self.sites, rows["site"]), *np.divmod(rows["cta"], self.cluster)

    def settle(self, entries: np.ndarray) -> None:
        """Have those stores take the port, `count`, for so long."""
        if not self.sectors.any():
            return
        sends = self.sectors > 0
        taken = self.figures.remote_arriving * self.sectors.sum(axis=2)
        there = np.where(sends, taken[:, :, None, :], 0.0).max(axis=3)
        longest_sender = np.where(sends, self.cycles[:, :, :, None], 0.0).max(axis=2)
        longest = np.maximum(there, np.maximum(taken, longest_sender))
        rows = np.flatnonzero((entries["code"] == SHARED) & np.isin(entries["site"], self.sites))
        who = self._who(entries[rows])
        own, number = self.cycles[who], np.zeros(longest.shape)
        np.add.at(number, who, 1)
        scaled = entries["count"][rows] * np.maximum(1.0, longest[who] / np.maximum(own, 1.0))
        entries["count"][rows] = np.rint(np.where(own > 0, scaled, longest[who] / number[who]))
