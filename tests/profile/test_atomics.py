"""Atomics on global memory that no lane waits for, those on the shared memory of a cluster, and what a match finds."""

from __future__ import annotations

import numpy as np
import pytest

from tests.profile.kernels import kernel


def cycles(atomic: str) -> int:
    body = "ld.param.u64 %d0, [place]; mov.u32 %r0, %tid.x; mul.wide.u32 %d1, %r0, 4; add.s64 %d1, %d0, %d1;\n" + atomic
    return kernel(body).launch(1, 256, [np.zeros(4096, np.uint32), 0], profile=True, engine="interpreter").cycles.cycles


def test_nobody_waits_for_a_reduction():
    few = cycles("red.global.add.u32 [%d1], 1;")
    wanted = cycles("atom.global.add.u32 %r1, [%d1], 1; st.global.u32 [%d1], %r1;")
    many = cycles("red.global.add.f32 [%d0], 0f3F800000;\n" * 16)  # one word: they queue
    assert few + 300 < wanted
    assert many > 5 * few


def test_of_a_warp_one_lane_adds_to_one_word():
    one = cycles("red.global.add.u32 [%d0], %r0;\n" * 16)  # ptxas has the warp add up first
    many = cycles("red.global.add.f32 [%d0], 0f3F800000;\n" * 16)
    assert 5 * one < many


def test_half_of_memory_is_in_the_far_half_of_l2():
    """An atomic takes 350 cycles near and 575 far (tools/data/fences/after.tsv): the mean where several SMs have them."""
    own = "mov.u32 %r0, %tid.x; mov.u32 %r2, %ctaid.x; mad.lo.u32 %r0, %r2, 8192, %r0; mul.wide.u32 %d1, %r0, 4; add.u64 %d0, %d0, %d1;"
    turn = "atom.global.add.u32 %r1, [%d0], 0; cvt.u64.u32 %d1, %r1; add.u64 %d0, %d0, %d1;"
    body = f"ld.param.u64 %d0, [place]; {own} {turn * 8}"
    made, place = kernel(body + "st.global.u32 [%d0], %r1;"), np.zeros(66 * 8192, np.uint32)
    one, many = (made.launch(n, 32, [place, 0], profile=True, gpu="H200").cycles.cycles for n in (1, 66))
    assert 8 * 100 < many - one < 8 * 130


def test_a_match_takes_as_long_as_it_finds_values():
    def matched(value: str, engine: str) -> int:
        body = f"ld.param.u64 %d0, [place]; mov.u32 %r0, %tid.x; {value}; match.any.sync.b32 %r2, %r1, -1; st.global.u32 [%d0], %r2;"
        return kernel(body).launch(1, 32, [np.zeros(64, np.uint32), 0], profile=True, engine=engine).cycles.cycles

    for engine in ("interpreter", "compiled"):
        one, all_lanes = matched("mov.u32 %r1, 3", engine), matched("mov.u32 %r1, %r0", engine)
        assert 300 < all_lanes - one < 400  # 31 more of them


def test_lanes_of_an_atomic_on_another_ctas_shared_memory_follow_each_other():
    def added(rank: int) -> int:
        body = f"""mov.u32 %r0, %tid.x; and.b32 %r1, %r0, 31; shl.b32 %r1, %r1, 2; mov.u32 %r2, cells; add.u32 %r2, %r2, %r1;
            mov.u32 %r5, %cluster_ctarank; xor.b32 %r5, %r5, {rank}; mapa.shared::cluster.u32 %r3, %r2, %r5;
            barrier.cluster.arrive; barrier.cluster.wait;
            {"red.shared::cluster.add.u32 [%r3], 1;" * 8}
            barrier.cluster.arrive; barrier.cluster.wait;"""
        made = kernel(body, ".shared .b32 cells[32];")
        return made.launch(2, 256, [np.zeros(64, np.uint32), 0], cluster=2, profile=True, checks="none").cycles.cycles

    assert added(1) > added(0) + 8 * 8 * 32 * 2


