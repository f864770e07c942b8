"""Products on tensor memory: small integers, exact, for all kinds, places of operands and numbers of CTAs."""

from dataclasses import replace
from typing import NamedTuple

import ml_dtypes
import numpy as np
import pytest

from ptxsim import SharedLayout
from ptxsim.layout.instruction_descriptor import KINDS, InstructionDescriptor
from ptxsim.layout.tensor_descriptor import TensorDescriptor
from tests.instructions.tcgen05.harness import COLUMNS, ROWS, SHARED, run

DTYPES = {
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "tf32": np.float32, "f32": np.float32, "e4m3": ml_dtypes.float8_e4m3fn,
    "e5m2": ml_dtypes.float8_e5m2, "e2m3": ml_dtypes.float6_e2m3fn, "e3m2": ml_dtypes.float6_e3m2fn,
    "e2m1": ml_dtypes.float4_e2m1fn, "u8": np.uint8, "s8": np.int8, "s32": np.int32,
}  # fmt: skip
BITS = {"e2m3": 6, "e3m2": 6, "e2m1": 4}
RNG = np.random.default_rng(5)


def bits_of(type):
    return BITS.get(type, np.dtype(DTYPES[type]).itemsize * 8)


def codes_of(values, type):
    found = np.ascontiguousarray(values.astype(DTYPES[type]))
    return found.view(f"u{found.itemsize}").astype(np.uint64)


def draw(rows, columns, type):
    low, high = (0, 4) if type == "u8" else (-2, 3)
    return RNG.integers(low, high, (rows, columns))


def as_bytes(codes, bits, storage):
    """Rows of elements as bytes: one after the other, or 16 at the start of every 16 bytes where they have a byte each."""
    digits = codes[..., None] >> np.arange(bits, dtype=np.uint64) & np.uint64(1)
    if storage != bits:
        digits = digits.reshape(codes.shape[0], -1, 16 * bits)
        digits = np.concatenate([digits, np.zeros((*digits.shape[:2], 128 - 16 * bits), np.uint64)], axis=-1)
    return np.packbits(digits.reshape(codes.shape[0], -1).astype(np.uint8), axis=-1, bitorder="little")


class Placed(NamedTuple):
    data: np.ndarray  # bytes of shared memory
    descriptor: int  # from SHARED on


