"""Memories with exact bounds and alignment: named global allocations, bytes of shared memory, windows of generic addresses.

Global, constant and parameter memory are one arena of bytes; an allocation's address is ARENA + its offset, with guard gaps
between allocations. The block of parameters comes first, at the same place in every launch. Shared addresses are 32-bit
offsets, with the rank of the CTA in its cluster in the bits from 24 up, those of a CTA's own variables too (recorded on an H200). Local addresses are offsets into the lane's stack; both have a window in the generic address space. Events name shared memory by owner: rank << RANK_SHIFT | offset.
"""

from __future__ import annotations

import copy
import os
from bisect import insort
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ptxsim import lanes
from ptxsim.lanes import LANES
from ptxsim.machine.fault import Fault, first_lane
from ptxsim.machine.heap import HEAP, HEAP_BYTES, Heap
from ptxsim.machine.pages import copy_to_zeros, discard, reserve
from ptxsim.types import TYPES, ScalarType

# Where the arena begins: above 2^48, where no address of the process itself can be (GPU addresses have 49 bits). Cut to
# 32 bits, the first addresses are none of shared memory. A process that reserves addresses of its own for device memory, so
# that its host side can reach some of it (ptxsim.cuda.runtime), says where they begin before this is imported.
ARENA = int(os.environ.get("PTXSIM_ARENA", "0x17F0040000000"), 16)
ARENA_HIGH = ARENA >> 32 << 32  # what the address of a parameter loses in 32 bits
SHARED_WINDOW = 0x7E00_0000_0000
LOCAL_WINDOW = 0x7D00_0000_0000
WINDOW_SIZE = 1 << 32
RANK_SHIFT = 24  # bits of a shared::cluster address above the offset within the CTA
GUARD = 4096
PARAMETERS = ARENA + GUARD
FIRST = PARAMETERS + 0x8000 + GUARD  # where everything else begins; the language has at most 32764 bytes of parameters
FREED = 1000  # allocations that are remembered after they have been freed

# sm_90 keeps the first KiB of a CTA's shared memory for itself (measured: see design page hardware.md).
SHARED_RESERVED = 0x400


@dataclass(slots=True)
class Allocation:
    """`size` bytes at device address `address`; `kind` is global, const or param."""

    name: str
    address: int
    size: int
    kind: str = "global"
    read_only: bool = False


def own_name(allocation: Allocation) -> str:
    """The name that an allocation was given."""
    return allocation.name


