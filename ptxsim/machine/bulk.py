"""Bulk copies of the async proxy: what they read and write, and the groups in which threads wait for them.

A region is a piece of memory in the order of the copy: `read` gives its bytes, `write` puts them, `rows` are the addresses
that observers hear of. PTX ISA, "Data Movement and Conversion Instructions: Bulk copy".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from ptxsim.lanes import LANES
from ptxsim.layout.swizzle import swizzle, swizzle_width
from ptxsim.machine.asynchronous import later
from ptxsim.machine.event import FLAG_ASYNC_PROXY, FLAG_READ, Event, Space
from ptxsim.machine.groups import Groups, committed, is_older
from ptxsim.machine.memory import ARENA, RANK_SHIFT
from ptxsim.machine.records import BulkGroups

if TYPE_CHECKING:
    from ptxsim.machine.cta import Cta, Warp
    from ptxsim.machine.port import Port
    from ptxsim.machine.state import Pending

CHUNK = 16  # bytes that a swizzle keeps together
ROW = 128  # bytes of a row in the events of contiguous regions


class Region(Protocol):
    """One side of a bulk copy."""

    space: Space

    @property
    def size(self) -> int: ...

    def read(self) -> np.ndarray: ...

    def write(self, data: np.ndarray) -> None: ...

    def rows(self) -> tuple[np.ndarray, int]:
        """Addresses of the pieces touched, and their size in bytes."""
        ...


@dataclass(slots=True, eq=False)
class Linear:
    """`size` consecutive bytes of global memory."""

    memory: np.ndarray
    start: int
    size: int
    space: Space = Space.GLOBAL

    def read(self) -> np.ndarray:
        return self.memory[self.start : self.start + self.size].copy()

    def write(self, data: np.ndarray) -> None:
        self.memory[self.start : self.start + self.size] = data

    def rows(self) -> tuple[np.ndarray, int]:
        return _cut(ARENA + self.start, self.size)


@dataclass(slots=True, eq=False)
class SharedTile:
    """`size` bytes of a CTA's shared memory from `start` on, permuted by a swizzle of the address bits.

    Rows of `row` bytes that are narrower than the swizzle stand at its width (measured on sm_90).
    """

    cta: Cta
    start: int
    size: int
    mode: str = "none"
    row: int = 0
    space: Space = Space.SHARED

    @property
    def extent(self) -> int:
        """Bytes from the first row to the end of the last."""
        return self.size // self.row * swizzle_width(self.mode) if self.row and self.mode != "none" else self.size

    def _index(self) -> np.ndarray:
        linear = CHUNK * np.arange(-(-self.size // CHUNK))
        if self.row:
            linear = linear // self.row * swizzle_width(self.mode) + linear % self.row
        places = np.asarray(swizzle(self.start + linear, self.mode))
        return (places[:, None] + np.arange(CHUNK)).ravel()[: self.size]

    def read(self) -> np.ndarray:
        if self.mode == "none":
            return self.cta.shared[self.start : self.start + self.size].copy()
        found: np.ndarray = self.cta.shared[self._index()]
        return found

    def write(self, data: np.ndarray) -> None:
        if self.mode == "none":
            self.cta.shared[self.start : self.start + self.size] = data
        else:
            self.cta.shared[self._index()] = data

    def rows(self) -> tuple[np.ndarray, int]:
        return _cut(self.start + (self.cta.rank << RANK_SHIFT), self.extent)


def _cut(start: int, size: int) -> tuple[np.ndarray, int]:
    width = ROW if start % ROW == 0 and size % ROW == 0 else CHUNK
    return start + width * np.arange(-(-size // width), dtype=np.uint64), width


# ---- reductions ------------------------------------------------------------------------------------------------------


def combine(operation: str, numpy_type: str, flush: bool = False) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """A function of old bytes and incoming bytes that gives the reduced bytes. PTX ISA, "cp.reduce.async.bulk".

    Measured on sm_90: -0 is below +0; NaNs are canonical, but f64 keeps their payloads; `flush` takes f32 denormals as
    zeros, before and after.
    """
    dtype = _dtype(numpy_type)
    update = _OPERATIONS[operation]

    def apply(old: np.ndarray, new: np.ndarray) -> np.ndarray:
        old, new = old.view(dtype), new.view(dtype)
        with np.errstate(all="ignore"):
            result = update(_flushed(old), _flushed(new)) if flush else update(old, new)
            result = _flushed(result.astype(dtype)) if flush else result.astype(dtype)
        if dtype.kind not in "iu" and dtype.itemsize < 8:
            words = result.view(f"u{dtype.itemsize}")
            words[result != result] = (1 << (8 * dtype.itemsize - 1)) - 1
        return result.view(np.uint8)

    return apply


def _dtype(name: str) -> np.dtype:
    if name == "bfloat16":
        import ml_dtypes

        kind: np.dtype = np.dtype(ml_dtypes.bfloat16)
        return kind
    return np.dtype(name)


def _flushed(x: np.ndarray) -> np.ndarray:
    words = x.view(np.uint32)
    return np.where(words & 0x7F800000, words, words & 0x80000000).view(np.float32)


def _add(old: np.ndarray, new: np.ndarray) -> np.ndarray:
    if old.dtype.kind in "iu" or old.dtype.itemsize == 4:
        return np.asarray(old + new)
    if old.dtype.itemsize == 8:
        total = old + new
        total = np.where(np.isnan(total), np.uint64(0xFFF8 << 48).view(np.float64), total)
        return np.where(new != new, _quiet(new), np.where(old != old, _quiet(old), total))
    return np.add(
        old.astype(np.float32), new.astype(np.float32)
    )  # rounds once: f32 holds twice the digits and two more


def _quiet(x: np.ndarray) -> np.ndarray:
    words: np.ndarray = x.view(np.uint64) | np.uint64(1 << 51)
    return words.view(np.float64)


def _smaller(old: np.ndarray, new: np.ndarray) -> np.ndarray:
    return np.where(old == new, np.where(np.signbit(old), old, new), np.fmin(old, new))


def _larger(old: np.ndarray, new: np.ndarray) -> np.ndarray:
    return np.where(old == new, np.where(np.signbit(old), new, old), np.fmax(old, new))


Reduction = Callable[[np.ndarray, np.ndarray], np.ndarray]
_OPERATIONS: dict[str, Reduction] = {
    "add": _add,
    "min": _smaller,
    "max": _larger,
    "inc": lambda old, new: np.where(old >= new, 0, old + 1),
    "dec": lambda old, new: np.where((old == 0) | (old > new), new, old - 1),
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}


# ---- which swizzle a tile was written with ---------------------------------------------------------------------------


class WrittenTiles(dict[int, tuple[str, np.ndarray]]):
    """Tiles of a CTA's shared memory that tensor copies brought: swizzle and bytes, by offset."""


