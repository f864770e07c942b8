"""Tensor copies of elements of 4 and 6 bits that have padding in shared memory, and of pieces of 32 and 64 bytes that change places."""

import numpy as np
import pytest

import ptxsim
from ptxsim.layout.swizzle import swizzle
from ptxsim.machine.copies.tensor_map import ELEMENT_TYPES, decode, field_place
from tests.helpers import launch

ROWS, ROW = 16, 128  # of a box in shared memory: rows, and bytes of each
KERNEL = """
.version 8.8
.target sm_100a
.address_size 64
.visible .entry k(.param .align 64 .b8 m[128], .param .u64 D, .param .u64 S)
{
    .shared .align 1024 .b8 tile[2048];
    .shared .align 8 .b64 full;
    .reg .pred %p;
    .reg .b32 %t, %s, %n, %v<4>;
    .reg .b64 %m, %D, %S, %o;
    ld.param.u64 %D, [D];
    ld.param.u64 %S, [S];
    mov.b64 %m, m;
    cvta.param.u64 %m, %m;
    mbarrier.init.shared::cta.b64 [full], 1;
    BODY
    mov.u32 %n, 0;
DUMP:
    mov.u32 %s, tile;
    add.u32 %s, %s, %n;
    cvt.u64.u32 %o, %n;
    add.u64 %o, %D, %o;
    ld.shared.v4.b32 {%v0, %v1, %v2, %v3}, [%s];
    st.global.v4.b32 [%o], {%v0, %v1, %v2, %v3};
    add.u32 %n, %n, 16;
    setp.lt.u32 %p, %n, 2048;
    @%p bra DUMP;
    ret;
}
"""
LOAD = """
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], BYTES;
    cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [tile], [%m, {FIRST, 3}], [full];
WAIT:
    mbarrier.try_wait.parity.shared::cta.b64 %p, [full], 0;
    @!%p bra WAIT;
"""
STORE = """
    mov.u32 %n, 0;
FILL:
    cvt.u64.u32 %o, %n;
    add.u64 %o, %S, %o;
    mov.u32 %s, tile;
    add.u32 %s, %s, %n;
    ld.global.v4.b32 {%v0, %v1, %v2, %v3}, [%o];
    st.shared.v4.b32 [%s], {%v0, %v1, %v2, %v3};
    add.u32 %n, %n, 16;
    setp.lt.u32 %p, %n, 2048;
    @%p bra FILL;
    fence.proxy.async.shared::cta;
    cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%m, {FIRST, 3}], [tile];
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group 0;
"""