class GlobalMemory:
    """The arena: allocations in order of address, and their bytes, read and written by device address.

    `bytes` begins at ARENA and never moves, so views of it stay valid. `space` is how many bytes of addresses there are;
    without it, as many as have been allocated when `bytes` is first used, and nothing can be allocated after that.
    `backing` gives so many bytes of zeros; `reserve` does, unless the caller has a place of its own.
    """

    def __init__(self, space: int | None = None, backing: Callable[[int], np.ndarray] | None = None) -> None:
        self.space, self.backing = space, backing or reserve
        self.allocations: list[Allocation] = []
        self.heap: Heap | None = None  # of device code, where there is one
        self.heap_bytes = HEAP_BYTES  # of one that is made
        self.freed: deque[Allocation] = deque(maxlen=FREED)
        self.aside: dict[int, int] = {}  # bytes that no allocation takes of its own accord, by address
        self.next = FIRST
        self.called: Callable[[Allocation], str] = own_name  # what messages call an allocation; a launch knows more
        self._table: tuple[np.ndarray, np.ndarray] | None = None

    @cached_property
    def bytes(self) -> np.ndarray:
        return np.zeros(self.next - ARENA, np.uint8) if self.space is None else self.backing(self.space)

    def allocate(
        self, name: str, size: int, kind: str = "global", read_only: bool = False, align: int = 512,
        at: int | None = None,
    ) -> Allocation:  # fmt: skip
        """`size` bytes of zeros at a multiple of `align`, at least 512, or at an address. Raises MemoryError."""
        assert self.space is not None or "bytes" not in self.__dict__, "the memory is in use"
        address = self._room(size, max(align, 512)) if at is None else at
        self.next = max(self.next, address + max(size, 1) + GUARD)
        allocation = Allocation(name, address, size, kind, read_only)
        insort(self.allocations, allocation, key=lambda other: other.address)
        self._table = None
        return allocation

    def _room(self, size: int, align: int) -> int:
        """An address for an allocation. One that has been freed is used again only when there is no other."""
        address, end = aligned(self.next, align), ARENA + (self.space or 1 << 47)
        if address + size + GUARD <= end:
            return address
        taken = [(one.address, one.size) for one in self.allocations if one.address >= FIRST]
        live = sorted([*taken, *self.aside.items()])
        for start, stop in zip([FIRST, *(a + size + GUARD for a, size in live)], [*(a for a, _ in live), end]):
            if aligned(start, align) + size + GUARD <= stop:
                return aligned(start, align)
        raise MemoryError(f"{size} bytes of device memory; {self.allocated} of {self.space} are allocated")

    def need_heap(self) -> None:
        """Make the heap of device code, if there is none."""
        if self.heap is None:
            place = self.allocate(HEAP, self.heap_bytes)
            self.heap = Heap(place.address, place.size)

    def size_heap(self, size: int) -> bool:
        """Let the heap of device code have so many bytes. False if something of it has been given already."""
        if self.heap is not None:
            if self.heap.next > self.heap.start:
                return False
            self.free(next(a for a in self.allocations if a.address == self.heap.start))
            self.heap = None
        self.heap_bytes = size
        return True

    def free(self, allocation: Allocation) -> None:
        """Give memory back; from now on no access to it is legal."""
        self.allocations.remove(allocation)
        self.freed.append(allocation)
        self._table = None
        if self.space is not None:
            discard(self.bytes, allocation.address - ARENA, allocation.size, GUARD)

    def set_aside(self, size: int, align: int) -> int:
        """The address of bytes that nothing is allocated in but what `divide` puts there. Raises MemoryError."""
        address = self._room(size, align)
        self.aside[address] = size
        self.next = max(self.next, address + size + GUARD)
        return address

    def divide(self, address: int, size: int, name: str, pieces: Iterable[tuple[int, int, bool]]) -> None:
        """Let the allocations in these bytes be pieces: address, bytes, whether nobody may write there. What they hold stays."""
        self.allocations = [a for a in self.allocations if not address <= a.address < address + size]
        self._table = None
        for start, length, read_only in pieces:
            self.allocate(name, length, read_only=read_only, at=start)

    def take_out(self, address: int, size: int, name: str) -> np.ndarray:
        """A copy of what bytes hold, which have been set aside; they are zeros afterwards, and said to have been freed."""
        place = self.bytes[address - ARENA : address - ARENA + size]
        held = place.copy()
        discard(self.bytes, address - ARENA, size, GUARD)
        self.freed.append(Allocation(name, address, size))
        return held

    def put(self, address: int, held: np.ndarray) -> None:
        """Let bytes hold something."""
        self.bytes[address - ARENA : address - ARENA + len(held)] = held

    @property
    def allocated(self) -> int:
        """Bytes in all allocations."""
        return sum(allocation.size for allocation in self.allocations)

    def copy(self) -> GlobalMemory:
        """The same allocations with bytes of their own."""
        other = copy.copy(self)
        other.__dict__.pop("bytes", None)
        other.backing = reserve
        other.allocations, other.heap = list(self.allocations), copy.deepcopy(self.heap)
        other.freed = self.freed.copy()
        for allocation in self.allocations:
            copy_to_zeros(self.view(allocation), other.view(allocation))
        return other

    def take(self, other: GlobalMemory) -> None:
        """Let every allocation hold what it holds in a copy."""
        for allocation in self.allocations:
            self.view(allocation)[:] = other.view(allocation)

    def equals(self, other: GlobalMemory) -> bool:
        """Whether every allocation holds the same bytes as in a copy."""
        return all(np.array_equal(self.view(one), other.view(one)) for one in self.allocations)

    def table(self) -> tuple[np.ndarray, np.ndarray]:
        """Addresses and sizes of the allocations, uint64."""
        if self._table is None:
            starts = np.array([a.address for a in self.allocations], np.uint64)
            self._table = starts, np.array([a.size for a in self.allocations], np.uint64)
        return self._table

    def view(self, allocation: Allocation) -> np.ndarray:
        """The bytes of one allocation."""
        start = allocation.address - ARENA
        return self.bytes[start : start + allocation.size]

    def address_of(self, array: np.ndarray) -> int | None:
        """The device address of an array that lies here in one piece, or None."""
        if self.space is None or not array.flags.c_contiguous or not array.nbytes:
            return None
        offset = array.ctypes.data - self.bytes.ctypes.data
        return ARENA + offset if 0 <= offset < len(self.bytes) else None

    def find(self, addresses: np.ndarray, size: int) -> np.ndarray:
        """Index of the allocation that holds [address, address + size) for each address, or -1."""
        starts, sizes = self.table()
        index = np.searchsorted(starts, addresses, side="right").astype(np.int64) - 1
        at = np.maximum(index, 0)
        offset = addresses - starts[at]
        inside = (index >= 0) & (sizes[at] >= size) & (offset <= sizes[at] - np.uint64(size))
        return np.where(inside, index, -1)

    def holder(self, address: int) -> Allocation | None:
        """The allocation an address lies in."""
        return next((a for a in self.allocations if a.address <= address < a.address + a.size), None)

    def is_foreign(self, address: int) -> bool:
        """Whether no allocation could ever have an address."""
        return address < ARENA or (self.space is not None and address >= ARENA + self.space)

    def describe(self, address: int) -> str:
        """Where an address lies: the nearest allocation in words, or one that has been freed."""
        for old in reversed(self.freed) if self.holder(address) is None else ():
            if old.address <= address < old.address + old.size:
                return f"byte {address - old.address} of {self.called(old)} ({old.size} bytes), which has been freed"
        if not self.allocations:
            return "there is no allocation"
        nearest = min(self.allocations, key=lambda a: max(a.address - address, address - (a.address + a.size) + 1, 0))
        distance, name = address - (nearest.address + nearest.size), self.called(nearest)
        if distance == 0:
            return f"right after the end of {name} ({nearest.size} bytes)"
        if distance > 0:
            return f"{distance} bytes after the end of {name} ({nearest.size} bytes)"
        if address < nearest.address:
            return f"{nearest.address - address} bytes before {name}"
        return f"byte {address - nearest.address} of {name} ({nearest.size} bytes)"