def remember(tile: SharedTile) -> None:
    """Copies into shared memory: tensor copies are kept by place and swizzle, others make what was there unknown."""
    known = tile.cta.units.of(WrittenTiles)
    end = tile.start + tile.extent
    for start in [s for s, (_, data) in known.items() if s < end and tile.start < s + len(data)]:
        del known[start]
    if tile.row:
        known[tile.start] = (tile.mode, tile.cta.shared[tile.start : end].copy())


def written_swizzle(cta: Cta, address: int) -> str | None:
    """The swizzle of the tensor copy that brought the tile around an address, if the tile has not been written to since."""
    for start, (mode, data) in cta.units.of(WrittenTiles).items():
        if start <= address < start + len(data):
            return mode if (cta.shared[start : start + len(data)] == data).all() else None
    return None


# ---- operations ------------------------------------------------------------------------------------------------------


def emit_rows(port: Port, event: Event, region: Region, flags: int = 0) -> None:
    """Emit the rows of a region, up to 32 a record; the record's mask counts its rows."""
    if port.machine.stream is None:
        return
    addresses, width = region.rows()
    for i in range(0, len(addresses), LANES):
        part = addresses[i : i + LANES]
        port.emit(event, region.space, width, flags | FLAG_ASYNC_PROXY, np.arange(LANES) < len(part), part)


