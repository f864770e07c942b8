"""The bodies of splits and barriers do the same in Python and as native code, whatever happens to a warp."""

import ctypes
from functools import cache

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ptxsim.engine import splits
from ptxsim.jit.compiler import shared
from ptxsim.jit.export import export
from ptxsim.machine.barriers import cta as barrier
from ptxsim.machine.records import RUNS, CtaRecord, WarpRecord

PREFIX = "ptxsim_test_splits_"
BODIES = (splits.choose, splits.diverge, splits.leave, splits.move, splits.released, barrier.arrive)
WEIGHTS = np.array([0, 1, 16, 400, 0, 16, 0, 1, 0], np.int64)
STEPS = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 2**32 - 1), st.integers(0, 7), st.integers(0, 7)), max_size=40
)


@cache
def native(name):
    export(shared(), PREFIX, *BODIES)
    return ctypes.CFUNCTYPE(ctypes.c_int32)(shared().address(PREFIX + name))


def both(body, plain, compiled, *numbers):
    """Run a body on two copies of the records; returns its result after comparing them."""
    result = body(*(WEIGHTS if each is WEIGHTS else each for each in (*plain, *numbers)))
    arguments = [ctypes.c_void_p(each.address) for each in compiled]
    arguments += [ctypes.c_void_p(each.ctypes.data) if each is WEIGHTS else ctypes.c_uint32(each) for each in numbers]
    found = native(body.function.__name__)(*arguments)
    assert result is None or int(result) & 0xFF == found & 0xFF
    for one, other in zip(plain, compiled):
        assert bytes(one) == bytes(other)
    return result


@given(STEPS)
@settings(deadline=None)
def test_a_warp_in_python_and_in_native_code(steps):
    plain, compiled = ((CtaRecord(96, 32), WarpRecord()) for _ in range(2))
    for _, warp in (plain, compiled):
        warp.splits, warp.live, warp.split[0].mask = 1, 2**32 - 1, 2**32 - 1
    for what, mask, block, other in steps:
        warp = plain[1]
        s = both(splits.choose, plain[1:], compiled[1:], WEIGHTS)
        if s == splits.NONE:
            break
        lanes = mask & warp.split[s].mask
        if what == 0:
            both(splits.leave, plain, compiled, s, lanes & mask >> 7, block)
        elif what == 1:
            if (
                both(barrier.arrive, plain, compiled, other, warp.split[s].mask, 96 if mask & 1 else 32)
                == barrier.COUNTED
            ):
                for _, each in (plain, compiled):
                    splits.wait_at(each.split[s], other, plain[0].barriers[other].phase, 3)
        elif what == 2:
            for number in range(warp.splits):
                both(splits.released, plain, compiled, number)
        else:
            both(splits.diverge, plain[1:], compiled[1:], s, lanes, block, other)
        masks = [split.mask for split in warp.split[: warp.splits]]
        assert sum(masks) == warp.live  # every live lane is in one split
        running = [split.block for split in warp.split[: warp.splits] if split.wait == RUNS]
        assert len(set(running)) == len(running)
