"""What CTAs know of strong accesses, and the values that they may still find (ptxsim.session.inspect.schedules.old_values)."""

import numpy as np
import pytest

from ptxsim import Module
from ptxsim.session.inspect.schedules.known_writes import Knowledge
from ptxsim.session.inspect.schedules.old_values import Late, late_runs, late_sites
from ptxsim.session.options import LaunchOptions

# A template: CTA 0 stores data, then a flag; CTA 1 waits for the flag, then reads the data, and 7 after it.
MESSAGE = """.version 8.6
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 data, .param .u64 flag, .param .u64 out)
{{
    .reg .b64 %data, %flag, %out;
    .reg .b32 %c, %v;
    .reg .pred %p;
    ld.param.u64 %data, [data];
    ld.param.u64 %flag, [flag];
    ld.param.u64 %out, [out];
    mov.u32 %c, %ctaid.x;
    setp.eq.u32 %p, %c, 1;
    @%p bra look;
    st.relaxed.gpu.global.u32 [%data], 5;
    {before}
    {store}.global.u32 [%flag], 1;
    ret;
look:
    {load}.global.u32 %v, [%flag];
    setp.eq.u32 %p, %v, 0;
    @%p bra look;
    {after}
    ld.relaxed.gpu.global.u32 %v, [%data];
    st.global.u32 [%out], %v;
    ret;
}}
"""
RELEASE, ACQUIRE, RELAXED = "st.release.gpu", "ld.acquire.gpu", ("st.relaxed.gpu", "ld.relaxed.gpu")


def known(text, held=None, knowledge=None):
    """A run, what its CTAs knew, and what it has stored last."""
    arrays = [np.zeros(1, np.uint32) for _ in range(3)]
    kernel = Module.from_text(text).kernel()
    knowledge = knowledge or Knowledge(kernel.program())
    held = held or Late(-1, False, 0)
    launch = kernel.prepare(arrays, LaunchOptions(grid=2, block=1, checks="none", held=held))
    launch.run_grid([knowledge])
    launch.copy_out()
    launch.release()
    return kernel.program(), knowledge, int(arrays[2][0])


def loads_of_data(program):
    """The sites of the loads after the one of the flag."""
    return [op.site for op in program.ops if op.accesses and op.accesses[0].reads and op.accesses[0].space == "global"][
        1:
    ]


@pytest.mark.parametrize(
    ("before", "store", "load", "after", "may_be_old"),
    [
        ("", RELEASE, ACQUIRE, "", False),
        ("", RELAXED[0], ACQUIRE, "", True),
        ("", RELEASE, RELAXED[1], "", True),
        ("fence.acq_rel.gpu;", RELAXED[0], RELAXED[1], "fence.acq_rel.gpu;", False),
        ("fence.acq_rel.gpu;", RELAXED[0], RELAXED[1], "", True),
        ("", RELAXED[0], RELAXED[1], "fence.acq_rel.gpu;", True),
        ("fence.acq_rel.cta;", RELAXED[0], RELAXED[1], "fence.acq_rel.gpu;", True),
        ("", "st.release.cta", ACQUIRE, "", True),
        ("", RELEASE, "ld.acquire.cta", "", True),
        ("fence.sc.gpu;", RELAXED[0], RELAXED[1], "fence.sc.gpu;", False),
        ("", RELEASE, RELAXED[1], "bar.sync 0;", False),  # as many programs have it that count their CTAs
    ],
)
def test_who_may_find_what_was_there_before(before, store, load, after, may_be_old):
    text = MESSAGE.format(before=before, store=store, load=load, after=after)
    program, knowledge, out = known(text)
    data = loads_of_data(program)[0]
    assert (data in knowledge.early_loads, out) == (may_be_old, 5)
    found = []
    for late in late_runs(program, knowledge.early_loads | knowledge.early_stores, False):
        assert late.knowledge is not None
        _, _, out = known(text, late, late.knowledge)
        found += [out] if late.met else []
    assert (0 in found) is may_be_old


def test_a_value_that_has_been_seen_is_not_lost_again():
    again = "ld.relaxed.gpu.global.u32 %c, [%data];"
    program, knowledge, _ = known(MESSAGE.format(before="", store=RELAXED[0], load=RELAXED[1], after=again))
    first, second = loads_of_data(program)
    assert first in knowledge.early_loads
    assert second not in knowledge.early_loads


def test_threads_that_meet_otherwise_are_left_alone():
    text = MESSAGE.format(before="", store=RELAXED[0], load=RELAXED[1], after="barrier.cluster.arrive;")
    assert late_sites(Module.from_text(text).kernel().program()) == ((), ())
    assert any(late_sites(Module.from_text(text.replace("barrier.cluster.arrive;", "")).kernel().program()))