def core_matrices(rows):
    """Bytes (rows, n) as a K-major tile without a swizzle: pieces of 16 bytes, 8 rows next to each other, then the next 8 rows."""
    count, width = rows.shape
    pieces = rows.reshape(count // 8, 8, width // 16, 16).transpose(2, 0, 1, 3)
    return Placed(pieces.reshape(-1), TensorDescriptor(SHARED, count * 16, 128).encode())


def moved(placed, offset):
    return Placed(placed.data, placed.descriptor + (offset >> 4))


def words_of(bytes_):
    return np.ascontiguousarray(bytes_).view(np.uint32)


def storage_of(words):
    return 8 if words.kind in ("f8f6f4", "mxf8f6f4") else bits_of(words.a)


def product(
    words, a, b, c, *, place, before=None, ctas=1, a_at=None, opcode="", metadata="", suffix="", tail="", ws=False, block_scale=""
):  # fmt: skip
    """D as tensor memory has it, from matrices of numbers, and all of that; A goes to tensor memory from column `a_at` on if that is
    given. `place`: CTA, lane and column of an element of D."""
    storage = storage_of(words)
    rows_a = as_bytes(codes_of(a, words.a), bits_of(words.a), storage)
    rows_b = as_bytes(codes_of(b.T, words.b), bits_of(words.b), storage)
    image, descriptors = [], []
    memory = np.zeros((ctas, ROWS, COLUMNS), np.uint32) if before is None else before
    for cta in range(ctas):
        part_a, part_b = np.split(rows_a, ctas)[cta], np.split(rows_b, ctas)[cta]
        tiles = [core_matrices(part_a)]
        tiles.append(moved(core_matrices(part_b), tiles[0].data.size))
        image.append(np.concatenate([tile.data for tile in tiles]))
        descriptors = [tile.descriptor for tile in tiles]
    d_codes = codes_of(c, words.d).astype(np.uint32)
    m, n = np.indices(c.shape)
    cta, lane, column = place(m, n)
    memory[cta, lane, column] = d_codes
    first = "%a"
    if a_at is not None:
        first = f"[%tmem+{a_at}]"
        at = words_of(rows_a)
        for number in range(ctas):
            part = np.split(at, ctas)[number]
            lanes = place(np.arange(len(part)) + number * len(part), np.zeros(len(part), int))[1]
            for copy in range(1 if len(part) == ROWS or (ctas == 1 and not ws) else ROWS // len(part)):
                memory[number, lanes + copy * len(part), a_at : a_at + part.shape[1]] = part
    text = (
        f"mov.b64 %a, {descriptors[0]:#x}; mov.b64 %b, {descriptors[1]:#x}; "
        f"tcgen05.mma{'.ws' if ws else ''}{opcode}.cta_group::{ctas}.kind::{words.kind}{block_scale} [%tmem], {first}, %b{metadata}, {words.encode():#x}{suffix}, 1{tail};"
    )
    found = run(text, np.stack(image), memory, ctas)
    return found[cta, lane, column], found


def numbers(codes, type):
    return codes.astype(f"u{np.dtype(DTYPES[type]).itemsize}").view(DTYPES[type]).astype(np.float64)


def whole(m, n):
    return np.zeros_like(m), m, n


def sixteens(m, n):
    return np.zeros_like(m), m % 16 + m // 16 * 32, n


CASES = [
    ("f16", "f16", "f16", "f32"), ("f16", "bf16", "bf16", "f32"), ("f16", "f16", "bf16", "f32"), ("f16", "f16", "f16", "f16"),
    ("tf32", "tf32", "tf32", "f32"), ("f8f6f4", "e4m3", "e5m2", "f32"), ("f8f6f4", "e5m2", "e5m2", "f16"),
    ("f8f6f4", "e2m3", "e3m2", "f32"), ("f8f6f4", "e2m1", "e4m3", "f32"), ("i8", "s8", "u8", "s32"),
]  # fmt: skip


def descriptor(kind, a, b, d, m, n, **more):
    return InstructionDescriptor(kind, m, n, KINDS[kind].k, d, a, b, **more)


@pytest.mark.thin(5)
@pytest.mark.parametrize(("kind", "a", "b", "d"), CASES)
@pytest.mark.parametrize("m", [64, 128])
def test_all_kinds_from_shared_memory(kind, a, b, d, m):
    words = descriptor(kind, a, b, d, m, 32)
    x, y, c = draw(m, words.k, a), draw(words.k, 32, b), draw(m, 32, d)
    found, _ = product(words, x, y, c, place=whole if m == 128 else sixteens)
    assert (numbers(found, d) == x @ y + c).all()


@pytest.mark.thin(3)
@pytest.mark.parametrize("m", [64, 128])
@pytest.mark.parametrize(("kind", "a", "b", "d"), [CASES[0], CASES[4], CASES[5], CASES[9]])
def test_a_from_tensor_memory(kind, a, b, d, m):
    words = descriptor(kind, a, b, d, m, 48)
    x, y, c = draw(m, words.k, a), draw(words.k, 48, b), draw(m, 48, d)
    found, _ = product(words, x, y, c, place=whole if m == 128 else sixteens, a_at=96)
    assert (numbers(found, d) == x @ y + c).all()


@pytest.mark.thin(4)
@pytest.mark.parametrize("from_memory", [False, True])
@pytest.mark.parametrize("m", [128, 256])
def test_pairs_of_ctas(m, from_memory):
    words = descriptor("f16", "f16", "f16", "f32", m, 64)

    def place(m_, n):
        cta, row = m_ // (m // 2), m_ % (m // 2)
        return (cta, row, n) if m == 256 else (cta, row + 64 * (n // 32), n % 32)

    x, y, c = draw(m, 16, "f16"), draw(16, 64, "f16"), draw(m, 64, "f32")
    found, _ = product(words, x, y, c, place=place, ctas=2, a_at=96 if from_memory else None)
    assert (numbers(found, "f32") == x @ y + c).all()


@pytest.mark.thin(3)
@pytest.mark.parametrize("from_memory", [False, True])
@pytest.mark.parametrize("m", [32, 64, 128])
def test_weight_stationary(m, from_memory):
    words = descriptor("f16", "f16", "f16", "f32", m, 64)

    def place(m_, n):
        part = 64 * m // 128
        return np.zeros_like(m_), m_ + m * (n // part), n % part

    x, y, c = draw(m, 16, "f16"), draw(16, 64, "f16"), draw(m, 64, "f32")
    found, _ = product(words, x, y, c, place=place, ws=True, a_at=96 if from_memory else None)
    assert (numbers(found, "f32") == x @ y + c).all()


def test_negation_scale_and_masked_lanes():
    words = descriptor("f16", "f16", "f16", "f32", 128, 32, negate_a=True)
    x, y, c = draw(128, 16, "f16"), draw(16, 32, "f16"), 8 * draw(128, 32, "f32")
    found, _ = product(words, x, y, c, place=whole, suffix=", {0x1, 0, 0, 0x80000000}", tail=", 3")
    expected = -(x @ y) + c / 8
    expected[[0, 127]] = c[[0, 127]]
    assert (numbers(found, "f32") == expected).all()


@pytest.mark.thin(4)
@pytest.mark.parametrize("swizzle", ["none", "32B", "64B", "128B"])
@pytest.mark.parametrize("major", ["K", "MN"])
def test_swizzled_tiles(major, swizzle):
    words = replace(
        descriptor("f16", "f16", "f16", "f32", 128, 64), transpose_a=major == "MN", transpose_b=major == "MN"
    )
    x, y = draw(128, 16, "f16"), draw(16, 64, "f16")
    image, descriptors = np.zeros(32768, np.uint8), []
    for number, values in enumerate((x, y.T)):
        layout = SharedLayout(major, swizzle, "f16", m=1, k=1)
        rows, columns = layout.shape
        layout = SharedLayout(major, swizzle, "f16", m=len(values) // rows, k=-(-16 // columns))
        offsets = layout.offsets[:, :16] + 16384 * number
        image[offsets[..., None] + np.arange(2)] = codes_of(values, "f16").astype(np.uint16)[..., None].view(np.uint8)
        fields = layout.descriptor(SHARED + 16384 * number)
        descriptors.append(TensorDescriptor(fields.start, fields.leading, fields.stride, swizzle).encode())
    text = (
        f"mov.b64 %a, {descriptors[0]:#x}; mov.b64 %b, {descriptors[1]:#x}; "
        f"tcgen05.mma.cta_group::1.kind::f16 [%tmem], %a, %b, {words.encode():#x}, 0;"
    )
    found = run(text, image[None], np.zeros((1, ROWS, COLUMNS)))[0]
    assert (found[:, :64].view(np.float32) == x @ y).all()


@pytest.mark.thin(4)
@pytest.mark.parametrize(
    ("kind", "a", "vector", "scale", "blocks"),
    [
        ("mxf8f6f4", "e4m3", "", "ue8m0", 1), ("mxf8f6f4", "e2m1", ".scale_vec::1X", "ue8m0", 1),
        ("mxf4", "e2m1", ".scale_vec::2X", "ue8m0", 2), ("mxf4nvf4", "e2m1", ".scale_vec::4X", "ue4m3", 4),
    ],
)  # fmt: skip
@pytest.mark.parametrize("ctas", [1, 2])
def test_block_scales(kind, a, vector, scale, blocks, ctas):
    m, n = 128 * ctas, 64
    words = replace(
        descriptor(kind, a, a, "f32", m, n),
        scale=scale,
        scale_a=2 if blocks == 1 else 0,
        scale_b=2 if blocks == 2 else 0,
    )
    x, y, c = draw(m, words.k, a), draw(words.k, n, a), draw(m, n, "f32")
    one = {"ue8m0": 127, "ue4m3": 0x38}[scale]
    step = {"ue8m0": 1, "ue4m3": 8}[scale]  # doubles a scale
    sa, sb = RNG.integers(0, 3, (m, blocks)), RNG.integers(0, 3, (n, blocks))
    memory = np.zeros((ctas, ROWS, COLUMNS), np.uint32)
    for scales, at, first in ((sa, 100, words.scale_a), (sb, 120, words.scale_b)):
        for cta in range(ctas):
            own = np.split(scales, ctas)[cta] if scales is sa else scales
            for row, values in enumerate(own):
                word = sum((one + step * int(v)) << 8 * (first + j) for j, v in enumerate(values))
                memory[cta, row % 32 + 32 * np.arange(4), at + row // 32] = word
    found, _ = product(
        words, x, y, c, before=memory, ctas=ctas, place=lambda m_, n_: (m_ // 128, m_ % 128, n_),
        suffix=", [%tmem+100], [%tmem+120]", block_scale=f".block_scale{vector}",
    )  # fmt: skip
    wide = words.k // blocks
    scaled_x, scaled_y = x * 2.0 ** sa.repeat(wide, axis=1), y * 2.0 ** sb.repeat(wide, axis=1).T
    assert (numbers(found, "f32") == scaled_x @ scaled_y + c).all()


@pytest.mark.thin(7)
@pytest.mark.parametrize(
    ("m", "ctas", "ws"),
    [(64, 1, False), (128, 1, False), (128, 2, False), (256, 2, False), (32, 1, True), (64, 1, True), (128, 1, True)],
)
@pytest.mark.parametrize(
    ("kind", "type", "d"),
    [("f16", "f16", "f32"), ("tf32", "tf32", "f32"), ("f8f6f4", "e4m3", "f32"), ("i8", "s8", "s32")],
)
def test_sparse_a(kind, type, d, m, ctas, ws):
    """The metadata of 16- and 32-bit elements: two rows a word, a half of k each (CuTe's tmem_e_frg, tmem_e_frg_ws); of bytes 64 bits a row."""
    n = 64 if ws else 32
    words = descriptor(kind, type, type, d, m, n, sparse=True)
    words = replace(words, k=2 * words.k, selector=1 if kind in ("f16", "tf32") else 0)
    kept = words.k // 2
    groups = words.k // 4 if type != "tf32" else words.k // 2
    x, y, c = draw(m, kept, type), draw(words.k, n, type), draw(m, n, d)
    if type == "tf32":
        first = RNG.integers(0, 2, (m, groups))
        nibbles, columns = np.where(first, 14, 4), first + 2 * np.arange(groups)
    else:
        pairs = np.array([(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)])[RNG.integers(0, 6, (m, groups))]
        nibbles = pairs[..., 0] | pairs[..., 1] << 2
        columns = (pairs + 4 * np.arange(groups)[:, None]).reshape(m, -1)
    dense = np.zeros((m, words.k))
    np.put_along_axis(dense, columns, x, axis=1)
    memory, rows = np.zeros((ctas, ROWS, COLUMNS), np.uint32), m // ctas
    spread = rows == 64 and not ws
    for row in range(rows):
        for group in range(groups):
            bit = 4 * group
            if kind in ("f16", "tf32"):
                lane, at = row % 8 + row // 16 * 16 + bit // 16 * 8, bit % 16 + 16 * (row // 8 % 2)
            else:
                lane, at = row, bit
            # Weight-stationary products have it once for each part of the lanes.
            lanes = slice(lane // 16 * 32 + lane % 16, None, ROWS) if spread else slice(lane, None, rows)
            for cta in range(ctas):
                found = np.uint32(int(nibbles[cta * rows + row, group]) << at % 32)
                memory[cta, lanes, 100 + words.selector + at // 32] |= found

    def place(m_, n_):
        part = n * m // 128
        if ws:
            return np.zeros_like(m_), m_ + m * (n_ // part), n_ % part
        lane = m_ % rows
        return m_ // rows, lane // 16 * 32 + lane % 16 if spread else lane, n_

    found, _ = product(
        words, x, y, c, before=memory, place=place, opcode=".sp", metadata=", [%tmem+100]", ctas=ctas, ws=ws
    )
    assert (numbers(found, d) == dense @ y + c).all()


@pytest.mark.parametrize(
    ("kind", "type", "vector", "scale", "blocks", "each"),
    [("mxf8f6f4", "e5m2", "", "ue8m0", 1, 1), ("mxf4nvf4", "e2m1", ".scale_vec::4X", "ue4m3", 4, 2)],
)
def test_sparse_a_with_block_scales(kind, type, vector, scale, blocks, each):
    """A scale goes along so many of the dense k as k has scales; 4-bit floats are kept in pairs."""
    words = replace(descriptor(kind, type, type, "f32", 128, 32, sparse=True), scale=scale)
    words = replace(words, k=2 * words.k)
    groups = words.k // (4 * each)
    x, y, c = draw(128, words.k // 2, type), draw(words.k, 32, type), draw(128, 32, "f32")
    pairs = np.array([(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)])[RNG.integers(0, 6, (128, groups))]
    nibbles = pairs[..., 0] | pairs[..., 1] << 2
    columns = (pairs + 4 * np.arange(groups)[:, None]).reshape(128, -1)
    columns = (columns[..., None] * each + np.arange(each)).reshape(128, -1)
    dense = np.zeros((128, words.k))
    np.put_along_axis(dense, columns, x, axis=1)
    memory = np.zeros((1, ROWS, COLUMNS), np.uint32)
    for group in range(groups):
        memory[0, :, 80 + group // 8] |= nibbles[:, group].astype(np.uint32) << np.uint32(4 * group % 32)
    one, step = {"ue8m0": (127, 1), "ue4m3": (0x38, 8)}[scale]
    sa, sb = RNG.integers(0, 3, (128, blocks)), RNG.integers(0, 3, (32, blocks))
    for scales, at in ((sa, 100), (sb, 120)):
        for row, values in enumerate(scales):
            word = sum((one + step * int(v)) << 8 * j for j, v in enumerate(values))
            memory[0, row % 32 + 32 * np.arange(4), at + row // 32] = word
    found, _ = product(
        words, x, y, c, before=memory, place=whole, opcode=".sp", metadata=", [%tmem+80]",
        suffix=", [%tmem+100], [%tmem+120]", block_scale=f".block_scale{vector}",
    )  # fmt: skip
    wide = words.k // blocks
    scaled_x, scaled_y = dense * 2.0 ** sa.repeat(wide, axis=1), y * 2.0 ** sb.repeat(wide, axis=1).T
    assert (numbers(found, "f32") == scaled_x @ scaled_y + c).all()


@pytest.mark.parametrize("ctas", [1, 2])
def test_rows_of_a_move_down_after_the_product(ctas):
    """As CUTLASS has observed it on a B200: each row gets the next one's elements, but for the last of every 32."""
    words = descriptor("tf32", "tf32", "tf32", "f32", 128 * ctas, 32)
    x, y, c = draw(128 * ctas, 8, "tf32"), draw(8, 32, "tf32"), draw(128 * ctas, 32, "f32")
    found, after = product(
        words, x, y, c, place=lambda m, n: (m // 128, m % 128, n), ctas=ctas, a_at=100, block_scale=".ashift"
    )
    assert (numbers(found, "f32") == x @ y + c).all()
    moved_x = np.where(np.arange(128 * ctas)[:, None] % 32 == 31, x, np.roll(x, -1, axis=0))
    assert (after[:, :, 100:108].reshape(-1, 8).view(np.float32) == moved_x).all()


def test_rows_of_a_quarter_are_shifted():
    before = RNG.integers(0, 1 << 32, (ROWS, COLUMNS), np.uint32)
    found = run("tcgen05.shift.cta_group::1.down [%tmem+0x200010];", np.zeros((1, 16), np.uint8), before)[0]
    before[32:63, 16:24] = before[33:64, 16:24]
    assert (found == before).all()


# Descriptors of masks and the columns that are zeros, from the manual's examples; the last one begins 2 columns later.
MASKS = [
    (128, 0, (0, 0, 0, 0), (0, 0, 0, 0), 0, 4, 3, 0, ["0"]), (128, 0, (0, 0, 0, 0), (0, 0, 0, 0), 1, 2, 3, 0, ["0000111"]),
    (64, 0, (0, 0, 0, 0), (1, 0, 0, 0), 1, 2, 3, 0, ["1110000", "0000111"]),
    (32, 1, (0, 1, 2, 1), (1, 1, 0, 0), 1, 2, 3, 2, ["1110000", "1100001", "0011100", "0001110"]),
]  # fmt: skip


@pytest.mark.thin(4)
@pytest.mark.parametrize(("m", "most", "starts", "spans", "is_on", "skip", "use", "shift", "runs"), MASKS)
def test_columns_that_are_zeros(m, most, starts, spans, is_on, skip, use, shift, runs):
    n, parts = 128 if m < 128 else 64, 128 // m
    words = replace(descriptor("f16", "f16", "f16", "f32", m, n), shift=most)
    mask = sum(start << 8 * i for i, start in enumerate(starts)) | sum(span << 32 + i for i, span in enumerate(spans))
    mask |= is_on << 39 | skip << 40 | use << 48 | shift << 56
    x, y, c = draw(m, 16, "f16"), draw(16, n + (8 if shift else 0), "f16"), draw(m, n, "f32")
    zeros = np.concatenate([(np.array(list(run * n))[: n // parts] == "1") for run in runs])
    found, _ = product(
        words,
        x,
        y,
        c,
        ws=True,
        tail=f", {mask:#x}",
        place=lambda i, j: (0, i + j // (n // parts) * m, j % (n // parts)),
    )
    assert (numbers(found, "f32") == x @ np.where(zeros, 0, y[:, shift : shift + n]) + c).all()
