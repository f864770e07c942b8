"""Tensor copies through whole kernels: tiles in and out, maps edited by the kernel, and what is wrong with them."""

import numpy as np
import pytest

import ptxsim
from tests.helpers import launch

HEAD = """
.version 8.3
.target sm_90a
.address_size 64
.visible .entry k(.param .align 64 .b8 m[128], .param .u64 D, .param .u64 G, .param .u64 A)
{
    .shared .align 1024 .b8 tile[16384];
    .shared .align 128 .b8 copy[128];
    .shared .align 8 .b64 full;
    .reg .pred %first, %p;
    .reg .b32 %t, %s, %v, %x, %y;
    .reg .b64 %m, %D, %G, %A, %a, %st;
    ld.param.u64 %D, [D];
    ld.param.u64 %G, [G];
    ld.param.u64 %A, [A];
    mov.b64 %m, m;
    cvta.param.u64 %m, %m;
    mov.u32 %t, %tid.x;
    mov.u32 %s, tile;
    setp.eq.u32 %first, %t, 0;
    @%first mbarrier.init.shared::cta.b64 [full], 1;
    @%first fence.proxy.async;
    bar.sync 0;
"""

LOAD = """
    mov.u32 %x, 32;
    mov.u32 %y, -3;
    @!%first bra loaded;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], 2048;
    cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%s], [%m, {%x, %y}], [full];
loaded:
wait:
    mbarrier.try_wait.parity.shared::cta.b64 %p, [full], 0;
    @!%p bra wait;
"""

DUMP = """
    mov.u32 %v, %t;
more:
    add.u32 %x, %s, %v;
    ld.shared.u8 %y, [%x];
    cvt.u64.u32 %a, %v;
    add.u64 %a, %D, %a;
    st.global.u8 [%a], %y;
    add.u32 %v, %v, 64;
    setp.lt.u32 %p, %v, 2048;
    @%p bra more;
"""


def run(body, tensor_map, dump, scratch=None, array=None, seed=0):
    scratch = np.zeros(128, np.uint8) if scratch is None else scratch
    array = np.zeros(1, np.uint8) if array is None else array
    text = HEAD + body + "\n    ret;\n}\n"
    return launch(text, [tensor_map, dump, scratch, array], block=64, checks="all", seed=seed)


def errors(result):
    return [(f.name, f.message) for f in result.findings if f.level == "error"]


