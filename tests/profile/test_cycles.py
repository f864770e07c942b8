"""The replay end to end: laws that hold for any figures, and the measured ones for single instructions."""

from __future__ import annotations

import numpy as np
import pytest

from ptxsim.profile.cycles import Cycles
from ptxsim.profile.figures import H100, H200
from ptxsim.profile.model.encode import parameters
from ptxsim.report.trace import events
from tests.profile.kernels import kernel


def cycles_of(body: str, block: int = 32, grid: int = 1, n: int = 4, registers: str = "", **more) -> Cycles:
    place = np.zeros(1 << 16, np.uint32)
    return kernel(body, registers).launch(grid, block, [place, n], profile=True, engine="interpreter", **more).cycles


def chain(instruction: str, count: int = 64) -> str:
    """A loop of n turns over a chain of one instruction on %f0, which is stored."""
    return (
        "ld.param.u64 %d0, [place]; ld.param.u32 %r1, [n]; mov.u32 %r0, %tid.x; cvt.rn.f32.s32 %f0, %r0; mov.f32 %f1, 0f3F000000;\n"
        'again: .pragma "nounroll";\n' + instruction * count + "\n"
        "add.s32 %r1, %r1, -1; setp.ne.s32 %p0, %r1, 0; @%p0 bra again; st.global.f32 [%d0], %f0;"
    )


@pytest.mark.parametrize(
    "instruction, latency",
    [
        ("fma.rn.f32 %f0, %f0, %f1, %f1;", 4),
        ("ex2.approx.ftz.f32 %f0, %f0;", 17),
        ("mov.b32 %r2, %f0; popc.b32 %r2, %r2; mov.b32 %f0, %r2;", 17),
        ("mov.b32 %r2, %f0; shfl.sync.bfly.b32 %r2, %r2, 1, 31, -1; mov.b32 %f0, %r2;", 24),
    ],
)
def test_latency_of_a_dependent_chain(instruction, latency):
    short, long = (cycles_of(chain(instruction), n=n) for n in (2, 6))
    assert (long - short) / (4 * 64) == pytest.approx(latency, rel=0.06)


@pytest.mark.parametrize(
    "figures, sms, readers, expected",
    [
        (H100, 1, 1, 85),
        (H100, 132, 1, 29.4),
        (H100, 132, 1.5, 41.6),
        (H100, 132, 132, 72.4),
        (H100, 66, 1, 58.8),
        (H200, 132, 1, 33.4),
    ],
)
def test_bandwidth_of_l2_by_who_reads(figures, sms, readers, expected):
    found = parameters(figures, sms, sms, 1 << 16, 0.0, 34.0, readers)
    assert found["l2_bandwidth"][0] == pytest.approx(expected, rel=2e-3)


@pytest.mark.parametrize("engine", ["interpreter", "compiled"])
def test_lanes_that_part_and_meet_again_take_their_time(engine):
    """A loop that lanes leave one by one takes 11 cycles more in each turn than one that all leave together (on an H100: 58 and 47)."""
    body = """ld.param.u64 %d0, [place]; mov.u32 %r0, %tid.x; max.u32 %r1, %r0, {least}; mov.u32 %r2, 0;
        again: .pragma "nounroll"; mad.lo.u32 %r2, %r2, %r2, %r1; add.s32 %r1, %r1, -1; setp.gt.s32 %p0, %r1, 0; @%p0 bra again;
        st.global.u32 [%d0], %r2;"""
    place = np.zeros(16, np.uint32)
    together, apart = (
        kernel(body.format(least=least)).launch(1, 32, [place, 0], profile=True, engine=engine).cycles.cycles
        for least in (31, 0)
    )
    assert apart - together == pytest.approx(30 * 11, abs=40)


@pytest.mark.slow
def test_throughput_of_a_full_pipe():
    instruction = "ex2.approx.ftz.f32 %f0, %f0;"
    short, long = (cycles_of(chain(instruction), block=512, n=n) for n in (1, 3))
    assert (long - short) / (2 * 64 * 16) == pytest.approx(2, rel=0.05)  # 16 lanes per cycle and SM: 2 cycles a warp


