"""Which warp of a sub-core issues next, as tools/data/scheduler shows it."""

from __future__ import annotations

import numpy as np
import pytest

from tests.profile.kernels import kernel

HEAD = "ld.param.u64 %d0, [place]; mov.u32 %r0, %tid.x; mul.wide.u32 %d1, %r0, 4; add.s64 %d1, %d0, %d1; mov.u32 %r5, 16; cvt.rn.f32.u32 %f0, %r0;\n"
MULTIPLY = (
    HEAD
    + "mov.u32 %r1, %r0; mov.u32 %r2, %r0;\n"
    + "mad.lo.u32 %r1, %r1, %r0, 7; mad.lo.u32 %r2, %r2, %r0, 7;\n" * 96
    + "add.u32 %r1, %r1, %r2; st.global.u32 [%d1], %r1;\n"
)
CHAIN = (
    HEAD + 'again: .pragma "nounroll";\n' + "fma.rn.f32 %f0, %f0, 0f3F800347, 0f3F000000;\n" * 48
    + "sub.u32 %r5, %r5, 1; setp.ne.u32 %p0, %r5, 0; @%p0 bra again;\nst.global.f32 [%d1], %f0;\n"
)  # fmt: skip


def ends(text: str, threads: int, block: int) -> np.ndarray:
    """When each warp is done with a block, in cycles."""
    cycles = kernel(text).launch(1, threads, [np.zeros(1024, np.float32), 0], profile=True, checks="none").cycles
    spans = cycles.timeline.warps
    return np.array([spans[(spans[:, 0] == w) & (spans[:, 2] == block), 4].max() for w in range(threads // 32)])


def test_warps_take_turns_where_a_pipe_holds_them_up():
    """Of 16 warps with multiplications the first was done after 0.90 of the last one's time."""
    done = ends(MULTIPLY, 512, 0)
    assert done.min() > 0.8 * done.max()


def test_later_warps_are_a_little_ahead():
    """Of 32 warps with additions that wait for each other the first was done after 0.87 of the last one's time, the later the sooner."""
    done = ends(CHAIN, 1024, 1)
    assert done.min() / done.max() == pytest.approx(0.87, abs=0.06)
    assert np.corrcoef(np.arange(32) // 4, done)[0, 1] < -0.8
