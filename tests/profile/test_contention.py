"""Compare and swap that other SMs make a warp try again."""

from __future__ import annotations

import numpy as np
import pytest

from ptxsim.profile.model.contention import retries
from tests.profile.kernels import kernel

OWN = """ld.param.u64 %d0, [place]; ld.param.u32 %r5, [n]; mov.u32 %r0, %tid.x; mov.u32 %r1, %ntid.x; mov.u32 %r2, %ctaid.x; mad.lo.u32 %r0, %r2, %r1, %r0;
    and.b32 %r0, %r0, %r5; mul.wide.u32 %d1, %r0, 4; add.u64 %d0, %d0, %d1;"""
UNTIL_IT_HOLDS = """ld.global.u32 %r3, [%d0];
TURN: add.u32 %r4, %r3, 1; atom.global.cas.b32 %r6, [%d0], %r3, %r4; setp.ne.u32 %p0, %r6, %r3; mov.u32 %r3, %r6; @%p0 bra TURN;"""


def cycles(body: str, ctas: int, threads: int, words: int) -> int:
    place = np.zeros(max(words, 64), np.uint32)
    launch = kernel(body).launch(ctas, threads, [place, words - 1], profile=True, gpu="H200", checks="none")
    return launch.cycles.cycles


@pytest.mark.parametrize(
    "ctas, threads, words, measured",
    [(66, 128, 4096, 1172), (66, 128, 1024, 4542), (132, 256, 4096, 4856), (528, 256, 65536, 1326), (528, 256, 16384, 6634)],
)  # fmt: skip
def test_words_that_lanes_of_other_sms_change_too_are_tried_as_often_as_they_are_shared(ctas, threads, words, measured):
    """`x_cas32` of tools/data/shares: cycles beyond those where each lane has its own word."""
    shared = cycles(OWN + UNTIL_IT_HOLDS, ctas, threads, words)
    alone = cycles(OWN + UNTIL_IT_HOLDS, ctas, threads, 1 << 18)
    assert shared - alone == pytest.approx(measured, rel=0.25)


def test_the_same_words_at_another_time_are_no_contention():
    """CTAs that come in the place of others, and the turns of an outer loop, in which each lane goes on to a word that no other has then."""
    several = cycles(OWN + UNTIL_IT_HOLDS, 132 * 4, 960, 1 << 20)  # two at a time on an SM
    again = cycles(OWN + UNTIL_IT_HOLDS, 132 * 4, 960, 1 << 18)
    assert again == pytest.approx(several, rel=0.05)
    onward = UNTIL_IT_HOLDS.replace("TURN", "INNER")
    walk = f"""mov.u32 %r7, 0;
        OUTER: add.u32 %r8, %r0, %r7; and.b32 %r8, %r8, %r5; mul.wide.u32 %d1, %r8, 4; add.u64 %d1, %d2, %d1; mov.u64 %d0, %d1; {onward}
        add.u32 %r7, %r7, 32; setp.lt.u32 %p1, %r7, 256; @%p1 bra OUTER;"""
    body = OWN.replace("add.u64 %d0, %d0, %d1;", "mov.u64 %d2, %d0;") + walk
    assert cycles(body, 66, 128, 1 << 14) < 8 * 1.3 * cycles(OWN + UNTIL_IT_HOLDS, 66, 128, 1 << 18)


@pytest.mark.parametrize(
    "loop",
    [
        "TURN: atom.global.cas.b32 %r6, [%d0], 0, 1; setp.ne.u32 %p0, %r6, 0; @%p0 bra TURN;",  # a lock
        "TURN: atom.global.cas.b32 %r6, [%d0], 0, %r0; add.u64 %d0, %d0, 4; setp.ne.u32 %p0, %r6, 0; @%p0 bra TURN;",  # the next place of a table
        "mov.u32 %r3, 0; mov.u32 %r7, 0; TURN: atom.global.cas.b32 %r3, [%d1], %r3, %r0; add.u32 %r7, %r7, 1; setp.lt.u32 %p0, %r7, 8; @%p0 bra TURN;",  # so many times
    ],
)
def test_other_loops_around_compare_and_swap_are_as_they_were(loop):
    assert retries(kernel(OWN + UNTIL_IT_HOLDS).program("sm_90a"))
    assert not retries(kernel(OWN + loop).program("sm_90a"))
