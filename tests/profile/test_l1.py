"""What L1 has of global memory."""

from __future__ import annotations

import numpy as np
import pytest

from tests.profile.kernels import kernel

TURNS = 16


def cycles(store: str, load: str = "ld.global.u32") -> float:
    """Cycles of a turn in which a warp writes a line of its own and reads it, one turn after the other."""
    text = f"""ld.param.u64 %d0, [place]; ld.param.u32 %r0, [n]; mov.u32 %r1, %tid.x; mul.wide.u32 %d1, %r1, 4; add.s64 %d0, %d0, %d1;
        again: {store} [%d0], %r1; {load} %r1, [%d0]; add.s64 %d0, %d0, 128; add.s32 %r0, %r0, -1; setp.ne.s32 %p0, %r0, 0; @%p0 bra again;
        st.global.u32 [%d0], %r1;"""
    turns = []
    for count in (TURNS, 2 * TURNS):
        place = np.zeros(32 * (count + 1), np.uint32)
        run = kernel(text).launch(1, 32, [place, count], profile=True, gpu="H100", checks="none")
        turns.append(float(run.cycles))
    return (turns[1] - turns[0]) / TURNS


def test_sectors_that_are_stored_whole_are_read_from_l1():
    assert cycles("st.global.u32") < 80


@pytest.mark.parametrize(
    "store, load", [("st.global.cg.u32", "ld.global.u32"), ("st.global.wt.u32", "ld.global.u32"), ("st.global.u32", "ld.global.cg.u32")]
)  # fmt: skip
def test_what_passes_l1_by_is_read_from_l2(store, load):
    assert cycles(store, load) > 200
