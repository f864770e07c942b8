"""Pages of the host: memory that takes up nothing until it is touched, however much there is of it."""

from __future__ import annotations

import ctypes
import mmap
import os
import threading
import weakref
from collections.abc import Iterable

import numpy as np

from ptxsim.jit.address_space import FAILED, NORESERVE, library

LARGE = 1 << 20  # bytes from which on memory is put far away from the process' code
# Far: where Linux puts nothing of its own accord. Native code is linked within 2 GiB, so it must not lie on both sides of
# device memory, or of what the checks remember.
_FAR, _END, _STEP = 0x1100_0000_0000, 0x1E00_0000_0000, 1 << 21
_next = _FAR
_PAGEMAP = "/proc/self/pagemap"  # what Linux says about the pages of this process
_FEW = 1 << 18  # bytes that are cleared without a look at which pages are there
_PIECE = 1 << 20  # bytes that are copied together
# Of mremap: to a place that is given, while the old one stays, with no pages (Linux 5.7). Of mmap: new pages where there are some.
_TO_A_PLACE, _ANEW = 1 | 2 | 4, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x10
_SWAPPED = 62  # bits of its entries from which on they say that there is a page: in the swap, in memory


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


def copy_to_zeros(source: np.ndarray, target: np.ndarray) -> None:
    """Copy bytes to where zeros are. What is zero here, too, is not touched there, so that it takes up no memory."""
    for start in range(0, len(source), _PIECE):
        piece = source[start : start + _PIECE]
        if piece[: len(piece) // 8 * 8].view(np.uint64).any() or piece[-8:].any():
            target[start : start + _PIECE] = piece


def move(source: np.ndarray, target: np.ndarray) -> bool:
    """Move what reserved memory holds to the beginning of other that nobody has touched: its pages go there, and none is copied. The
    source holds zeros then. False, with nothing done, where the system moves no such pages."""
    if library() is None:
        return False
    address, size = target.ctypes.data, source.nbytes
    if library().mremap(source.ctypes.data, size, size, _TO_A_PLACE, address) == address:
        return True
    library().mmap(address, size, mmap.PROT_READ | mmap.PROT_WRITE, _ANEW | NORESERVE, -1, 0)  # it may be gone
    return False


class Spare:
    """Reserved memory that nobody uses any more, for who next asks for as much: it is wiped, which takes an eighth of what the system
    takes to give pages anew (tools/bench/pages.py)."""

    def __init__(self, most_bytes: int = 256 << 20, most: int = 64):
        self._most_bytes, self._most, self._lock = most_bytes, most, threading.Lock()
        self._held: list[tuple[np.ndarray, int]] = []  # and the bytes of each that take up memory
        self._there: dict[int, int] = {}  # these, by address, of what has been used before and is in use

    def take(self, size: int) -> np.ndarray:
        """Zeros, as `reserve` gives them."""
        with self._lock:
            for at in range(len(self._held) - 1, -1, -1):
                if self._held[at][0].size == size:
                    memory, there = self._held.pop(at)
                    self._there[memory.ctypes.data] = there
                    return memory
        return reserve(size)

    def put(self, memories: Iterable[tuple[np.ndarray, int]]) -> None:
        """Take back what `take` gave, of each of which so many bytes at its beginning may have been used."""
        try:
            wiped = [(memory, _wipe(memory, used)) for memory, used in memories]
        except OSError:
            return  # the system does not tell which pages are there
        with self._lock:
            for memory, there in wiped:
                self._held.append((memory, max(there, self._there.pop(memory.ctypes.data, 0))))
            while len(self._held) > self._most or sum(size for _, size in self._held) > self._most_bytes:
                self._held.pop(0)


def _wipe(memory: np.ndarray, used: int) -> int:
    """Clear the first bytes of a memory, as far as they are there; how many bytes are there then."""
    if used <= _FEW:
        memory[:used] = 0
        return used
    page = mmap.PAGESIZE
    pages = min(-(-used // page), memory.size // page)
    with open(_PAGEMAP, "rb", buffering=0) as pagemap:
        entries = np.frombuffer(os.pread(pagemap.fileno(), pages * 8, memory.ctypes.data // page * 8), np.uint64)
    if entries.size != pages:
        raise OSError("not all pages are told of")
    touched = np.flatnonzero(entries >> _SWAPPED)
    memory[: pages * page].reshape(pages, page)[touched] = 0
    memory[pages * page : used] = 0
    return int(touched.size) * page
