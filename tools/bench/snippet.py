"""New snippets of 20 lines in a warm process: the time until the registers are there."""

import numpy as np
from common import best

from ptxsim import snippet

TEXT = """
.reg .pred %q;
mov.u32 %a, %tid.x; add.u32 %b, %a, NUMBER; mul.lo.u32 %c, %b, %a; shl.b32 %d, %c, 3; xor.b32 %e, %d, %a;
cvt.rn.f32.u32 %f, %e; fma.rn.f32 %g, %f, %f, 0f3F800000; add.f32 %h, %g, %f; setp.gt.f32 %q, %h, 0f42000000;
selp.b32 %i, %a, %b, %q; and.b32 %j, %i, 31; mul.wide.u32 %o, %j, 4; add.u64 %p, %o, %buf; ld.global.u32 %k, [%p];
add.u32 %l, %k, %j; st.global.u32 [%p], %l; shfl.sync.bfly.b32 %m, %l, 1, 31, -1; max.s32 %n, %m, %l;
min.s32 %r, %n, 1000; sub.u32 %s, %r, %a;
"""
numbers = iter(range(1, 1 << 20))


def once():
    text = TEXT.replace("NUMBER", str(np.random.default_rng().integers(1 << 30) + next(numbers)))
    return snippet(text, buffers={"buf": np.arange(64, dtype=np.uint32)}, engine="compiled")


once()
wall, cpu = best(once, 20)
print(f"snippet of 20 lines, new text: {wall * 1e3:.1f} ms ({cpu * 1e3:.1f} CPU)")
