"""Whether loops that warps go round in change anything: if not, no other order of the warps does."""

from __future__ import annotations

import pytest

from ptxsim.engine.analysis.communication import only_reads
from tests.profile.kernels import kernel

# Two ways lead back to the head: who takes the second may take the first in the next turn.
LOOP = """ld.param.u64 %d0, [place];
head: ld.relaxed.gpu.global.u32 %r0, [%d0]; setp.eq.u32 %p0, %r0, 1; @%p0 bra out; setp.eq.u32 %p1, %r0, 2; @%p1 bra other;
CHANGE bra head; other: add.u32 %r1, %r1, 1; bra head; out: st.global.u32 [%d0], %r1;"""


@pytest.mark.parametrize(
    "change, is_so",
    [("mov.u32 %r2, 0;", True), ("st.relaxed.gpu.global.u32 [%d0+4], %r1;", False), ("bar.sync 0;", False)],
)
def test_a_loop_is_all_that_any_way_back_to_its_head_passes(change, is_so):
    program = kernel(LOOP.replace("CHANGE", change)).program("sm_90a")
    (other,) = [n for n, block in enumerate(program.blocks) if [op.family for op in block][:1] == ["add"]]
    assert only_reads(program, [other]) is is_so


def test_what_a_call_does_is_not_known():
    before = ".func f() { ret; }\n"
    program = kernel(LOOP.replace("CHANGE", "call.uni f;"), before=before).program("sm_90a")
    assert not only_reads(program, range(len(program.blocks)))
