"""The memory of a cluster that runs in native code: its CTAs, their warps, and what native code makes the next one of there."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np

from ptxsim.engine.clusters import cluster_index
from ptxsim.engine.compiled.run.context import NativeContext
from ptxsim.engine.compiled.runtime.clusters import PLACES, Clusters
from ptxsim.engine.program.operation import families
from ptxsim.machine.copies.lane_copies import make_room
from ptxsim.machine.cta import Cluster
from ptxsim.machine.records import CtaRecord, WarpRecord, aligned, cta_record, mbarrier_table
from ptxsim.machine.special import multiprocessors
from ptxsim.machine.warpgroup import WarpgroupRecord, warpgroups_of


class ClusterMemory:
    """`template`: the memory of the warps of one that begins; `threads`: of a CTA; `room`: for copies of cp.async, of a warp."""

    def __init__(self, native: NativeContext, template: np.ndarray, threads: int, room: int):
        self.native, self.machine, self.room = native, native.machine, room
        cluster = Cluster(cluster_index(self.machine, 0), self.machine.cluster, self.machine.shared_variables)
        count, size = cluster.size, len(template) // cluster.size
        self.memory = aligned(*template.shape)
        self.shared = [cluster.room(self.machine.shared_bytes, rank) for rank in range(count)]
        self.ctas: ctypes.Array[CtaRecord] = (CtaRecord * count)()
        self.local = None
        if native.program.local_bytes:
            self.local = np.zeros((len(self.memory), 32, self.machine.local_bytes), np.uint8)
        self.mbarriers: list[np.ndarray] = []
        self.warpgroups: list[Sequence[WarpgroupRecord]] = []
        for rank, (made, shared) in enumerate(zip(self.ctas, self.shared)):
            cta_record(threads, self.ctas[:rank], made)
            if "mbarrier" in families(native.program):
                self.mbarriers.append(mbarrier_table(shared))
                made.mbarriers = self.mbarriers[-1].ctypes.data
            if native.keeps_rules:
                rows = self.memory[rank * size : (rank + 1) * size]
                self.warpgroups.append(warpgroups_of([WarpRecord.of(row) for row in rows]))
                made.warpgroups = self.warpgroups[-1][0].address
        self.fresh = np.frombuffer(bytes(self.ctas), np.uint8)  # what the records of CTAs hold at first
        self.template = template.copy()
        self.copies: list[np.ndarray] = []
        for number, row in enumerate(self.template):
            record, rank = WarpRecord.of(row), number // size
            record.shared, record.owner = self.shared[rank].ctypes.data, self.ctas[rank].address
            record.cluster = self.shared[0].ctypes.data
            if self.local is not None:
                record.local = self.local[number].ctypes.data
            if room:
                self.copies.append(make_room(record.copies, room, self.machine.memory))
        self.clusters = self._clusters()
        self.clusters_at, self.standing = self.clusters.address, self.clusters.standing

    def _clusters(self) -> Clusters:
        """What native code makes a cluster of."""
        machine, made = self.machine, Clusters()
        made.looks = machine.checks == "all"
        made.grid[:], made.cluster[:] = machine.grid, machine.cluster
        made.multiprocessors = multiprocessors(machine.target)
        made.warps, made.warp_count = self.memory.ctypes.data, len(self.memory)
        made.cta_warps = len(self.memory) // len(self.ctas)
        made.template, made.ctas = self.template.ctypes.data, self.ctas[0].address
        made.fresh, made.cta_bytes = self.fresh.ctypes.data, len(self.fresh)
        made.shared_bytes, made.fill = len(self.shared[0]), machine.shared_fill
        if self.local is not None:
            made.local, made.local_bytes = self.local.ctypes.data, self.local.nbytes
        for number, name in enumerate(PLACES):
            made.places[number] = self.native.layout.specials.get(f"%{name}", 0)
        return made
