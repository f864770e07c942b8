"""Copies from shared to tensor memory. PTX ISA, "TensorCore 5th Generation Instructions: Data Movement"."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from ptxsim.layout.tensor_descriptor import TensorDescriptor
from ptxsim.layout.tensor_memory import COPIES, Cells, copied
from ptxsim.machine.asynchronous import snapshot
from ptxsim.machine.cta import Cta
from ptxsim.machine.port import Port
from ptxsim.machine.tensor_memory.cells import group_of, memory_of, place
from ptxsim.machine.tensor_memory.core import Load, core_of, read_tiles
from ptxsim.machine.tensor_memory.order import Use
from ptxsim.machine.tile import CHUNK, Tile, check_tile


def copy(m: Port, a: np.ndarray, descriptor: np.ndarray, shape: str, warps: str | None, ctas: int, bits: int) -> None:
    """Every executing lane starts one. `bits` below 8: 16 elements of so many at the start of every 16 bytes become bytes."""
    rows, pieces, _ = COPIES[shape, warps]
    group = group_of(m, ctas)
    for lane in map(int, np.flatnonzero(m.mask)):
        tile = Tile(int(descriptor[lane]), "K", rows, pieces * CHUNK, 8, TensorDescriptor)
        check_tile(m, tile)
        port = snapshot(m, np.arange(32) == lane)
        read_tiles(port, [tile], group)
        address, parts, memories = int(a[lane]), copied(shape, warps), [memory_of(cta) for cta in group]
        uses = [
            Use(memory, place(memory, address, cells.area, "the copy"), True, m.line, "the copy")
            for memory in memories
            for cells, _ in parts
        ]
        core_of(m.cta).issue(
            port, partial(_copy, tile, group, [(cells.at(address), rows) for cells, rows in parts], bits), uses,
            Load(rows * pieces * CHUNK, ctas),
        )  # fmt: skip


def _copy(tile: Tile, ctas: Sequence[Cta], parts: Sequence[tuple[Cells, slice]], bits: int) -> None:
    """The rows of a tile in each CTA's shared memory go to its tensor memory."""
    for cta in ctas:
        words = np.ascontiguousarray(as_bytes(tile.read(cta.shared), bits)).view(np.uint32)
        for (rows, columns), part in parts:
            memory_of(cta).cells[columns, rows] = words[part]


def as_bytes(rows: np.ndarray, bits: int) -> np.ndarray:
    """Bytes (rows, n) whose every 16 begin with 16 elements of `bits`, as a byte for each: where a product looks for it in tensor
    memory (machine.tensor_memory.product.narrowed)."""
    if bits == 8:
        return rows
    digits = np.unpackbits(rows.reshape(len(rows), -1, 16), axis=-1, bitorder="little")[..., : 16 * bits]
    codes = np.packbits(digits.reshape(*digits.shape[:2], 16, bits), axis=-1, bitorder="little")[..., 0]
    found: np.ndarray = codes.reshape(rows.shape) << (2 if bits == 4 else 0)
    return found
