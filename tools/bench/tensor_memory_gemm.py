"""A tcgen05 GEMM of sm_100, 1024 x 1024 x 1024 in f16 with f32 results: seconds, as JSON.

    python tools/bench/tensor_memory_gemm.py [--size N] [--checks none|all] [--rounds N] [--jobs N]

A CTA has 128 rows and 256 columns: one warp has tensor copies fill a ring of four stages, one thread multiplies, four warps bring the
result from tensor memory to global memory.
"""

from __future__ import annotations

import argparse
import json
import time

import numpy as np

from ptxsim import Module, Run, TensorMap

M, N, K, STAGES = 128, 256, 64, 4
A_BYTES, B_BYTES = M * K * 2, N * K * 2
STAGE = A_BYTES + B_BYTES
TEXT = """
.version 8.6
.target sm_100a
.address_size 64
.extern .shared .align 1024 .b8 ring[];
.visible .entry gemm(.param .align 64 .b8 mapA[128], .param .align 64 .b8 mapB[128], .param .u64 D, .param .u32 steps, .param .u32 width)
{{
    .shared .align 8 .b64 full[{stages}];
    .shared .align 8 .b64 empty[{stages}];
    .shared .align 8 .b64 done;
    .shared .b32 place;
    .reg .pred %p, %q, %keep;
    .reg .b32 %t, %warp, %i, %n, %stage, %phase, %full, %empty, %at, %k, %x, %y, %tmem, %own, %w, %d<32>;
    .reg .b64 %map, %mapb, %a, %b, %D, %o;

    mov.u32 %t, %tid.x;
    shr.u32 %warp, %t, 5;
    ld.param.u32 %n, [steps];
    ld.param.u32 %w, [width];
    mov.u32 %x, %ctaid.x;
    shl.b32 %x, %x, 7;
    mov.u32 %y, %ctaid.y;
    shl.b32 %y, %y, 8;
    setp.eq.u32 %p, %warp, 0;
    @%p tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [place], 256;
    @%p tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
    setp.ne.u32 %q, %t, 0;
    @%q bra READY;
    mbarrier.init.shared::cta.b64 [done], 1;
    mov.u32 %i, 0;
INIT:
    shl.b32 %at, %i, 3;
    mov.u32 %full, full;
    add.u32 %full, %full, %at;
    mov.u32 %empty, empty;
    add.u32 %empty, %empty, %at;
    mbarrier.init.shared::cta.b64 [%full], 1;
    mbarrier.init.shared::cta.b64 [%empty], 1;
    add.u32 %i, %i, 1;
    setp.lt.u32 %p, %i, {stages};
    @%p bra INIT;
    fence.mbarrier_init.release.cluster;
READY:
    tcgen05.fence::before_thread_sync;
    bar.sync 0;
    tcgen05.fence::after_thread_sync;
    ld.shared.b32 %tmem, [place];
    mov.u32 %i, 0;
    setp.eq.u32 %p, %warp, 0;
    @%p bra COPY;
    setp.eq.u32 %p, %warp, 1;
    @%p bra MULTIPLY;
    bra RESULT;

COPY:
    elect.sync _|%p, 0xffffffff;
    @!%p bra END;
    mov.b64 %map, mapA;
    mov.b64 %mapb, mapB;
    cvta.param.u64 %map, %map;
    cvta.param.u64 %mapb, %mapb;
FILL:
    and.b32 %stage, %i, {last};
    shr.u32 %phase, %i, {log};
    xor.b32 %phase, %phase, 1;
    and.b32 %phase, %phase, 1;
    shl.b32 %at, %stage, 3;
    mov.u32 %full, full;
    add.u32 %full, %full, %at;
    mov.u32 %empty, empty;
    add.u32 %empty, %empty, %at;
EMPTY:
    mbarrier.try_wait.parity.shared::cta.b64 %p, [%empty], %phase;
    @!%p bra EMPTY;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [%full], {stage};
    mov.u32 %at, ring;
    mad.lo.u32 %at, %stage, {stage}, %at;
    shl.b32 %k, %i, 6;
    cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%at], [%map, {{%k, %x}}], [%full];
    add.u32 %at, %at, {a_bytes};
    cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%at], [%mapb, {{%k, %y}}], [%full];
    add.u32 %i, %i, 1;
    setp.lt.u32 %p, %i, %n;
    @%p bra FILL;
    bra END;

MULTIPLY:
    elect.sync _|%p, 0xffffffff;
    @!%p bra END;
    setp.ne.u32 %keep, %i, 0;
TAKE:
    and.b32 %stage, %i, {last};
    shr.u32 %phase, %i, {log};
    and.b32 %phase, %phase, 1;
    shl.b32 %at, %stage, 3;
    mov.u32 %full, full;
    add.u32 %full, %full, %at;
    mov.u32 %empty, empty;
    add.u32 %empty, %empty, %at;
FULL:
    mbarrier.try_wait.parity.shared::cta.b64 %p, [%full], %phase;
    @!%p bra FULL;
    tcgen05.fence::after_thread_sync;
    mov.u32 %at, ring;
    mad.lo.u32 %at, %stage, {stage}, %at;
    shr.u32 %at, %at, 4;
    cvt.u64.u32 %a, %at;
    or.b64 %a, %a, 0x4000404000010000;
    add.u64 %b, %a, {a_units};
    tcgen05.mma.cta_group::1.kind::f16 [%tmem], %a, %b, {words:#x}, %keep;
    setp.eq.u32 %keep, %i, %i;
    add.u64 %a, %a, 2;
    add.u64 %b, %b, 2;
    tcgen05.mma.cta_group::1.kind::f16 [%tmem], %a, %b, {words:#x}, 1;
    add.u64 %a, %a, 2;
    add.u64 %b, %b, 2;
    tcgen05.mma.cta_group::1.kind::f16 [%tmem], %a, %b, {words:#x}, 1;
    add.u64 %a, %a, 2;
    add.u64 %b, %b, 2;
    tcgen05.mma.cta_group::1.kind::f16 [%tmem], %a, %b, {words:#x}, 1;
    tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%empty];
    add.u32 %i, %i, 1;
    setp.lt.u32 %p, %i, %n;
    @%p bra TAKE;
    tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [done];
    bra END;

RESULT:
    mbarrier.try_wait.parity.shared::cta.b64 %p, [done], 0;
    @!%p bra RESULT;
    tcgen05.fence::after_thread_sync;
    and.b32 %t, %t, 127;
    and.b32 %own, %t, 96;
    shl.b32 %own, %own, 16;
    add.u32 %own, %own, %tmem;
    add.u32 %x, %x, %t;
    mad.lo.u32 %x, %x, %w, %y;
    mul.wide.u32 %o, %x, 4;
    ld.param.u64 %D, [D];
    add.u64 %D, %D, %o;
STORE:
    tcgen05.ld.sync.aligned.32x32b.x32.b32 {{{registers}}}, [%own];
    tcgen05.wait::ld.sync.aligned;
{stores}
    add.u32 %own, %own, 32;
    add.u64 %D, %D, 128;
    add.u32 %i, %i, 1;
    setp.lt.u32 %p, %i, 8;
    @%p bra STORE;
END:
    tcgen05.fence::before_thread_sync;
    bar.sync 0;
    tcgen05.fence::after_thread_sync;
    setp.eq.u32 %p, %warp, 0;
    @%p tcgen05.dealloc.cta_group::1.sync.aligned.b32 %tmem, 256;
    ret;
}}
"""


