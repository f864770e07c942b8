"""The barrier of a cluster. PTX ISA, "Parallel Synchronization and Communication Instructions: barrier.cluster".

Every thread of the cluster that has not exited arrives once, then waits; a phase is over when all of them have arrived.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ptxsim.machine.fault import Fault, first_lane

if TYPE_CHECKING:
    from ptxsim.machine.cta import Cluster, Warp

CLUSTER_BARRIER = 16  # its number in events, after the sixteen of a CTA


class ClusterBarrier:
    """`phase` counts the phases that are over; `arrivals` is, by warp, the phase each lane has arrived in (-1: none)."""

    def __init__(self, cluster: Cluster):
        self.cluster = cluster
        self.phase = 0
        self.arrivals = {warp: np.full(len(warp.live), -1) for cta in cluster.ctas for warp in cta.warps}

    @classmethod
    def of(cls, cluster: Cluster) -> ClusterBarrier:
        """The barrier of a cluster, made when first asked for."""
        held = cluster.units.of(_Held)
        if held.barrier is None:
            held.barrier = cls(cluster)
        return held.barrier

    def arrive(self, warp: Warp, mask: np.ndarray) -> None:
        """Lanes come. Raises Fault barrier-count for a lane that has come already."""
        self.settle()
        again = mask & (self.arrivals[warp] == self.phase)
        if again.any():
            raise Fault(
                "barrier-count", "a thread arrives twice at the cluster barrier without a wait between",
                first_lane(again), "each barrier.cluster.arrive needs its barrier.cluster.wait",
            )  # fmt: skip
        self.arrivals[warp][mask] = self.phase

    def arrived_in(self, warp: Warp, mask: np.ndarray) -> int:
        """The phase the lanes have to wait for. Raises Fault barrier-count for lanes that have not arrived."""
        phases = self.arrivals[warp]
        if (mask & (phases < 0)).any():
            raise Fault(
                "barrier-count", "barrier.cluster.wait without barrier.cluster.arrive before it",
                first_lane(mask & (phases < 0)), "arrive first: a wait is for the phase the thread has arrived in",
            )  # fmt: skip
        return int(phases[mask].max())

    def over(self, phase: int) -> bool:
        """Whether a phase has ended; threads that exit end it too."""
        self.settle()
        return self.phase > phase

    def settle(self) -> None:
        """End the phase if no thread is missing."""
        if not any(self._missing(warp) for warp in self.arrivals) and any(
            (phases == self.phase).any() for phases in self.arrivals.values()
        ):
            self.phase += 1

    def _missing(self, warp: Warp) -> bool:
        return bool((warp.live & (self.arrivals[warp] < self.phase)).any())

    def describe(self) -> str:
        """Who is missing, for a deadlock report."""
        missing = [f"CTA {warp.cta.linear} warp {warp.index}" for warp in self.arrivals if self._missing(warp)]
        more = f" and {len(missing) - 8} more" if len(missing) > 8 else ""
        return f"cluster barrier, phase {self.phase}: missing are {', '.join(missing[:8]) or 'none'}{more}"


class _Held:
    """The barrier of a cluster, once it is used."""

    barrier: ClusterBarrier | None = None
