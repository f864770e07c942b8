"""Atomics on global memory that no lane waits for."""

from __future__ import annotations

import numpy as np

from tests.profile.kernels import kernel


def cycles(atomic: str) -> int:
    body = "ld.param.u64 %d0, [place]; mov.u32 %r0, %tid.x; mul.wide.u32 %d1, %r0, 4; add.s64 %d1, %d0, %d1;\n" + atomic
    return kernel(body).launch(1, 256, [np.zeros(4096, np.uint32), 0], profile=True, engine="interpreter").cycles.cycles


def test_nobody_waits_for_a_reduction():
    few = cycles("red.global.add.u32 [%d1], 1;")
    wanted = cycles("atom.global.add.u32 %r1, [%d1], 1; st.global.u32 [%d1], %r1;")
    many = cycles("red.global.add.u32 [%d0], %r0;\n" * 16)  # one word: they queue
    assert few + 300 < wanted
    assert many > 5 * few
