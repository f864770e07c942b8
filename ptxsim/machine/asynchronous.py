"""Asynchronous work: when it completes, and what it remembers of the instruction that began it.

Data of an asynchronous copy lands at some moment between its issue and the wait that covers it. With seed 0 that is as
late as allowed, so that a missing wait shows; any other seed draws a moment. PTX ISA, "Data Movement and Conversion
Instructions: Asynchronous copy".
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ptxsim.machine.draws import draw
from ptxsim.machine.fault import Fault
from ptxsim.machine.memory import RANK_SHIFT

if TYPE_CHECKING:
    from ptxsim.machine.cta import Cta
    from ptxsim.machine.port import Port
    from ptxsim.machine.state import Machine

LATEST = 64  # warp turns after which a copy lands at the latest, without a wait


def snapshot(m: Port, mask: np.ndarray | None = None) -> Port:
    """The port as it is now, for work that completes later; `mask` replaces its lanes."""
    kept = copy.copy(m)
    kept.mask = (m.mask if mask is None else mask).copy()
    return kept


def delay(machine: Machine) -> int:
    """Warp turns until an asynchronous operation completes."""
    return LATEST if not machine.mixes else draw(machine.draws, LATEST)


def later(port: Port, callback: Callable[[], None]) -> None:
    """Schedule `callback`; a fault in it becomes a finding at the instruction the port stands at."""

    def complete() -> None:
        try:
            callback()
        except Fault as fault:
            port.report(fault.name, fault.message, fault.lane, fault.help)

    port.machine.schedule(complete, delay(port.machine))


def owner_of(m: Port, memory: np.ndarray) -> Cta:
    """The CTA of the cluster whose shared memory these bytes are."""
    return next(cta for cta in m.cta.cluster.ctas if cta.shared is memory)


def cluster_addresses(m: Port, memory: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Offsets within one CTA's shared memory as shared::cluster addresses."""
    cta = m.cta if m.cta.shared is memory else owner_of(m, memory)
    return offsets.astype(np.uint64) + np.uint64(cta.rank << RANK_SHIFT)
