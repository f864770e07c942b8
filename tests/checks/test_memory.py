"""What the checks remember takes memory only where something was touched, and only as long as the launch runs."""

import gc
import mmap
import sys
import weakref
from pathlib import Path

import numpy as np
import pytest

from ptxsim.checks.order import checker, state
from ptxsim.machine import pages
from ptxsim.session.ptxfile.file import Options, run_file
from tests.helpers import launch

ADD = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry add(.param .u64 data) {
  .reg .b32 %r<4>;
  .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [data];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %tid.x;
  mad.lo.u32 %r3, %r1, 128, %r2;
  mad.wide.u32 %rd2, %r3, 4, %rd1;
  st.global.u32 [%rd2], %r3;
  ret;
}
"""


@pytest.mark.skipif(sys.platform != "linux", reason="/proc says what is in memory")
def test_finer_granules_cost_nothing_where_nothing_was_touched():
    rows = state.zeros((1 << 20, 64), np.int32)  # 256 MiB, and twice as much
    rows[70_000] = np.arange(64)
    before = resident()
    finer = checker._longer(rows, 2, len(rows), repeat=True)
    assert resident() - before < 32 << 20
    assert finer.shape == (1 << 21, 64) and (finer[140_000:140_002] == rows[70_000]).all()
    assert not finer[139_000:140_000].any() and not finer[140_002:142_000].any()
    assert not checker._longer(rows, 2, 70_000, repeat=True)[140_000].any()


def resident():
    """Bytes of this process that are in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_launch_leaves_nothing_of_what_the_checks_remember(monkeypatch, jobs):
    """However rarely Python looks for garbage."""
    made = []
    begin = checker.OrderChecker.__init__

    def remembered(self, *given, **more):
        begin(self, *given, **more)
        made.append(weakref.ref(self))

    monkeypatch.setattr(checker.OrderChecker, "__init__", remembered)
    gc.disable()
    try:
        run = launch(ADD, [np.zeros(64 * 128, np.int32)], 64, 128, jobs=jobs, checks="all")
        assert not run.findings and len(made) >= jobs and not any(each() for each in made)
    finally:
        gc.enable()


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize(
    "case",
    ["clusters/multicast_ring", "clusters/sum_of_a_cluster", "tensor_copy/gathered_rows", "wgmma/copied_by_threads"],
)
def test_what_is_given_back_is_wiped(monkeypatch, case, jobs):
    """All of it, however little of it is thought to have been used."""
    spare = pages.Spare()
    monkeypatch.setattr(state, "_spare", spare)
    run = run_file(Path(__file__).parents[1] / "cases" / f"{case}.ptx", options=Options(engine="compiled", jobs=jobs))
    assert run.run is not None
    assert spare._held and not any(memory.any() for memory, _ in spare._held)
