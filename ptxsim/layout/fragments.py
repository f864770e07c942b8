"""How the elements of a matrix are spread over the lanes and registers of a warp or a warpgroup.

PTX ISA, "Matrix Fragments for mma.*", "Matrix fragments for multiply-accumulate operation with sparse matrix A",
"Register Fragments and Shared Memory Matrix Layouts" (wgmma), "ldmatrix", "stmatrix", "movmatrix". The fragments of
wmma are opaque in the manual; those here were measured on sm_90 (hardware.md).
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property, partial

import numpy as np

from ptxsim.diagnostic import problem
from ptxsim.given import a_number
from ptxsim.layout.bits import BitLayout
from ptxsim.layout.tables import ACCUMULATOR_TYPES, CONTAINER_BITS, GROUPS, LINES, REGISTERS, SHAPES, TILES
from ptxsim.shown import Shown
from ptxsim.types import TYPES

_error = partial(problem, "illegal-form")

_AXES = {"A": "mk", "B": "kn", "C": "mn", "D": "mn"}
_SPARSE = ("mma.sp", "wgmma.sp")


@dataclass(frozen=True)
class Fragment(Shown):
    """What each lane holds of one matrix operand.

    `layout` maps (lane, element) to (row, column); to (computation, row, column) for mma.m8n8k4 with .f16; to
    (matrix, row, column) for ldmatrix, stmatrix and movmatrix, where a row is what one lane's address points to; to
    (selector, row, group) for the metadata of a sparse A, whose elements are nibbles.
    `element_bits` is the width of the container an element sits in (8 for the 6- and 4-bit floats of .kind::f8f6f4).
    """

    family: str
    shape_name: str
    operand: str
    type: str
    layout: BitLayout
    element_bits: int
    majority: str | None = None

    def __repr__(self) -> str:
        size = "x".join(map(str, self.shape))
        held = f"{self.elements} elements in {self.registers} registers of each of {self.lanes} lanes"
        return f"Fragment({self.operand} of {self.family}.{self.shape_name}, {size} .{self.type}: {held})"

    @property
    def shape(self) -> tuple[int, ...]:
        """(rows, columns), with the number of computations or matrices first where there are several."""
        return self.layout.extents

    @property
    def lanes(self) -> int:
        return self.layout.lanes

    @property
    def elements(self) -> int:
        """Elements a lane holds, surplus copies included."""
        return self.layout.elements

    @property
    def copies(self) -> int:
        return self.layout.copies

    @property
    def per_register(self) -> int:
        return max(1, 32 // self.element_bits)

    @property
    def registers(self) -> int:
        """PTX registers per lane of the operand; a 64-bit one counts once."""
        return self.elements // self.per_register

    @property
    def words(self) -> int:
        """32-bit words per lane of the operand."""
        return self.registers * max(1, self.element_bits // 32)

    @property
    def rows(self) -> np.ndarray:
        """Row of every (lane, element)."""
        return self.layout.coordinates[-2]

    @property
    def columns(self) -> np.ndarray:
        """Column of every (lane, element)."""
        return self.layout.coordinates[-1]

    def coords(self, lane: int, element: int) -> tuple[int, ...]:
        """The coordinates of `element` of `lane`. Raises PtxError where there is no such lane or element."""
        lane, element = a_number("the lane", lane), a_number("the element", element)
        if not (0 <= lane < self.lanes and 0 <= element < self.elements):
            raise _error(
                f"no lane {lane} element {element} in this fragment",
                f"lanes are 0..{self.lanes - 1}, elements 0..{self.elements - 1}",
            )
        return self.layout.forward(lane, element)

    def owners(self, *coordinates: int) -> list[tuple[int, int]]:
        """Every (lane, element) that holds (row, column). Raises PtxError where the matrix has no such place."""
        coordinates = tuple(a_number("a coordinate", place) for place in coordinates)
        inside = len(coordinates) == len(self.shape) and all(0 <= c < e for c, e in zip(coordinates, self.shape))
        if not inside:
            raise _error(f"no element {coordinates} in a matrix of shape {self.shape}")
        return self.layout.owners(*coordinates)

    @cached_property
    def gather_index(self) -> tuple[np.ndarray, np.ndarray]:
        """For every matrix place, row-major: index into (register, lane), and the shift inside that register."""
        flat = self.layout.flat
        # Later assignments win, so going backwards leaves the first of several copies.
        first = np.full(int(np.prod(self.shape)), -1, dtype=np.intp)
        element, lane = np.divmod(np.arange(flat.size)[::-1], self.lanes)
        first[flat[lane, element]] = element * self.lanes + lane
        element, lane = np.divmod(first, self.lanes)
        register, slot = np.divmod(element, self.per_register)
        return register * self.lanes + lane, (slot * self.element_bits).astype(np.uint32)

    @cached_property
    def scatter_index(self) -> tuple[np.ndarray, np.ndarray]:
        """For every (register, slot, lane): the row-major matrix place it holds; and the shift of every slot."""
        places = self.layout.flat.T.reshape(self.registers, self.per_register, self.lanes)
        shifts = np.arange(self.per_register, dtype=np.uint32)[:, None] * np.uint32(self.element_bits)
        return np.ascontiguousarray(places), shifts

    def to_matrix(self, registers: np.ndarray) -> np.ndarray:
        """Registers, uint32 (..., words, lanes), as the matrix of element codes (..., *shape).

        Codes are uint32, uint64 for .f64 (two words, the low one first). The first of surplus copies is read.
        """
        registers = np.asarray(registers, dtype=np.uint32)
        batch = registers.shape[:-2]
        index, shift = self.gather_index
        if self.element_bits == 64:
            low, high = registers[..., 0::2, :], registers[..., 1::2, :]
            registers = low.astype(np.uint64) | high.astype(np.uint64) << np.uint64(32)
        codes = registers.reshape(*batch, -1).take(index, axis=-1)
        if self.element_bits < 32:
            codes >>= shift
            codes &= np.uint32((1 << self.element_bits) - 1)
        return codes.reshape(*batch, *self.shape)

    def from_matrix(self, codes: np.ndarray) -> np.ndarray:
        """A matrix of element codes (..., *shape) as registers, uint32 (..., words, lanes); copies are filled."""
        codes = np.asarray(codes)
        batch = codes.shape[: codes.ndim - len(self.shape)]
        places, shifts = self.scatter_index
        picked = codes.reshape(*batch, -1).take(places, axis=-1)
        if self.element_bits == 64:
            wide = picked[..., 0, :].astype(np.uint64)
            both = np.stack([wide & np.uint64(0xFFFFFFFF), wide >> np.uint64(32)], axis=-2)
            return both.astype(np.uint32).reshape(*batch, self.words, self.lanes)
        picked = picked.astype(np.uint32)
        if self.per_register == 1:
            return picked[..., 0, :]
        picked &= np.uint32((1 << self.element_bits) - 1)
        words: np.ndarray = np.bitwise_or.reduce(picked << shifts, axis=-2)
        return words


@cache
def fragment_layout(family: str, shape: str, operand: str, type: str, layout: str | None = None) -> Fragment:
    """The fragment of one operand.

    family: mma, mma.sp, wmma, wgmma, wgmma.sp, ldmatrix, stmatrix, movmatrix. shape: "m16n8k16"; for the last three
    "m8n8.x4" and the like (.x1 may be left out). operand: A B C D, and E for the metadata of a sparse family, for which
    type is that of A. type: the operand's type ("f16", "tf32", "s32").
    layout: "row" or "col", which matters only for mma.m8n8k4 with .f16 (default row for A, col for B), "trans" for
    ldmatrix and stmatrix. The A of a sparse family is the compressed one, half as wide. Raises PtxError.
    """
    operand = operand.upper()
    if family in TILES:
        return _tile(family, shape, operand, type, layout)
    if family not in SHAPES:
        raise _error(f"no fragments for {family!r}", f"families: {', '.join([*SHAPES, *TILES])}")
    if operand == "E" and family in _SPARSE:
        return _metadata(family, shape, type)
    if operand not in _AXES:
        raise _error(f"no operand {operand!r} in {family}", "operands are A, B, C and D")
    if layout not in (None, "row", "col"):
        raise _error(f"no layout {layout!r} for {family}", "layouts are row and col")
    if operand == "B" and "B" not in register_operands(family):
        raise _error(f"B of {family} has no registers", "wgmma reads B from shared memory through a descriptor")
    _check(family, shape, operand, type)
    m, n, k = dimensions(shape)
    extents = {"m": m, "n": n, "k": k // 2 if family in _SPARSE and operand == "A" else k}
    bits = container_bits(family, shape, type)
    volta = family == "mma" and shape == "m8n8k4" and type != "f64"
    axes = _AXES[operand]
    if volta:
        axes, extents["p"] = "p" + axes, 4
        layout = layout or {"A": "row", "B": "col"}.get(operand)
        line = LINES["m8n8k4 f16", operand, type if operand in "CD" else layout]
    else:
        line = _line(family, shape, operand, bits)
    inside = max(1, 32 // bits) if operand in "AB" else 1
    sizes = tuple(extents[axis] for axis in axes)
    copies = 1
    if family == "wmma" and (operand, type) in REGISTERS:
        copies = REGISTERS[operand, type] * inside * 32 // int(np.prod(sizes))
    return Fragment(family, shape, operand, type, BitLayout(line, axes, sizes, inside, copies), bits, layout)


def _metadata(family: str, shape: str, type: str) -> Fragment:
    """The metadata word of every lane: four, eight or sixteen groups of 16 rows a warp; the selector picks the lanes that provide them."""
    _check(family, shape, "A", type)
    m, _, k = dimensions(shape)
    bits = container_bits(family, shape, type)
    groups = k // GROUPS[bits][0]
    extents = (16 // groups, m, groups)
    line = LINES["sparse", "E", "wide" if bits >= 16 else "narrow"]
    return Fragment(family, shape, "E", "b4", BitLayout(line, "srg", extents), 4)


def _line(family: str, shape: str, operand: str, bits: int) -> str:
    family = family.removesuffix(".sp")
    operand = "C" if operand == "D" else operand
    return (
        LINES.get((f"{family}.{shape}", operand, bits))
        or LINES.get((f"{family}.{shape}", operand))
        or LINES["wgmma" if family == "wgmma" else "mma", operand]
    )


def _tile(family: str, shape: str, operand: str, type: str, layout: str | None) -> Fragment:
    name, _, count = shape.partition(".x")
    # The 6- and 4-bit formats are unpacked into bytes on the way.
    type = "b8" if type.startswith("b8x16") else type
    if family == "movmatrix":
        layout = "trans" if operand == "D" else None
    row = TILES[family].get((name, type, layout))
    if row is None or count not in ("", *map(str, row.counts)):
        legal = [f"{n}.x{c}{'.' + t if t else ''}.{b}" for (n, b, t), row in TILES[family].items() for c in row.counts]
        wanted = f"{name}.x{count or 1}{'.' + layout if layout else ''}.{type}"
        raise _error(f"no {wanted} for {family}", _nearest(wanted, legal))
    bits = BitLayout(row.line, "irc", (int(count or 1), *row.extents))
    return Fragment(family, shape, operand, type, bits, TYPES[type].bits, layout)


def address_lanes(shape: str) -> np.ndarray:
    """The lane that provides the address of each row, int (matrices, rows), for "m8n8.x4", "m16n16.x2", "m8n16.x1", ..."""
    name, _, count = shape.partition(".x")
    rows = 16 if name == "m16n16" else 8
    return np.arange(int(count or 1) * rows).reshape(-1, rows)


def dimensions(shape: str) -> tuple[int, int, int]:
    """`"m16n8k16"` as (16, 8, 16). Raises PtxError."""
    match = re.fullmatch(r"m(\d+)n(\d+)k(\d+)", shape)
    if not match:
        raise _error(f"{shape!r} is no shape", "shapes are written m16n8k16")
    return int(match[1]), int(match[2]), int(match[3])


def register_operands(family: str) -> str:
    """The operands of a product that live in registers; C has the fragment of D."""
    return "AD" if family.startswith("wgmma") else "ABD"


def container_bits(family: str, shape: str, type: str) -> int:
    """Width in a register of an element of `type` in an operation of `shape`."""
    return CONTAINER_BITS.get((family, shape, type)) or TYPES[type].bits


def shapes(family: str, type: str) -> list[str]:
    """The shapes whose A and B may have this type; wgmma's contain a literal N."""
    return list(SHAPES[family].get(type, ()))


