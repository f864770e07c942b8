"""The layouts of `fragments` as data. Bit lines are explained in `bits`; `p` is the computation of mma.m8n8k4."""

from __future__ import annotations

from typing import NamedTuple

# One line serves every type and K of mma, mma.sp and most of wmma: a register holds consecutive k (`k*`), four
# lanes continue along k, eight groups of lanes go along m or n, further registers along m (n), then along k.
LINES: dict[tuple[str | int | None, ...], str] = {
    ("mma", "A"): "lane k+0 k+1 m0 m1 m2 | elem k* m3.. k+2..",
    ("mma", "B"): "lane k+0 k+1 n0 n1 n2 | elem k* k+2.. n3..",
    ("mma", "C"): "lane n1 n2 m0 m1 m2 | elem n0 m3.. n3..",
    ("wgmma", "A"): "lane k+0 k+1 m0 m1 m2 | warp m4 m5 | elem k* m3 k+2..",
    ("wgmma", "C"): "lane n1 n2 m0 m1 m2 | warp m4 m5 | elem n0 m3 n3..",
    # "Matrix Fragments for mma.m8n8k4 with .f16 floating point type": four quad pairs, one computation each.
    ("m8n8k4 f16", "A", "row"): "lane m0 m1 p0 p1 m2 | elem k0 k1",
    ("m8n8k4 f16", "A", "col"): "lane k0 k1 p0 p1 m2 | elem m0 m1",
    ("m8n8k4 f16", "B", "row"): "lane k0 k1 p0 p1 n2 | elem n0 n1",
    ("m8n8k4 f16", "B", "col"): "lane n0 n1 p0 p1 n2 | elem k0 k1",
    **{("m8n8k4 f16", c, "f16"): "lane m0 m1 p0 p1 m2 | elem n0 n1 n2" for c in "CD"},
    **{("m8n8k4 f16", c, "f32"): "lane m0 n1 p0 p1 m2 | elem n0 m1 n2" for c in "CD"},
    # Metadata of a sparse A, (selector, row, group): of 16- and 32-bit types, and of narrower ones (hardware.md).
    ("sparse", "E", "wide"): "lane g2.. s0.. r0 r1 r2 | warp r4.. | elem g0 g1 r3",
    ("sparse", "E", "narrow"): "lane r3 g3.. s0.. r0 r1 r2 | warp r4.. | elem g0 g1 g2",
    # wmma where it departs from mma; m8n32k16 with 16-bit types is computed as the transposed problem.
    ("wmma.m32n8k16", "A"): "lane k+0 k+1 m0 m1 m2 | elem k* m3 k+2.. m4",
    ("wmma.m32n8k16", "C"): "lane n1 n2 m0 m1 m2 | elem n0 m3 m4",
    ("wmma.m8n32k16", "B", 16): "lane k1 k2 n0 n1 n2 | elem k0 n3 k3 n4",
    ("wmma.m8n32k16", "C"): "lane m1 m2 n0 n1 n2 | elem m0 n3 n4",
}

# wmma gives these operands a fixed number of registers; what the matrix does not fill are copies.
REGISTERS = {("A", "f16"): 8, ("B", "f16"): 8}


def _with_aliases(rows: dict[str, str]) -> dict[str, tuple[str, ...]]:
    shapes = {name: tuple(text.split()) for name, text in rows.items()}
    return shapes | {alias: shapes[name] for name, alias in _ALIASES.items() if name in shapes}


_ALIASES = {"s8": "u8", "s4": "u4", "e4m3": "e5m2", "e3m2": "e2m3"}
_WMMA = "m16n16k16 m32n8k16 m8n32k16"

