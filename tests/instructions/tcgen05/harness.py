"""One kernel around an instruction: shared memory and tensor memory are filled from arrays, and tensor memory is read back."""

from typing import Any

import numpy as np

from ptxsim import Module

ROWS, COLUMNS = 128, 128  # of tensor memory that are filled and read back
SHARED = 2048  # where the tiles begin: a multiple of all swizzle patterns
TEXT = """.version 8.8
.target {target}
.address_size 64
.extern .shared .align 1024 .b8 tiles[];
.visible .entry k(.param .u64 image, .param .u64 before, .param .u64 after, .param .u32 bytes)
{{
    .shared .align 8 .b64 done;
    .shared .b32 place;
    .reg .pred %first, %more, %passed;
    .reg .b32 %t, %n, %at, %tmem, %own, %rank, %v, %d<32>;
    .reg .b64 %image, %before, %after, %x, %a, %b;

    mov.u32 %t, %tid.x;
    mov.u32 %rank, %cluster_ctarank;
    ld.param.u64 %image, [image];
    ld.param.u64 %before, [before];
    ld.param.u64 %after, [after];
    ld.param.u32 %n, [bytes];
    mul.wide.u32 %x, %rank, %n;
    add.u64 %image, %image, %x;
    setp.lt.u32 %first, %t, 32;
    @%first tcgen05.alloc.cta_group::{group}.sync.aligned.shared::cta.b32 [place], 128;
    setp.eq.u32 %first, %t, 0;
    @%first mbarrier.init.shared::cta.b64 [done], 1;
    shl.b32 %at, %t, 4;
FILL:
    cvt.u64.u32 %x, %at;
    add.u64 %x, %x, %image;
    ld.global.v4.b32 {{%d0, %d1, %d2, %d3}}, [%x];
    mov.u32 %own, tiles;
    add.u32 %own, %own, %at;
    st.shared.v4.b32 [%own], {{%d0, %d1, %d2, %d3}};
    add.u32 %at, %at, 2048;
    setp.lt.u32 %more, %at, %n;
    @%more bra FILL;
    fence.proxy.async;
    bar.sync 0;
    ld.shared.b32 %tmem, [place];
    and.b32 %own, %t, 96;
    shl.b32 %own, %own, 16;
    add.u32 %own, %own, %tmem;
    mul.lo.u32 %at, %rank, 65536;
    mad.lo.u32 %at, %t, 512, %at;
    cvt.u64.u32 %x, %at;
    add.u64 %before, %before, %x;
    add.u64 %after, %after, %x;
    mov.u32 %at, 0;
IN:
{loads}
    tcgen05.st.sync.aligned.32x32b.x32.b32 [%own], {{{registers}}};
    add.u64 %before, %before, 128;
    add.u32 %own, %own, 32;
    add.u32 %at, %at, 32;
    setp.lt.u32 %more, %at, 128;
    @%more bra IN;
    tcgen05.wait::st.sync.aligned;
    tcgen05.fence::before_thread_sync;
    {sync}
    tcgen05.fence::after_thread_sync;
    @!%first bra WAIT;
    {skip}
    {body}
    tcgen05.commit.cta_group::{group}.mbarrier::arrive::one.shared::cluster{multicast}.b64 [done]{mask};
WAIT:
    mbarrier.try_wait.parity.shared::cta.b64 %passed, [done], 0;
    @!%passed bra WAIT;
    tcgen05.fence::after_thread_sync;
    sub.u32 %own, %own, 128;
    mov.u32 %at, 0;
OUT:
    tcgen05.ld.sync.aligned.32x32b.x32.b32 {{{registers}}}, [%own];
    tcgen05.wait::ld.sync.aligned;
{stores}
    add.u64 %after, %after, 128;
    add.u32 %own, %own, 32;
    add.u32 %at, %at, 32;
    setp.lt.u32 %more, %at, 128;
    @%more bra OUT;
    tcgen05.fence::before_thread_sync;
    {sync}
    setp.lt.u32 %first, %t, 32;
    @%first tcgen05.dealloc.cta_group::{group}.sync.aligned.b32 %tmem, 128;
    ret;
}}
"""
REGISTERS = ", ".join(f"%d{i}" for i in range(32))
MEET = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"


def four(first: int) -> str:
    """A vector of four registers."""
    return f"{{%d{first}, %d{first + 1}, %d{first + 2}, %d{first + 3}}}"


def run(
    body: str, image: np.ndarray, before: np.ndarray, ctas: int = 1, target: str = "sm_100a", **options: Any
) -> np.ndarray:
    """Tensor memory (ctas, 128, 128) after `body`, which one thread of the first CTA executes; its address is %tmem, that of the tiles
    SHARED. image: bytes (ctas, n) of the CTAs' shared memory; before: words (ctas, 128, 128)."""
    text = TEXT.format(
        target=target, group=ctas, body=body, registers=REGISTERS, sync="bar.sync 0;" if ctas == 1 else MEET,
        skip="" if ctas == 1 else "setp.ne.u32 %more, %rank, 0; @%more bra WAIT;",
        multicast="" if ctas == 1 else ".multicast::cluster", mask="" if ctas == 1 else ", 3",
        loads="\n".join(f"    ld.global.v4.b32 {four(i)}, [%before+{4 * i}];" for i in range(0, 32, 4)),
        stores="\n".join(f"    st.global.v4.b32 [%after+{4 * i}], {four(i)};" for i in range(0, 32, 4)),
    )  # fmt: skip
    if ctas > 1:
        text = (
            text.replace(", 3;", ", %h;")
            .replace("%passed;", "%passed; .reg .b16 %h;")
            .replace("    @!%first bra WAIT;", "    mov.b16 %h, 3;\n    @!%first bra WAIT;")
        )
    image = np.pad(image, ((0, 0), (0, -image.shape[1] % 2048)))
    before = np.ascontiguousarray(np.broadcast_to(before, (ctas, ROWS, COLUMNS)), np.uint32)
    after = np.zeros_like(before)
    kernel = Module.from_text(text).kernel()
    run = kernel.launch(
        ctas, 128, [np.ascontiguousarray(image), before, after, image.shape[1]], SHARED + image.shape[1], cluster=ctas,
        **{"checks": "all", "engine": "interpreter", **options},
    )  # fmt: skip
    assert not run.findings, run.findings
    return after
