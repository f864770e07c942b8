"""ldmatrix and stmatrix of elements below 16 bits, with the products they are made for: whole kernels on sm_120a."""

import numpy as np
import pytest

import ptxsim
from tests.helpers import launch, names

KERNEL = """.version 8.7
.target sm_120a
.address_size 64
.visible .entry k(.param .u64 IN, .param .u64 D) {{
    .reg .pred %p;
    .reg .b32 %r<40>, %a<4>, %b<4>, %sa, %sb;
    .reg .b64 %in, %d, %x;
    .reg .f32 %f<8>;
    .shared .align 128 .b8 tile[2048];
    ld.param.u64 %in, [IN];
    ld.param.u64 %d, [D];
    mov.u32 %r0, %tid.x;
    mov.u32 %r1, tile;
    mov.u32 %r3, 0;
copy:                                   // 2048 bytes, 16 a lane and round
    shl.b32 %r4, %r0, 4;
    add.u32 %r4, %r4, %r3;
    cvt.u64.u32 %x, %r4;
    add.u64 %x, %x, %in;
    ld.global.v4.b32 {{%r5, %r6, %r7, %r8}}, [%x];
    add.u32 %r9, %r1, %r4;
    st.shared.v4.b32 [%r9], {{%r5, %r6, %r7, %r8}};
    add.u32 %r3, %r3, 512;
    setp.lt.u32 %p, %r3, 2048;
    @%p bra copy;
    bar.warp.sync 0xffffffff;
    shl.b32 %r2, %r0, 4;
    add.u32 %r2, %r2, %r1;              // rows of A: 16 bytes each, 32 of them
    mov.f32 %f0, 0f00000000; mov.f32 %f1, %f0; mov.f32 %f2, %f0; mov.f32 %f3, %f0;
    mov.f32 %f4, %f0; mov.f32 %f5, %f0; mov.f32 %f6, %f0; mov.f32 %f7, %f0;
    mov.b32 %sa, 0x7f7f8180; mov.b32 %sb, 0x7f7f7e82;
    shl.b32 %r10, %r0, 5;
    cvt.u64.u32 %x, %r10;
    add.u64 %d, %d, %x;
{body}
    st.global.v4.f32 [%d], {{%f0, %f1, %f2, %f3}};
    st.global.v4.f32 [%d+16], {{%f4, %f5, %f6, %f7}};
    ret;
}}
"""
A, B = "{%a0, %a1, %a2, %a3}", "{%b0, %b1}"
LOAD_A = "ldmatrix.sync.aligned.{0}.x4.shared.{1} {{%a0, %a2, %a1, %a3}}, [%r2];\n"
LOAD_B = "ldmatrix.sync.aligned.{0}.x2.shared.{1} {{%b0, %b1}}, [%r2+512];\n"
PRODUCT = "mma.sync.aligned.m16n8k32.row.col.{kind}.f32.{a}.{b}.f32{scale} {{%f0,%f1,%f2,%f3}}, {A}, {B}, {{%f0,%f1,%f2,%f3}}{scales};\n"


def packed(codes: np.ndarray, bits: int) -> np.ndarray:
    """Rows of 16 codes as rows of 16 bytes: 8-, 6- or 4-bit elements one after the other, then padding."""
    spread = (codes[..., None] >> np.arange(bits) & 1).astype(np.uint8).reshape(*codes.shape[:-1], -1)
    rows = np.packbits(spread, axis=-1, bitorder="little")
    return np.pad(rows, [(0, 0)] * (rows.ndim - 1) + [(0, 16 - rows.shape[-1])])


def accumulated(body: str, image: np.ndarray, engine: str) -> np.ndarray:
    data = np.zeros(2048, np.uint8)
    data[: image.size] = image.reshape(-1)
    d = np.zeros((32, 8), np.float32)
    run = launch(KERNEL.format(body=body), [data, d], engine=engine, checks="all")
    assert names(run.findings, "error", "warning") == []
    return d


def accumulators(d: np.ndarray, first: int = 0) -> np.ndarray:
    """The 16 x 8 matrix of four accumulators of every lane."""
    fragment = ptxsim.fragment("mma.m16n8k32.f32.e4m3", "D")
    return fragment.to_matrix(np.ascontiguousarray(d[:, first : first + 4].T).view(np.uint32)).view(np.float32)


BITS = {"e4m3": 8, "e5m2": 8, "e3m2": 6, "e2m3": 6, "e2m1": 4}
FORMAT = {8: ("m8n8", "b16"), 6: ("m8n16", "b8x16.b6x16_p32"), 4: ("m8n16", "b8x16.b4x16_p64")}
PAIRS = [("e4m3", "e5m2"), ("e3m2", "e2m3"), ("e2m1", "e2m1"), ("e2m1", "e4m3"), ("e5m2", "e3m2"), ("e2m3", "e2m1")]


