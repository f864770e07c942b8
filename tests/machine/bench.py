"""A machine with nothing running: ports onto its warps, for tests of single operations."""

from __future__ import annotations

import numpy as np

from ptxsim.machine.cta import Cluster, Cta
from ptxsim.machine.event import EventStream, Observer
from ptxsim.machine.memory import SHARED_RESERVED, GlobalMemory
from ptxsim.machine.port import Port
from ptxsim.machine.state import Machine
from ptxsim.types import parse_target

ALL = np.ones(32, bool)
LANE = np.arange(32, dtype=np.uint32)


class Recorder(Observer):
    """Keeps copies of all records."""

    def __init__(self):
        self.batches = []

    def consume(self, records):
        self.batches.append(records.copy())

    def of(self, event):
        found = np.concatenate(self.batches) if self.batches else np.zeros(0)
        return found[found["event"] == event]


class Bench:
    """`allocations` are (name, bytes, kind) of global memory; `ctas` CTAs of `threads` threads form one cluster."""

    def __init__(self, threads=32, ctas=1, shared=1024, local=64, allocations=(("buffer", 4096, "global"),)):
        memory = GlobalMemory()
        self.allocations = {
            name: memory.allocate(name, size, kind, kind == "const") for name, size, kind in allocations
        }
        self.recorder = Recorder()
        self.stream = EventStream([self.recorder])
        self.machine = Machine(
            parse_target("sm_90a"), (ctas, 1, 1), (threads, 1, 1), (ctas, 1, 1), memory, stream=self.stream,
            local_bytes=local, shared_bytes=SHARED_RESERVED + shared,
        )  # fmt: skip
        cluster = Cluster((0, 0, 0), (ctas, 1, 1))
        for i in range(ctas):
            cluster.ctas.append(Cta((i, 0, 0), i, (threads, 1, 1), SHARED_RESERVED + shared, cluster))
        self.ctas = cluster.ctas

    def port(self, cta=0, warp=0, mask=None):
        port = Port(self.machine, self.ctas[cta].warps[warp])
        port.mask = port.warp.live.copy() if mask is None else np.asarray(mask, bool)
        return port

    def address(self, name="buffer", offsets=0):
        """Device addresses: one per lane."""
        return np.full(32, self.allocations[name].address, np.uint64) + np.asarray(offsets, np.uint64)

    def bytes(self, name="buffer"):
        return self.machine.memory.view(self.allocations[name])

    def events(self, event):
        self.stream.flush()
        return self.recorder.of(event)


def lanes(value, dtype=np.uint32):
    """A lane value with the same number, or these numbers, in the lanes."""
    return np.broadcast_to(np.asarray(value, dtype), (32,)).copy()
