"""A sum by shuffles, shared memory and one atomic a CTA: divergence, barriers and warp-wide operations together."""

from collections.abc import Callable

import numpy as np
from common import compare, show

from ptxsim import Module, Run

TEXT = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry sum(.param .u64 data, .param .u64 total)
{
    .reg .b32 %r<8>;
    .reg .b64 %d<4>;
    .reg .pred %p;
    .shared .align 4 .b8 parts[128];
    ld.param.u64 %d0, [data];
    ld.param.u64 %d1, [total];
    mov.u32 %r0, %tid.x;
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mad.lo.u32 %r2, %r1, %r2, %r0;
    mul.wide.u32 %d2, %r2, 4;
    add.u64 %d0, %d0, %d2;
    ld.global.u32 %r3, [%d0];
    mov.u32 %r4, 16;
warp:
    shfl.sync.bfly.b32 %r5, %r3, %r4, 31, -1;
    add.u32 %r3, %r3, %r5;
    shr.u32 %r4, %r4, 1;
    setp.ne.u32 %p, %r4, 0;
    @%p bra warp;
    and.b32 %r6, %r0, 31;
    setp.ne.u32 %p, %r6, 0;
    @%p bra stored;
    shr.u32 %r6, %r0, 3;
    mov.u32 %r7, parts;
    add.u32 %r6, %r6, %r7;
    st.shared.u32 [%r6], %r3;
stored:
    bar.sync 0;
    setp.ne.u32 %p, %r0, 0;
    @%p ret;
    mov.u32 %r4, 0;
    mov.u32 %r7, parts;
    mov.u32 %r3, 0;
sum:
    ld.shared.u32 %r5, [%r7];
    add.u32 %r3, %r3, %r5;
    add.u32 %r7, %r7, 4;
    add.u32 %r4, %r4, 1;
    setp.lt.u32 %p, %r4, 8;
    @%p bra sum;
    red.global.add.u32 [%d1], %r3;
    ret;
}
"""
module = Module.from_text(TEXT)


def launcher(n: int) -> Callable[[str], Run]:
    data, total = np.arange(n, dtype=np.uint32), np.zeros(1, np.uint32)

    def launch(engine: str) -> Run:
        total[:] = 0
        run = module.kernel().launch(n // 256, 256, [data, total], engine=engine, jobs=1)
        assert total[0] == data.sum(dtype=np.uint32)
        return run

    return launch


show(compare("reduction 1M", launcher(1 << 20), interpreted=launcher(1 << 13)))
