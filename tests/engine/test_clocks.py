"""Which registers clocks decide, and whether clocks decide more of a loop than how long a thread sleeps."""

from __future__ import annotations

import pytest

from ptxsim.engine.analysis.clocks import of_clocks
from tests.profile.kernels import kernel

SLEEP = """mov.u64 %d1, %clock64; look: ld.relaxed.gpu.global.u32 %r0, [%d0]; mov.u64 %d2, %clock64; sub.u64 %d2, %d2, %d1;
setp.lt.u64 %p0, %d2, 100; @%p0 bra short; mov.u32 %r1, 1000; nanosleep.u32 %r1; short: setp.eq.u32 %p1, %r0, 0; @%p1 bra look;"""


def named(text: str) -> set[str] | None:
    """The registers of a kernel that clocks decide; None if they may decide more."""
    program = kernel("ld.param.u64 %d0, [place]; " + text).program("sm_90a")
    found = of_clocks(program)
    return None if found is None else {program.slot_names[slot] for slot in found}


def test_what_a_clock_decides_beside_a_wait():
    assert named(SLEEP + " st.global.u32 [%d0], %r0;") == {"%d1", "%d2", "%p0", "%r1"}


@pytest.mark.parametrize(
    "change",
    [
        (" nanosleep.u32 %r1;", " st.global.u32 [%d0], %r1;"),  # what it has decided is seen
        (" nanosleep.u32 %r1;", " nanosleep.u32 %r1; bra out;"),  # it ends the wait
        ("mov.u32 %r1, 1000;", "mov.u32 %r0, 1;"),  # the same
    ],
)
def test_a_clock_may_decide_more(change):
    assert named(SLEEP.replace(*change) + " out: st.global.u32 [%d0], %r0;") is None


def test_a_time_that_is_stored_after_the_wait_decides_nothing_of_it():
    assert named(SLEEP + " sub.u64 %d3, %d2, %d1; st.global.u64 [%d0], %d3;") == {"%d1", "%d2", "%d3", "%p0", "%r1"}


def test_programs_without_clocks_have_none():
    assert named("st.global.u32 [%d0], 1;") == set()
