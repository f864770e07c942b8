"""Asynchronous copies: when they land, and the groups in which threads commit and wait for them.

Data of an asynchronous copy lands at some moment between its issue and the wait that covers it. With seed 0 that is as
late as allowed, so that a missing wait shows; any other seed draws a moment. PTX ISA, "Data Movement and Conversion
Instructions: Asynchronous copy".
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ptxsim.lanes import LANES
from ptxsim.machine.event import Event, Space
from ptxsim.machine.fault import Fault
from ptxsim.machine.memory import RANK_SHIFT, gather, scatter

if TYPE_CHECKING:
    from ptxsim.machine.cta import Cta, Warp
    from ptxsim.machine.port import Port
    from ptxsim.machine.state import Machine, Pending

LATEST = 64  # warp turns after which a copy lands at the latest, without a wait


def snapshot(m: Port, mask: np.ndarray | None = None) -> Port:
    """The port as it is now, for work that completes later; `mask` replaces its lanes."""
    kept = copy.copy(m)
    kept.mask = (m.mask if mask is None else mask).copy()
    return kept


def delay(machine: Machine) -> int:
    """Warp turns until an asynchronous operation completes."""
    return LATEST if machine.seed == 0 else int(machine.random.integers(0, LATEST))


def later(port: Port, callback: Callable[[], None], after: int | None = None) -> Pending:
    """Schedule `callback`; a fault in it becomes a finding at the instruction the port stands at."""

    def complete() -> None:
        try:
            callback()
        except Fault as fault:
            port.report(fault.name, fault.message, fault.lane, fault.help)

    machine = port.machine
    return machine.schedule(complete, after=delay(machine) if after is None else after)


def owner_of(m: Port, memory: np.ndarray) -> Cta:
    """The CTA of the cluster whose shared memory these bytes are."""
    return next(cta for cta in m.cta.cluster.ctas if cta.shared is memory)


def cluster_addresses(m: Port, memory: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Offsets within one CTA's shared memory as shared::cluster addresses."""
    cta = m.cta if m.cta.shared is memory else owner_of(m, memory)
    return offsets.astype(np.uint64) + np.uint64(cta.rank << RANK_SHIFT)


# ---- cp.async: groups of each thread --------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class LaneCopy:
    """One cp.async of a warp: 4, 8 or 16 bytes a lane. `open` are the lanes that no wait has covered yet."""

    port: Port
    size: int
    group: np.ndarray  # int64 (32,), which group of its thread each lane's copy belongs to
    sources: list[tuple[np.ndarray, np.ndarray, np.ndarray, int]]  # bytes, offsets, lanes, how many bytes are read
    memory: np.ndarray
    offsets: np.ndarray
    open: np.ndarray
    landed: np.ndarray = field(default_factory=lambda: np.zeros(LANES, bool))

    def land(self, lanes: np.ndarray) -> None:
        """Write the data of these lanes; what the source does not cover becomes zero."""
        lanes = lanes & self.port.mask & ~self.landed
        if not lanes.any():
            return
        self.landed |= lanes
        data = np.zeros((LANES, self.size), np.uint8)
        for memory, offsets, part, count in self.sources:
            data[:, :count] |= gather(memory, offsets, part & lanes, count)
        scatter(self.memory, self.offsets, lanes, data)
        self._emit(Event.ASYNC_WRITE, lanes)

    def close(self, lanes: np.ndarray) -> None:
        """A wait covers these lanes: the data is there."""
        self.land(lanes)
        self.open = self.open & ~lanes
        self._emit(Event.ASYNC_WAIT, lanes)

    def _emit(self, event: Event, lanes: np.ndarray) -> None:
        addresses = cluster_addresses(self.port, self.memory, self.offsets)
        self.port.emit(event, Space.SHARED, self.size, 0, lanes, addresses)

    def announce(self) -> None:
        """Report that the destination belongs to the copy from now on."""
        self._emit(Event.ASYNC_ISSUE, self.port.mask)


class LaneGroups:
    """The cp.async operations of one warp and the groups its lanes have committed."""

    def __init__(self) -> None:
        self.committed = np.zeros(LANES, np.int64)
        self.copies: list[LaneCopy] = []

    @classmethod
    def of(cls, warp: Warp) -> LaneGroups:
        return warp.units.of(cls)

    def issue(self, issued: LaneCopy) -> None:
        self.copies.append(issued)
        issued.announce()
        machine = issued.port.machine
        if machine.seed:
            later(issued.port, lambda: issued.land(issued.port.mask))

    def commit(self, lanes: np.ndarray) -> None:
        self.committed[lanes] += 1

    def wait(self, lanes: np.ndarray, newest: int) -> None:
        """All but the `newest` latest committed groups of these lanes complete."""
        self._close([(c, lanes & c.open & (c.group < self.committed - newest)) for c in self.copies])

    def wait_all(self, lanes: np.ndarray) -> None:
        """Everything these lanes have issued completes, committed or not."""
        self._close(self.open_copies(lanes))

    def open_copies(self, lanes: np.ndarray) -> list[tuple[LaneCopy, np.ndarray]]:
        return [(c, lanes & c.open) for c in self.copies if (lanes & c.open).any()]

    def close(self, copies: list[tuple[LaneCopy, np.ndarray]]) -> None:
        """Complete what `open_copies` gave earlier."""
        self._close([(c, lanes & c.open) for c, lanes in copies])

    def uncommitted(self, lanes: np.ndarray) -> np.ndarray:
        """Lanes with copies that no group holds while none of their groups is in flight."""
        loose, grouped = np.zeros(LANES, bool), np.zeros(LANES, bool)
        for issued, part in self.open_copies(lanes):
            held = issued.group < self.committed
            loose |= part & ~held
            grouped |= part & held
        return loose & ~grouped

    def _close(self, copies: list[tuple[LaneCopy, np.ndarray]]) -> None:
        for issued, lanes in copies:
            if lanes.any():
                issued.close(lanes)
        self.copies = [c for c in self.copies if c.open.any()]
