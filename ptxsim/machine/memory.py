"""Memories with exact bounds and alignment: named global allocations, bytes of shared memory, windows of generic addresses.

Global, constant and parameter memory are one arena of bytes; an allocation's address is ARENA + its offset, with guard gaps
between allocations. Shared addresses are 32-bit offsets, with a CTA of the cluster in the bits from 24 up: 0 is the executing
CTA itself, n the CTA of rank n - 1 (so mapa writes them). Local addresses are offsets into the lane's stack; both have a
window in the generic address space. Events name shared memory by owner: rank << RANK_SHIFT | offset.
"""

from __future__ import annotations

import copy
import mmap
import sys
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ptxsim.machine.fault import Fault, first_lane
from ptxsim.machine.heap import Heap

ARENA = 0x7F00_4000_0000  # cut to 32 bits, no address here is one of shared memory
ARENA_HIGH = ARENA >> 32 << 32  # what the address of a parameter loses in 32 bits
SHARED_WINDOW = 0x7E00_0000_0000
LOCAL_WINDOW = 0x7D00_0000_0000
WINDOW_SIZE = 1 << 32
RANK_SHIFT = 24  # bits of a shared::cluster address above the offset within the CTA
GUARD = 4096
NORESERVE = 0x4000 if sys.platform == "linux" else 0  # mmap.MAP_NORESERVE, which has a name from Python 3.13 on

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


class GlobalMemory:
    """The arena: allocations in order of address, and their bytes, read and written by device address.

    `bytes` begins at ARENA and never moves, so views of it stay valid. `space` is how many bytes of addresses there are;
    without it, as many as have been allocated when `bytes` is first used, and nothing can be allocated after that.
    """

    def __init__(self, space: int | None = None) -> None:
        self.space = space
        self.allocations: list[Allocation] = []
        self.heap: Heap | None = None  # of device code, where there is one
        self._next = GUARD
        self._table: tuple[np.ndarray, np.ndarray] | None = None

    @cached_property
    def bytes(self) -> np.ndarray:
        return np.zeros(self._next, np.uint8) if self.space is None else reserve(self.space)

    def allocate(
        self, name: str, size: int, kind: str = "global", read_only: bool = False, align: int = 512
    ) -> Allocation:
        """`size` bytes of zeros at a multiple of `align`, at least 512."""
        align = max(align, 512)
        assert self.space is not None or "bytes" not in self.__dict__, "the memory is in use"
        start = -(-self._next // align) * align
        self._next = start + max(size, 1) + GUARD
        allocation = Allocation(name, ARENA + start, size, kind, read_only)
        self.allocations.append(allocation)
        self._table = None
        return allocation

    @property
    def allocated(self) -> int:
        """Bytes in all allocations."""
        return sum(allocation.size for allocation in self.allocations)

    def copy(self) -> GlobalMemory:
        """The same allocations with bytes of their own."""
        other = copy.copy(self)
        other.__dict__.pop("bytes", None)
        other.allocations, other.heap = list(self.allocations), copy.deepcopy(self.heap)
        other.take(self)
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

    def describe(self, address: int) -> str:
        """Where an address lies: the nearest allocation in words."""
        if not self.allocations:
            return "there is no allocation"
        nearest = min(
            self.allocations,
            key=lambda a: max(a.address - address, address - (a.address + a.size) + 1, 0),
        )
        distance = address - (nearest.address + nearest.size)
        if distance == 0:
            return f"right behind the end of {nearest.name} ({nearest.size} bytes)"
        if distance > 0:
            return f"{distance} bytes behind the end of {nearest.name} ({nearest.size} bytes)"
        if address < nearest.address:
            return f"{nearest.address - address} bytes before {nearest.name}"
        return f"byte {address - nearest.address} of {nearest.name} ({nearest.size} bytes)"


def reserve(size: int) -> np.ndarray:
    """Zeros that take up memory only where they are touched. Raises OSError."""
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NORESERVE
    return np.frombuffer(mmap.mmap(-1, size, flags), np.uint8)


def check_alignment(addresses: np.ndarray, mask: np.ndarray, size: int, what: str) -> None:
    """Raise the fault of the first active lane whose address is not a multiple of `size`."""
    bad = mask & ((addresses & np.uint64(size - 1)) != 0)
    if bad.any():
        lane = first_lane(bad)
        address = int(addresses[lane])
        raise Fault(
            "misaligned-address",
            f"{what} of {size} bytes at address {address:#x}, {address % size} bytes off a multiple of {size}",
            lane,
            f"make the address a multiple of {size}, or use a narrower access",
        )


def gather(memory: np.ndarray, offsets: np.ndarray, mask: np.ndarray, size: int) -> np.ndarray:
    """Rows of `size` bytes at byte offsets: uint8 (lanes, size); inactive lanes give zeros."""
    start = np.where(mask, offsets, 0).astype(np.int64)
    found = memory[start[:, None] + np.arange(size)]
    found[~mask] = 0
    return found


def scatter(memory: np.ndarray, offsets: np.ndarray, mask: np.ndarray, data: np.ndarray) -> None:
    """Write rows of bytes at byte offsets; among lanes on one address the highest lane wins, as on the GPU."""
    start = offsets[mask].astype(np.int64)
    memory[start[:, None] + np.arange(data.shape[1])] = data[mask]
