"""Stores that an SM puts together, as tools/data/accesses.tsv has them."""

from __future__ import annotations

import numpy as np
import pytest

from tests.profile.kernels import kernel

TURNS = 16


def sectors(warps: int, words: int, between: str = "", type: str = "u32", turns: int = TURNS) -> float:
    """Sectors written to L2 by so many warps that store words in turn to a place of as many words a lane, by turn."""
    size = 4 if type == "u32" else 1
    stores = between.join(f"st.global.{type} [%d0+{size * k}], %r1;" for k in range(words))
    text = f"""ld.param.u64 %d0, [place]; ld.param.u32 %r0, [n]; mov.u32 %r1, %tid.x; mul.wide.u32 %d1, %r1, {size * words}; add.s64 %d0, %d0, %d1;
        again: {stores} add.s64 %d0, %d0, {size * words * 32 * warps}; add.s32 %r0, %r0, -1; setp.ne.s32 %p0, %r0, 0; @%p0 bra again;"""
    place = np.zeros(words * 32 * warps * turns, np.uint32)
    run = kernel(text).launch(1, 32 * warps, [place, turns], profile=True, gpu="H100", checks="none")
    return float(run.cycles.memory["l2_write_sectors"]) / turns


@pytest.mark.parametrize(
    "warps, words, type, measured",
    [(1, 4, "u32", 16), (4, 4, "u32", 64), (8, 2, "u32", 64.4), (8, 4, "u32", 470), (16, 4, "u32", 997), (8, 4, "u8", 33.9)],
)  # fmt: skip
def test_stores_to_few_lines_are_put_together(warps, words, type, measured):
    assert sectors(warps, words, type=type) == pytest.approx(measured, rel=0.1)


def test_lines_are_closed_where_nothing_comes_for_a_while():
    assert sectors(1, 4, "bar.sync 0;") == pytest.approx(16.25, rel=0.05)
    assert sectors(1, 4, "membar.gl;") == 64


def burst(threads: int, ctas: int, words: int) -> float:
    """Requests to L2 for each line that is written, of threads that each load a word and then store so many side by side, once (tools/data/bursts)."""
    stores = "".join(f"st.global.u32 [%d1+{4 * k}], %r1;" for k in range(words))
    text = f"""ld.param.u64 %d0, [place]; mov.u32 %r0, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mad.lo.u32 %r0, %r0, %r2, %r3;
        mul.wide.u32 %d2, %r0, 4; add.s64 %d2, %d2, %d0; ld.global.u32 %r1, [%d2]; mul.wide.u32 %d1, %r0, {4 * words}; add.s64 %d1, %d1, %d0; {stores}"""
    place = np.zeros(ctas * threads * words, np.uint32)
    run = kernel(text).launch(ctas, threads, [place, 0], profile=True, checks="none")
    return float(run.cycles.memory["l2_write_sectors"]) / (threads * words / 8)


@pytest.mark.parametrize("threads", [256, 512, 1024])
def test_a_warp_goes_on_with_a_few_stores(threads):
    """Not so in a loop, where warps take turns: 512 and 1024 threads have 1.09 and 1.05 requests for a line."""
    assert burst(threads, 1, 4) == pytest.approx(1.07, abs=0.1)


@pytest.mark.parametrize("threads, measured", [(384, 1.45), (512, 1.71), (1024, 1.54)])
def test_a_third_of_them_is_parted_where_all_sms_store(threads, measured):
    assert burst(threads, 132, 4) == pytest.approx(measured, rel=0.4)
    assert burst(threads, 132, 2) == pytest.approx(1.05, abs=0.1)
