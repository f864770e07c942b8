"""Warps that load what others store, and use it for nothing that they store: a race by the memory model that shows in no result.

Compilers of programs with one thread in mind (Triton) hold a row that is shorter than the CTA in every warp, all of which load it and add it
up, and have one warp store it in place. Which warps store is known after a run, so the launch is repeated to find out.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

import numpy as np

from ptxsim.checks.order.cells import RACE_IN_GLOBAL
from ptxsim.checks.order.dataflow.unused import sinks
from ptxsim.checks.order.findings.problem import Problem
from ptxsim.engine.program.operation import Program
from ptxsim.lanes import word_mask
from ptxsim.machine.event import Event, Observer

Repeat = Callable[[Observer], None]  # runs the launch again, from the beginning, for an observer
_MOST = 1 << 22  # accesses of lanes that are remembered
_UNIT = 4  # bytes by which places are compared


def of_idle_readers(program: Program, races: Collection[Problem], repeat: Repeat | None) -> set[tuple[int, int, int]]:
    """The keys of those races of a load and a store in which every warp that loads what another one stores makes no use of it. Of lanes of one
    warp nothing is known so."""
    asked: dict[tuple[int, int, int], tuple[int, int, set[int]]] = {}
    for race in races:
        for load, store in ((race.site, race.other), (race.other, race.site)):
            ends = sinks(program, program.ops[load]) if race.what == RACE_IN_GLOBAL else None
            if ends is not None and store in ends:
                asked[race.key] = load, store, ends
    if not asked or repeat is None:
        return set()
    seen = _Accesses({site for load, _, ends in asked.values() for site in (load, *ends)})
    repeat(seen)
    return {key for key, (load, store, ends) in asked.items() if seen.are_idle(load, store, ends)}


class _Accesses(Observer):
    """Which warps execute some loads and stores, and where."""

    events = frozenset({Event.LOAD, Event.STORE})

    def __init__(self, sites: Collection[int]):
        self.sites = np.array(sorted(sites))
        self.rows: list[np.ndarray] = []  # site, warp of the grid, unit of memory
        self.count = 0

    def consume(self, records: np.ndarray) -> None:
        mine = np.isin(records["site"], self.sites) & np.isin(records["event"], [*self.events])
        records = records[mine & (self.count <= _MOST)]
        row, lane = np.nonzero(word_mask(records["mask"]))
        each = records[row]
        first = records["addresses"][row, lane].astype(np.int64)
        last = (first + np.maximum(each["width"], 1) - 1) // _UNIT
        warp = each["cta"].astype(np.int64) << 16 | each["warp"]
        unit = first // _UNIT
        while len(unit):
            self.rows.append(np.stack([each["site"], warp, unit], axis=1))
            self.count += len(unit)
            on = unit < last
            each, warp, unit, last = each[on], warp[on], unit[on] + 1, last[on]

    def are_idle(self, load: int, store: int, ends: Iterable[int]) -> bool:
        """Whether no warp executes one of some stores that loads what another one stores, of those that are seen here to do that."""
        if self.count > _MOST:
            return False
        rows = np.concatenate(self.rows) if self.rows else np.zeros((0, 3), np.int64)
        read, written = (np.unique(rows[rows[:, 0] == site, 1:], axis=0) for site in (load, store))
        units, writers = np.unique(written[:, 1], return_counts=True)
        if np.any(writers > 1):
            return False
        writer = written[np.argsort(written[:, 1], kind="stable"), 0]
        at = np.minimum(np.searchsorted(units, read[:, 1]), max(len(units) - 1, 0))
        meets = (units[at] == read[:, 1]) & (writer[at] != read[:, 0]) if len(units) else np.zeros(len(read), bool)
        users = np.unique(rows[np.isin(rows[:, 0], [*ends]), 1])
        return bool(meets.any()) and not np.isin(read[meets, 0], users).any()
