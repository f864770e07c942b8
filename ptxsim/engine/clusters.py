"""Where clusters and their CTAs are in the grid."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from ptxsim.machine.cta import Cluster, Cta
from ptxsim.machine.places import coordinates
from ptxsim.machine.records import CtaRecord
from ptxsim.machine.state import Machine


def cluster_index(machine: Machine, number: int) -> tuple[int, int, int]:
    """Where the cluster of a number in launch order is. Clusters count x first, then y, then z."""
    nx, ny = (size // per for size, per in zip(machine.grid[:2], machine.cluster))
    return coordinates(number, nx, ny)


def ctas_of(machine: Machine, index: tuple[int, int, int]) -> Iterator[tuple[tuple[int, int, int], int]]:
    """Where the CTAs of a cluster are, and their numbers in the grid."""
    gx, gy, _ = machine.grid
    for place in itertools.product(*(range(i * n, i * n + n) for i, n in zip(index[::-1], machine.cluster[::-1]))):
        z, y, x = place
        yield (x, y, z), x + gx * (y + gy * z)


def cluster_at(
    machine: Machine, number: int, warp_bytes: int = 0, begun: Sequence[tuple[CtaRecord, np.ndarray]] = ()
) -> Cluster:
    """The cluster of a number in launch order. `begun`: what its CTAs are made of if they run already (machine.cta.Cta)."""
    cluster = Cluster(cluster_index(machine, number), machine.cluster, machine.shared_variables)
    for rank, (place, linear) in enumerate(ctas_of(machine, cluster.index)):
        cluster.ctas.append(
            Cta(
                place, linear, machine.block, machine.shared_bytes, cluster, machine.shared_fill, warp_bytes,
                begun[rank] if begun else None,
            )
        )  # fmt: skip
    return cluster
