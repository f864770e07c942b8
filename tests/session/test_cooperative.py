"""Cooperative launches: barriers of the whole grid, as cooperative_groups builds them on the workspace that the driver passes."""

import numpy as np
import pytest

import ptxsim
from ptxsim.checks.order.checker import OrderChecker
from ptxsim.session.options import LaunchOptions

# Every CTA's first thread arrives; all wait until the phase that the first CTA's arrival flips has flipped.
KERNEL = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry reverse(.param .u64 data)
{
    .reg .pred %first, %wait, %zero, %missing;
    .reg .u32 %lo, %hi, %x, %n, %add, %old, %now;
    .reg .u64 %space, %data, %at;
    mov.u32 %hi, %envreg1;
    mov.u32 %lo, %envreg2;
    mov.b64 %space, {%lo, %hi};
    setp.eq.u64 %missing, %space, 0;
    @%missing trap;
    ld.param.u64 %data, [data];
    mov.u32 %x, %ctaid.x;
    mov.u32 %n, %nctaid.x;
    mad.wide.u32 %at, %x, 4, %data;
    st.global.u32 [%at], %x;
    setp.eq.u32 %zero, %x, 0;
    sub.u32 %add, 0x80000001, %n;
    selp.u32 %add, %add, 1, %zero;
    atom.add.acq_rel.gpu.global.u32 %old, [%space+4], %add;
again:
    ld.acquire.gpu.global.u32 %now, [%space+4];
    xor.b32 %now, %now, %old;
    setp.lt.u32 %wait, %now, 0x80000000;
    @%wait bra again;
    sub.u32 %lo, %n, %x;
    mad.wide.u32 %at, %lo, 4, %data;
    ld.global.u32 %x, [%at+-4];
    mov.u32 %lo, %ctaid.x;
    mad.wide.u32 %at, %lo, 4, %data;
    add.u64 %at, %at, 256;
    st.global.u32 [%at], %x;
    ret;
}
"""


@pytest.mark.slow
def test_a_barrier_of_the_grid(engine):
    data = np.zeros(128, np.uint32)
    options = LaunchOptions(grid=64, block=1, checks="all", engine=engine, cooperative=True)
    run = ptxsim.Module.from_text(KERNEL).kernel().run([data], options)
    assert run.findings == []
    assert (data[64:] == np.arange(64)[::-1]).all()
    assert run.warp_instructions < 50_000  # all CTAs are there at once, none spins until others come in


def test_other_launches_have_no_workspace(engine):
    options = LaunchOptions(grid=2, block=1, engine=engine)
    run = ptxsim.Module.from_text(KERNEL).kernel().run([np.zeros(128, np.uint32)], options)
    assert [finding.name for finding in run.findings] == ["trap"]


def test_checks_have_room_for_all_that_are_there(monkeypatch):
    def more(checker):
        raise AssertionError("room was made anew, and all that is known copied")

    monkeypatch.setattr(OrderChecker, "_add_slots", more)
    options = LaunchOptions(grid=64, block=1, checks="all", cooperative=True)
    assert ptxsim.Module.from_text(KERNEL).kernel().run([np.zeros(128, np.uint32)], options).findings == []
