"""Device memory in a program's process: what is the host's, what is the device's, and what both reach at one address.

The numbers of device pointers are addresses that the process has reserved and may not touch: a host that follows a pointer of
cudaMalloc is stopped, as with a GPU. The bytes lie in a memory file that ptxsim maps elsewhere. Managed and pinned memory are the
same bytes mapped a second time, at the device pointer's own address, so kernels and host see one memory through one pointer.
"""

from __future__ import annotations

import ctypes
import mmap
import os

import numpy as np

from ptxsim.cuda.runtime.functions import CudaError
from ptxsim.jit.address_space import NORESERVE, library
from ptxsim.machine.memory import ARENA, FIRST, GlobalMemory, aligned
from ptxsim.machine.pages import reserve

SPACE = 64 << 30  # bytes of device memory; what is not touched takes up none of the host's
INVALID_VALUE, OUT_OF_MEMORY = 1, 2
_FIXED, _FIXED_NOREPLACE = 0x10, 0x100000  # of mmap(2)
_NO_ACCESS = 0
_PRIVATE = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NORESERVE


class Arena:
    """The memory of the device. Raises OSError where the process has no room for it."""

    def __init__(self) -> None:
        self.space = SPACE + (FIRST - ARENA)
        if ARENA >> 47:
            raise OSError("device memory has no place in this process: start the program with `ptxsim exec`")
        self.memory = GlobalMemory(self.space, self._file)
        self._map(ARENA, self.space, _NO_ACCESS, _PRIVATE | _FIXED_NOREPLACE)
        self.base = self.memory.bytes.ctypes.data
        self.kinds: dict[int, str] = {}  # of allocations: device, managed, host; by address
        self.adopted: dict[int, tuple[int, int]] = {}  # memory that was the host's alone: address on the device, bytes

    def _file(self, size: int) -> np.ndarray:
        self._descriptor = os.memfd_create("ptxsim device memory")
        os.ftruncate(self._descriptor, size)
        return reserve(size, self._descriptor)

    def _map(self, address: int, size: int, access: int, flags: int, file: int = -1, offset: int = 0) -> None:
        found = library().mmap(address, size, access, flags, file, offset)
        if found != address:
            raise OSError(ctypes.get_errno(), f"no room for device memory at {address:#x}")

    def allocate(self, size: int, kind: str = "device") -> int:
        """The address of `size` bytes. Raises CudaError where there are not so many."""
        try:
            found = self.memory.allocate(
                f"{kind} memory", max(size, 1), align=mmap.PAGESIZE if kind != "device" else 512
            )
        except MemoryError:
            raise CudaError(OUT_OF_MEMORY) from None
        self.kinds[found.address] = kind
        if kind != "device":
            self.share(found.address, found.size)
        return found.address

    def share(self, address: int, size: int, at: int | None = None) -> None:
        """Let the host reach bytes of device memory, at the pages of their own address or of another one."""
        first = address // mmap.PAGESIZE * mmap.PAGESIZE
        length = aligned(address + size, mmap.PAGESIZE) - first
        access, flags = mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED | _FIXED
        self._map(first if at is None else at, length, access, flags, self._descriptor, first - ARENA)

    def hide(self, address: int, size: int) -> None:
        """The host does not reach pages of device memory, or not any more."""
        self._map(address, aligned(size, mmap.PAGESIZE), _NO_ACCESS, _PRIVATE | _FIXED)

    def free(self, address: int, *kinds: str) -> None:
        """Give back what `allocate` gave. Raises CudaError for anything else."""
        if self.kinds.get(address) not in kinds:
            raise CudaError(INVALID_VALUE, self._where(address))
        holder = self.memory.holder(address)
        assert holder is not None
        if self.kinds.pop(address) != "device":
            self.hide(address, holder.size)
        self.memory.free(holder)

    def adopt(self, pointer: int, size: int) -> bool:
        """Make pages of the host's device memory too. False for what is not a process's own memory, and for pages that are adopted already."""
        first = pointer // mmap.PAGESIZE * mmap.PAGESIZE
        length = aligned(pointer + size, mmap.PAGESIZE) - first
        pages = ((p // mmap.PAGESIZE, (p + s - 1) // mmap.PAGESIZE) for p, (_, s) in self.adopted.items())
        last = (first + length - 1) // mmap.PAGESIZE
        if any(a <= last and first // mmap.PAGESIZE <= b for a, b in pages) or not _is_private(first, length):
            return False
        room = aligned(self.memory.next, mmap.PAGESIZE)
        if room + length > ARENA + self.space:
            raise CudaError(OUT_OF_MEMORY)
        found = self.memory.allocate("host memory", size, at=room + pointer - first)
        self.kinds[found.address] = "host"
        ctypes.memmove(self.base + room - ARENA, first, length)
        self._map(
            first, length, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED | _FIXED, self._descriptor, room - ARENA
        )
        self.adopted[pointer] = found.address, size
        return True

    def give_back(self, pointer: int) -> None:
        """Such pages are the host's alone again."""
        address, size = self.adopted.pop(pointer)
        first = pointer // mmap.PAGESIZE * mmap.PAGESIZE
        held = ctypes.string_at(first, aligned(pointer + size, mmap.PAGESIZE) - first)
        self._map(first, len(held), mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _FIXED)
        ctypes.memmove(first, held, len(held))
        holder = self.memory.holder(address)
        assert holder is not None
        del self.kinds[address]
        self.memory.free(holder)

    def of_registered(self, host: int) -> int | None:
        """The address on the device of memory that has been adopted; None for any other."""
        found = (address + host - p for p, (address, size) in self.adopted.items() if p <= host < p + size)
        return next(found, None)

    def is_device(self, address: int) -> bool:
        """Whether a number is an address of device memory, or of memory shared with it."""
        return ARENA <= address < ARENA + self.space

    def kind_at(self, address: int) -> str | None:
        """device, managed or host: the memory that an address lies in; None for memory that is the host's alone."""
        holder = self.holder_of(address, 1)
        return None if holder is None else self.kinds.get(holder, "device")

    def holder_of(self, address: int, size: int) -> int | None:
        """The address of the allocation that [address, address + size) lies in, or None."""
        starts, sizes = self.memory.table()
        i = int(np.searchsorted(starts, np.uint64(address), side="right")) - 1
        if i < 0 or address + size > int(starts[i]) + int(sizes[i]):
            return None
        return int(starts[i])

    def host(self, address: int | None, size: int) -> int:
        """Where this process finds bytes that a pointer of host or device names. Raises CudaError for no such bytes."""
        if address is None:
            raise CudaError(INVALID_VALUE)
        if not self.is_device(address):
            return address
        if self.holder_of(address, size) is None:
            raise CudaError(INVALID_VALUE, f"{size} bytes at {self._where(address)}")
        return self.base + address - ARENA

    def _where(self, address: int) -> str:
        """An address, and what lies there."""
        place = self.memory.describe(address) if self.is_device(address) else "memory of the host"
        return f"{address:#x}, {place}"


def _is_private(first: int, size: int) -> bool:
    """Whether all bytes are in memory of this process alone that it may write: no file's, no other process's."""
    with open("/proc/self/maps") as file:
        for line in file:
            span, access, _, _, inode, *_ = line.split()
            start, end = (int(number, 16) for number in span.split("-"))
            if start <= first < end:
                if access[:2] != "rw" or access[3] != "p" or inode != "0":
                    return False
                size -= end - first
                first = end
                if size <= 0:
                    return True
    return False
