"""Pages of the host: memory that takes up nothing until it is touched, however much there is of it."""

from __future__ import annotations

import ctypes
import mmap
import weakref

import numpy as np

from ptxsim.jit.address_space import FAILED, NORESERVE, library

LARGE = 1 << 20  # bytes from which on memory is put far away from the process' code
# Far: where Linux puts nothing of its own accord. Native code is linked within 2 GiB, so it must not lie on both sides of
# device memory, or of what the checks remember.
_FAR, _END, _STEP = 0x1100_0000_0000, 0x1E00_0000_0000, 1 << 21
_next = _FAR


def reserve(size: int, file: int = -1) -> np.ndarray:
    """Zeros that take up memory only where they are touched; of a file, what it holds, shared with it. Raises OSError."""
    if library() is None:
        return np.frombuffer(mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS), np.uint8)
    flags = mmap.MAP_SHARED if file >= 0 else mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    address = library().mmap(
        _far(size) if size >= LARGE else None, size, mmap.PROT_READ | mmap.PROT_WRITE, flags | NORESERVE, file, 0
    )
    if address == FAILED:
        raise OSError(ctypes.get_errno(), f"no room for {size} bytes of memory")
    pages = (ctypes.c_uint8 * size).from_address(address)
    weakref.finalize(pages, library().munmap, address, size)
    return np.frombuffer(memoryview(pages), np.uint8)


def _far(size: int) -> int:
    """A place for so many bytes where nothing was before, as long as there are any."""
    global _next
    place = _next if _next + size <= _END else _FAR
    _next = place + (-(-size // _STEP) + 1) * _STEP
    return place


def discard(memory: np.ndarray, start: int, size: int, guard: int) -> None:
    """Make reserved bytes zeros that take up no memory. `guard`: how many bytes after them hold nothing, and before them."""
    page = mmap.PAGESIZE
    if library() is None or guard < page:
        memory[start : start + size] = 0
        return
    first = start // page * page
    address, length = memory.ctypes.data + first, -(-(start + size - first) // page) * page
    if library().madvise(address, length, mmap.MADV_REMOVE):  # not of a file
        library().madvise(address, length, mmap.MADV_DONTNEED)
