"""The manual's formulas, written out independently of the layout lines."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptxsim.diagnostic import PtxError
from ptxsim.layout.fragments import address_lanes, fragment_layout
from ptxsim.layout.tables import SHAPES, TILES


def all_fragments():
    for family, types in SHAPES.items():
        for type_, shapes in types.items():
            for shape in shapes:
                for columns in (8, 24, 256) if "N" in shape else (None,):
                    named = shape.replace("N", str(columns))
                    for operand in "A" if "N" in shape else "AB":
                        yield family, named, operand, type_
    for family, shape, type_ in [
        ("mma", "m16n8k16", "f32"), ("mma", "m16n8k16", "f16"), ("mma", "m8n8k4", "f64"), ("mma", "m8n8k4", "f16"),
        ("mma", "m8n8k4", "f32"), ("mma", "m8n8k16", "s32"), ("mma", "m16n8k256", "s32"), ("wmma", "m16n16k16", "f32"),
        ("wmma", "m32n8k16", "f16"), ("wmma", "m8n32k16", "s32"), ("wmma", "m8n8k4", "f64"), ("wmma", "m16n16k8", "f32"),
        ("wgmma", "m64n24k16", "f16"), ("wgmma", "m64n256k32", "s32"), ("wgmma.sp", "m64n40k32", "f32"),
    ]:  # fmt: skip
        yield family, shape, "C", type_
        yield family, shape, "D", type_
    for family, forms in TILES.items():
        for (name, type_, layout), tile in forms.items():
            for count in tile.counts:
                operand = "D" if layout == "trans" else "A"
                yield family, f"{name}.x{count}", operand, type_, None if family == "movmatrix" else layout


@pytest.mark.thin(9)
@pytest.mark.parametrize("key", list(all_fragments()), ids=lambda key: "-".join(str(part) for part in key))
def test_registers_and_matrix_hold_the_same_codes(key):
    fragment = fragment_layout(*key)
    rng = np.random.default_rng(5)
    top = 1 << min(fragment.element_bits, 63)
    codes = rng.integers(0, top, (3, *fragment.shape), dtype=np.uint64)
    registers = fragment.from_matrix(codes)
    assert registers.shape == (3, fragment.words, fragment.lanes) and registers.dtype == np.uint32
    assert np.array_equal(fragment.to_matrix(registers), codes)
    assert fragment.rows.shape == (fragment.lanes, fragment.elements)
    counts = np.bincount(fragment.layout.flat.ravel(), minlength=int(np.prod(fragment.shape)))
    assert (counts == fragment.copies).all()
    lane, element = fragment.lanes - 1, fragment.elements - 1
    assert (lane, element) in fragment.owners(*fragment.coords(lane, element))


@given(lane=st.integers(0, 31), element=st.integers(0, 7))
def test_coords_are_what_the_arrays_say(lane, element):
    fragment = fragment_layout("mma", "m16n8k16", "A", "f16")
    assert fragment.coords(lane, element) == (fragment.rows[lane, element], fragment.columns[lane, element])


def check(key, row, column):
    fragment = fragment_layout(*key)
    for lane in range(32):
        for i in range(fragment.elements):
            assert fragment.coords(lane, i)[-2:] == (row(lane, i), column(lane, i)), (lane, i)


# (family, shape, operand, type), row and column of element i of a lane with group g = lane / 4 and t = lane % 4.
MANUAL = [
    ("m8n8k4 A f64", lambda g, t, i: g, lambda g, t, i: t),
    ("m8n8k4 B f64", lambda g, t, i: t, lambda g, t, i: g),
    ("m8n8k4 C f64", lambda g, t, i: g, lambda g, t, i: t * 2 + (i & 1)),
    ("m8n8k16 A s8", lambda g, t, i: g, lambda g, t, i: t * 4 + i),
    ("m8n8k16 B u8", lambda g, t, i: t * 4 + i, lambda g, t, i: g),
    ("m8n8k16 D s32", lambda g, t, i: g, lambda g, t, i: t * 2 + i),
    ("m8n8k32 A s4", lambda g, t, i: g, lambda g, t, i: t * 8 + i),
    ("m8n8k32 B u4", lambda g, t, i: t * 8 + i, lambda g, t, i: g),
    ("m8n8k32 C s32", lambda g, t, i: g, lambda g, t, i: t * 2 + i),
    ("m8n8k128 A b1", lambda g, t, i: g, lambda g, t, i: t * 32 + i),
    ("m16n8k4 A tf32", lambda g, t, i: g + 8 * i, lambda g, t, i: t),
    ("m16n8k4 B tf32", lambda g, t, i: t, lambda g, t, i: g),
    ("m16n8k8 A f16", lambda g, t, i: g + 8 * (i >= 2), lambda g, t, i: t * 2 + (i & 1)),
    ("m16n8k8 B bf16", lambda g, t, i: t * 2 + i, lambda g, t, i: g),
    ("m16n8k8 A tf32", lambda g, t, i: g + 8 * (i % 2), lambda g, t, i: t + 4 * (i >= 2)),
    ("m16n8k8 B tf32", lambda g, t, i: t + 4 * i, lambda g, t, i: g),
    ("m16n8k8 C f32", lambda g, t, i: g + 8 * (i >= 2), lambda g, t, i: t * 2 + (i & 1)),
    ("m16n8k16 A bf16", lambda g, t, i: g + 8 * (i & 2 != 0), lambda g, t, i: t * 2 + (i & 1) + 8 * (i >= 4)),
    ("m16n8k16 B f16", lambda g, t, i: t * 2 + (i & 1) + 8 * (i >= 2), lambda g, t, i: g),
    ("m16n8k16 A f64", lambda g, t, i: g + 8 * (i % 2), lambda g, t, i: (i * 2 if i % 2 == 0 else i * 2 - 2) + t),
    ("m16n8k16 B f64", lambda g, t, i: t + i * 4, lambda g, t, i: g),
    ("m16n8k16 A e4m3", lambda g, t, i: g + 8 * (i >= 4), lambda g, t, i: t * 4 + (i & 3)),
    ("m16n8k32 A s8", lambda g, t, i: g + 8 * (i // 4 % 2), lambda g, t, i: t * 4 + (i & 3) + 16 * (i >= 8)),
    ("m16n8k32 B s8", lambda g, t, i: t * 4 + (i & 3) + 16 * (i >= 4), lambda g, t, i: g),
    ("m16n8k32 A u4", lambda g, t, i: g + 8 * (i >= 8), lambda g, t, i: t * 8 + (i & 7)),
    ("m16n8k64 A e2m1", lambda g, t, i: g + 8 * (i // 8 % 2), lambda g, t, i: t * 8 + (i & 7) + 32 * (i >= 16)),
    ("m16n8k256 B b1", lambda g, t, i: t * 32 + (i & 31) + 128 * (i >= 32), lambda g, t, i: g),
]  # fmt: skip


@pytest.mark.parametrize(("name", "row", "column"), MANUAL, ids=[entry[0] for entry in MANUAL])
def test_mma_fragments_follow_the_manual(name, row, column):
    key = ("mma", *name.split())
    check(key, lambda lane, i: row(lane // 4, lane % 4, i), lambda lane, i: column(lane // 4, lane % 4, i))


def quad(lane, offset=4):
    return lane % 4 + (offset if lane >= 16 else 0)


VOLTA = {
    ("A", "f16", "row"): (lambda lane, i: quad(lane), lambda lane, i: i),
    ("A", "f16", "col"): (lambda lane, i: i % 4 + (4 if lane >= 16 else 0), lambda lane, i: lane % 4),
    ("B", "f16", "row"): (lambda lane, i: lane % 4, lambda lane, i: i + (4 if lane >= 16 else 0)),
    ("B", "f16", "col"): (lambda lane, i: i, lambda lane, i: quad(lane)),
    ("C", "f16", None): (lambda lane, i: quad(lane), lambda lane, i: i),
    ("D", "f32", None): (
        lambda lane, i: (lane & 1) + (i & 2) + (4 if lane >= 16 else 0),
        lambda lane, i: (i & 4) + (lane & 2) + (i & 1),
    ),
}


@pytest.mark.parametrize("key", VOLTA, ids=str)
def test_m8n8k4_f16_computes_four_products(key):
    operand, type_, layout = key
    fragment = fragment_layout("mma", "m8n8k4", operand, type_, layout)
    row, column = VOLTA[key]
    assert fragment.shape[0] == 4
    for lane in range(32):
        for i in range(fragment.elements):
            assert fragment.coords(lane, i) == (lane % 16 // 4, row(lane, i), column(lane, i))
    lanes = {c: {lane for lane in range(32) if fragment.coords(lane, 0)[0] == c} for c in range(4)}
    assert lanes[1] == {4, 5, 6, 7, 20, 21, 22, 23} and lanes[3] == {12, 13, 14, 15, 28, 29, 30, 31}


def test_m8n8k4_f16_is_row_col_unless_told():
    assert fragment_layout("mma", "m8n8k4", "A", "f16").coords(1, 2) == (0, 1, 2)
    assert fragment_layout("mma", "m8n8k4", "B", "f16").coords(1, 2) == (0, 2, 1)


def test_wgmma_accumulator_and_register_a():
    d = fragment_layout("wgmma", "m64n256k16", "D", "f32")
    assert d.lanes == 128 and d.registers == 128
    assert d.coords(37, 6) == (16 + 1 + 8, 8 + 2)
    assert fragment_layout("wgmma", "m64n256k16", "D", "f16").registers == 64
    a = fragment_layout("wgmma", "m64n8k16", "A", "f16")
    assert a.coords(127, 7) == (63, 15)


def test_register_counts_of_odd_containers():
    assert fragment_layout("mma", "m16n8k32", "A", "e2m1").registers == 4
    assert fragment_layout("mma", "m16n8k64", "A", "e2m1").registers == 4
    assert fragment_layout("mma.sp", "m16n8k64", "A", "e2m1").registers == 4
    assert fragment_layout("mma", "m16n8k16", "A", "f64").words == 16
    a = fragment_layout("wmma", "m8n32k16", "A", "f16")
    assert (a.registers, a.copies) == (8, 4)
    assert a.owners(0, 0) == [(0, 0), (0, 4), (0, 8), (0, 12)]


def test_ldmatrix_rows_and_addresses():
    plain = fragment_layout("ldmatrix", "m8n8.x4", "D", "b16")
    turned = fragment_layout("ldmatrix", "m8n8.x4", "D", "b16", "trans")
    for lane in range(32):
        for i in range(8):
            assert plain.coords(lane, i) == (i // 2, lane // 4, lane % 4 * 2 + i % 2)
            assert turned.coords(lane, i) == (i // 2, lane % 4 * 2 + i % 2, lane // 4)
    for count in (1, 2, 4):
        assert np.array_equal(address_lanes(f"m8n8.x{count}"), np.arange(8 * count).reshape(count, 8))
    assert address_lanes("m16n16.x2").shape == (2, 16)


def test_eight_bit_matrices():
    turned = fragment_layout("ldmatrix", "m16n16.x2", "D", "b8", "trans")
    assert [turned.coords(5, i)[1:] for i in range(4)] == [(4, 1), (5, 1), (6, 1), (7, 1)]
    assert turned.coords(5, 4) == (0, 4, 9) and turned.coords(5, 8)[0] == 1
    assert fragment_layout("ldmatrix", "m8n16.x1", "D", "b8x16.b6x16_p32").coords(5, 3) == (0, 1, 7)
    stored = fragment_layout("stmatrix", "m16n8.x1", "A", "b8", "trans")
    assert [stored.coords(5, i) for i in range(4)] == [(0, 2, 1), (0, 3, 1), (0, 2, 9), (0, 3, 9)]


@pytest.mark.parametrize(
    ("key", "text", "help_"),
    [
        (("mma", "m16n16k8", "A", "f16"), "no m16n16k8 for mma f16", "m16n8k8"),
        (("mma", "m16n8k16", "D", "s16"), "accumulator", "f16"),
        (("mma", "m16n8k16", "E", "f16"), "operand", "A, B, C"),
        (("mma", "16x8x16", "A", "f16"), "shape", "m16n8k16"),
        (("mma", "m16n8k16", "A", "fp16"), "fp16", "f16"),
        (("wgmma", "m64n12k16", "D", "f32"), "N = 12", "multiple of 8"),
        (("wgmma", "m64n8k16", "B", "f16"), "no registers", "descriptor"),
        (("tcgen05", "m64n12k16", "D", "f32"), "tcgen05", "wgmma"),
        (("ldmatrix", "m8n8.x3", "D", "b16"), "m8n8.x3", "m8n8.x"),
        (("ldmatrix", "m8n8.xq", "D", "b16"), "m8n8.xq", "m8n8.x"),
        (("mma", "m16n8k16", "A", "f16", "diagonal"), "diagonal", "row"),
    ],
)
def test_unknown_fragments_name_the_nearest(key, text, help_):
    with pytest.raises(PtxError) as caught:
        fragment_layout(*key)
    assert text in caught.value.findings[0].message and help_ in caught.value.findings[0].help


def test_places_outside_the_matrix_are_refused():
    fragment = fragment_layout("mma", "m16n8k16", "A", "f16")
    for call in (lambda: fragment.coords(32, 0), lambda: fragment.coords(0, 8), lambda: fragment.owners(16, 0)):
        with pytest.raises(PtxError):
            call()
