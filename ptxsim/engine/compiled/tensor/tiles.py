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
from ptxsim.engine.compiled.tensor.panels import exponents, kinds, numbers, record, store
from ptxsim.lanes import LANES
from ptxsim.layout.descriptor import FIELDS, SWIZZLE_CODES, linear_offsets
from ptxsim.layout.swizzle import SWIZZLE_BITS
from ptxsim.machine.tile import Tile
from ptxsim.types import TYPES

PIECE = 16  # bytes that stay together
Offsets = np.ndarray[Any, np.dtype[np.int32]]


def pieces(tile: Tile) -> Offsets:
    """Offsets of the 16-byte pieces of a tile from its start, before the swizzle, int32: for every eight rows those of one
    row after the other (K-major), or one for every k (MN-major). Tiles that differ in their start alone share them."""
    fields = tile.fields
    return _offsets(tile.major, tile.rows, tile.k, tile.bits, fields.swizzle, fields.leading, fields.stride)


@lru_cache(maxsize=1024)
def _offsets(major: str, rows: int, k: int, bits: int, swizzle: str, leading: int, stride: int) -> Offsets:
    if major == "K":
        row, column = np.arange(rows)[:, None], np.arange(0, k, 128 // bits)[None, :]
    else:
        row, column = np.arange(0, rows, 8)[:, None], np.arange(k)[None, :]
    offsets = linear_offsets(major, swizzle, leading, stride, bits, row, column)
    return np.ascontiguousarray(np.broadcast_to(offsets, np.broadcast_shapes(row.shape, column.shape)), np.int32)


def placed(tile: Tile) -> Offsets:
    """Where in shared memory the 16-byte pieces of a tile are, int32, in the order in which PieceReader takes them."""
    addresses = tile.addresses()
    per, at_once = 8 * PIECE // tile.bits, rows_at_once(tile.major, tile.bits)
    if tile.major == "K":
        found = addresses[:, ::per]
    else:
        found = addresses[::per].reshape(tile.rows // at_once, at_once // per, tile.k).swapaxes(1, 2)
    return np.ascontiguousarray(found, np.int32)


def rows_at_once(major: str, storage: int) -> int:
    """Rows that are read in a step: eight, or as many as are in a piece."""
    return 16 if (major, storage) == ("MN", 8) else 8


class PieceReader:
    """Reads some rows of a matrix at a time, in code that runs with the address of shared memory and a table of where in it the
    matrix's pieces are. `major` is "K" or "MN", `rule` counts stored elements; `storage`: bits that an element has to itself."""

    def __init__(
        self, e: Emitter, shared: str, pieces: str, name: str, major: str, rule: Arithmetic, negate: bool, storage: int = 0
    ):  # fmt: skip
        self.e, self.shared, self.pieces, self.name, self.major = e, shared, pieces, name, major
        self.rule, self.negate, self.storage = rule, negate, storage or TYPES[name].bits
        self.rows = rows_at_once(major, self.storage)
        # The rows' numbers (and exponents), as their pieces lie: row after row, or for each k the rows (MN-major).
        self.elements = {kind: e.stack_slot(f"[{self.rows * rule.k} x {element_type(kind)}]") for kind in kinds(rule)}

    def write(
        self, step: str, panel: str, number: str, orders: Sequence[Sequence[int]], lane: str = "0", width: int = 0
    ) -> None:
        """Records of a panel, from `number` on; `orders` say which of the rows of a step their lanes have; of records that are
        wider (`width`), those from `lane` on."""
        e, k, rows = self.e, self.rule.k, self.rows
        self._read(step)
        to = [
            record(e, self.rule, panel, e.let(f"add i64 {number}, {i}"), width or len(order), lane)
            for i, order in enumerate(orders)
        ]
        loop = Loop(e, k)
        for kind, source in self.elements.items():
            t = element_type(kind)
            if self.major == "MN":
                at = e.at(source, loop.number, f"<{rows} x {t}>")
                column = e.let(f"load <{rows} x {t}>, ptr {at}, align 2")
            else:
                column = "poison"
                at = e.at(source, loop.number, t)
                for row in range(rows):
                    one = e.let(f"load {t}, ptr {e.at(at, row * k, t)}, align 2")
                    column = e.let(f"insertelement <{rows} x {t}> {column}, {t} {one}, i64 {row}")
            for places, order in zip(to, orders, strict=True):
                chosen = f"<{len(order)} x i32> <{', '.join(f'i32 {row}' for row in order)}>"
                found = e.let(f"shufflevector <{rows} x {t}> {column}, <{rows} x {t}> poison, {chosen}")
                store(e, f"<{len(order)} x {t}> {found}", places[kind], loop.number, width)
        loop.end()

    def _read(self, step: str) -> None:
        """The elements of all pieces of a step's rows."""
        e, bits = self.e, TYPES[self.name].bits
        count = self.rows * self.rule.k * self.storage // 8 // PIECE
        loop = Loop(e, count)
        first = e.let(f"mul i64 {step}, {count}")
        offset = e.entry(self.pieces, e.let(f"add i64 {first}, {loop.number}"))
        place = e.at(self.shared, self._place(offset))
        e.lanes = 8 * PIECE // self.storage
        codes = e.let(f"load <{e.lanes} x i{bits}>, ptr {place}, align 1")
        if bits < 32:
            codes = e.let(f"zext <{e.lanes} x i{bits}> {codes} to <{e.lanes} x i32>")
        values = {"f32": numbers(e, Value(e, codes, "u32"), self.name, self.negate)}
        if self.rule.floats:
            values["s16"] = exponents(e, values["f32"], self.name)
        for kind, value in values.items():
            store(e, f"{value.type} {value.text}", self.elements[kind], loop.number)
        loop.end()
        e.lanes = LANES

    def _place(self, offset: str) -> str:
        """Where in shared memory a piece is, given what the table says."""
        return offset


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