# PTX ISA, "Matrix Shape" of mma, mma.sp, wmma, wgmma: the shapes that take A and B of a type.
SHAPES: dict[str, dict[str, tuple[str, ...]]] = {
    "mma": _with_aliases(
        {
            "f16": "m8n8k4 m16n8k8 m16n8k16",
            "bf16": "m16n8k8 m16n8k16",
            "tf32": "m16n8k4 m16n8k8",
            "f64": "m8n8k4 m16n8k4 m16n8k8 m16n8k16",
            "s8": "m8n8k16 m16n8k16 m16n8k32",
            "s4": "m8n8k32 m16n8k32 m16n8k64",
            "b1": "m8n8k128 m16n8k128 m16n8k256",
            "e4m3": "m16n8k16 m16n8k32",
            "e3m2": "m16n8k32",
            "e2m1": "m16n8k32 m16n8k64",
        }
    ),
    "mma.sp": _with_aliases(
        {
            "f16": "m16n8k16 m16n8k32",
            "bf16": "m16n8k16 m16n8k32",
            "tf32": "m16n8k8 m16n8k16",
            "s8": "m16n8k32 m16n8k64",
            "s4": "m16n8k64 m16n8k128",
            "e4m3": "m16n8k64",
            "e3m2": "m16n8k64",
            "e2m1": "m16n8k64 m16n8k128",
        }
    ),
    "wmma": _with_aliases(
        {
            "f16": _WMMA,
            "bf16": _WMMA,
            "s8": _WMMA,
            "tf32": "m16n16k8",
            "f64": "m8n8k4",
            "s4": "m8n8k32",
            "b1": "m8n8k128",
        }
    ),
    "wgmma": _with_aliases(
        {
            "f16": "m64nNk16",
            "bf16": "m64nNk16",
            "tf32": "m64nNk8",
            "s8": "m64nNk32",
            "e4m3": "m64nNk32",
            "b1": "m64nNk256",
        }
    ),
    "wgmma.sp": _with_aliases(
        {"f16": "m64nNk32", "bf16": "m64nNk32", "tf32": "m64nNk16", "s8": "m64nNk64", "e4m3": "m64nNk64"}
    ),
}

# Accumulator types by the kind of the factors and whether they are f64.
ACCUMULATOR_TYPES: dict[tuple[str, bool], tuple[str, ...]] = {
    ("float", False): ("f16", "f32"), ("float", True): ("f64",), ("signed", False): ("s32",),
    ("unsigned", False): ("s32",), ("bits", False): ("s32",),
}  # fmt: skip

# Floats narrower than a byte sit in bytes for .kind::f8f6f4 and are packed for .kind::mxf4, which has twice its K.
CONTAINER_BITS: dict[tuple[str, str, str], int] = {
    (family, shape, type): 8
    for family, shape in [("mma", "m16n8k32"), ("mma.sp", "m16n8k64")]
    for type in ("e3m2", "e2m3", "e2m1")
}


# Columns of a sparse A that share a nibble of metadata, and how many neighbours are kept together, by bits of an element.
GROUPS: dict[int, tuple[int, int]] = {32: (2, 1), 16: (4, 1), 8: (4, 1), 4: (8, 2)}


class Tile(NamedTuple):
    """Registers of a matrix load, store or move: `extents` (rows, columns) of one matrix, .x counts."""

    line: str
    extents: tuple[int, int]
    counts: tuple[int, ...]


class RowFormat(NamedTuple):
    """How a row of ldmatrix packs 16 elements, each of which becomes a byte with the element in its low bits; the rest of the
    16 bytes is padding. `types`: as what the bytes may be used."""

    bits: int
    types: frozenset[str]


# PTX ISA, "ldmatrix": the words after .b8x16.
ROW_FORMATS = {
    "b6x16_p32": RowFormat(6, frozenset(["e3m2", "e2m3", "u8", "s8"])),
    "b4x16_p64": RowFormat(4, frozenset(["u8", "s8"])),
}

_PLAIN = "lane c1 c2 r0 r1 r2 | elem c0 | reg i0.."
_TRANS = "lane r1 r2 c0 c1 c2 | elem r0 | reg i0.."
_B16 = (1, 2, 4)

# (shape, type, layout) of every form. Rows are the 16-byte rows in memory, columns the elements along them.
TILES: dict[str, dict[tuple[str, str, str | None], Tile]] = {
    "ldmatrix": {
        ("m8n8", "b16", None): Tile(_PLAIN, (8, 8), _B16),
        ("m8n8", "b16", "trans"): Tile(_TRANS, (8, 8), _B16),
        ("m8n16", "b8", None): Tile("lane c2 c3 r0 r1 r2 | elem c0 c1 | reg i0..", (8, 16), _B16),
        ("m16n16", "b8", "trans"): Tile("lane r2 r3 c0 c1 c2 | elem r0 r1 | reg c3 i0..", (16, 16), (1, 2)),
    },
    "stmatrix": {
        ("m8n8", "b16", None): Tile(_PLAIN, (8, 8), _B16),
        ("m8n8", "b16", "trans"): Tile(_TRANS, (8, 8), _B16),
        ("m16n8", "b8", "trans"): Tile("lane r1 r2 c0 c1 c2 | elem r0 c3 | reg i0..", (8, 16), _B16),
    },
    "movmatrix": {
        ("m8n8", "b16", None): Tile(_PLAIN, (8, 8), (1,)),
        ("m8n8", "b16", "trans"): Tile(_TRANS, (8, 8), (1,)),
    },
}
