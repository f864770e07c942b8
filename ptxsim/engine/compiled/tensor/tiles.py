"""Matrices in shared memory, as descriptors give them, read into panels (engine.compiled.tensor.panels).

Every layout keeps 16 bytes together. Where these pieces lie, from the start of the tile and before the swizzle, is a table
that layout.descriptor makes (`pieces`); here the pieces are fetched and spread.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import numpy as np

from ptxsim.engine.compiled.ir.emitter import Emitter
from ptxsim.engine.compiled.ir.value import Value, element_type
from ptxsim.engine.compiled.tensor.arithmetic import QUAD, Arithmetic
from ptxsim.engine.compiled.tensor.panels import exponents, numbers
from ptxsim.lanes import LANES
from ptxsim.layout.descriptor import FIELDS, SWIZZLE_CODES, Descriptor, linear_offsets
from ptxsim.layout.swizzle import SWIZZLE_BITS
from ptxsim.machine.tile import Tile
from ptxsim.types import TYPES

PIECE, ROWS = 16, 8  # bytes that stay together; rows of one step
Offsets = np.ndarray[Any, np.dtype[np.int32]]
Texts = list[str]  # a vector of numbers, and one of exponents where the arithmetic has them


def pieces(tile: Tile) -> Offsets:
    """Offsets of the 16-byte pieces of a tile from its start, before the swizzle, int32: for every eight rows those of one
    row after the other (K-major), or one for every k (MN-major). Tiles that differ in their start alone share them."""
    fields = Descriptor.decode(tile.descriptor)
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
    number. `major` is "K" or "MN", `k` counts stored elements."""

    def __init__(
        self, e: Emitter, shared: str, descriptor: str, pieces: str, name: str, major: str, k: int, rule: Arithmetic,
        negate: bool,
    ):  # fmt: skip
        self.e, self.shared, self.pieces, self.name, self.major, self.k = e, shared, pieces, name, major, k
        self.rule, self.negate = rule, negate
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

    @property
    def pieces_per_step(self) -> int:
        """How many entries of the table eight rows have."""
        return self.k if self.major == "MN" else ROWS * self.k * TYPES[self.name].bits // 8 // PIECE

    def _piece(self, step: str, number: int) -> str:
        """16 bytes, as <16 x i8>: piece `number` of step `step` (i64)."""
        e = self.e
        first = e.let(f"mul i64 {step}, {4 * self.pieces_per_step}")
        at = e.let(f"getelementptr i8, ptr {self.pieces}, i64 {e.let(f'add i64 {first}, {4 * number}')}")
        offset = e.let(f"load i32, ptr {at}, align 4")
        address = e.let(f"add i64 {self.start}, {e.let(f'sext i32 {offset} to i64')}")
        row = e.let(f"sub i64 {e.let(f'lshr i64 {address}, 7')}, {self.base}")
        flip = e.let(f"shl i64 {e.let(f'and i64 {row}, {self.mask}')}, 4")
        place = e.let(f"getelementptr i8, ptr {self.shared}, i64 {e.let(f'xor i64 {address}, {flip}')}")
        return e.let(f"load <16 x i8>, ptr {place}, align 1")

    def _spread(self, piece: str, count: int) -> Texts:
        """Packed elements as texts of vectors of `count` lanes: numbers, and exponents where the arithmetic has them."""
        e, bits = self.e, TYPES[self.name].bits
        e.lanes = count
        size = count * bits // 8
        codes = piece
        if bits != 8:
            codes = e.let(f"bitcast <{size} x i8> {piece} to <{count} x i{bits}>")
        if bits < 32:
            codes = e.let(f"zext <{count} x i{bits}> {codes} to <{count} x i32>")
        number = numbers(e, Value(e, codes, "u32"), self.name, self.negate)
        return [number.text, exponents(e, number, self.name).text] if self.rule.floats else [number.text]

    def rows(self, step: str) -> list[Texts]:
        """Eight rows of a K-major tile: vectors of k elements."""
        e, per = self.e, self.pieces_per_step // ROWS
        found = []
        for row in range(ROWS):
            parts = [self._piece(step, row * per + i) for i in range(per)]
            size = PIECE
            while len(parts) > 1:
                parts = [joined(e, a, b, size, "i8") for a, b in zip(parts[0::2], parts[1::2], strict=True)]
                size *= 2
            found.append(self._spread(parts[0], self.k))
        e.lanes = LANES
        return found

    def columns(self, step: str) -> list[Texts]:
        """The same eight rows of an MN-major tile: for every k vectors of eight elements."""
        found = [self._spread(self._piece(step, k), ROWS) for k in range(self.k)]
        self.e.lanes = LANES
        return found

    # ---- into panels ----

    def write_fast(self, step: str, panel: str) -> None:
        """Two fast records: of the even rows of a step, and of the odd ones."""
        e, rule = self.e, self.rule
        for kind, number in self._kinds():
            t, size = element_type(kind), 4 if kind == "f32" else 2
            start = 0 if kind == "f32" else rule.k * QUAD * 4
            if self.major == "K":
                rows = [row[number] for row in self._rows_of(step)]
                for odd in (0, 1):
                    vector = interleaved(e, rows[odd::2], self.k, t)
                    at = e.let(f"getelementptr i8, ptr {panel}, i64 {odd * rule.fast_bytes + start}")
                    e.line(f"  store <{QUAD * self.k} x {t}> {vector}, ptr {at}, align 2")
            else:
                for k, column in enumerate(self._rows_of(step)):
                    for odd in (0, 1):
                        four = picked(e, column[number], ROWS, t, range(odd, ROWS, 2))
                        at = e.let(
                            f"getelementptr i8, ptr {panel}, i64 {odd * rule.fast_bytes + start + k * QUAD * size}"
                        )
                        e.line(f"  store <{QUAD} x {t}> {four}, ptr {at}, align 2")
        self._known = None

    _known: list[Texts] | None = None

    def _rows_of(self, step: str) -> list[Texts]:
        if self._known is None:
            self._known = self.rows(step) if self.major == "K" else self.columns(step)
        return self._known

    def _kinds(self) -> list[tuple[str, int]]:
        return [("f32", 0), ("s16", 1)] if self.rule.floats else [("f32", 0)]

    def slow(self, step: str) -> list[tuple[Value, Value | None]]:
        """For every k vectors of 32 lanes, each of the eight rows four times: numbers and exponents."""
        e = self.e
        found: list[list[Value]] = [[] for _ in range(self.k)]
        rows = self.rows(step) if self.major == "K" else self.columns(step)
        for kind, number in self._kinds():
            t = element_type(kind)
            together = interleaved(e, [row[number] for row in rows], self.k, t) if self.major == "K" else None
            for k in range(self.k):
                lanes = [lane // QUAD for lane in range(LANES)]
                if together is None:
                    text = picked(e, rows[k][number], ROWS, t, lanes)
                else:
                    text = picked(e, together, ROWS * self.k, t, [ROWS * k + lane for lane in lanes])
                found[k].append(Value(e, text, kind))
        return [(pair[0], pair[1] if self.rule.floats else None) for pair in found]


def joined(e: Emitter, a: str, b: str, size: int, t: str) -> str:
    """Two vectors of a size, one after the other."""
    return _shuffled(e, a, b, size, t, range(2 * size))


def picked(e: Emitter, vector: str, size: int, t: str, lanes: Iterable[int]) -> str:
    return _shuffled(e, vector, "poison", size, t, lanes)


def interleaved(e: Emitter, vectors: list[str], size: int, t: str) -> str:
    """Element 0 of every vector, then element 1 of every one, ... Their number is a power of two."""
    if len(vectors) == 1:
        return vectors[0]
    half = len(vectors) // 2
    a, b = interleaved(e, vectors[0::2], size, t), interleaved(e, vectors[1::2], size, t)
    size *= half
    return _shuffled(e, a, b, size, t, [i // 2 + i % 2 * size for i in range(2 * size)])


def _shuffled(e: Emitter, a: str, b: str, size: int, t: str, lanes: Iterable[int]) -> str:
    order = [f"i32 {lane}" for lane in lanes]
    return e.let(f"shufflevector <{size} x {t}> {a}, <{size} x {t}> {b}, <{len(order)} x i32> <{', '.join(order)}>")
