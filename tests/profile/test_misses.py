"""Loads that miss L1, as measured (tools/data/misses): how long they take by shape."""

from __future__ import annotations

import numpy as np

from ptxsim import Device, Module
from tests.profile.kernels import HEADER, kernel

TURNS = 32


def of_a_turn(load: str, place: str, grid: int = 1, warps: int = 1, gpu: str = "H200") -> float:
    """Cycles of a turn in which each warp waits for what it has loaded; %r2: an element beyond all that were loaded before."""
    text = f"""ld.param.u64 %d0, [place]; ld.param.u32 %r0, [n]; mov.u32 %r1, %tid.x; and.b32 %r3, %r1, 31; mov.u32 %r4, %ctaid.x; mov.u32 %r5, %ntid.x;
        mad.lo.u32 %r4, %r4, %r5, %r1; {place} mul.wide.u32 %d1, %r2, 4; add.s64 %d0, %d0, %d1;
        again: {load} and.b32 %r7, %r6, 1; mul.wide.u32 %d1, %r7, 4; add.s64 %d0, %d0, %d1; add.s64 %d0, %d0, {4 * 32 * warps * grid * 64};
        add.s32 %r0, %r0, -1; setp.ne.s32 %p0, %r0, 0; @%p0 bra again; st.global.u32 [%d0], %r6;"""
    cycles = []
    for count in (TURNS, 2 * TURNS):
        buffer = np.zeros(32 * warps * grid * 64 * (count + 1), np.uint32)
        run = kernel(text).launch(grid, 32 * warps, [buffer, count], profile=True, gpu=gpu, checks="none")
        cycles.append(float(run.cycles))
    return (cycles[1] - cycles[0]) / TURNS


LINE = "mov.u32 %r2, %r4;"
LINES = "mad.lo.u32 %r2, %r3, 31, %r4;"  # each lane a line


def test_a_line_comes_from_l2_little_later_than_a_word():
    word = of_a_turn("ld.global.u32 %r6, [%d0];", "mov.u32 %r2, 0;")
    line = of_a_turn("ld.global.u32 %r6, [%d0];", LINE)
    assert 260 < word < 330
    assert abs(line - word) < 12


def test_of_many_lines_the_last_one_is_waited_for():
    line = of_a_turn("ld.global.u32 %r6, [%d0];", LINE)
    assert 60 < of_a_turn("ld.global.u32 %r6, [%d0];", LINES) - line < 120


def test_loads_wait_for_atomics_on_memory_of_the_cluster():
    """They leave the SM one after the other: 430 cycles, not 310, in a histogram over two CTAs' memory (dh_c2 of shared/timing2, by instruction)."""
    add = "red.relaxed.cluster.shared::cluster.add.u32 [%r3], %r1;"
    load = "ld.global.u32 %r6, [%d0]; and.b32 %r7, %r6, 1; add.u32 %r1, %r1, %r7; add.s64 %d0, %d0, 128;"
    turns = {}
    for name, body in {"loads": load, "both": 4 * add + load}.items():
        text = f"""{HEADER} .visible .entry k(.param .u64 place, .param .u32 n) .explicitcluster .reqnctapercluster 2 {{ .reg .b32 %r<9>; .reg .b64 %d<2>; .reg .pred %p;
            .shared .b32 words[256]; ld.param.u64 %d0, [place]; ld.param.u32 %r0, [n]; mov.u32 %r1, %tid.x; mov.u32 %r2, words; shl.b32 %r4, %r1, 5; add.u32 %r2, %r2, %r4;
            mov.u32 %r5, %cluster_ctarank; xor.b32 %r5, %r5, 1; mapa.shared::cluster.u32 %r3, %r2, %r5; barrier.cluster.arrive; barrier.cluster.wait;
            again: {body} add.s32 %r0, %r0, -1; setp.ne.s32 %p, %r0, 0; @%p bra again; st.global.u32 [%d0], %r1; barrier.cluster.arrive; barrier.cluster.wait; ret; }}"""
        cycles = []
        for count in (TURNS, 2 * TURNS):
            buffer = np.zeros(32 * (2 * TURNS + 1), np.uint32)
            run = (
                Module.from_text(text)
                .kernel("k")
                .launch(2, 32, [buffer, count], profile=True, gpu="H200", checks="none")
            )
            cycles.append(float(run.cycles))
        turns[name] = (cycles[1] - cycles[0]) / TURNS
    assert turns["both"] - turns["loads"] > 100


def test_the_same_data_elsewhere_takes_as_long():
    text = """ld.param.u64 %d0, [place]; mov.u32 %r1, %tid.x; mul.wide.u32 %d1, %r1, 128; add.s64 %d0, %d0, %d1;
        ld.global.u32 %r6, [%d0]; st.global.u32 [%d0], %r6;"""
    cycles = []
    for before in (1, 5000, 12345):
        device = Device("sm_90a")
        device.malloc(before)
        data = device.malloc(128 * 64)
        run = device.launch(kernel(text), 1, 64, [data, 1], profile=True, gpu="H200", checks="none")
        cycles.append(float(run.cycles))
    assert len(set(cycles)) == 1