def aligned(address: int, align: int) -> int:
    """The next multiple of `align`."""
    return -(-address // align) * align


NARROWER = ", or use a narrower access"


def check_alignment(addresses: np.ndarray, mask: np.ndarray, size: int, what: str, instead: str = "") -> None:
    """Raise the fault of the first active lane whose address is not a multiple of `size`; `instead`: what helps, too."""
    bad = mask & ((addresses & np.uint64(size - 1)) != 0)
    if bad.any():
        lane = first_lane(bad)
        address = int(addresses[lane])
        raise Fault(
            "misaligned-address",
            f"{what} of {size} bytes at address {address:#x}, {address % size} bytes off a multiple of {size}",
            lane,
            f"make the address a multiple of {size}{instead}",
        )


def gather(memory: np.ndarray, offsets: np.ndarray, mask: np.ndarray, size: int) -> np.ndarray:
    """Rows of `size` bytes at byte offsets: uint8 (lanes, size); inactive lanes give zeros."""
    start = np.where(mask, offsets, 0).astype(np.int64)
    found: np.ndarray = memory[start[:, None] + np.arange(size)]
    found[~mask] = 0
    return found


def store_order(size: int) -> int:
    """The order in which lanes store `size` bytes each, as a number: the n-th is lane `n ^ number`.

    A store writes 128 bytes at once: those of all lanes, of halves of the warp or of quarters, one after the other. Among lanes on one
    address of which it writes at once the lowest one's stay. So does an H200, in shared and in global memory (tools/data/lanes).
    """
    return min(LANES, 128 // size) - 1


def scatter(memory: np.ndarray, offsets: np.ndarray, mask: np.ndarray, data: np.ndarray, order: int = 0) -> None:
    """Write rows of bytes at byte offsets, lane after lane in the order that `store_order` gives; what comes last stays."""
    if order:
        lane = np.arange(LANES) ^ order
        offsets, mask, data = offsets[lane], mask[lane], data[lane]
    start = offsets[mask].astype(np.int64)
    memory[start[:, None] + np.arange(data.shape[1])] = data[mask]


def join(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Two u64 lane values as one of 128 bits."""
    joined = np.zeros(LANES, lanes.dtype(TYPES["b128"]))
    joined["lo"], joined["hi"] = low, high
    return joined


def unpack(data: np.ndarray, t: ScalarType, count: int) -> list[np.ndarray]:
    """uint8 (lanes, bytes * count) as `count` lane values of type t."""
    elements = np.ascontiguousarray(data.reshape(data.shape[0], count, t.bytes).swapaxes(0, 1)).view(lanes.dtype(t))
    return [elements[i, :, 0] for i in range(count)]


def pack(values: list[Any], t: ScalarType) -> np.ndarray:
    """Lane values as bytes next to each other: uint8 (lanes, bytes * count)."""
    words = [np.ascontiguousarray(v).view(np.uint8).reshape(LANES, -1)[:, : t.bytes] for v in values]
    return np.concatenate(words, axis=1)