def _check(family: str, shape: str, operand: str, type: str) -> None:
    general = re.sub(r"^m64n(\d+)k", "m64nNk", shape) if family.startswith("wgmma") else shape
    columns = dimensions(shape)[1]
    if family.startswith("wgmma") and not (8 <= columns <= 256 and columns % 8 == 0):
        raise _error(f"no N = {columns} for {family}", "N is a multiple of 8 from 8 to 256")
    if operand in "AB":
        legal = SHAPES[family].get(type)
        if legal is None:
            raise _error(f"no type {type!r} for {operand} of {family}", _nearest(type, SHAPES[family]))
        if general not in legal:
            raise _error(f"no {shape} for {family} {type}", _nearest(general, legal))
        return
    factors = [t for t, legal in SHAPES[family].items() if general in legal]
    if not factors:
        every = sorted({s for legal in SHAPES[family].values() for s in legal})
        raise _error(f"no {shape} for {family}", _nearest(general, every))
    accumulators = sorted({c for t in factors for c in ACCUMULATOR_TYPES[TYPES[t].kind, t == "f64"]})
    if type not in accumulators:
        raise _error(f"no accumulator type {type!r} for {family} {shape}", _nearest(type, accumulators))


def _nearest(wanted: str, legal: Iterable[str]) -> str:
    close = difflib.get_close_matches(wanted, list(legal), n=1, cutoff=0.0)
    return f"did you mean {close[0]}?" if close else "there is none"
