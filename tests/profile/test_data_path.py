"""What accesses to shared memory take of the SM at least (shared/timing, bank_conflicts.npz: cycles of the SM with 8 warps), and what match.any does not."""

from __future__ import annotations

import numpy as np
import pytest

from tests.profile.kernels import kernel

TURNS, EACH, WARPS = 32, 8, 8


def of_an_access(access: str, warps: int = WARPS) -> float:
    """Cycles of the SM for each, with so many warps."""
    text = f"""ld.param.u64 %d0, [place]; ld.param.u32 %r0, [n]; mov.u32 %r1, %tid.x; and.b32 %r2, %r1, 31; shl.b32 %r2, %r2, 2; mov.u32 %r3, words; add.u32 %r2, %r2, %r3;
        again: {access * EACH} add.s32 %r0, %r0, -1; setp.ne.s32 %p0, %r0, 0; @%p0 bra again; st.global.u32 [%d0], %r4;"""
    cycles = []
    for count in (TURNS, 2 * TURNS):
        run = kernel(text, before=".shared .align 16 .b32 words[64];").launch(
            1, 32 * warps, [np.zeros(64, np.uint32), count], profile=True, gpu="H200", checks="none"
        )
        cycles.append(float(run.cycles))
    return (cycles[1] - cycles[0]) / TURNS / EACH / warps


@pytest.mark.parametrize(
    "access, measured",
    [("st.volatile.shared.u32 [%r2], %r1;", 2.03), ("ld.volatile.shared.v4.u32 {%r4, %r5, %r6, %r7}, [%r3];", 2.04)],
)
def test_as_measured(access, measured):
    assert of_an_access(access) == pytest.approx(measured, rel=0.1)


def test_matches_do_not_hold_accesses_up():
    both = "match.any.sync.b32 %r8, %r1, -1; ld.volatile.shared.u32 %r4, [%r2];"
    assert of_an_access(both) - of_an_access("match.any.sync.b32 %r8, %r1, -1;") < 2
