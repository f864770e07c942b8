"""Copies to tensor memory, and loads that reduce."""

import numpy as np
import pytest

from ptxsim import Module
from ptxsim.layout.instruction_descriptor import InstructionDescriptor
from ptxsim.layout.tensor_descriptor import TensorDescriptor
from tests.instructions.tcgen05.harness import COLUMNS, ROWS, SHARED, run
from tests.instructions.tcgen05.test_products import as_bytes, bits_of, codes_of, core_matrices, draw, moved

# Rows, bytes of a row, and the rows of tensor memory that each row goes to (CuTe's UTCCP traits).
COPIES = {
    "128x256b": (128, 32, lambda row: [row]),
    "128x128b": (128, 16, lambda row: [row]),
    "4x256b": (4, 32, lambda row: [32 * row]),
    "64x128b.warpx2::02_13": (64, 16, lambda row: [row, row + 64]),
    "64x128b.warpx2::01_23": (64, 16, lambda row: [row % 32 + 64 * (row // 32) + part for part in (0, 32)]),
    "32x128b.warpx4": (32, 16, lambda row: [row + 32 * part for part in range(4)]),
}


@pytest.mark.thin(4)
@pytest.mark.parametrize("ctas", [1, 2])
@pytest.mark.parametrize("shape", COPIES)
def test_copies_from_shared_memory(shape, ctas):
    rows, width, goes = COPIES[shape]
    image = np.random.default_rng(1).integers(0, 256, (ctas, 4096), np.uint8)
    given = TensorDescriptor(SHARED, 2048, 128).encode()
    found = run(
        f"mov.b64 %a, {given:#x}; tcgen05.cp.cta_group::{ctas}.{shape} [%tmem+8], %a;", image, np.zeros(1), ctas
    )
    expected = np.zeros((ctas, ROWS, COLUMNS), np.uint32)
    for row in range(rows):
        pieces = [image[:, row // 8 * 128 + piece * 2048 + row % 8 * 16 :][:, :16] for piece in range(width // 16)]
        words = np.ascontiguousarray(np.concatenate(pieces, axis=1)).view(np.uint32)
        for lane in goes(row):
            expected[:, lane, 8 : 8 + width // 4] = words
    assert (found == expected).all()


@pytest.mark.parametrize(("source", "type"), [("b4x16_p64", "e2m1"), ("b6x16_p32", "e3m2")])
def test_copies_that_widen_their_elements(source, type):
    """What such a copy brings is the A of a product from tensor memory."""
    words = InstructionDescriptor("f8f6f4", 128, 32, 32, "f32", type, "e4m3")
    x, y = draw(128, 32, type), draw(32, 32, "e4m3")
    rows_a = as_bytes(codes_of(x, type), bits_of(type), 8)
    tile_a, tile_b = core_matrices(rows_a), core_matrices(as_bytes(codes_of(y.T, "e4m3"), 8, 8))
    image = np.concatenate([tile_a.data, tile_b.data])[None]
    body = (
        f"mov.b64 %a, {tile_a.descriptor:#x}; tcgen05.cp.cta_group::1.128x256b.b8x16.{source} [%tmem+64], %a; "
        f"mov.b64 %b, {moved(tile_b, tile_a.data.size).descriptor:#x}; "
        f"tcgen05.mma.cta_group::1.kind::f8f6f4 [%tmem], [%tmem+64], %b, {words.encode():#x}, 0;"
    )
    found = run(body, image, np.zeros(1))[0, :, :32]
    assert (found.view(np.float32) == x @ y).all()


REDUCING = """.version 8.8
.target sm_103a
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 r)
{{
    .shared .b32 place;
    .reg .b32 %t, %tmem, %v0, %v1, %v2, %v3;
    .reg .{type} %d0, %d1, %d2, %d3, %r;
    .reg .b64 %x, %o, %at;
    ld.param.u64 %x, [x];
    ld.param.u64 %o, [r];
    mov.u32 %t, %tid.x;
    mul.wide.u32 %at, %t, 16;
    add.u64 %x, %x, %at;
    mul.wide.u32 %at, %t, 4;
    add.u64 %o, %o, %at;
    tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [place], 32;
    ld.shared.b32 %tmem, [place];
    ld.global.v4.b32 {{%v0, %v1, %v2, %v3}}, [%x];
    tcgen05.st.sync.aligned.32x32b.x4.b32 [%tmem], {{%v0, %v1, %v2, %v3}};
    tcgen05.wait::st.sync.aligned;
    tcgen05.ld.red.sync.aligned.32x32b.x4.{op}.{type} {{%d0, %d1, %d2, %d3}}, %r, [%tmem];
    tcgen05.wait::ld.sync.aligned;
    st.global.{type} [%o], %r;
    tcgen05.dealloc.cta_group::1.sync.aligned.b32 %tmem, 32;
    ret;
}}
"""


@pytest.mark.parametrize("engine", ["interpreter", "compiled"])
@pytest.mark.parametrize(
    ("op", "type"), [("min", "f32"), ("max.abs", "f32"), ("max.NaN", "f32"), ("min", "s32"), ("max", "u32")]
)
def test_loads_that_reduce(op, type, engine):
    dtype = {"f32": np.float32, "s32": np.int32, "u32": np.uint32}[type]
    x = np.random.default_rng(2).integers(0 if type == "u32" else -99, 99, (32, 4)).astype(dtype)
    if type == "f32":
        x[3, 1] = np.nan
    r = np.zeros(32, dtype)
    Module.from_text(REDUCING.format(op=op, type=type)).kernel().launch(1, 32, [x, r], engine=engine)
    numbers = abs(x) if "abs" in op else x
    quiet, loud = (np.nanmax, np.max) if "max" in op else (np.nanmin, np.min)
    assert np.array_equal(r, (loud if "NaN" in op else quiet)(numbers, axis=1), equal_nan=type == "f32")
