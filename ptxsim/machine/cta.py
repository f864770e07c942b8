"""CTAs, clusters, warps and the splits a warp falls into when its lanes diverge."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from ptxsim.lanes import LANES
from ptxsim.machine.barrier import NamedBarrier
from ptxsim.machine.fault import Converge, Wait
from ptxsim.machine.units import Units

DYNAMIC_STACK = 1 << 14  # bytes a lane has for alloca, in kernels that use it


Register = np.ndarray | list[np.ndarray]  # by lane: unsigned words, bool for predicates, a list of two for 128 bits


@dataclass(slots=True, eq=False)
class Frame:
    """Where a call returns to, and the caller's registers."""

    return_block: int
    registers: list[Any]
    function: str


@dataclass(slots=True, eq=False)
class Split:
    """Lanes of a warp that are at the same place. `block` and `op` say where; `wait` why they do not run."""

    block: int
    mask: np.ndarray
    op: int = 0  # offset of the next instruction in the block
    wait: Wait | Converge | None = None
    frames: tuple[Frame, ...] = ()
    steps: int = 0


class Registers(Protocol):
    """The registers of a warp by slot."""

    def __len__(self) -> int: ...

    def __getitem__(self, slot: int, /) -> Any: ...

    def __setitem__(self, slot: int, value: Any, /) -> None: ...


class Warp:
    """32 lanes: registers by slot (arrays of 32 values), splits, and the live lanes."""

    def __init__(self, cta: Cta, index: int, lanes: int):
        self.cta, self.index = cta, index
        self.live = np.arange(LANES) < lanes
        self.registers: Registers = []
        self.splits: list[Split] = [Split(0, self.live.copy())]
        self.turns = 0  # of splits, while there were several
        self.spent = self.lost = (
            0  # of the patience at joins (engine.analysis.forward_progress), until all are together and for ever
        )
        self.local: np.ndarray | None = None  # uint8 (LANES, bytes), made when first used
        self.units = Units()
        self.allocated: np.ndarray | None = None  # local address of what alloca gave last, by lane
        self.in_flight: dict[int, int] = {}  # register slots the tensor core owns, and the line that gave them away
        self.stack = np.zeros(LANES, np.uint64)  # base of the current local frame
        linear = index * LANES + np.arange(LANES, dtype=np.uint32)
        x, y, _ = cta.block_shape
        self.tid = (linear % x, linear // x % y, linear // (x * y))

    @property
    def done(self) -> bool:
        return not self.splits

    def stack_pointer(self, end: int) -> np.ndarray:
        """Where what alloca gave begins in the local memory of each lane, which ends at `end`."""
        return np.full(LANES, end, np.uint64) if self.allocated is None else self.allocated

    def exit(self, mask: np.ndarray) -> None:
        """Lanes leave the kernel."""
        self.live = self.live & ~mask
        self.cta.threads_left -= int(mask.sum())
        for barrier in self.cta.barriers:
            barrier.lanes_left(self.cta)


class Cta:
    """One CTA: shared memory as bytes, barriers, warps."""

    def __init__(
        self, index: tuple[int, int, int], linear: int, block: tuple[int, int, int], shared_bytes: int, cluster: Cluster,
        shared_fill: int = 0,
    ):  # fmt: skip
        self.index, self.linear, self.block_shape = index, linear, block
        self.cluster = cluster
        self.shared = np.full(-(-shared_bytes // 16) * 16, shared_fill, np.uint8)
        self.shared_bytes = shared_bytes
        self.barriers = [NamedBarrier() for _ in range(16)]
        self.threads = block[0] * block[1] * block[2]
        self.threads_left = self.threads
        count = -(-self.threads // LANES)
        self.warps = [Warp(self, w, min(LANES, self.threads - w * LANES)) for w in range(count)]
        self.units = Units()

    @property
    def rank(self) -> int:
        """Index within the cluster."""
        return self.cluster.ctas.index(self)

    @property
    def done(self) -> bool:
        return all(warp.done for warp in self.warps)


@dataclass(slots=True)
class Cluster:
    """CTAs that run together and reach each other's shared memory."""

    index: tuple[int, int, int]
    shape: tuple[int, int, int]
    ctas: list[Cta] = field(default_factory=list)
    units: Units = field(default_factory=Units)
