"""Spin loops: how often a warp has looked costs nothing, when it sees the write does; waits know the phase that they wait for."""

from __future__ import annotations

import numpy as np
import pytest

from ptxsim.profile.lowering.regions import merged
from ptxsim.profile.model.entries import ARRIVE, BLOCK, ENTRY, LOAD, WAIT
from ptxsim.profile.model.spins import last_turns, spin_loops
from ptxsim.profile.model.trace import Trace
from ptxsim.profile.replay.entries import for_replay
from tests.profile.kernels import kernel

LOOK = "ld.param.u64 %d0, [place]; again: ld.acquire.gpu.u32 %r1, [%d0]; {} setp.eq.u32 %p0, %r1, 0; @%p0 bra again;"


@pytest.mark.parametrize(
    ("more", "spins"),
    [
        ("", True),
        ("nanosleep.u32 20;", True),
        ("add.u32 %r2, %r2, 1; nanosleep.u32 %r2;", True),  # how long it sleeps decides nothing
        ("add.u32 %r2, %r2, 1; and.b32 %r1, %r1, %r2;", False),
        ("st.u32 [%d0 + 4], %r1;", False),
        ("add.u64 %d0, %d0, 4;", False),
    ],
)
def test_a_loop_spins_if_only_others_can_end_it(more, spins):
    found = spin_loops(merged(kernel(LOOK.format(more)).program("sm_90a")))
    assert bool(found) == spins


def test_of_the_turns_of_a_spin_loop_the_last_stays():
    # Block 1 spins: two turns, something else, one turn; another warp, one turn.
    rows = [
        (0, BLOCK, 0),
        (0, BLOCK, 1),
        (0, LOAD, 7),
        (0, BLOCK, 1),
        (0, LOAD, 7),
        (0, BLOCK, 2),
        (0, BLOCK, 1),
        (0, LOAD, 7),
        (1, BLOCK, 1),
    ]
    made = np.zeros(len(rows), ENTRY)
    for entry, (warp, code, site) in zip(made, rows):
        entry["warp"], entry["code"], entry["site"] = warp, code, site
    assert np.flatnonzero(~last_turns(made, ((1, frozenset({1})),))).tolist() == [1, 2]


def test_a_wait_is_for_the_arrivals_of_its_phase():
    # Two arrivals a phase; warp 1 has arrived in the next one before warp 0's wait is noted.
    rows = [(0, ARRIVE, 0), (1, ARRIVE, 0), (1, WAIT, 0), (1, ARRIVE, 1), (0, WAIT, 0), (0, ARRIVE, 1), (0, WAIT, 1)]
    made = np.zeros(len(rows), ENTRY)
    for entry, (warp, code, parity) in zip(made, rows):
        entry["warp"], entry["code"], entry["need"], entry["object"] = warp, code, parity, 64
    found, _, _ = for_replay(Trace(made, np.zeros(0, np.int64), np.zeros(1), 1), np.array([0]))
    assert found["need"][found["code"] == WAIT].tolist() == [2, 4, 2]


def test_ctas_wait_for_the_writes_of_others():
    """A chain through all CTAs takes a step of hundreds of cycles for each, however often they have looked."""
    chain = (
        "ld.param.u64 %d0, [place]; mov.u32 %r0, %ctaid.x; setp.eq.u32 %p1, %r0, 0; mad.wide.u32 %d0, %r0, 128, %d0; @%p1 bra over;\n"
        "again: ld.acquire.gpu.u32 %r1, [%d0 + -128]; setp.eq.u32 %p0, %r1, 0; @%p0 bra again;\nover: mov.u32 %r2, 1; st.release.gpu.u32 [%d0], %r2;"
    )
    few, many = (
        kernel(chain).launch(ctas, 32, [np.zeros(1024, np.uint32), 0], profile=True, checks="none").cycles
        for ctas in (2, 8)
    )
    assert 6 * 500 < many - few < 6 * 2000


@pytest.mark.parametrize("first, second", [("0", "1"), ("1", "0")])
def test_lanes_that_look_at_different_words_wait_for_the_one_that_comes_last(first, second):
    """CTAs in a chain, each with a lane that waits for the CTA before and one that waits for the first CTA: whichever of the two is the lower one."""
    chain = f"""ld.param.u64 %d0, [place]; mov.u32 %r0, %ctaid.x; mov.u32 %r3, %tid.x; setp.gt.u32 %p2, %r3, 1; @%p2 bra over; mad.wide.u32 %d1, %r0, 128, %d0;
        setp.eq.u32 %p1, %r0, 0; @%p1 bra over; setp.eq.u32 %p3, %r3, {first}; sub.u32 %r4, %r0, 1; selp.u32 %r4, 0, %r4, %p3; mad.wide.u32 %d2, %r4, 128, %d0;
        again: ld.acquire.gpu.u32 %r1, [%d2]; setp.eq.u32 %p0, %r1, 0; @%p0 bra again;
        over: bar.warp.sync -1; setp.ne.u32 %p3, %r3, {second}; @%p3 bra end; mad.wide.u32 %d1, %r0, 128, %d0; mov.u32 %r2, 1; st.release.gpu.u32 [%d1], %r2; end:"""
    few, many = (
        kernel(chain).launch(ctas, 32, [np.zeros(1024, np.uint32), 0], profile=True, checks="none").cycles
        for ctas in (2, 8)
    )
    assert 6 * 500 < many - few < 6 * 2500
