"""Observers of accesses to global memory: which instructions touch what, who stores to one element, what is loaded."""

from __future__ import annotations

import numpy as np

from ptxsim.arrays import dtype_of
from ptxsim.engine.program.operation import Op
from ptxsim.lanes import LANES, word_mask
from ptxsim.machine.event import Event, Observer, Space
from ptxsim.machine.memory import Allocation, store_order
from ptxsim.session.launch import Launch

STORES = frozenset({Event.STORE, Event.ATOMIC, Event.CAS, Event.REDUCE, Event.ASYNC_WRITE})
_LOADS = frozenset({Event.LOAD, Event.ATOMIC, Event.CAS, Event.ASYNC_READ})


def flat(records: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Row, lane, address and bytes of every lane's access, in the order in which they happen."""
    width, which = np.unique(records["width"], return_inverse=True)
    order = np.array([store_order(max(1, each)) for each in width.tolist()], np.int64)[which]
    order[records["event"] != Event.STORE] = 0
    lanes = np.arange(LANES) ^ order[:, None]
    row, turn = np.nonzero(np.take_along_axis(word_mask(records["mask"]), lanes, axis=1))
    lane = lanes[row, turn]
    return row, lane, records["addresses"][row, lane].astype(np.int64), records["width"][row].astype(np.int64)


def elements_of(
    address: np.ndarray, width: np.ndarray, start: int, count: int, size: int
) -> tuple[np.ndarray, np.ndarray]:
    """The elements of an array that accesses of some widths touch, (accesses, elements of the widest): their numbers, and which are touched.

    The array has `count` elements of `size` bytes from `start` on.
    """
    offsets = np.arange(0, int(width.max(initial=0)), size)
    element = (address[:, None] + offsets - start) // size
    return element, (offsets < width[:, None]) & (element >= 0) & (element < count)


class Touched(Observer):
    """Which instructions access what: by site, the first address."""

    events = STORES | _LOADS
    spaces = frozenset({Space.GLOBAL})

    def __init__(self, launch: Launch):
        self.ops = launch.program.ops
        self.sites: dict[tuple[int, int], int] = {}  # by site and page, an address

    def consume(self, records: np.ndarray) -> None:
        row, _, address, _ = flat(records[records["space"] == Space.GLOBAL])
        sites = records[records["space"] == Space.GLOBAL]["site"][row]
        for key in np.unique(np.stack([sites, address >> 9], axis=1), axis=0).tolist():
            self.sites.setdefault((key[0], key[1]), key[1] << 9)

    def dtype_in(self, allocation: Allocation) -> np.dtype | None:
        """The type by which an allocation is accessed."""
        for (site, _), address in self.sites.items():
            if allocation.address <= address < allocation.address + allocation.size:
                return type_of(self.ops[site])
        return None


def type_of(op: Op) -> np.dtype | None:
    """The type that an access names; bits of 32 are taken for floats, which they mostly are."""
    t = op.words.get("type")
    if t is None or t.bits not in (8, 16, 32, 64):
        return None
    names = {("bits", 32): "f32", ("bits", 64): "f64", ("bits", 16): "f16", ("bits", 8): "u8"}
    return dtype_of(names.get((t.kind, t.bits), t.name))


class ElementStores(Observer):
    """Who stores to one element, and to which elements of its allocation anything is."""

    events = STORES
    spaces = frozenset({Space.GLOBAL})

    def __init__(self, allocation: Allocation, size: int, index: int):
        self.start, self.size, self.index = allocation.address, size, index
        self.stored = np.zeros(allocation.size // size, bool)
        self.last: tuple[int, int, int, int] | None = None  # site, CTA, warp, lane
        self.part = 0  # which element of that store it was
        self.times, self.ctas = 0, set[int]()

    def consume(self, records: np.ndarray) -> None:
        records = records[records["space"] == Space.GLOBAL]
        row, lane, address, width = flat(records)
        element, hit = elements_of(address, width, self.start, len(self.stored), self.size)
        self.stored[element[hit]] = True
        mine = np.nonzero((hit & (element == self.index)).any(axis=1))[0]
        self.times += len(mine)
        for access in mine.tolist():
            record = records[row[access]]
            self.last = int(record["site"]), int(record["cta"]), int(record["warp"]), int(lane[access])
            self.part = (self.start + self.index * self.size - int(address[access])) // self.size
            self.ctas.add(self.last[1])


class Loads(Observer):
    """Bytes that each instruction loads: by site, (address, bytes) pairs, each once; `own` are those of one thread."""

    events = _LOADS
    spaces = frozenset({Space.GLOBAL})

    def __init__(self, cta: int, warp: int, lane: int) -> None:
        self.ranges: dict[int, set[tuple[int, int]]] = {}
        self.own: set[tuple[int, int, int]] = set()
        self._thread = cta, warp, lane

    def consume(self, records: np.ndarray) -> None:
        records = records[records["space"] == Space.GLOBAL]
        row, lane, address, width = flat(records)
        found = np.stack([records["site"][row], address, width], axis=1)
        for site, start, size in np.unique(found, axis=0).tolist():
            self.ranges.setdefault(site, set()).add((start, size))
        mine = (records["cta"][row] == self._thread[0]) & (records["warp"][row] == self._thread[1])
        self.own.update(map(tuple, found[mine & (lane == self._thread[2])].tolist()))
