"""wgmma m64n256 in a loop of one warpgroup against OpenBLAS's f32 products, one core each, as JSON.

    python tools/bench/wgmma_loop.py [--rounds N]

Every turn is a fence, four products from shared memory, a commit and a wait. They are compared with the f32 product of the
same m, n and k and with one of 1024 x 1024 x 1024. Multiply-adds of sparse forms are those that are carried out.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy comes

import numpy as np
from common import show
from tensor_loop import Loop, compare

from ptxsim import Module

IN_A_TURN = 4
# Opcode after `wgmma.mma_async`, operands after the predicate, type of accumulators, element type, k.
FORMS = {
    "m64n256k16 f16": ("sync.aligned.m64n256k16.f32.f16.f16", ", 1, 1, 0, 0", "f32", "f16", 16),
    "m64n256k16 bf16": ("sync.aligned.m64n256k16.f32.bf16.bf16", ", 1, 1, 0, 0", "f32", "bf16", 16),
    "m64n256k8 tf32": ("sync.aligned.m64n256k8.f32.tf32.tf32", ", 1, 1", "f32", "f32", 8),
    "m64n256k32 e4m3": ("sync.aligned.m64n256k32.f32.e4m3.e4m3", ", 1, 1", "f32", "e4m3", 32),
    "m64n256k32 s8": ("sync.aligned.m64n256k32.s32.s8.s8", "", "s32", "s8", 32),
    "sparse m64n256k32 f16": ("sp.sync.aligned.m64n256k32.f32.f16.f16", ", 1, 1, 0, 0", "f32", "f16", 32),
}
A_BYTES, B_AT = 64 * 32, 2048
TEXT = """
.version 8.5
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 tiles, .param .u64 results, .param .u32 turns)
{{
    .reg .{type} %d<128>;
    .reg .b32 %r<8>, %m;
    .reg .b64 %p<4>, %a, %b;
    .reg .pred %q, %accumulate;
    .shared .align 1024 .b8 tile[{bytes}];
    ld.param.u64 %p0, [tiles];
    ld.param.u64 %p1, [results];
    ld.param.u32 %r0, [turns];
    mov.u32 %r1, %tid.x;
    mul.lo.u32 %r2, %r1, 16;
    mov.u32 %r3, tile;
    mov.b32 %m, 0x44444444;
fill:
    cvt.u64.u32 %p2, %r2;
    add.u64 %p2, %p0, %p2;
    ld.global.v4.b32 {{%r4, %r5, %r6, %r7}}, [%p2];
    add.u32 %r1, %r3, %r2;
    st.shared.v4.b32 [%r1], {{%r4, %r5, %r6, %r7}};
    add.u32 %r2, %r2, 2048;
    setp.lt.u32 %q, %r2, {bytes};
    @%q bra fill;
    fence.proxy.async;
    bar.sync 0;
    shr.u32 %r4, %r3, 4;
    cvt.u64.u32 %a, %r4;
    add.u64 %b, %a, {b_at};
    or.b64 %a, %a, {a_strides};
    or.b64 %b, %b, {b_strides};
    {zero}
    setp.eq.u32 %accumulate, 0, 0;
turn:
    wgmma.fence.sync.aligned;
    {instructions}
    wgmma.commit_group.sync.aligned;
    wgmma.wait_group.sync.aligned 0;
    sub.u32 %r0, %r0, 1;
    setp.ne.u32 %q, %r0, 0;
    @%q bra turn;
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %p2, %r1, 4;
    add.u64 %p1, %p1, %p2;
    st.global.{type} [%p1], %d77;
    ret;
}}
"""


def strides(leading: int, stride: int) -> int:
    """The descriptor of a tile without swizzle, but for its address: bytes between core matrices along k, and across."""
    return leading >> 4 << 16 | stride >> 4 << 32


def tiles(kind: str, size: int) -> np.ndarray:
    """Bytes of A and B: numbers around one, of either sign."""
    import ml_dtypes

    types = {"f16": np.float16, "f32": np.float32, "s8": np.int8}
    types |= {"bf16": ml_dtypes.bfloat16, "e4m3": ml_dtypes.float8_e4m3fn}
    values = np.random.default_rng(1).normal(size=size // np.dtype(types[kind]).itemsize)
    return np.ascontiguousarray((values * (20 if kind == "s8" else 1)).astype(types[kind])).view(np.uint8)


def loop(name: str) -> Loop:
    opcode, tail, accumulator, kind, k = FORMS[name]
    sparse = opcode.startswith("sp")
    row = 64 if sparse else 32  # bytes of B along k
    registers = ", ".join(f"%d{i}" for i in range(128))
    metadata = "%m, 0, " if sparse else ""
    one = f"wgmma.mma_async.{opcode} {{{registers}}}, %a, %b, {metadata}%accumulate{tail};"
    size = B_AT + 256 * row
    zero = "0f00000000" if accumulator == "f32" else "0"
    text = TEXT.format(
        type=accumulator, bytes=size, b_at=B_AT >> 4, a_strides=strides(128, 256), b_strides=strides(128, 8 * row),
        zero=" ".join(f"mov.{accumulator} %d{i}, {zero};" for i in range(128)), instructions="\n    ".join([one] * IN_A_TURN),
    )  # fmt: skip
    kernel = Module.from_text(text).kernel()
    values, results = tiles(kind, size), np.zeros(128, np.uint32)

    def launch(turns: int) -> None:
        kernel.launch(1, 128, [values, results, turns], engine="compiled", jobs=1, banks=False)
        assert results.any()

    return Loop(name, launch, IN_A_TURN * 64 * 256 * (k // 2 if sparse else k))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--forms", nargs="+", choices=FORMS, default=list(FORMS))
    options = parser.parse_args()
    shapes = {"sgemm_same": (64, 256, 16), "sgemm_1024": (1024, 1024, 1024)}
    show(compare([loop(name) for name in options.forms], shapes, options.rounds))


if __name__ == "__main__":
    main()
