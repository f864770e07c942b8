"""Copies from shared to tensor memory. PTX ISA, "tcgen05.cp"."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from ptxsim.layout.tensor_descriptor import TensorDescriptor
from ptxsim.layout.tensor_memory import COPIES, Cells, copied
from ptxsim.machine.asynchronous import snapshot
from ptxsim.machine.cta import Cta
from ptxsim.machine.port import Port
from ptxsim.machine.tensor_core import core_of, read_tiles
from ptxsim.machine.tensor_memory import group_of, memory_of, place
from ptxsim.machine.tensor_order import Use
from ptxsim.machine.tile import CHUNK, Tile, check_tile


def copy(m: Port, a: np.ndarray, descriptor: np.ndarray, shape: str, warps: str | None, ctas: int) -> None:
    """tcgen05.cp: every executing lane starts one."""
    rows, pieces, _ = COPIES[shape, warps]
    group = group_of(m, ctas)
    for lane in map(int, np.flatnonzero(m.mask)):
        tile = Tile(int(descriptor[lane]), "K", rows, pieces * CHUNK, 8, TensorDescriptor)
        check_tile(m, tile)
        port = snapshot(m, np.arange(32) == lane)
        read_tiles(port, [tile], group)
        address, parts, memories = int(a[lane]), copied(shape, warps), [memory_of(cta) for cta in group]
        uses = [
            Use(memory, place(memory, address, cells.area, "tcgen05.cp"), True, m.line, "tcgen05.cp")
            for memory in memories
            for cells, _ in parts
        ]
        core_of(m.cta).issue(
            port, partial(_copy, tile, group, [(cells.at(address), rows) for cells, rows in parts]), uses
        )


def _copy(tile: Tile, ctas: Sequence[Cta], parts: Sequence[tuple[Cells, slice]]) -> None:
    """The rows of a tile in each CTA's shared memory go to its tensor memory."""
    for cta in ctas:
        words = np.ascontiguousarray(tile.read(cta.shared)).view(np.uint32)
        for (rows, columns), part in parts:
            memory_of(cta).cells[columns, rows] = words[part]
