"""Which CTAs make up the clusters of a grid."""

from __future__ import annotations

from typing import Any

import numpy as np


class Homes:
    """Ranks of CTAs in their clusters, and the other way round. CTAs are linear indices in the grid."""

    def __init__(self, grid: tuple[int, int, int], cluster: tuple[int, int, int]):
        self.grid, self.cluster = grid, cluster

    @property
    def size(self) -> int:
        """CTAs of a cluster."""
        x, y, z = self.cluster
        return x * y * z

    def rank(self, cta: int) -> int:
        """The rank of one CTA, by its linear index."""
        return int(self.places(cta)[0])

    def number(self, cta: Any) -> Any:
        """The numbers of CTAs' clusters, in the order of the grid."""
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

    def numbers(self) -> np.ndarray:
        """Of every CTA of the grid, by its linear index: the number of its cluster times their size plus its rank."""
        ctas = np.arange(np.prod(self.grid))
        found: np.ndarray = (self.number(ctas) * self.size + self.places(ctas)[0]).astype(np.int32)
        return found

    def ranks(self) -> np.ndarray:
        """Of every CTA of the grid, by its linear index: its rank in its cluster."""
        found: np.ndarray = self.places(np.arange(np.prod(self.grid)))[0].astype(np.uint8)
        return found

    def at(self, base: Any, rank: Any) -> Any:
        """Linear indices of the CTAs of these ranks, numbers or arrays; `base`: those of rank 0."""
        cx, cy, _ = self.cluster
        return base + rank % cx + self.grid[0] * (rank // cx % cy + self.grid[1] * (rank // (cx * cy)))

    def places(self, cta: Any) -> tuple[Any, Any]:
        """Rank in its cluster of each CTA (by linear index), and the linear index of rank 0."""
        gx, gy, _ = self.grid
        cx, cy, cz = self.cluster
        x, y, z = cta % gx, cta // gx % gy, cta // (gx * gy)
        rank = x % cx + cx * (y % cy + cy * (z % cz))
        return rank, (x - x % cx) + gx * ((y - y % cy) + gy * (z - z % cz))
