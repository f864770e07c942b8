"""Atomics on shared memory that the assembler makes cheaper, and those on global memory that nobody waits for."""

from __future__ import annotations

import numpy as np
import pytest

from ptxsim.profile.lowering.atomics import COUNTED, REDUCED, cheaper
from tests.profile.kernels import kernel

CELLS = ".shared .align 16 .b8 cells[4096];\nmov.u32 %r0, %tid.x; mov.u32 %r1, cells; mad.lo.u32 %r2, %r0, 4, %r1;\n"


@pytest.mark.parametrize(
    "atomic, how",
    [
        ("atom.shared.add.u32 %r9, [%r2], 1;", COUNTED),
        ("red.shared.inc.u32 [%r2], -1;", COUNTED),
        ("atom.shared.add.u32 %r9, [%r2], 1; st.shared.u32 [%r2], %r9;", None),  # the old value is wanted
        ("red.shared.add.u32 [%r2], 2;", None),
        ("red.shared.max.u32 [%r1], %r0;", REDUCED),
        ("red.shared.add.f32 [%r1], %f0;", None),
    ],
)
def test_cheaper_ones(atomic, how):
    program = kernel(CELLS + atomic).program("sm_90a")
    (op,) = [op for op in program.ops if op.opcode.startswith(("atom", "red"))]
    assert cheaper(program).get(op.site) == how


def cycles(atomic: str) -> int:
    body = "ld.param.u64 %d0, [place]; mov.u32 %r0, %tid.x; mul.wide.u32 %d1, %r0, 4; add.s64 %d1, %d0, %d1;\n" + atomic
    return kernel(body).launch(1, 256, [np.zeros(4096, np.uint32), 0], profile=True, engine="interpreter").cycles.cycles


def test_nobody_waits_for_a_reduction():
    few = cycles("red.global.add.u32 [%d1], 1;")
    wanted = cycles("atom.global.add.u32 %r1, [%d1], 1; st.global.u32 [%d1], %r1;")
    many = cycles("red.global.add.u32 [%d0], %r0;\n" * 16)  # one word: they queue
    assert few + 300 < wanted
    assert many > 5 * few
