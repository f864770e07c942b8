"""mma.sync in a loop of one warp against OpenBLAS's f32 product of 1024 x 1024 x 1024, one core each, as JSON.

    python tools/bench/mma_loop.py [--rounds N]

Every turn of the loop is eight instructions on two sets of accumulators. Multiply-adds of sparse forms are those that
are carried out: half of m * n * k.
"""

from __future__ import annotations

import argparse
import os
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy comes

import numpy as np
from common import show
from tensor_loop import Loop, compare

from ptxsim import Module

# Opcode after `mma`, registers of A, B and of the accumulators with their type, element type that operands are filled
# with, multiply-adds.
FORMS: dict[str, tuple[str, int, int, str, Any, int]] = {
    "m16n8k16 f16": ("sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", 4, 2, "f32", np.float16, 16 * 8 * 16),
    "m16n8k16 bf16": ("sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", 4, 2, "f32", "bf16", 16 * 8 * 16),
    "m16n8k8 tf32": ("sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", 4, 2, "f32", np.float32, 16 * 8 * 8),
    "m16n8k32 e4m3": ("sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32", 4, 2, "f32", "e4m3", 16 * 8 * 32),
    "m16n8k32 s8": ("sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", 4, 2, "s32", np.int8, 16 * 8 * 32),
    "sparse m16n8k32 f16": ("sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32", 4, 4, "f32", np.float16, 16 * 8 * 16),
}
BODY = """
.version 8.5
.target sm_90
.address_size 64
.visible .entry k(.param .u64 operands, .param .u64 results, .param .u32 turns)
{{
    .reg .b32 %a<4>, %b<4>, %c<4>, %d<4>, %n, %t;
    .reg .b64 %p<3>;
    .reg .pred %q;
    ld.param.u64 %p0, [operands];
    ld.param.u64 %p1, [results];
    ld.param.u32 %n, [turns];
    mov.u32 %t, %tid.x;
    mul.wide.u32 %p2, %t, 32;
    add.u64 %p0, %p0, %p2;
    add.u64 %p1, %p1, %p2;
    ld.global.v4.b32 {{%a0, %a1, %a2, %a3}}, [%p0];
    ld.global.v4.b32 {{%b0, %b1, %b2, %b3}}, [%p0+16];
    mov.b32 %c0, 0; mov.b32 %c1, 0; mov.b32 %c2, 0; mov.b32 %c3, 0;
    mov.b32 %d0, 0; mov.b32 %d1, 0; mov.b32 %d2, 0; mov.b32 %d3, 0;
turn:
    {instructions}
    sub.u32 %n, %n, 1;
    setp.ne.u32 %q, %n, 0;
    @%q bra turn;
    st.global.v4.b32 [%p1], {{%c0, %c1, %c2, %c3}};
    st.global.v4.b32 [%p1+16], {{%d0, %d1, %d2, %d3}};
    ret;
}}
"""
IN_A_TURN = 8


def operands(kind: Any) -> np.ndarray:
    """32 bytes a lane: numbers around one, of either sign."""
    import ml_dtypes

    kind = {"bf16": ml_dtypes.bfloat16, "e4m3": ml_dtypes.float8_e4m3fn}.get(kind, kind)
    values = np.random.default_rng(1).normal(size=32 * 32 // np.dtype(kind).itemsize)
    return np.ascontiguousarray((values * (20 if kind is np.int8 else 1)).astype(kind)).view(np.uint32)


def loop(name: str) -> Loop:
    opcode, a, b, _, kind, macs = FORMS[name]
    tail = ", 0x44444444, 0x0" if opcode.startswith("sp") else ""
    if tail:
        opcode = opcode.replace("sp.", "sp::ordered_metadata.")

    def group(letter: str, count: int) -> str:
        return "{" + ", ".join(f"%{letter}{i}" for i in range(count)) + "}"

    one = [f"mma.{opcode} {group(x, 4)}, {group('a', a)}, {group('b', b)}, {group(x, 4)}{tail};" for x in "cd"]
    text = BODY.format(instructions="\n    ".join(one * (IN_A_TURN // 2)))
    if tail:  # metadata is a register
        text = text.replace("0x44444444", "%m").replace("turn:", ".reg .b32 %m; mov.b32 %m, 0x44444444;\nturn:")
    kernel = Module.from_text(text).kernel()
    values, results = operands(kind), np.zeros(32 * 8, np.uint32)

    def launch(turns: int) -> None:
        kernel.launch(1, 32, [values, results, turns], engine="compiled", jobs=1, banks=False)
        assert results.any()

    return Loop(name, launch, IN_A_TURN * macs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--forms", nargs="+", choices=FORMS, default=list(FORMS))
    options = parser.parse_args()
    show(compare([loop(name) for name in options.forms], {"sgemm_1024": (1024, 1024, 1024)}, options.rounds))


if __name__ == "__main__":
    main()
