"""Which SM of a launch is replayed: the one with most to do, or one of which a single warp takes longer."""

from __future__ import annotations

import pytest

import ptxsim
from tests.profile.kernels import kernel

BODY = """
ld.param.u64 %d0, [place]; mov.u32 %r0, %ctaid.x; mov.u32 %r1, %tid.x; mov.f32 %f1, 0f3F800000; mov.u32 %r2, 100;
setp.eq.u32 %p0, %r0, 5; setp.lt.u32 %p1, %r1, 32; and.pred %p2, %p0, %p1; @!%p0 bra turn; mov.u32 %r2, 1; @!%p1 bra turn; mov.u32 %r2, 600;
turn: fma.rn.f32 %f1, %f1, %f1, %f1; add.u32 %r2, %r2, -1; setp.ne.u32 %p3, %r2, 0; @%p3 bra turn;
st.global.f32 [%d0], %f1;
"""


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["compiled", "interpreter"])
def test_one_long_warp_takes_longer_than_many_short_ones(engine, monkeypatch):
    monkeypatch.setenv("PTXSIM_PTXAS", "off")
    run = kernel(BODY).launch(grid=8, block=256, args=[ptxsim.zeros(1, "f32"), 0], engine=engine, profile=True)
    assert run.cycles.sm == 5
    assert run.cycles.cycles > 600 * 4