@pytest.mark.slow
def test_the_shared_memory_of_a_cluster_has_a_rate_of_bytes():
    """30 cycles for 512 bytes of a warp, as measured; with more SMs than a GPC's network carries they share it."""

    def cycles(store: str, bytes: int, clusters: int = 1) -> int:
        body = f"""mov.u32 %r0, %tid.x; mul.lo.u32 %r1, %r0, {bytes}; mov.u32 %r2, cells; add.u32 %r2, %r2, %r1;
            mov.u32 %r5, %cluster_ctarank; xor.b32 %r5, %r5, 1; mapa.shared::cluster.u32 %r3, %r2, %r5;
            barrier.cluster.arrive; barrier.cluster.wait; {store * 32} barrier.cluster.arrive; barrier.cluster.wait;"""
        made = kernel(body, ".shared .align 16 .b8 cells[4096];")
        launch = made.launch(
            4 * clusters, 256, [np.zeros(4, np.uint32), 0], profile=True, engine="interpreter", cluster=4, checks="none"
        )
        return launch.cycles.cycles

    narrow = cycles("st.shared::cluster.u32 [%r3], %r0;", 4)
    wide = cycles("st.shared::cluster.v4.u32 [%r3], {%r0, %r0, %r0, %r0};", 16)
    assert wide - narrow == pytest.approx(32 * 8 * (30 - 7.5), rel=0.05)
    crowded = cycles("st.shared::cluster.u32 [%r3], %r0;", 4, clusters=32)
    assert crowded - narrow == pytest.approx(32 * 8 * 7.5, rel=0.25)


def test_what_lies_scattered_in_the_shared_memory_of_a_cluster_takes_longer():
    """By lines and sectors of them, as measured: 2.2 and 1.33 cycles."""

    def cycles(apart: int) -> int:
        body = f"""mov.u32 %r0, %tid.x; mul.lo.u32 %r1, %r0, {apart}; and.b32 %r1, %r1, 4095; mov.u32 %r2, cells; add.u32 %r2, %r2, %r1;
            mov.u32 %r5, %cluster_ctarank; xor.b32 %r5, %r5, 1; mapa.shared::cluster.u32 %r3, %r2, %r5;
            barrier.cluster.arrive; barrier.cluster.wait; {"st.shared::cluster.u32 [%r3], %r0;" * 64} barrier.cluster.arrive; barrier.cluster.wait;"""
        made = kernel(body, ".shared .align 16 .b8 cells[4096];")
        launch = made.launch(2, 32, [np.zeros(4, np.uint32), 0], profile=True, cluster=2, checks="none")
        return launch.cycles.cycles

    assert cycles(132) - cycles(4) > 64 * 0.9 * (32 * 3.5 - 7.5)


def test_words_of_local_memory_that_are_accessed_at_once_take_as_long_as_one_by_one(monkeypatch):
    monkeypatch.setenv("PTXSIM_PTXAS", "off")  # ptxas leaves out what nobody reads

    def cycles(stores: str) -> int:
        body = f"mov.u32 %r0, %tid.x; mov.u64 %d1, own; mov.u32 %r1, 0;\nturn: {stores} add.u32 %r1, %r1, 1; setp.lt.u32 %p0, %r1, 32; @%p0 bra turn;"
        made = kernel(body, ".local .align 16 .b8 own[16];")
        return made.launch(132, 256, [np.zeros(4, np.uint32), 0], profile=True, checks="none").cycles.cycles

    one_by_one = cycles(" ".join(f"st.local.u32 [%d1+{4 * k}], %r0;" for k in range(4)))
    assert abs(cycles("st.local.v4.u32 [%d1], {%r0, %r0, %r0, %r0};") / one_by_one - 1) < 0.1


def test_results_that_nobody_reads_are_not_waited_for():
    """ptxas makes a reduction of such an atomic; in a loop its next turn would wait for the register."""

    def turns(atomic: str) -> int:
        return cycles(
            f"mov.u32 %r2, 0; AGAIN: {atomic}; add.s64 %d1, %d1, 1024; add.u32 %r2, %r2, 1;"
            " setp.lt.u32 %p0, %r2, 12; @%p0 bra AGAIN;"
        )

    assert turns("atom.global.add.u32 %r1, [%d1], 1") == turns("red.global.add.u32 [%d1], 1")
