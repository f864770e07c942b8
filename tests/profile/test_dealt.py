"""CTAs as the GPU deals them to SMs and sub-cores (tools/data/dealt): whose turn it is, how soon, how many an SM gets."""

from __future__ import annotations

from pathlib import Path

import pytest

import ptxsim
from ptxsim import Module
from ptxsim.profile.sass import machine
from tests.profile.kernels import kernel

SASS = Path(__file__).parents[1] / "data" / "sass"
TURNS = """
mov.f32 %f1, 0f3F800000; mov.u32 %r2, 400;
turn: fma.rn.f32 %f1, %f1, %f1, %f1; fma.rn.f32 %f1, %f1, %f1, %f1; add.u32 %r2, %r2, -1; setp.ne.u32 %p3, %r2, 0; @%p3 bra turn;
"""
STORE = "ld.param.u64 %d0, [place]; mov.u32 %r1, %tid.x; mul.wide.u32 %d1, %r1, 4; add.s64 %d0, %d0, %d1; st.global.u32 [%d0], %r1;"
CLUSTER = ".visible .entry k(.param .u64 place) .explicitcluster .reqnctapercluster {} {{ .reg .b64 %d; ld.param.u64 %d, [place]; ret; }}"


@pytest.fixture(autouse=True)
def _no_assembler(monkeypatch):
    monkeypatch.setenv("PTXSIM_PTXAS", "off")


def cycles(body: str, grid: int, block: int):
    return (
        kernel(body)
        .launch(grid=grid, block=block, args=[ptxsim.zeros(1024, "f32"), 0], profile=True, gpu="H100")
        .cycles
    )


def test_ctas_of_two_warps_take_the_sub_cores_in_turn():
    few, many = cycles(TURNS, 132 * 2, 256).cycles, cycles(TURNS, 132 * 8, 64).cycles
    assert many == pytest.approx(few, rel=0.1)


def begins(body: str, grid: int, block: int) -> list[float]:
    """When the CTAs of the replayed SM begin, after the first."""
    rows = cycles(body, grid, block).timeline.warps
    found = sorted(rows[rows[:, 1] == cta, 3].min() for cta in set(rows[:, 1]))
    return [begin - found[0] for begin in found]


def test_ctas_begin_at_an_even_pace_up_to_64_warps_of_an_sm():
    """begins.tsv, u_none: the warps of four CTAs of 512 threads, and of eight of 256, have all begun after 237 and 226 cycles."""
    four, eight = begins(TURNS, 132 * 4, 512), begins(TURNS, 132 * 8, 256)
    assert four[3] + 3 * 16 < 237 and eight[7] == pytest.approx(226, rel=0.05)


def test_the_thread_s_number_is_read_beside_other_special_registers():
    """begins.cu, s_uniform3 and s_index2: per warp of a sub-core 32 cycles for LDC, S2UR and two S2R of the CTA, none for that of the thread."""
    body = "mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mad.lo.u32 %r1, %r1, %r2, 5; mov.u32 %r2, %ctaid.y; mad.lo.u32 %r1, %r1, %r2, 7; {}"
    last = "setp.eq.u32 %p1, %r1, 12345678; @%p1 trap;"
    of_threads = "mov.u32 %r2, %tid.y; add.u32 %r1, %r1, %r2; mov.u32 %r2, %tid.z; add.u32 %r1, %r1, %r2;" + last
    of_ctas = "mov.u32 %r2, %ctaid.z; mul.lo.u32 %r1, %r1, %r2;" + last
    plain, threads, ctas = (cycles(body.format(more), 132 * 8, 256).cycles for more in (last, of_threads, of_ctas))
    assert threads - plain < 60 < ctas - plain


def test_ctas_that_have_stored_are_replaced_more_slowly():
    stored, others = begins(STORE, 132 * 16, 256), begins("add.u32 %r1, %r1, 1;", 132 * 16, 256)
    assert (stored[15] - stored[11]) / 4 == pytest.approx(157, rel=0.05)
    assert (others[15] - others[11]) / 4 < 125


@pytest.mark.parametrize("cluster, ctas, most", [(2, 128, 1), (4, 120, 1), (4, 128, 2), (8, 128, 2), (8, 264, 3)])
def test_clusters_of_more_than_two_leave_sms_without_work(cluster, ctas, most):
    text = f".version 8.4\n.target sm_90a\n.address_size 64\n{CLUSTER.format(cluster)}"
    run = Module.from_text(text).kernel("k").launch(grid=ctas, block=32, args=[ptxsim.zeros(1, "f32")], profile=True)
    assert run.cycles.ctas == most


def test_a_turn_under_a_predicate_is_left_to_what_has_several(monkeypatch):
    """The assembler begins a loop of four turns with one under a predicate that is false unless it is the only one."""
    said, listing = ((SASS / f"tile_rows.{name}").read_text() for name in ("said", "listing"))
    monkeypatch.setattr(machine, "assembled", lambda text, target: (said, listing))
    place = ptxsim.zeros(1024, "f32")
    run = Module.from_file(SASS / "tile_rows.ptx").kernel().launch(1, 256, [place, 32], profile=True)
    loads = [line for line in run.cycles.lines if line.instruction.startswith("ld.global")]
    assert run.cycles.assembled == 1
    assert sum(line.issued for line in loads) == 8 * 5  # four, and the one that is switched off
    assert run.cycles.stalls["long_scoreboard"] < 8 * 700
