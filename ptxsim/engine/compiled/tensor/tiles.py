"""Matrices in shared memory, as descriptors give them, read into panels (engine.compiled.tensor.panels).

Every layout keeps 16 bytes together. Where these pieces lie, from the start of the tile and before the swizzle, is a table
that layout.descriptor makes (`pieces`); here the pieces are fetched and spread.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ptxsim.engine.compiled.ir.emitter import Emitter
from ptxsim.engine.compiled.ir.pieces import Loop
from ptxsim.engine.compiled.ir.value import Value, element_type
from ptxsim.engine.compiled.tensor.arithmetic import Arithmetic
from ptxsim.engine.compiled.tensor.panels import exponents, numbers, record, store
from ptxsim.lanes import LANES
from ptxsim.layout.descriptor import FIELDS, SWIZZLE_CODES, linear_offsets
from ptxsim.layout.swizzle import SWIZZLE_BITS
from ptxsim.machine.tile import Tile
from ptxsim.types import TYPES

PIECE = 16  # bytes that stay together
AT_ONCE = 8  # rows, where a piece has one of them
Offsets = np.ndarray[Any, np.dtype[np.int32]]


def pieces(tile: Tile) -> Offsets:
    """Offsets of the 16-byte pieces of a tile from its start, before the swizzle, int32: for every eight rows and every k one (MN-major),
    or for as many k as are in a piece one of each row (K-major). Tiles that differ in their start alone share them."""
    fields = tile.fields
    return _offsets(tile.major, tile.rows, tile.k, tile.bits, fields.swizzle, fields.leading, fields.stride)


@lru_cache(maxsize=1024)
def _offsets(major: str, rows: int, k: int, bits: int, swizzle: str, leading: int, stride: int) -> Offsets:
    if major == "K":
        row, column = np.arange(rows).reshape(-1, 1, AT_ONCE), np.arange(0, k, 128 // bits)[None, :, None]
    else:
        row, column = np.arange(0, rows, 8)[:, None], np.arange(k)[None, :]
    offsets = linear_offsets(major, swizzle, leading, stride, bits, row, column)
    return np.ascontiguousarray(np.broadcast_to(offsets, np.broadcast_shapes(row.shape, column.shape)), np.int32)


def placed(tile: Tile) -> Offsets:
    """Where in shared memory the 16-byte pieces of a tile are, int32, in the order in which PieceReader takes them."""
    addresses = tile.addresses()
    per, at_once = 8 * PIECE // tile.bits, rows_at_once(tile.major, tile.bits)
    if tile.major == "K":
        found = addresses[:, ::per].reshape(-1, AT_ONCE, tile.k // per).swapaxes(1, 2)
    else:
        found = addresses[::per].reshape(tile.rows // at_once, at_once // per, tile.k).swapaxes(1, 2)
    return np.ascontiguousarray(found, np.int32)


def rows_at_once(major: str, storage: int) -> int:
    """Rows that are read in a step: eight, or as many as are in a piece."""
    return 16 if (major, storage) == ("MN", 8) else AT_ONCE


class PieceReader:
    """Reads some rows of a matrix at a time, in code that runs with the address of shared memory and a table of where in it the
    matrix's pieces are. `major` is "K" or "MN", `rule` counts stored elements; `storage`: bits that an element has to itself."""

    def __init__(
        self, e: Emitter, shared: str, pieces: str, name: str, major: str, rule: Arithmetic, negate: bool, storage: int = 0
    ):  # fmt: skip
        self.e, self.shared, self.pieces, self.name, self.major = e, shared, pieces, name, major
        self.rule, self.negate, self.storage = rule, negate, storage or TYPES[name].bits
        self.rows, self.each = rows_at_once(major, self.storage), 8 * PIECE // self.storage
        self.code = f"i{max(TYPES[name].bits, 8)}"
        self.codes = e.stack_slot(f"[{self.rows * rule.k} x {self.code}]")  # for each k those of all rows

    def write(
        self, step: str, panel: str, number: str, orders: Sequence[Sequence[int]], lane: str = "0", width: int = 0
    ) -> None:
        """Records of a panel, from `number` on; `orders` say which of the rows of a step their lanes have; of records that are
        wider (`width`), those from `lane` on."""
        e = self.e
        self._read(step)
        to = [
            record(e, self.rule, panel, e.let(f"add i64 {number}, {i}"), width or len(order), lane)
            for i, order in enumerate(orders)
        ]
        at_once = 1 if width else LANES // self.rows  # k whose lanes lie one after the other
        loop = Loop(e, self.rule.k // at_once)
        e.lanes = at_once * self.rows
        at = e.at(self.codes, loop.number, f"<{e.lanes} x {self.code}>")
        codes = e.let(f"load <{e.lanes} x {self.code}>, ptr {at}, align 1")
        if self.code != "i32":
            codes = e.let(f"zext <{e.lanes} x {self.code}> {codes} to <{e.lanes} x i32>")
        values = {"f32": numbers(e, Value(e, codes, "u32"), self.name, self.negate)}
        if self.rule.floats:
            values["s16"] = exponents(e, values["f32"], self.name)
        for kind, value in values.items():
            for places, order in zip(to, orders, strict=True):
                lanes = [k * self.rows + row for k in range(at_once) for row in order]
                chosen = f"<{len(lanes)} x i32> <{', '.join(f'i32 {n}' for n in lanes)}>"
                found = e.let(f"shufflevector {value.type} {value.text}, {value.type} poison, {chosen}")
                store(e, f"<{len(lanes)} x {element_type(kind)}> {found}", places[kind], loop.number, width)
        loop.end()
        e.lanes = LANES

    def _read(self, step: str) -> None:
        """The codes of a step's rows, out of the pieces that have them."""
        e = self.e
        at_once = self.rows if self.major == "K" else 1
        count = self.rows * self.rule.k // self.each
        loop = Loop(e, count // at_once)
        first = e.let(f"add i64 {e.let(f'mul i64 {step}, {count}')}, {e.let(f'mul i64 {loop.number}, {at_once}')}")
        found = [self._piece(e.let(f"add i64 {first}, {n}")) for n in range(at_once)]
        for number, vector in enumerate(_transposed(e, found, f"<{self.each} x {self.code}>")):
            place = e.let(f"add i64 {e.let(f'mul i64 {loop.number}, {at_once}')}, {number}")
            store(e, f"<{self.each} x {self.code}> {vector}", self.codes, place)
        loop.end()

    def _piece(self, number: str) -> str:
        """A piece's codes."""
        e, bits = self.e, TYPES[self.name].bits
        place = e.at(self.shared, self._place(e.entry(self.pieces, number)))
        codes = e.let(f"load <{self.each} x i{bits}>, ptr {place}, align 1")
        return codes if bits >= 8 else e.let(f"zext <{self.each} x i{bits}> {codes} to <{self.each} x i8>")

    def _place(self, offset: str) -> str:
        """Where in shared memory a piece is, given what the table says."""
        return offset


def _transposed(e: Emitter, rows: list[str], t: str) -> list[str]:
    """Vectors as rows of a matrix, a power of two of them, as vectors of as many elements that have one column after the other."""
    n, half = int(t[1:].partition(" ")[0]), len(rows) // 2
    for _ in range(half.bit_length()):  # each time two rows that are far apart are joined, element by element
        mixed = []
        for a, b in zip(rows[:half], rows[half:], strict=True):
            for start in (0, n // 2):
                order = ", ".join(f"i32 {start + i // 2 + (n if i % 2 else 0)}" for i in range(n))
                mixed.append(e.let(f"shufflevector {t} {a}, {t} {b}, <{n} x i32> <{order}>"))
        rows = mixed
    return rows


class TileReader(PieceReader):
    """Reads a tile with its descriptor and a table of its pieces (`pieces`)."""

    def __init__(
        self, e: Emitter, shared: str, descriptor: str, pieces: str, name: str, major: str, rule: Arithmetic, negate: bool
    ):  # fmt: skip
        super().__init__(e, shared, pieces, name, major, rule, negate)
        self.start = e.let(f"shl i64 {self._field(descriptor, 'start')}, 4")
        self.base = self._field(descriptor, "base_offset")
        code = self._field(descriptor, "swizzle")
        mask = "0"
        for mode, number in SWIZZLE_CODES.items():
            here = e.let(f"icmp eq i64 {code}, {number}")
            mask = e.let(f"select i1 {here}, i64 {(1 << SWIZZLE_BITS[mode]) - 1}, i64 {mask}")
        self.mask = mask

    def _field(self, descriptor: str, name: str) -> str:
        e = self.e
        _, low, bits = next(f for f in FIELDS if f[0] == name)
        return e.let(f"and i64 {e.let(f'lshr i64 {descriptor}, {low}')}, {(1 << bits) - 1}")

    def _place(self, offset: str) -> str:
        e = self.e
        address = e.let(f"add i64 {self.start}, {offset}")
        row = e.let(f"sub i64 {e.let(f'lshr i64 {address}, 7')}, {self.base}")
        flip = e.let(f"shl i64 {e.let(f'and i64 {row}, {self.mask}')}, 4")
        return e.let(f"xor i64 {address}, {flip}")
