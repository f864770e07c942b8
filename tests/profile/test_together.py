"""What loads, reductions and fences of an SM cost where many come together (tools/data/together, H200), and which of SMs with as much to do is replayed."""

from __future__ import annotations

import numpy as np
import pytest

from tests.profile.kernels import kernel

ROW = 4224  # words


@pytest.fixture(autouse=True)
def without_assembler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PTXSIM_PTXAS", "off")


def cycles(text: str, ctas: int, threads: int, memory: np.ndarray, turns: int = 0, cluster: int = 1) -> float:
    run = kernel(text).launch(ctas, threads, [memory, turns], cluster=cluster, profile=True, gpu="H200", checks="none")
    return float(run.cycles)


def per_turn(body: str, ctas: int, threads: int, begin: str = "", cluster: int = 1) -> float:
    """Cycles of a turn of a loop."""
    text = f"""ld.param.u64 %d0, [place]; ld.param.u32 %r0, [n]; mov.u32 %r1, %tid.x; mul.wide.u32 %d1, %r1, 4; add.u64 %d1, %d0, %d1; {begin}
        again: {body} add.s32 %r0, %r0, -1; setp.ne.s32 %p0, %r0, 0; @%p0 bra again;"""
    few, many = (cycles(text, ctas, threads, np.zeros(1 << 16, np.uint32), turns, cluster) for turns in (8, 40))
    return (many - few) / 32


def rows_read(apart: int) -> float:
    """Cycles of 16 CTAs of an SM that read seventeen rows each, `apart` from one CTA's first to that of the fourth after it."""
    loads = "".join(f"ld.global.nc.f32 %f2, [%d1+{4 * ROW * k}]; add.f32 %f1, %f1, %f2;" for k in range(17))
    text = f"""ld.param.u64 %d0, [place]; mov.u32 %r0, %ctaid.x; mov.u32 %r1, %tid.x; rem.u32 %r2, %r0, 33; div.u32 %r3, %r0, 33; mad.lo.u32 %r2, %r2, 128, %r1;
        mul.lo.u32 %r3, %r3, {apart}; mad.lo.u32 %r2, %r3, {ROW}, %r2; mul.wide.u32 %d1, %r2, 4; add.u64 %d1, %d0, %d1; mov.f32 %f1, 0f00000000; {loads}
        st.global.f32 [%d0], %f1;"""
    return cycles(text, 2112, 128, np.zeros(ROW * (64 * apart + 17), np.float32))


def test_what_comes_into_l1_takes_turns_with_what_is_read_of_it():
    shared, own = rows_read(1), rows_read(17)  # measured 2,863 and 4,534 with a few instructions more
    assert shared == pytest.approx(2863, rel=0.3)  # a quarter too short in the model: the page of the set says why
    assert own == pytest.approx(4534, rel=0.15)


@pytest.mark.parametrize("ctas, measured", [(1, 160.0), (132, 415.0)])
def test_reductions_of_a_line_take_as_long_in_vectors(ctas, measured):
    begin = "mov.u32 %r2, %ctaid.x; and.b32 %r2, %r2, 15; mul.wide.u32 %d2, %r2, 4096; add.u64 %d2, %d2, %d0; mul.wide.u32 %d3, %r1, {}; add.u64 %d2, %d2, %d3;"
    ones = "".join(f"red.global.add.f32 [%d2+{512 * k}], %f1;" for k in range(8))
    fours = "".join(f"red.global.add.v4.f32 [%d2+{2048 * k}], {{%f1, %f1, %f1, %f1}};" for k in range(2))
    each = [per_turn(ones, ctas, 128, begin.format(4)), per_turn(fours, ctas, 128, begin.format(16))]
    assert each[0] == pytest.approx(each[1], rel=0.02)
    assert each[0] == pytest.approx(measured, rel=0.05)


def test_fences_of_many_warps_follow_each_other():
    meet = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"
    few, many = (per_turn(meet, 2, 32 * warps, cluster=2) for warps in (8, 32))
    assert many - few == pytest.approx(649 - 371, rel=0.3)


def test_the_sm_whose_data_is_what_all_read_is_not_the_one_replayed():
    text = """ld.param.u64 %d0, [place]; ld.param.u32 %r0, [n]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mad.lo.u32 %r2, %r2, 128, %r1; mul.wide.u32 %d1, %r2, 4; add.u64 %d1, %d0, %d1;
        ld.global.nc.u32 %r3, [%d1]; mov.u64 %d2, %d0;
        again: ld.global.nc.u32 %r4, [%d2]; xor.b32 %r3, %r3, %r4; and.b32 %r4, %r4, 1; cvt.u64.u32 %d3, %r4; add.u64 %d2, %d2, %d3; add.u64 %d2, %d2, 32;
        add.s32 %r0, %r0, -1; setp.ne.s32 %p0, %r0, 0; @%p0 bra again; st.global.u32 [%d1], %r3;"""
    run = kernel(text).launch(
        132, 128, [np.zeros(132 * 128, np.uint32), 16], profile=True, gpu="H200", checks="none", on_error="report"
    )
    assert run.cycles.sm > 0
    assert run.cycles.cycles > 16 * 280  # each of the sixteen sectors comes from L2, which CTA 0 has


@pytest.mark.parametrize(
    "body, said",
    [
        ("red.global.add.v4.f32 [%d2], {%f1, %f1, %f1, %f1};", "add up in the warp"),
        (
            "ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%d2]; st.global.v4.f32 [%d2+512], {%f1, %f2, %f3, %f4};",
            "wider loads",
        ),
    ],
)
def test_advice_on_a_full_queue_is_about_what_fills_it(body, said):
    text = f"""ld.param.u64 %d0, [place]; ld.param.u32 %r0, [n]; mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 16; add.u64 %d2, %d0, %d2;
        again: {body * 8} add.s32 %r0, %r0, -1; setp.ne.s32 %p0, %r0, 0; @%p0 bra again;"""
    run = kernel(text).launch(132, 1024, [np.zeros(1 << 13, np.float32), 4], profile=True, gpu="H200", checks="none")
    advice = [each for each in run.cycles.suggestions if "lg_throttle" in each]
    assert advice and said in advice[0]