@dataclass(slots=True, eq=False)
class BulkCopy:
    """One bulk operation of one thread: reads `source`, then writes (or reduces into) `target`."""

    port: Port
    lane: int
    source: Region
    target: Region
    reduce: Reduction | None = None
    done: Callable[[], None] | None = None  # after the write: complete_tx on an mbarrier
    group: int = 0  # of its lane (machine.groups), where it completes by groups
    data: np.ndarray | None = None
    written: bool = False
    released: bool = False
    pending: Pending | None = None

    def start(self) -> None:
        """Hand the memory over and let the copy complete at its time."""
        if self.source.space == Space.SHARED:
            emit_rows(self.port, Event.ASYNC_READ, self.source)
            emit_rows(self.port, Event.ASYNC_ISSUE, self.source, FLAG_READ)
        if self.target.space == Space.SHARED:
            emit_rows(self.port, Event.ASYNC_ISSUE, self.target)
        self.pending = later(self.port, self.finish)

    def finish_reading(self) -> np.ndarray:
        """The source is free again; gives what was read."""
        if self.data is None:
            self.data = self.source.read()
            if self.source.space == Space.GLOBAL:
                emit_rows(self.port, Event.ASYNC_READ, self.source)
        return self.data

    def finish(self) -> None:
        """The data is at its target."""
        if self.written:
            return
        self.written = True
        data = self.finish_reading()
        self.target.write(data if self.reduce is None else self.reduce(self.target.read(), data))
        if isinstance(self.target, SharedTile):
            remember(self.target)
        emit_rows(self.port, Event.ASYNC_WRITE, self.target)
        if self.done is not None:
            self.release_source()
            if self.target.space == Space.SHARED:
                emit_rows(self.port, Event.ASYNC_WAIT, self.target)
            self.done()

    def release_source(self) -> None:
        """A wait has shown that the source has been read."""
        if self.source.space == Space.SHARED and not self.released:
            self.released = True
            emit_rows(self.port, Event.ASYNC_WAIT, self.source, FLAG_READ)


class BulkCopies(list[BulkCopy]):
    """The bulk operations of a warp that complete by groups, in the order of issue, until waits have covered them."""

    @classmethod
    def of(cls, warp: Warp) -> BulkCopies:
        return warp.units.of(cls)

    def issue(self, copy: BulkCopy) -> None:
        """An operation begins, in the group that its lane commits next."""
        record = copy.port.warp.record.bulk
        copy.group = committed(record.groups, copy.lane)
        copy.start()
        self.append(copy)
        record.copies = len(self)

    def uncommitted(self, groups: Groups, lanes: np.ndarray) -> list[BulkCopy]:
        """Copies in no group, of lanes none of whose groups is in flight."""
        loose = [copy for copy in self if not is_older(groups, copy.lane, copy.group, 0)]
        grouped = {copy.lane for copy in self if copy not in loose}
        return [copy for copy in loose if lanes[copy.lane] and copy.lane not in grouped]

    def wait(self, record: BulkGroups, lanes: np.ndarray, newest: int, reading: bool) -> None:
        """All but the `newest` latest groups of these lanes complete, or (`reading`) are done with their sources."""
        kept = []
        for copy in self:
            if not lanes[copy.lane] or not is_older(record.groups, copy.lane, copy.group, newest):
                kept.append(copy)
                continue
            if reading:
                copy.finish_reading()
                if not copy.written:
                    kept.append(copy)
            elif copy.pending is not None:
                copy.pending.run()
            copy.release_source()
        self[:] = kept
        record.copies = len(kept)