def text() -> str:
    """The kernel."""
    stores = (f"st.global.v4.b32 [%D+{4 * i}], {{%d{i}, %d{i + 1}, %d{i + 2}, %d{i + 3}}};" for i in range(0, 32, 4))
    return TEXT.format(
        stages=STAGES, last=STAGES - 1, log=STAGES.bit_length() - 1, stage=STAGE, a_bytes=A_BYTES, a_units=A_BYTES >> 4,
        words=1 << 4 | N >> 3 << 17 | M >> 4 << 24, registers=", ".join(f"%d{i}" for i in range(32)),
        stores="\n".join(f"    {store}" for store in stores),
    )  # fmt: skip


def multiply(
    size: int, checks: str, jobs: int | None = None, engine: str = "compiled"
) -> tuple[Run, tuple[float, float]]:
    """The launch for square matrices, and the seconds it took, of the clock and of processors. Asserts that the product is right."""
    random = np.random.default_rng(0)
    a, b = (random.integers(-3, 4, (size, size)).astype(np.float16) for _ in range(2))
    maps = [TensorMap(x, box=(K, rows), swizzle="128B") for x, rows in ((a, M), (b, N))]
    d = np.zeros((size, size), np.float32)
    kernel = Module.from_text(text()).kernel("gemm")
    began = time.perf_counter(), time.process_time()
    run = kernel.launch(
        (size // M, size // N), 192, [*maps, d, size // K, size], STAGES * STAGE + 1024, checks=checks, engine=engine, jobs=jobs
    )  # fmt: skip
    took = time.perf_counter() - began[0], time.process_time() - began[1]
    assert (d == a.astype(np.float32) @ b.astype(np.float32).T).all()
    return run, took


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=1024)
    parser.add_argument("--checks", nargs="*", default=["none", "all"])
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--jobs", type=int)
    options = parser.parse_args()
    multiply(256, "none")  # compiles
    for checks in options.checks:
        runs = [multiply(options.size, checks, options.jobs) for _ in range(options.rounds)]
        run, seconds = min(runs, key=lambda each: each[1])
        clock, processor = (round(each, 2) for each in seconds)
        slow = sum(each.count for each in run.slow_path)
        print(
            json.dumps(
                {"checks": checks, "size": options.size, "seconds": clock, "processor": processor, "slow path": slow}
            )
        )


if __name__ == "__main__":
    main()
