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


def chained(step: int, ctas: int, atomic: str = "atom.global.add.u32 %r1, [%d0], 0;") -> int:
    """Cycles of eight atomics of a warp that wait for each other, `step` bytes apart, by so many CTAs."""
    own = "mov.u32 %r0, %tid.x; mov.u32 %r2, %ctaid.x; mad.lo.u32 %r0, %r2, 8192, %r0; mul.wide.u32 %d1, %r0, 4; add.u64 %d0, %d0, %d1;"
    turn = f"{atomic} cvt.u64.u32 %d1, %r1; add.u64 %d0, %d0, %d1; add.u64 %d0, %d0, {step};"
    body = f"ld.param.u64 %d0, [place]; mov.u32 %r3, 0; {own} {turn * 8}"
    place = np.zeros(ctas * 8192, np.uint32)
    return (
        kernel(body + "st.global.u32 [%d0], %r1;").launch(ctas, 32, [place, 0], profile=True, gpu="H200").cycles.cycles
    )


def test_half_of_memory_is_in_the_far_half_of_l2():
    """An atomic takes 350 cycles near and 575 far (tools/data/fences/after.tsv): the SM that takes longest is far from a line (`x_add` and `x_exch` of
    tools/data/shares: 539 cycles a turn, 315 of one SM alone), of several lines it is the mean."""
    assert 8 * 190 < chained(0, 66) - chained(0, 1) < 8 * 250
    assert 8 * 95 < chained(1024, 66) - chained(1024, 1) < 8 * 130


def test_compare_and_swap_takes_l2_longer():
    """`x_once32` and `x_add` of tools/data/shares, 528 CTAs of 256 threads: 1,044 and 669 cycles a turn."""

    def turns(atomic: str) -> int:
        body = f"""ld.param.u64 %d0, [place]; mov.u32 %r0, %tid.x; mov.u32 %r2, %ctaid.x; mad.lo.u32 %r0, %r2, 256, %r0; mul.wide.u32 %d1, %r0, 4;
            add.u64 %d0, %d0, %d1; mov.u32 %r1, 0; {atomic * 8} st.global.u32 [%d0], %r1;"""
        place = np.zeros(528 * 256, np.uint32)
        return kernel(body).launch(528, 256, [place, 0], profile=True, gpu="H200", checks="none").cycles.cycles

    added, compared = turns("atom.global.add.u32 %r1, [%d0], %r1;"), turns("atom.global.cas.b32 %r1, [%d0], %r1, %r0;")
    assert 1.3 < compared / added < 1.9


@pytest.mark.parametrize("ctas, measured", [(528, 1081), (792, 12456), (1056, 16067)])
def test_loads_that_come_late_wait_for_atomics_on_few_lines(ctas, measured):
    """`a_red` of tools/data/shares: a load, then a reduction of 8 lines by the warps of each CTA. Of up to 32 warps all loads have been sent before."""
    body = """ld.param.u64 %d0, [place]; mov.u32 %r0, %tid.x; mov.u32 %r2, %ctaid.x; mad.lo.u32 %r3, %r2, 256, %r0; mul.wide.u32 %d1, %r3, 4; add.u64 %d1, %d1, %d0;
        ld.global.u32 %r1, [%d1+1024]; mul.wide.u32 %d2, %r0, 4; add.u64 %d2, %d2, %d0; red.global.add.u32 [%d2], %r1;"""
    place = np.zeros(256 + ctas * 256, np.uint32)
    found = kernel(body).launch(ctas, 256, [place, 0], profile=True, gpu="H200", checks="none").cycles.cycles
    assert found == pytest.approx(measured, rel=0.4)


def test_a_match_takes_as_long_as_it_finds_values():
    def matched(value: str, engine: str) -> int:
        body = f"ld.param.u64 %d0, [place]; mov.u32 %r0, %tid.x; {value}; match.any.sync.b32 %r2, %r1, -1; st.global.u32 [%d0], %r2;"
        return kernel(body).launch(1, 32, [np.zeros(64, np.uint32), 0], profile=True, engine=engine).cycles.cycles

    for engine in ("interpreter", "compiled"):
        one, all_lanes = matched("mov.u32 %r1, 3", engine), matched("mov.u32 %r1, %r0", engine)
        assert 300 < all_lanes - one < 400  # 31 more of them


def test_lanes_of_an_atomic_on_another_ctas_shared_memory_follow_each_other_but_on_words_of_a_sector():
    """Measured: `f_red_*` and `f_atom_*` of tools/data/late."""

    def added(rank: int, apart: int) -> int:
        body = f"""mov.u32 %r0, %tid.x; and.b32 %r1, %r0, 31; mul.lo.u32 %r1, %r1, {apart}; mov.u32 %r2, cells; add.u32 %r2, %r2, %r1;
            mov.u32 %r5, %cluster_ctarank; xor.b32 %r5, %r5, {rank}; mapa.shared::cluster.u32 %r3, %r2, %r5;
            barrier.cluster.arrive; barrier.cluster.wait;
            {"red.shared::cluster.add.u32 [%r3], 1;" * 8}
            barrier.cluster.arrive; barrier.cluster.wait;"""
        made = kernel(body, ".shared .b32 cells[256];")
        return made.launch(2, 256, [np.zeros(64, np.uint32), 0], cluster=2, profile=True, checks="none").cycles.cycles

    assert added(1, 32) > added(0, 32) + 8 * 8 * 32 * 2
    assert added(1, 4) - added(0, 4) < (added(1, 32) - added(0, 32)) / 3


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


@pytest.mark.parametrize("ranks, bytes, measured", [(4, 4, 98), (8, 4, 217), (4, 16, 382), (8, 16, 893)])
def test_what_comes_to_one_cta_of_a_cluster_is_taken_in_by_sectors(ranks, bytes, measured):
    """`d_first` of tools/data/shares, 256 threads of each CTA store to the first one's memory: cycles a store more, 32 bytes in each."""

    def cycles(stores: int) -> int:
        value = "{%r0, %r0, %r0, %r0}" if bytes == 16 else "%r0"
        store = f"st.shared::cluster.{'v4.' if bytes == 16 else ''}u32 [%r3], {value};"
        body = f"""mov.u32 %r0, %tid.x; mul.lo.u32 %r1, %r0, {bytes}; mov.u32 %r2, cells; add.u32 %r2, %r2, %r1; mapa.shared::cluster.u32 %r3, %r2, 0;
            barrier.cluster.arrive; barrier.cluster.wait; {store * stores} barrier.cluster.arrive; barrier.cluster.wait;"""
        made = kernel(body, ".shared .align 16 .b8 cells[4096];")
        launch = made.launch(
            ranks, 256, [np.zeros(4, np.uint32), 0], profile=True, gpu="H200", cluster=ranks, checks="none"
        )
        return launch.cycles.cycles

    assert (cycles(32) - cycles(16)) / 16 == pytest.approx(measured, rel=0.06)


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
