"""Lines that lanes choose each for itself, of a table that all SMs read."""

from __future__ import annotations

import numpy as np

from tests.profile.kernels import kernel

WORDS = 8192


def gather(first: str) -> float:
    """Cycles of a load at random in 32 KiB by 132 CTAs of 512 threads, of which each begins with what `first` makes of CTA and thread."""
    text = f"""ld.param.u64 %d0, [place]; mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; {first}
        mul.lo.u32 %r2, %r2, 2654435761; shr.u32 %r2, %r2, 7; and.b32 %r2, %r2, {WORDS - 1};
        mul.wide.u32 %d1, %r2, 4; add.u64 %d1, %d0, %d1; ld.global.nc.u32 %r3, [%d1]; st.global.u32 [%d0+{4 * WORDS}], %r3;"""
    return float(kernel(text).launch(132, 512, [np.zeros(WORDS + 1, np.uint32), 0], profile=True, checks="none").cycles)


def test_who_chooses_of_few_lines_waits_for_the_others_unless_all_come_in_one_order():
    alike, own = gather("mov.u32 %r2, %r0;"), gather("mad.lo.u32 %r2, %r1, 512, %r0;")
    assert own > alike + 500
