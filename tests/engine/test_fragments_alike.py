"""Fragments used as what they are not: both engines tell the same, whatever way the registers came."""

import numpy as np
import pytest

from tests.helpers import facts, launch, names, same_on_both

HEAD = """.version 8.4
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 src, .param .u64 out) {
    .reg .f32 g<4>; .reg .b32 x<8>, w<8>, t<8>; .reg .b64 r<8>; .shared .align 16 .b8 tile[4096];
    ld.param.u64 r0, [src]; ld.param.u64 r1, [out]; mov.u32 t0, %tid.x; mul.wide.u32 r2, t0, 32; add.u64 r2, r0, r2;
    ld.global.v4.b32 {x0, x1, x2, x3}, [r2]; ld.global.v4.b32 {x4, x5, x6, x7}, [r2+16];
    mov.f32 g0, 0f00000000; mov.f32 g1, g0; mov.f32 g2, g0; mov.f32 g3, g0;
    mov.u32 t1, tile; shl.b32 t2, t0, 2; add.u32 t1, t1, t2;
"""
MMA = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {g0, g1, g2, g3}, {x0, x1, x2, x3}, {x4, x5}, {g0, g1, g2, g3};\n"
TAIL = "mul.wide.u32 r2, t0, 16; add.u64 r2, r1, r2; st.global.v4.b32 [r2], {g0, g1, g2, g3}; ret; }\n"
WAYS = {
    "move": ("mov.b32 x0, g0;", True),
    "pair": ("mov.b64 r3, {g0, g1}; mov.b64 {x0, x1}, r3;", True),
    "another lane's": ("shfl.sync.idx.b32 x0, g0, t0, 31, -1;", True),
    "shared memory": ("st.shared.f32 [t1], g0; ld.shared.b32 x0, [t1];", False),
    "arithmetic": ("mov.b32 t3, g0; or.b32 x0, t3, 0;", False),
    "bytes": ("mov.b32 t3, g0; prmt.b32 x0, t3, t3, 0x3210;", False),
}
LOAD = "wmma.load.{0}.sync.aligned.m16n16k16.{1}.shared.f16 {{x0, x1, x2, x3, x4, x5, x6, x7}}, [tile];\n"
WMMA = (
    "wmma.mma.sync.aligned.m16n16k16.row.row.f16.f16 {t3, t4, t5, t6}, {x0, x1, x2, x3, x4, x5, x6, x7}, "
    "{w0, w1, w2, w3, w4, w5, w6, w7}, {t3, t4, t5, t6};\nmov.b32 g0, t3;\n"
)


def reported(text: str) -> list[str]:
    """Names of the findings, which are the same on both engines."""
    data = np.random.default_rng(0).integers(0x3000, 0x3C00, 512, dtype=np.uint32) * np.uint32(0x10001)

    def outcome(engine: str) -> tuple:
        out = np.zeros(128, np.uint32)
        run = launch(text, [data.copy(), out], engine=engine)
        return out, facts(run), names(run.findings)

    return same_on_both(outcome)[-1]


@pytest.mark.parametrize("way", WAYS)
def test_an_accumulator_as_a_factor(way):
    text, wrong = WAYS[way]
    assert reported(HEAD + MMA + text + "\n" + MMA + TAIL) == ["fragment-mismatch"] * wrong


@pytest.mark.parametrize("way", ["registers", "shared memory"])
def test_a_fragment_of_wmma_as_another(way):
    fill = (
        "st.shared.b32 [t1], x0; st.shared.b32 [t1+128], x1; st.shared.b32 [t1+256], x2; st.shared.b32 [t1+384], x3;\n"
    )
    text = HEAD + fill + LOAD.format("a", "row")
    pairs = "".join(f"mov.b32 w{i}, x{i};\n" for i in range(8))
    if way == "shared memory":
        at = "mov.u32 t1, tile; mul.lo.u32 t2, t0, 32; add.u32 t1, t1, t2; add.u32 t1, t1, 1024;\n"
        pairs = at + "".join(f"st.shared.b32 [t1+{4 * i}], x{i}; ld.shared.b32 w{i}, [t1+{4 * i}];\n" for i in range(8))
    names = reported(text + "mov.b32 t3, 0; mov.b32 t4, 0; mov.b32 t5, 0; mov.b32 t6, 0;\n" + pairs + WMMA + TAIL)
    assert names == ["fragment-mismatch"] * (way == "registers")
