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


@pytest.mark.parametrize(
    "store", ["st.global", "st.global.cg", "st.global.wt", "st.volatile.global", "st.relaxed.gpu.global"]
)
def test_what_is_stored_is_read_from_l1(store):
    assert cycles(f"{store}.u32") < 80


def test_what_passes_l1_by_is_read_from_l2():
    assert cycles("st.global.u32", "ld.global.cg.u32") > 200


def sectors(accesses: str, lanes: int = 32) -> float:
    """Sectors that so many lanes of a warp read from L2 in accesses to words side by side."""
    text = f"""ld.param.u64 %d0, [place]; mov.u32 %r1, %tid.x; mul.wide.u32 %d1, %r1, 4; add.s64 %d0, %d0, %d1;
        setp.ge.u32 %p0, %r1, {lanes}; @%p0 bra end; {accesses} end:"""
    run = kernel(text).launch(1, 32, [np.zeros(64, np.uint32), 1], profile=True, gpu="H100", checks="none")
    return float(run.cycles.memory["l2_read_sectors"])


USED = "st.global.u32 [%d0+128], %r2;"


@pytest.mark.parametrize(
    "accesses, lanes, expected",
    [
        ("st.global.u32 [%d0], %r1; ld.global.u32 %r2, [%d0];", 1, 0),  # a part, and that part
        ("st.global.u32 [%d0], %r1; ld.global.u32 %r2, [%d0+32];", 1, 1),  # a part, and another sector
        ("st.global.v4.u32 [%d0], {%r1, %r1, %r1, %r1}; ld.global.u32 %r2, [%d0];", 1, 0),
        ("ld.global.u32 %r2, [%d0]; st.global.u32 [%d0], %r2; ld.global.u32 %r2, [%d0];", 32, 4),
        # Dropped by the one that passes by.
        ("st.global.u32 [%d0], %r1; ld.global.cg.u32 %r3, [%d0]; ld.global.u32 %r2, [%d0]; add.u32 %r2, %r2, %r3;", 32, 8),
        ("ld.global.u32 %r2, [%d0]; red.global.add.u32 [%d0], %r2; ld.global.u32 %r2, [%d0];", 32, 8),
    ],
)  # fmt: skip
def test_what_l1_has(accesses, lanes, expected):
    assert sectors(accesses + USED, lanes) == expected
