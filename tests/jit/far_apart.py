"""A process that maps 5 GiB before native code is made, or between two pieces of it: code and constants must reach each other."""

import mmap
import sys

import numpy as np

from ptxsim.jit.address_space import NORESERVE, library, side_by_side
from ptxsim.jit.body import body
from ptxsim.jit.compiler import shared

LARGE = 5 << 30
TABLE = np.arange(7, 1007, dtype=np.float64)


@body
def first(a):
    return a * 0.7


@body
def second(a):
    return TABLE[a % 1000] * 0.1


def take(size):
    return library().mmap(None, size, 0, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NORESERVE, -1, 0)


def release(address, size):
    assert library().munmap(address, size) == 0


if __name__ == "__main__":
    if sys.argv[1] == "after":  # what was mapped above the first code is gone, and leaves it 5 GiB below what comes
        shared()
        with side_by_side():
            large = take(LARGE)
        assert first.compiled(1) == 0.7
        release(large, LARGE)
    else:  # there is one hole for a small section, far above room for the others
        assert first.compiled(1) == 0.7
        with side_by_side():
            hole, large = take(mmap.PAGESIZE), take(LARGE)
        for size in (mmap.PAGESIZE << n for n in reversed(range(19))):
            while take(size) > large:
                pass
        release(hole, mmap.PAGESIZE)
    assert second.compiled(5) == TABLE[5] * 0.1
    print("side by side")
