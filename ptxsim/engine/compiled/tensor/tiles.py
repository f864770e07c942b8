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

PIECE, ROWS = 16, 8  # bytes that stay together; rows of one step
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


class TileReader:
    """Reads eight rows of a tile at a time, in code that runs with the tile's address, its table of pieces and its rows'
    number. `major` is "K" or "MN", `rule` counts stored elements."""

    def __init__(
        self, e: Emitter, shared: str, descriptor: str, pieces: str, name: str, major: str, rule: Arithmetic, negate: bool
    ):  # fmt: skip
        self.e, self.shared, self.pieces, self.name, self.major = e, shared, pieces, name, major
        self.rule, self.negate = rule, negate
        self.start = e.let(f"shl i64 {self._field(descriptor, 'start')}, 4")
        self.base = self._field(descriptor, "base_offset")
        code = self._field(descriptor, "swizzle")
        mask = "0"
        for mode, number in SWIZZLE_CODES.items():
            here = e.let(f"icmp eq i64 {code}, {number}")
            mask = e.let(f"select i1 {here}, i64 {(1 << SWIZZLE_BITS[mode]) - 1}, i64 {mask}")
        self.mask = mask
        # Eight rows' numbers (and exponents), as their pieces lie: row after row, or for each k the rows (MN-major).
        self.elements = {kind: e.stack_slot(f"[{ROWS * rule.k} x {element_type(kind)}]") for kind in kinds(rule)}

    def _field(self, descriptor: str, name: str) -> str:
        e = self.e
        _, low, bits = next(f for f in FIELDS if f[0] == name)
        return e.let(f"and i64 {e.let(f'lshr i64 {descriptor}, {low}')}, {(1 << bits) - 1}")

    def write(self, step: str, panel: str, number: str, orders: Sequence[Sequence[int]]) -> None:
        """Records of a panel, from `number` on; `orders` say which of the eight rows of a step their lanes have."""
        e, k = self.e, self.rule.k
        self._read(step)
        to = [
            record(e, self.rule, panel, e.let(f"add i64 {number}, {i}"), len(order)) for i, order in enumerate(orders)
        ]
        loop = Loop(e, k)
        for kind, source in self.elements.items():
            t = element_type(kind)
            if self.major == "MN":
                at = e.let(f"getelementptr <{ROWS} x {t}>, ptr {source}, i64 {loop.number}")
                column = e.let(f"load <{ROWS} x {t}>, ptr {at}, align 2")
            else:
                column = "poison"
                at = e.let(f"getelementptr {t}, ptr {source}, i64 {loop.number}")
                for row in range(ROWS):
                    one = e.let(f"load {t}, ptr {e.let(f'getelementptr {t}, ptr {at}, i64 {row * k}')}, align 2")
                    column = e.let(f"insertelement <{ROWS} x {t}> {column}, {t} {one}, i64 {row}")
            for places, order in zip(to, orders, strict=True):
                chosen = f"<{len(order)} x i32> <{', '.join(f'i32 {row}' for row in order)}>"
                found = e.let(f"shufflevector <{ROWS} x {t}> {column}, <{ROWS} x {t}> poison, {chosen}")
                store(e, f"<{len(order)} x {t}> {found}", places[kind], loop.number)
        loop.end()

    def _read(self, step: str) -> None:
        """The elements of all pieces of eight rows."""
        e, bits = self.e, TYPES[self.name].bits
        count = ROWS * self.rule.k * bits // 8 // PIECE
        loop = Loop(e, count)
        first = e.let(f"mul i64 {step}, {count}")
        at = e.let(f"getelementptr i32, ptr {self.pieces}, i64 {e.let(f'add i64 {first}, {loop.number}')}")
        offset = e.let(f"load i32, ptr {at}, align 4")
        address = e.let(f"add i64 {self.start}, {e.let(f'sext i32 {offset} to i64')}")
        row = e.let(f"sub i64 {e.let(f'lshr i64 {address}, 7')}, {self.base}")
        flip = e.let(f"shl i64 {e.let(f'and i64 {row}, {self.mask}')}, 4")
        place = e.let(f"getelementptr i8, ptr {self.shared}, i64 {e.let(f'xor i64 {address}, {flip}')}")
        e.lanes = 8 * PIECE // bits
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
