"""CTAs an SM holds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ptxsim import Module
from ptxsim.machine.special import multiprocessors, resident_warps
from ptxsim.profile.figures import H200, MACHINES
from ptxsim.profile.model.occupancy import estimated, occupancy
from ptxsim.report.profile import facts
from ptxsim.types import Target
from tests.helpers import text_of
from tests.profile.kernels import kernel


@pytest.mark.parametrize(
    "threads, registers, shared, ctas, limiter",
    [
        (256, 32, 0, 8, "warps"),
        (32, 16, 0, 32, "CTAs"),
        (1024, 64, 0, 1, "registers"),
        (128, 90, 99328, 2, "shared memory"),
        (256, 138, 20480, 1, "registers"),
    ],
)
def test_limits(threads, registers, shared, ctas, limiter):
    found = occupancy(H200, threads, registers, shared)
    assert (found.ctas, found.limiter) == (ctas, limiter)
    assert found.share == found.ctas * (threads / 32) / 64


def test_a_cta_that_fits_nowhere_still_counts_as_one():
    assert occupancy(H200, 1024, 255, 0).ctas == 1


def test_a_target_that_keeps_no_shared_memory_for_itself():
    assert occupancy(replace(H200, shared_reserved=0), 32, 16, 0).limiter == "CTAs"


@pytest.mark.parametrize("registers, shared, between", [(40, 0, (5, 6)), (16, 0, None), (40, 99328, None)])
def test_ctas_that_hang_on_an_estimate(registers, shared, between):
    found = estimated(H200, 256, registers, shared, 0.18)
    assert found.between == between
    assert replace(found, between=None) == occupancy(H200, 256, registers, shared)


@pytest.mark.parametrize("given", [None, 40])
def test_a_profile_says_what_hangs_on_registers_that_are_an_estimate(given, monkeypatch):
    monkeypatch.setenv("PTXSIM_PTXAS", "off")
    sums = "".join(f"ld.global.u32 %r{i}, [%d1+{4 * i}];" for i in range(1, 24))
    sums += "".join(f"st.global.u32 [%d1+{4 * i}], %r{24 - i};" for i in range(1, 24))
    run = kernel("ld.param.u64 %d1, [place]; " + sums).launch(
        1, 256, [np.zeros(64, np.uint32), 1], profile=True, checks="none", registers=given
    )
    assert ("an estimate: " in facts(run.cycles)[0]) == (given is None)


@pytest.mark.parametrize("number", MACHINES)
def test_a_launch_and_its_cycles_are_of_one_machine(number):
    target, figures = Target(number), MACHINES[number]
    assert (figures.sms, figures.warps, figures.threads) == (
        multiprocessors(target), resident_warps(target), 32 * resident_warps(target),
    )  # fmt: skip


def test_ctas_of_one_warp_take_slots_of_all_sub_cores():
    """An SM holds 32 of them, a sub-core 16 warps: the replay wrote past its table of warps."""
    kernel, x = Module.from_text(text_of("profile/one_warp_ctas.ptx")).kernel("k"), np.zeros(132 * 20, np.uint32)
    run = kernel.launch(len(x), 32, [x], profile=True, checks="none")
    assert run.cycles is not None and run.cycles > 0
