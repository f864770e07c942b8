"""Triton programs, sound ones and broken ones, through the driver. They need the extra `triton`."""

import inspect
from contextlib import suppress

import pytest

import ptxsim.triton
from ptxsim.session.run import KernelError

triton = pytest.importorskip("triton")
torch = pytest.importorskip("torch")

from tests.triton.programs import broken, kernels  # noqa: E402  # once it is known that they can be imported

# What Triton's compiler has left out before 3.9, where it is compiled: a fence between cp.async and wgmma (3.6), bar.warp.sync
# between tensormap.replace and tensormap.cp_fenceproxy.
BEFORE_3_9 = {
    "attention": {"missing-proxy-fence"},
    "device_descriptors": {"race-warp"},
    "warps_that_take_parts": {"missing-proxy-fence", "mbarrier-init"},
}


@pytest.mark.parametrize("target", ["sm_80", "sm_90"])
@pytest.mark.parametrize("program", kernels.PROGRAMS, ids=lambda program: program.__name__)
def test_sound_programs_are_right_and_nothing_is_found(program, target):
    torch.manual_seed(0)
    with ptxsim.triton.active(target) as runs:
        program()
    assert runs
    is_old = tuple(map(int, triton.__version__.split(".")[:2])) < (3, 9)
    known = BEFORE_3_9.get(program.__name__, set()) if is_old and target == "sm_90" else set()
    findings = [finding for run in runs for finding in run.findings if finding.level != "note"]
    assert [finding for finding in findings if finding.name not in known] == []


@pytest.mark.parametrize("program", broken.PROGRAMS, ids=lambda program: program.__name__)
def test_what_is_found_stands_at_the_line_of_python(program):
    name, mark = broken.PROGRAMS[program]
    # A launch may end early, and the program's own check may fail.
    with ptxsim.triton.active() as runs, suppress(KernelError, AssertionError):
        program()
    lines = inspect.getsource(broken).splitlines()
    found = {(f.name, lines[f.source_line - 1].partition("  # ")[2]) for f in runs[-1].findings if f.level == "error"}
    assert (name, mark) in found
    assert {place for _, place in found} == {mark}