@pytest.mark.parametrize("first, row", [(32, -3), (192, 2)])
def test_elements_of_four_bits_count_as_halves_of_bytes(first, row):
    """A box of 64 x 16 of a tensor of 224 x 14: coordinates count elements, what is outside reads as zeros."""
    image = np.random.default_rng(0).integers(0, 256, (14, 112), np.uint8)
    tensor_map = ptxsim.TensorMap(image, "b4x16", [224, 14], [112], [128, 32], swizzle="none")
    dump = np.zeros(2048, np.uint8)
    body = LOAD.replace("mov.u32 %x, 32", f"mov.u32 %x, {first}").replace("mov.u32 %y, -3", f"mov.u32 %y, {row}") + DUMP
    assert errors(run(body, tensor_map, dump)) == []
    wide = np.pad(image, ((3, 64), (0, 128)))
    assert (dump.reshape(32, 64) == wide[3 + row : 35 + row, first // 2 : first // 2 + 64]).all()


def test_four_bits_begin_at_sixteen_bytes():
    image = np.zeros((14, 112), np.uint8)
    tensor_map = ptxsim.TensorMap(image, "b4x16", [224, 14], [112], [128, 32])
    body = LOAD.replace("mov.u32 %x, 32", "mov.u32 %x, 16")
    ((name, message),) = errors(run(body, tensor_map, np.zeros(2048, np.uint8)))
    assert name == "misaligned-address" and "8 bytes" in message
    with pytest.raises(ptxsim.PtxError, match="whole bytes"):
        ptxsim.TensorMap(image, "b4x16", [223, 14], [112], [128, 32])


def box(array, x, y, width, height):
    """The part of a matrix at column x and row y; zeros outside."""
    found = np.zeros((height, width), array.dtype)
    for row in range(height):
        for column in range(width):
            if 0 <= y + row < array.shape[0] and 0 <= x + column < array.shape[1]:
                found[row, column] = array[y + row, x + column]
    return found


@pytest.mark.thin(5)
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("swizzle", ["none", "32B", "64B", "128B"])
def test_a_tile_lands_where_its_swizzle_says(swizzle, seed):
    width = {"none": 64, "32B": 16, "64B": 32, "128B": 64}[swizzle]
    rows = 1024 // width
    array = np.arange(80 * 128, dtype=np.uint16).reshape(80, 128)
    dump = np.zeros(2048, np.uint8)
    result = run(LOAD + DUMP, ptxsim.TensorMap(array, box=(width, rows), swizzle=swizzle), dump, seed=seed)
    assert errors(result) == []
    wanted = box(array, 32, -3, width, rows).view(np.uint8).ravel()
    bits = {"none": 0, "32B": 1, "64B": 3, "128B": 7}[swizzle]
    place = np.arange(2048)
    place ^= (place >> 7 & bits) << 4
    assert (dump[place] == wanted).all()


def test_too_few_bytes_deadlock():
    array = np.zeros((64, 128), np.uint16)
    result = run(LOAD + DUMP, ptxsim.TensorMap(array, box=(64, 8)), np.zeros(2048, np.uint8))
    (finding,) = [f for f in result.findings if f.level == "error"]
    assert finding.name == "deadlock"
    assert any("1024 of 2048 bytes" in note for note in finding.notes)


def test_a_stored_tile_is_clipped_and_reduced():
    body = """
    mov.u32 %v, %t;
fill:
    shl.b32 %x, %v, 2;
    add.u32 %x, %x, %s;
    st.shared.u32 [%x], %v;
    add.u32 %v, %v, 64;
    setp.lt.u32 %p, %v, 512;
    @%p bra fill;
    fence.proxy.async.shared::cta;
    bar.sync 0;
    @!%first bra done;
    cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%m, {8, 60}], [%s];
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group 0;
    cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.bulk_group [%m, {0, -2}], [%s];
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group 0;
done:
"""
    array = np.arange(64 * 32, dtype=np.uint32).reshape(64, 32)
    wanted = array.copy()
    tile = np.arange(512, dtype=np.uint32).reshape(16, 32)
    wanted[60:, 8:] = tile[:4, :24]
    wanted[:14] += tile[2:]
    result = run(body, ptxsim.TensorMap(array, box=(32, 16)), np.zeros(1, np.uint8))
    assert errors(result) == []
    assert (array == wanted).all()


EDIT = """
    @%first tensormap.replace.tile.global_address.shared::cta.b1024.b64 [copy], %A;
    @%first tensormap.replace.tile.rank.shared::cta.b1024.b32 [copy], 1;
    @%first tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [copy], 0, 64;
    @%first tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [copy], 1, 16;
    @%first tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [copy], 0, 128;
    @%first tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [copy], 1, 80;
    mov.b64 %st, 256;
    @%first tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [copy], 0, %st;
    @%first tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [copy], 0, 1;
    @%first tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [copy], 1, 1;
    @%first tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [copy], 1;
    @%first tensormap.replace.tile.interleave_layout.shared::cta.b1024.b32 [copy], 0;
    @%first tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [copy], 0;
    @%first tensormap.replace.tile.fill_mode.shared::cta.b1024.b32 [copy], 0;
    bar.sync 0;
    setp.lt.u32 %p, %t, 32;
    mov.u32 %v, copy;
    @%p tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%G], [%v], 128;
    mov.b64 %m, %G;
"""
ACQUIRE = "    fence.proxy.tensormap::generic.acquire.gpu [%m], 128;\n"
CLEAR = """
    setp.lt.u32 %p, %t, 32;
    mov.u32 %v, copy;
    mad.lo.u32 %v, %t, 4, %v;
    @%p st.shared.u32 [%v], 0;
    bar.sync 0;
"""


@pytest.mark.parametrize("acquire, wanted", [(ACQUIRE, []), ("", ["tensormap-fence"])])
def test_a_map_built_by_the_kernel(acquire, wanted):
    array = np.arange(80 * 128, dtype=np.uint16).reshape(80, 128)
    dump, unused = np.zeros(2048, np.uint8), ptxsim.TensorMap(np.zeros((8, 8), np.float32), box=(4, 4))
    result = run(CLEAR + EDIT + acquire + LOAD + DUMP, unused, dump, array=array)
    assert [name for name, _ in errors(result)] == wanted
    assert (dump.view(np.uint16).reshape(16, 64) == box(array, 32, -3, 64, 16)).all()


def test_coordinates_of_16_bytes():
    array = np.zeros((64, 128), np.uint16)
    result = run(LOAD.replace("%x, 32", "%x, 33"), ptxsim.TensorMap(array, box=(64, 16)), np.zeros(2048, np.uint8))
    assert [name for name, _ in errors(result)] == ["misaligned-address"]


@pytest.mark.parametrize(
    "options",
    [
        {"box": (3, 4)}, {"box": (64, 300)}, {"box": (64, 8), "swizzle": "32B"}, {"box": (8, 8, 8)}, {"box": (8, 8), "dtype": "q7"},
        {"box": (8, 8), "swizzle": "256B"}, {"box": (8, 8), "element_strides": (1, 9)}, {"box": (8, 8), "strides": (24,)},
    ],
)  # fmt: skip
def test_maps_the_driver_refuses(options):
    with pytest.raises(ptxsim.PtxError) as caught:
        ptxsim.TensorMap(np.zeros((64, 64), np.float32), **options)
    assert caught.value.findings[0].name == "bad-directive"


def test_a_stride_of_zero_gives_one_row_in_the_place_of_all():
    """As CUTLASS gives a bias to all rows; the driver of an H200 takes such maps (tests/data/tensor_maps.tsv)."""
    row, dump = np.arange(1, 65, dtype=np.uint8), np.zeros(2048, np.uint8)
    load = LOAD.replace("{%x, %y}", "{0, 5}")
    result = run(load + DUMP, ptxsim.TensorMap(row, "u8", (64, 99), (0,), (64, 32)), dump)
    assert result.findings == []
    assert (dump.reshape(32, 64) == row).all()


def test_addresses_wrap_at_64_bits():
    """A slice of 5 rows, as Triton's ragged tensors have it: the bound of a dimension ends it, the outermost one takes back what that adds."""
    image = np.random.default_rng(0).integers(1, 256, (50, 64), np.uint8)
    rows, first, size = 1 << 30, 7, 5
    dims, strides = (64, rows, (1 << 31) - 1, (1 << 31) - 1), (64, 64, (1 << 34) - 64)
    load = (
        LOAD.replace("2d", "4d")
        .replace("{%x, %y}", f"{{0, {rows - size}, {first + size}, {rows}}}")
        .replace("2048", "512")
    )
    dump = np.zeros(512, np.uint8)
    result = run(load + DUMP.replace("2048", "512"), ptxsim.TensorMap(image, "u8", dims, strides, (64, 8, 1, 1)), dump)
    assert errors(result) == []
    assert (dump[: 64 * size] == image[first : first + size].ravel()).all() and not dump[64 * size :].any()


def test_a_map_that_was_never_filled():
    result = run(
        "    mov.b64 %m, %G;\n" + LOAD,
        ptxsim.TensorMap(np.zeros((8, 8), np.float32), box=(4, 4)),
        np.zeros(1, np.uint8),
    )
    assert [name for name, _ in errors(result)] == ["illegal-instruction"]


WIDE = """
    .reg .b32 %c, %n, %h;
    .reg .b16 %none, %shift;
    mov.u32 %c, 0;
    mov.u32 %x, {x};
    mov.u32 %h, {h};
    mov.u32 %n, {n};
    mov.u16 %none, {halo};
    mov.u16 %shift, {shift};
    @!%first bra loaded;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], {bytes};
    cp.async.bulk.tensor.4d.shared::cta.global.im2col::w{all}.mbarrier::complete_tx::bytes
        [%s], [%m, {{%c, %x, %h, %n}}], [full], {{%none, %shift}};
loaded:
wait:
    mbarrier.try_wait.parity.shared::cta.b64 %p, [full], 0;
    @!%p bra wait;
"""


# Of the manual's examples: 3 x 3 filters without padding, and padded with steps of two, whose pixels come in two copies.
@pytest.mark.thin(5)
@pytest.mark.parametrize(
    ("low", "high", "step", "x", "h", "halo", "shift", "all_pixels"),
    [
        (0, 0, 1, 3, 2, 0, 0, False), (-1, 0, 2, -1, -1, 0, 0, False), (-1, 0, 2, -1, 0, 0, 1, False),
        (-1, -1, 3, -3, 8, 0, 2, True), (0, 0, 1, 3, 2, 2, 0, False), (-1, 0, 2, -1, 1, 1, 0, False), (-1, 1, 1, -1, 3, 2, 0, True),
    ],
)  # fmt: skip
def test_pixels_along_one_dimension(low, high, step, x, h, halo, shift, all_pixels, engine):
    """Rows go on at the left edge of the box in the next image, at the same height. After the last, or after 32, the next ones are the halo."""
    width, height, images = 7, 9, 40
    array = np.arange(1, images * height * width * 16 + 1, dtype=np.uint16).reshape(images, height, width, 16)
    tensor_map = ptxsim.TensorMap(
        array, swizzle="32B", lower_corner=(low,), upper_corner=(high,), channels=16, pixels=40,
        element_strides=(1, step, 1, 1), wide="w128" if all_pixels else "w",
    )  # fmt: skip
    pixels, n = (128, 2) if all_pixels else (40, 5)
    sequence, at, image = [], x, n
    for _ in range(pixels + halo):
        inside = 0 <= at + shift < width and 0 <= h < height and image < images
        sequence.append(array[image, h, at + shift] if inside else np.zeros(16, np.uint16))
        at += step
        if at >= width + high:
            at, image = low, image + 1
    run = 32 if all_pixels else pixels
    wanted = [pixel for first in range(0, pixels, run) for pixel in sequence[first : first + run + halo]]
    dump, size = np.zeros(8192, np.uint8), len(wanted) * 32
    body = WIDE.format(x=x, h=h, n=n, shift=shift, halo=halo, bytes=size, all="::128" if all_pixels else "")
    text = wide_kernel(body + DUMP.replace("2048", "8192"))
    args = [tensor_map, dump, np.zeros(128, np.uint8), np.zeros(1, np.uint8)]
    assert errors(launch(text, args, block=64, engine=engine)) == []
    place = np.arange(size)
    place ^= (place >> 7 & 1) << 4
    assert (dump[place] == np.stack(wanted).view(np.uint8).ravel()).all()


def wide_kernel(body):
    return HEAD.replace("8.3", "8.6").replace("sm_90a", "sm_100a") + body + "\n    ret;\n}\n"


def test_what_is_not_known_of_pixels_along_one_dimension():
    """A halo over the edge of a box, whose pixels might be those beside it or of the next image."""
    array = np.zeros((4, 4, 4, 16), np.uint16)
    tensor_map = ptxsim.TensorMap(
        array, swizzle="32B", lower_corner=(0,), upper_corner=(0,), channels=16, pixels=8, wide="w"
    )  # fmt: skip
    for halo, all_pixels, name in ((2, "", "not-modeled"), (0, "::128", "illegal-instruction")):
        body = WIDE.format(x=0, h=0, n=0, shift=0, halo=halo, bytes=256, all=all_pixels)
        args = [tensor_map, np.zeros(1, np.uint8), np.zeros(128, np.uint8), np.zeros(1, np.uint8)]
        found = launch(wide_kernel(body), args, block=64).findings
        assert found[0].name == name