def run(body, tensor_map, first=0, source=None, engine=None, target="sm_100a"):
    """The tile in shared memory after it, and what was found."""
    dump, source = np.zeros(ROWS * ROW, np.uint8), np.zeros(ROWS * ROW, np.uint8) if source is None else source
    unit = next(row.unit for row in ELEMENT_TYPES if row.code == tensor_map.device_bytes(lambda _: 0)[9])
    body = body.replace("FIRST", str(first)).replace("BYTES", str(ROWS * ROW * unit // 16))  # padding is not counted
    text = KERNEL.replace("BODY", body).replace("sm_100a", target)
    result = launch(text, [tensor_map, dump, source], block=1, checks="all", engine=engine)
    return dump, [finding for finding in result.findings if finding.level == "error"]


def tile_of(dump, mode):
    """The rows of a tile."""
    return dump[swizzle(np.arange(ROWS * ROW), mode)].reshape(ROWS, ROW)


def packed(codes, bits):
    """Elements (rows, n) as they stand in global memory, one after the other."""
    digits = np.unpackbits(codes[..., None], axis=-1, bitorder="little")[..., :bits]
    return np.packbits(digits.reshape(len(codes), -1), axis=-1, bitorder="little")


def drawn(bits, elements=256, rows=24):
    return np.random.default_rng(bits).integers(0, 1 << bits, (rows, elements), np.uint8)


@pytest.mark.thin(4)
@pytest.mark.parametrize("mode", ["none", "128B", "128B_32B", "128B_64B"])
@pytest.mark.parametrize(("type", "bits"), [("b4x16_p64", 4), ("b6x16_p32", 6)])
def test_sixteen_elements_take_sixteen_bytes(type, bits, mode, engine):
    image = packed(drawn(bits), bits)
    tensor_map = ptxsim.TensorMap(image, type, [256, 24], [image.shape[1]], [128, ROWS], swizzle=mode)
    dump, errors = run(LOAD, tensor_map, 128, engine=engine)
    assert errors == []
    pieces = tile_of(dump, mode).reshape(ROWS, 8, 16)
    wanted = image[3 : 3 + ROWS, 16 * bits :].reshape(ROWS, 8, 2 * bits)
    assert (pieces[..., : 2 * bits] == wanted).all() and (pieces[..., 2 * bits :] == 0xFF).all()


def test_rows_outside_of_the_tensor_are_zeros(engine):
    image = packed(drawn(6, 128, 8), 6)
    dump, errors = run(LOAD, ptxsim.TensorMap(image, "b6x16_p32", [128, 8], [96], [128, ROWS]), engine=engine)
    pieces = tile_of(dump, "none").reshape(ROWS, 8, 16)
    assert errors == [] and (pieces[:5, :, :12] == image[3:].reshape(5, 8, 12)).all() and (pieces[5:] == 0).all()


@pytest.mark.thin(3)
@pytest.mark.parametrize("mode", ["none", "128B", "128B_64B"])
def test_bytes_of_six_bits_are_packed_as_they_are_stored(mode, engine):
    codes = drawn(8, 128, ROWS)  # the upper two bits are padding
    tile = np.zeros(ROWS * ROW, np.uint8)
    tile[swizzle(np.arange(ROWS * ROW), mode)] = codes.ravel()
    out = np.zeros((24, 192), np.uint8)
    tensor_map = ptxsim.TensorMap(out, "b6p2x16", [256, 24], [192], [128, ROWS], swizzle=mode)
    _, errors = run(STORE, tensor_map, 128, tile, engine)
    wanted = np.zeros_like(out)
    wanted[3 : 3 + ROWS, 96:] = packed(codes & 63, 6)
    assert errors == [] and (out == wanted).all()


@pytest.mark.thin(4)
@pytest.mark.parametrize("mode", ["128B_32B", "128B_64B"])
def test_larger_pieces_keep_together(mode, engine):
    array = np.random.default_rng(0).normal(size=(32, 32)).astype(np.float32)
    dump, errors = run(LOAD, ptxsim.TensorMap(array, box=(32, ROWS), swizzle=mode), engine=engine)
    assert errors == [] and (tile_of(dump, mode).view(np.float32) == array[3 : 3 + ROWS]).all()
    lines = dump.view(np.float32).reshape(
        ROWS, 2, 16
    )  # the manual's table: pieces 4 to 7 come first in every other line
    if mode == "128B_64B":
        assert (lines[1] == array[4].reshape(2, 16)[::-1]).all()


@pytest.mark.thin(4)
@pytest.mark.parametrize(
    ("type", "first", "target", "body", "said"),
    [
        ("b4x16_p64", 64, "sm_100a", LOAD, "multiples of 128 elements"),
        ("b6x16_p32", 32, "sm_100a", LOAD, "multiples of 128 elements"),
        ("b4x16_p64", 0, "sm_100a", STORE, "b4x16 has no padding"),
        ("b4x16_p64", 0, "sm_120a", LOAD, "sm_120a loads no tensors of elements below 8 bits"),
    ],
)
def test_what_the_manual_forbids_is_an_error(type, first, target, body, said, engine):
    image = np.zeros((24, 192), np.uint8)
    _, errors = run(body, ptxsim.TensorMap(image, type, [256, 24], [192], [128, ROWS]), first, None, engine, target)
    assert any(said in f"{finding.message} {finding.help}" for finding in errors)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"dims": [256, 24], "box": [64, 16]}, "boxes of 128"),
        ({"dims": [192, 24], "box": [128, 16]}, "multiples of that"),
        ({"strides": [208]}, "multiples of 32"),
        ({"swizzle": "64B"}, "no swizzle or one of 128B"),
        ({"swizzle": "128B_32B_8B"}, "not modeled"),
        ({"oob_fill": "nan"}, "cannot read as NaN"),
    ],
)
def test_maps_that_the_driver_refuses(given, said):
    options = {"dims": [256, 24], "strides": [192], "box": [128, 16]} | given
    with pytest.raises(ptxsim.PtxError, match=said):
        ptxsim.TensorMap(np.zeros((24, 224), np.uint8), "b6x16_p32", **options)


def test_the_atomicity_is_a_field_of_a_map():
    """That tensormap.replace.swizzle_atomicity sets."""
    array, (at, _) = np.zeros((32, 32), np.float32), field_place("swizzle_atomicity")
    data = bytearray(ptxsim.TensorMap(array, box=(32, ROWS), swizzle="128B").device_bytes(lambda _: 0))
    for number, mode in enumerate(("128B", "128B_32B")):
        data[at] = number
        assert decode(bytes(data)).swizzle == mode and decode(bytes(data)).encode() == bytes(data)
    data[field_place("swizzle_mode")[0]] = 2
    with pytest.raises(ValueError, match="only the swizzle of 128B"):
        decode(bytes(data))


@pytest.mark.parametrize(("field", "number"), [("swizzle_atomicity", 2), ("swizzle_mode", 4)])
def test_swizzles_of_which_only_figures_tell(field, number, engine):
    """A run of a map that a program has edited so ends, and does not say that it is wrong."""
    made = ptxsim.TensorMap(np.zeros((24, 64), np.float32), box=(32, ROWS), swizzle="128B")
    data = bytearray(made.device_bytes(lambda _: 0))
    data[field_place(field)[0]] = number
    made.device_bytes = lambda place: bytes(data)
    _, errors = run(LOAD, made, 0, None, engine, "sm_103a")
    assert [finding.name for finding in errors] == ["not-modeled"]
