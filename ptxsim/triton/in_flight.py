"""What may still run when a launch begins (checks.in_flight), of tensors, which lie elsewhere in device memory at each launch.

So what grids have accessed is kept by address in the host's memory. What torch does between launches is work of the stream, too.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import replace

import numpy as np
import torch
from torch.multiprocessing.reductions import StorageWeakRef

from ptxsim.checks.in_flight import Grid, Left, Prior, Streams
from ptxsim.checks.order.memory.dependents import END, FIRST
from ptxsim.triton.fresh import FRESH

Places = Mapping[int, tuple[int, int]]  # address in device memory and bytes, by address in the host's memory


class InFlight:
    """What may still run in each stream, by address in the host's memory."""

    def __init__(self) -> None:
        self._streams = Streams()
        self._storages: dict[int, StorageWeakRef] = {}
        self._worked = FRESH.worked

    def prior(self, stream: Hashable, programmatic: bool) -> Prior:
        """What a launch may meet."""
        if FRESH.worked != self._worked:
            self._worked = FRESH.worked
            self._streams.synchronise_all()
        return self._streams.prior(stream, programmatic)

    def on_device(self, prior: Prior, places: Places) -> Prior:
        """The same where the storages lie now, without those that are no more."""
        living = {host: place for host, place in places.items() if host in self._storages}
        living = {host: place for host, place in living.items() if not self._storages[host].expired()}
        moves = [(host, device - host, size) for host, (device, size) in living.items()]
        moved = {grid: _moved(grid, moves) for grid in prior.at_start}
        return replace(
            prior, at_start=tuple(moved.values()), after_wait=tuple(moved[grid] for grid in prior.after_wait)
        )

    def launched(
        self, stream: Hashable, kernel: str, prior: Prior, left: Left | None, places: Places,
        storages: Iterable[torch.UntypedStorage],
    ) -> None:  # fmt: skip
        """A launch has run, with storages there."""
        if left is not None and left.grid is not None:
            self._storages |= {storage.data_ptr(): StorageWeakRef(storage) for storage in storages}
            grid = _moved(left.grid, [(device, host - device, size) for host, (device, size) in places.items()])
            left = replace(left, grid=grid)
        self._streams.launched(stream, kernel, prior, left)


def _moved(grid: Grid, moves: Iterable[tuple[int, int, int]]) -> Grid:
    """A grid whose accesses are somewhere else: (first byte, how far, bytes) of what is moved. The rest is left out."""
    parts = [grid.rows[:0]]
    for first, far, size in moves:
        part = grid.rows[(grid.rows[:, FIRST] >= first) & (grid.rows[:, FIRST] < first + size)]
        part[:, [FIRST, END]] += far
        parts.append(part)
    rows = np.concatenate(parts)
    rows = rows[np.argsort(rows[:, FIRST])]
    return replace(grid, rows=rows, digest=hashlib.blake2b(rows.tobytes(), digest_size=16).digest())
