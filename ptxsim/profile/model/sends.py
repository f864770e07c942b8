"""What threads send to shared memory of the CTAs of their cluster and tell an mbarrier there of: asynchronous stores and reductions, bulk copies.

The replay is of one SM, and other CTAs of the cluster are on other SMs. They do the same at about the same time, so what a CTA tells an mbarrier of
another one counts as an arrival at its own one in the same place: a wait there ends when the CTA's own counterpart has come as far.
"""

from __future__ import annotations

import numpy as np

from ptxsim.engine.program.operation import Op, Program
from ptxsim.isa.facts import AccessKind
from ptxsim.lanes import word_mask
from ptxsim.machine.event import FLAG_ASYNC_PROXY, FLAG_CORE, FLAG_ISSUED, FLAG_READ, Event, Space
from ptxsim.machine.memory import RANK_SHIFT
from ptxsim.profile.figures import Figures
from ptxsim.profile.model.accesses import distinct
from ptxsim.profile.model.entries import ARRIVE, LATE, REMOTE, SEND

RANKS = np.int64(0xFF << RANK_SHIFT)  # bits of an address that say whose shared memory it is of


def sends(op: Op) -> bool:
    """Whether an instruction writes to shared memory of the cluster by itself and tells an mbarrier there."""
    between = op.copies_in_bulk and all(access.space == "shared" for access in op.accesses)
    return op.family == "async_store" or between


def reduces(op: Op) -> bool:
    """Whether an instruction changes what it writes to by what is there."""
    return any(access.kind is AccessKind.ATOMIC for access in op.accesses)


class Sends:
    """Those instructions of a program, as the trace's entries have them."""

    def __init__(self, program: Program, cluster: int, figures: Figures):
        self.cluster, self.figures = cluster, figures
        found = [op for op in program.ops if sends(op)]
        self.stores = np.array([op.site for op in found if op.family == "async_store"], np.int64)
        self.sites = np.array([op.site for op in found], np.int64)

    def own(self, records: np.ndarray, first: np.ndarray) -> np.ndarray:
        """The addresses `first` of these records, those of mbarriers that hear of something from another CTA moved to the CTA's own memory."""
        core = records["flags"] & FLAG_CORE != 0
        plain = (records["flags"] & FLAG_ASYNC_PROXY == 0) & ~core
        moved = (records["event"] == Event.MBARRIER_ARRIVE) & (plain | np.isin(records["site"], self.sites))
        rank = (records["cta"] % self.cluster).astype(np.int64) << RANK_SHIFT
        found: np.ndarray = np.where(moved, first & ~RANKS | rank, first)
        return found

    def note(self, records: np.ndarray, first: np.ndarray, entries: np.ndarray) -> None:
        """Write the entries of what is sent, and of the arrivals that come of it and of threads at mbarriers elsewhere. first: the address of each."""
        event, flags = records["event"], records["flags"]
        arrives = event == Event.MBARRIER_ARRIVE
        elsewhere = first & RANKS != (records["cta"] % self.cluster).astype(np.int64) << RANK_SHIFT
        entries["width"][arrives & elsewhere & (flags & FLAG_ASYNC_PROXY == 0) & (entries["width"] >= 0)] = REMOTE
        if not len(self.sites):
            return
        ours = np.isin(records["site"], self.sites)
        issues = np.flatnonzero(ours & (event == Event.ASYNC_ISSUE))
        entries["code"][issues] = -1
        issues = issues[(flags[issues] & FLAG_READ == 0) & (records["space"][issues] == Space.SHARED)]
        # Of the arrivals, which come when what is sent has landed, those count that are told of before: so a CTA knows its own from the start.
        entries["code"][ours & (arrives | (event == Event.REDUCE))] = -1
        told = np.flatnonzero(ours & arrives & (flags & FLAG_ISSUED != 0))
        entries["code"][told], entries["width"][told] = ARRIVE, LATE
        begins, masks = self._instructions(records, issues, told)
        entries["code"][begins] = SEND
        entries["cycles"][begins], entries["width"][begins] = self._port(records[begins], masks)

    def _instructions(self, records: np.ndarray, rows: np.ndarray, told: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The first of the rows of each warp's instruction, and all lanes it is about: a store has a row for each lane, then one of its arrivals
        (`told`); a copy stays as it is."""
        masks = records["mask"][rows].astype(np.int64)
        if not len(rows):
            return rows, masks
        number = np.searchsorted(told, rows)
        new = np.append(True, number[1:] != number[:-1]) | ~np.isin(records["site"][rows], self.stores)
        begins = np.flatnonzero(new)
        return rows[begins], np.bitwise_or.reduceat(masks, begins)

    def _port(self, records: np.ndarray, masks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(cycles of the SM's port to the others' shared memory, bytes) of what each sends."""
        figures, size = self.figures, np.bitwise_count(masks).astype(np.int64) * records["width"]
        store = np.isin(records["site"], self.stores)
        lanes = word_mask(masks.astype(records["mask"].dtype))
        sectors = np.where(store, distinct(records["addresses"] >> np.uint64(5), lanes), size / 32)
        cycles = figures.send_sector * sectors + figures.send_start * store
        return cycles, size
