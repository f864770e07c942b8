"""Jobs from a queue: in the functional run the CTA whose turn it is takes one after the other, on the machine the one that is done first."""

from __future__ import annotations

import numpy as np
import pytest

from ptxsim.profile.model.jobs import queue_loops
from tests.profile.kernels import kernel

QUEUE = """.shared .u32 job;
    ld.param.u64 %d0, [place]; ld.param.u32 %r1, [n]; mov.u32 %r0, %tid.x; setp.ne.u32 %p0, %r0, 0;
    more: @%p0 bra hear; atom.global.add.u32 %r2, [%d0], 1; st.shared.u32 [job], %r2;
    hear: bar.sync 0; ld.shared.u32 %r3, [job]; bar.sync 0; setp.ge.u32 %p1, %r3, %r1; @%p1 bra over;
    and.b32 %r4, %r3, 7; add.u32 %r4, %r4, 60;
    work: .pragma "nounroll"; mad.lo.u32 %r0, %r0, %r0, %r3; add.s32 %r4, %r4, -1; setp.ne.s32 %p2, %r4, 0; @%p2 bra work;
    bra more;
    over: mov.u32 %r5, %ctaid.x; mad.wide.u32 %d1, %r5, 4, %d0; st.global.u32 [%d1 + 128], %r0;"""


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["interpreter", "compiled"])
def test_jobs_go_to_the_cta_that_is_done_first(engine):
    def cycles(ctas: int, jobs: int) -> int:
        place = np.zeros(256, np.uint32)
        made = kernel(QUEUE).launch(ctas, 64, [place, jobs], profile=True, engine=engine, checks="none")
        assert place[0] == jobs + ctas
        return made.cycles.cycles

    few, many = cycles(4, 24), cycles(16, 96)  # of one CTA alone, atomics are near
    assert many == pytest.approx(few, rel=0.1)


COUNTS = """.shared .u32 cells[32]; ld.param.u64 %d0, [place]; mov.u32 %r0, %tid.x; mov.u32 %r1, cells; mov.u32 %r4, 4;
    more: bar.sync 0; {atomic} add.s32 %r4, %r4, -1; setp.ne.s32 %p0, %r4, 0; @%p0 bra more;
    st.global.u32 [%d0], %r2;"""


@pytest.mark.parametrize(
    ("atomic", "loops"),
    [
        ("atom.global.add.u32 %r2, [%d0], 1;", 1),
        ("atom.shared.add.u32 %r2, [%r1], 1;", 0),  # a place among the CTA's own
        ("atom.global.add.u32 %r3, [%d0], 1;", 0),  # nothing takes the result
    ],
)
def test_a_loop_takes_jobs_where_an_atomic_between_ctas_gives_it_a_number(atomic, loops):
    assert len(queue_loops(kernel(COUNTS.format(atomic=atomic)).program("sm_90a"))) == loops