def operands(a: str, b: str):
    """Codes of A (16, 32) and B (32, 8) without NaN, their image, and the loads that make fragments of it."""
    rng = np.random.default_rng(len(a + b) + BITS[a])
    codes = [rng.integers(0, 1 << BITS[t], shape, dtype=np.uint8) for t, shape in ((a, (16, 32)), (b, (8, 32)))]
    codes = [np.where(c & 0x78 == 0x78, c ^ 0x40, c) if BITS[t] == 8 else c for c, t in zip(codes, (a, b))]
    # Matrices of 8 rows and 16 elements; for A the next 8 rows come before the next 16 of k (see LOAD_A).
    tiles = [c.reshape(-1, 8, 2, 16).swapaxes(1, 2) for c in codes]
    image = np.concatenate([packed(tile, BITS[t]).reshape(-1) for tile, t in zip(tiles, (a, b))])
    loads = LOAD_A.format(*FORMAT[BITS[a]]) + LOAD_B.format(*FORMAT[BITS[b]])
    for t, registers in ((a, "a0 a1 a2 a3"), (b, "b0 b1")):
        if BITS[t] == 4:
            loads += "".join(f"shl.b32 %{r}, %{r}, 2;\n" for r in registers.split())
    return codes[0], codes[1].T, image, loads


@pytest.mark.thin(5)
@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_rows_of_narrow_floats_feed_f8f6f4(a, b, engine):
    a_codes, b_codes, image, loads = operands(a, b)
    body = loads + PRODUCT.format(kind="kind::f8f6f4", a=a, b=b, A=A, B=B, scale="", scales="")
    d = accumulators(accumulated(body, image, engine))
    form = f"mma.m16n8k32.kind::f8f6f4.f32.{a}.{b}.f32"
    expected = ptxsim.execute(form, a_codes, b_codes, np.zeros((16, 8), np.float32), target="sm_120a")
    assert np.array_equal(d.view(np.uint32), expected.view(np.uint32)) and d.any()


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_block_scales_raise_the_products(a, b, engine):
    """All lanes hold the same scales; the selected bytes are 0x81 of A and 0x82 of B: 2^2 and 2^3."""
    a_codes, b_codes, image, loads = operands(a, b)
    scale, scales = ".ue8m0", ", %sa, {1, 0}, %sb, {0, 0}"
    body = loads + PRODUCT.format(kind="kind::mxf8f6f4.block_scale", a=a, b=b, A=A, B=B, scale=scale, scales=scales)
    d = accumulators(accumulated(body, image, engine))
    plain = ptxsim.execute(
        f"mma.m16n8k32.kind::f8f6f4.f32.{a}.{b}.f32", a_codes, b_codes, np.zeros((16, 8), np.float32), target="sm_120a"
    )
    assert np.array_equal(d, plain * np.float32(32)) and d.any()


def test_transposed_bytes_are_a_column_major_b(engine):
    """m16n16 with .trans: B as it lies in memory, k by rows of 16 n. Two matrices make k 32 and two tiles of 8 n."""
    rng = np.random.default_rng(5)
    a, b = (rng.integers(0, 0x70, shape, dtype=np.uint8) for shape in ((16, 32), (32, 16)))
    tiles = packed(a.reshape(2, 8, 2, 16).swapaxes(1, 2), 8)
    body = LOAD_A.format(*FORMAT[8])
    body += "ldmatrix.sync.aligned.m16n16.x2.trans.shared.b8 {%b0, %b1, %b2, %b3}, [%r2+512];\n"
    for n, accumulator in ((0, "{%f0,%f1,%f2,%f3}"), (1, "{%f4,%f5,%f6,%f7}")):
        fragment = f"{{%b{n}, %b{n + 2}}}"
        body += f"mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {accumulator}, {A}, {fragment}, {accumulator};\n"
    d = accumulated(body, np.concatenate([tiles.reshape(-1), b.reshape(-1)]), engine)
    for n in range(2):
        form, c = "mma.m16n8k32.f32.e4m3.e4m3.f32", np.zeros((16, 8), np.float32)
        expected = ptxsim.execute(form, a, b[:, 8 * n : 8 * n + 8], c, target="sm_120a")
        assert np.array_equal(accumulators(d, 4 * n), expected) and expected.any()


def test_accumulators_as_bytes_are_stored_transposed(engine):
    """stmatrix m16n8: a lane's four bytes are where the four accumulators of m16n8 are; memory gets rows of 16 m."""
    body = """
    shl.b32 %r11, %r0, 2;                   // bytes 4 lane .. 4 lane + 3
    add.u32 %r12, %r11, 1; add.u32 %r13, %r11, 2; add.u32 %r14, %r11, 3;
    prmt.b32 %r11, %r11, %r12, 0x0040; prmt.b32 %r13, %r13, %r14, 0x0040;
    prmt.b32 %r11, %r11, %r13, 0x5410;
    stmatrix.sync.aligned.m16n8.x1.trans.shared.b8 [%r2], {%r11};
    bar.warp.sync 0xffffffff;
    shl.b32 %r15, %r0, 2; add.u32 %r15, %r15, %r1;
    ld.shared.b32 %r16, [%r15];
    mov.b32 %f0, %r16;
"""
    stored = accumulated(body, np.zeros(16, np.uint8), engine)[:, 0].copy().view(np.uint8).reshape(8, 16)
    lane, i = np.arange(32)[:, None], np.arange(4)[None, :]
    expected = np.zeros((16, 8), np.uint8)
    expected[lane // 4 + 8 * (i // 2), 2 * (lane % 4) + i % 2] = 4 * lane + i
    assert np.array_equal(stored, expected.T)
