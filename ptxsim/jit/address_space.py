"""Where LLVM puts native code in this process: the sections of one object must lie within 2 GiB of each other.

LLVM asks the kernel for room section by section, and the kernel fills the highest hole that is wide enough. Beside large
libraries (those of CUDA's torch take 3 GiB) a small section would lie in a hole between two of them and the next one after them
all, too far for a relative address: LLVM then ends the process. So the holes are filled while an object is loaded.
"""

from __future__ import annotations

import ctypes
import functools
import mmap
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

NORESERVE = 0x4000  # mmap.MAP_NORESERVE, which has a name from Python 3.13 on
FAILED = ctypes.c_void_p(-1).value
WIDE = 4 << 30  # bytes: where so many fit, there is room for code for a long time
_HUGE = 2 << 20  # bytes: the kernel puts large mappings at multiples of it, below where a small one would lie
_NO_ACCESS = 0


@functools.cache
def library() -> Any:
    """The C library's mmap, munmap, madvise and mremap; None where they are not Linux's."""
    if not sys.platform.startswith("linux"):
        return None
    found = ctypes.CDLL(None, use_errno=True)
    found.mmap.restype = ctypes.c_void_p
    found.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    found.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    found.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    found.mremap.restype = ctypes.c_void_p
    found.mremap.argtypes = [ctypes.c_void_p, *[ctypes.c_size_t] * 2, ctypes.c_int, ctypes.c_void_p]
    return found


def _map(size: int) -> int | None:
    """Bytes that no code may touch, where the kernel puts them; None where it has no room."""
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NORESERVE
    found = library().mmap(None, size, _NO_ACCESS, flags, -1, 0)
    return None if found == FAILED else int(found)


@contextmanager
def side_by_side() -> Iterator[int]:
    """Keep the holes above the wide room that the kernel maps from filled, so that what is mapped meanwhile lies side by side.

    Gives the address where that room ends, below which it will lie; 0 where that is not known. Takes about 70 microseconds.
    """
    taken: list[tuple[int, int]] = []
    end = 0
    if library() is not None and (place := _map(WIDE)) is not None:
        library().munmap(place, WIDE)
        end, size = place + WIDE + _HUGE, WIDE // 2
        while size >= mmap.PAGESIZE:
            found = _map(size)
            if found is not None and found >= end:
                taken.append((found, size))
                continue
            if found is not None:
                library().munmap(found, size)
            size //= 2
    try:
        yield end
    finally:
        for found, size in taken:
            library().munmap(found, size)
