"""The replay of an SM gives the same cycles, spans and counts in Python and compiled."""

import numpy as np
import pytest

from ptxsim.profile.replay import sm as replay
from ptxsim.profile.replay.state import INF
from tests.jit.alike import alike
from tests.profile.kernels import kernel

BARRIERS = """
.shared .align 16 .b8 cells[1024]; ld.param.u64 %d0, [place]; mov.u32 %r0, %tid.x; mov.u32 %r1, cells; mad.lo.u32 %r1, %r0, 4, %r1; mad.wide.u32 %d1, %r0, 4, %d0;
ld.global.f32 %f0, [%d1]; fma.rn.f32 %f0, %f0, %f0, %f0; sin.approx.f32 %f0, %f0; cvt.f64.f32 %d2, %f0; add.f64 %d2, %d2, %d2;
st.shared.f32 [%r1], %f0; bar.sync 0; setp.lt.u32 %p0, %r0, 40; @%p0 bra over; ld.shared.f32 %f0, [%r1 + -64];
atom.global.add.u32 %r2, [%d0], 1;
over: bar.sync 0; red.shared.add.u32 [cells], 1; shfl.sync.idx.b32 %r0, %r0, 3, 31, -1; st.global.f32 [%d1 + 4096], %f0;
"""
COPIES = """
.shared .align 16 .b8 cells[4096]; ld.param.u64 %d0, [place]; mov.u32 %r0, %tid.x; mov.u32 %r1, cells; mad.lo.u32 %r1, %r0, 16, %r1; mad.wide.u32 %d1, %r0, 16, %d0;
cp.async.ca.shared.global [%r1], [%d1], 16; cp.async.commit_group; cp.async.cg.shared.global [%r1 + 2048], [%d1], 16;
cp.async.commit_group; cp.async.wait_group 1; bar.sync 0; ld.shared.f32 %f0, [%r1]; cp.async.wait_group 0;
membar.gl; st.global.f32 [%d1], %f0;
"""


@pytest.mark.slow
@pytest.mark.parametrize("body", [BARRIERS, COPIES], ids=["barriers", "copies"])
def test_small_launches(body, monkeypatch):
    seen = []

    def both(m, p, residency):
        _, (left, *_) = alike(replay.run, m, p, residency, INF)
        for array, changed in zip(m, left):
            np.copyto(array, changed)
        seen.append(float(m.state[0]["active"]))
        return seen[0]

    monkeypatch.setattr(replay, "replay", both)
    cycles = kernel(body).launch(3, 96, [np.ones(4096, np.float32), 0], profile=True, checks="none").cycles
    assert len(seen) == 1 and seen[0] > 0 and cycles.cycles > 0