def test_conflicts_cost_wavefronts():
    body = (
        ".shared .align 16 .b8 cells[32768];\nld.param.u64 %d0, [place]; mov.u32 %r0, %tid.x; mov.u32 %r3, cells; mov.f32 %f0, 0f00000000;"
        "mad.lo.u32 %r4, %r0, {step}, %r3;\n" + "st.shared.f32 [%r4], %f0;\n" + "ld.volatile.shared.f32 %f2, [%r4]; add.f32 %f0, %f0, %f2;\n" * 32
        + "st.global.f32 [%d0], %f0;"
    )  # fmt: skip
    straight, conflicting = (cycles_of(body.format(step=step), block=256) for step in (4, 128))
    assert conflicting.memory["shared_wavefronts"] == 32 * straight.memory["shared_wavefronts"]
    assert conflicting > 5 * straight


def test_more_work_never_takes_less():
    few, many = (cycles_of(chain("fma.rn.f32 %f0, %f0, %f1, %f1;"), n=n) for n in (1, 8))
    assert few < many
    assert few.issued < many.issued


def test_a_result_is_a_number_with_a_story():
    found = cycles_of(chain("fma.rn.f32 %f0, %f0, %f1, %f1;"), block=128, grid=2)
    assert found == int(found) == found.cycles and found > 100 and found / 2 < found
    assert 0 < found.error < 1 and found.time_us == pytest.approx(found.cycles / 1980)
    assert found.occupancy.limiter in ("registers", "shared memory", "warps", "CTAs")
    assert sum(row.issued for row in found.lines) == found.issued
    assert found.to_dict()["stalls"] == {k: round(v, 1) for k, v in found.stalls.items()}
    slices = [e for e in events(found) if e["ph"] == "X"]
    assert slices and all(e["dur"] >= 0 and e["ts"] + e["dur"] <= found.cycles + 200 for e in slices)


@pytest.mark.slow
def test_barriers_hold_warps_together():
    body = (
        "ld.param.u64 %d0, [place]; mov.u32 %r0, %tid.x; shr.u32 %r2, %r0, 5; mov.f32 %f0, 0f00000000; mov.f32 %f1, 0f3F000000;"
        "setp.ne.u32 %p1, %r2, 0; @%p1 bra rest;\n"
        + "fma.rn.f32 %f0, %f0, %f1, %f1;\n" * 200
        + "rest: bar.sync 0; st.global.f32 [%d0], %f0;"
    )
    found = cycles_of(body, block=128)
    assert found.stalls["barrier"] > 3 * 500  # three warps wait for the fourth's 800 cycles
    assert found.memory["unmatched_waits"] == 0


def test_a_plain_run_has_no_cycles():
    place = np.zeros(16, np.uint32)
    assert kernel(chain("fma.rn.f32 %f0, %f0, %f1, %f1;")).launch(1, 32, [place, 1]).cycles is None


@pytest.mark.slow
def test_runs_repeat():
    body = chain("fma.rn.f32 %f0, %f0, %f1, %f1;")
    assert cycles_of(body, block=256, grid=3).to_dict() == cycles_of(body, block=256, grid=3).to_dict()


@pytest.mark.parametrize("engine", ["interpreter", "compiled"])
@pytest.mark.parametrize(
    "lanes, times", [("%r0, 0", 1), ("0, 0", 1), ("0, 1", 32)], ids=["one", "all the same", "all others"]
)
def test_copies_that_all_lanes_start_alike_are_one(engine, lanes, times):
    """ptxas starts the copies of a warp's lanes as one where their operands are uniform."""
    who, apart = lanes.split(", ")
    body = (
        f".shared .align 128 .b8 tile[32768];\nld.param.u64 %d0, [place]; mov.u32 %r0, %tid.x; setp.eq.u32 %p0, {who}, 0; mov.u32 %r1, tile;"
        f"mul.lo.u32 %r2, %r0, {1024 * int(apart)}; add.u32 %r1, %r1, %r2; cvt.u64.u32 %d1, %r2; add.u64 %d0, %d0, %d1;"
        "@%p0 cp.async.bulk.global.shared::cta.bulk_group [%d0], [%r1], 1024; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"
    )
    run = kernel(body).launch(1, 32, [np.zeros(1 << 16, np.uint8), 1], profile=True, engine=engine, checks="none")
    assert run.cycles.memory["bulk_bytes"] == 1024 * times
