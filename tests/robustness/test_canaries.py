"""Accesses to addresses that no program should form change nothing around what kernels may write (the whole: tools/canary.py)."""

import ctypes

import canary
import numpy as np
import pytest
from canaries.guard import canaries

from ptxsim.machine import memory, records


def test_what_is_written_beside_an_array_is_seen():
    with canaries() as watch:
        arena = memory.GlobalMemory()
        arena.allocate("A", 64)
        made = [np.zeros((3, 5), np.int32), np.empty(7), records.aligned(100), memory.reserve(1 << 12)]
        assert all(array.flags.c_contiguous for array in made) and not made[0].any() and not watch.changed()
        for array in made:
            for place in (array.ctypes.data - 1, array.ctypes.data + array.nbytes):
                ctypes.memset(place, 7, 1)
        arena.bytes[0] = 7
        assert watch.changed() == {"an array": 4, "a record": 2, "pages": 2, "allocations": 1}
    assert np.zeros(3).base is None and memory.GlobalMemory().space is None


@pytest.mark.slow
def test_wild_addresses():
    outcomes = list(map(canary.judge, canary.launches(thin=331)))
    assert [outcome for outcome in outcomes if outcome.wrong] == []
    assert sum(outcome.refused for outcome in outcomes) > len(outcomes) // 2
