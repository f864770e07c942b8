"""Accesses to the shared memory of a cluster, sorted by whose memory it is."""

from __future__ import annotations

from typing import Any

import numpy as np

from ptxsim.lanes import word_mask
from ptxsim.machine.event import Event, Space
from ptxsim.machine.memory import RANK_SHIFT

_SYNCHRONISING = [int(Event.MBARRIER_ARRIVE), int(Event.MBARRIER_WAIT)]
_READS = [int(Event.LOAD), int(Event.LDMATRIX), int(Event.ASYNC_READ), *_SYNCHRONISING]


class Homes:
    """Rewrites records so that every access to shared memory stands with the CTA that owns it, at the offset there.

    What another CTA writes arrives as a write from outside (ASYNC_WRITE); what it reads, and its operations on mbarriers, say
    nothing about the order of the owner's warps and are left out.
    """

    def __init__(self, grid: tuple[int, int, int], cluster: tuple[int, int, int]):
        self.grid, self.cluster = grid, cluster

    def __call__(self, records: np.ndarray) -> np.ndarray:
        if self.cluster == (1, 1, 1):
            return records
        records = records.copy()
        events = records["event"].copy()
        access = (records["space"] == Space.SHARED) & (
            (events <= int(Event.ASYNC_WAIT)) | np.isin(events, _SYNCHRONISING)
        )
        first = np.argmax(word_mask(records["mask"]), axis=1)
        rank = (records["addresses"][np.arange(len(records)), first] >> np.uint64(RANK_SHIFT)).astype(np.int64)
        own, base = self.places(records["cta"].astype(np.int64))
        remote = access & (rank != own)
        owner = self.at(base, rank)
        records["addresses"][access] &= np.uint64((1 << RANK_SHIFT) - 1)
        records["cta"][remote] = owner[remote]
        records["event"][remote] = int(Event.ASYNC_WRITE)
        kept: np.ndarray = records[~(remote & np.isin(events, _READS))]
        return kept

    @property
    def size(self) -> int:
        """CTAs of a cluster."""
        x, y, z = self.cluster
        return x * y * z

    def rank(self, cta: int) -> int:
        """The rank of one CTA, by its linear index."""
        return int(self.places(np.array([cta]))[0][0])

    def member(self, cta: int, rank: int) -> int:
        """The linear index of the CTA of that rank in the cluster of `cta`."""
        return int(self.at(self.places(np.array([cta]))[1][0], rank))

    def number(self, cta: int) -> int:
        """The number of a CTA's cluster, in the order of the grid."""
        (gx, gy, _), (cx, cy, cz) = self.grid, self.cluster
        x, y, z = cta % gx // cx, cta // gx % gy // cy, cta // (gx * gy) // cz
        return x + gx // cx * (y + gy // cy * z)

    def cta(self, number: int) -> int:
        """The linear index of a CTA, by the number of its cluster times their size plus its rank."""
        (gx, gy, _), (cx, cy, cz) = self.grid, self.cluster
        cluster, rank = divmod(number, cx * cy * cz)
        nx, ny = gx // cx, gy // cy
        base = cluster % nx * cx + gx * (cluster // nx % ny * cy + gy * (cluster // (nx * ny) * cz))
        return int(self.at(base, rank))

    def at(self, base: Any, rank: Any) -> Any:
        """Linear indices of the CTAs of these ranks, numbers or arrays; `base`: those of rank 0."""
        cx, cy, _ = self.cluster
        return base + rank % cx + self.grid[0] * (rank // cx % cy + self.grid[1] * (rank // (cx * cy)))

    def places(self, cta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rank in its cluster of each CTA (by linear index), and the linear index of rank 0."""
        gx, gy, _ = self.grid
        cx, cy, cz = self.cluster
        x, y, z = cta % gx, cta // gx % gy, cta // (gx * gy)
        rank = x % cx + cx * (y % cy + cy * (z % cz))
        return rank, (x - x % cx) + gx * ((y - y % cy) + gy * (z - z % cz))
