"""A process in which mappings have left a hole of one page above 3 GiB that are taken: native code is made beside it.

The first body brings LLVM itself; then a hole appears; the second one's code and constants must still reach each other.
"""

import mmap

import numpy as np

from ptxsim.jit.address_space import NORESERVE, close_gaps, library
from ptxsim.jit.body import body

TABLE = np.arange(7, 1007, dtype=np.float64)


@body
def first(a):
    return a + 1


@body
def second(a):
    return TABLE[a % 1000] * 0.1


def take(size):
    return library().mmap(None, size, 0, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NORESERVE, -1, 0)


if __name__ == "__main__":
    assert first.compiled(1) == 2
    close_gaps()
    hole = take(mmap.PAGESIZE)
    take(3 << 30)
    close_gaps()
    assert library().munmap(hole, mmap.PAGESIZE) == 0
    assert second.compiled(5) == TABLE[5] * 0.1
    print("side by side")
