"""Copies from shared to tensor memory. PTX ISA, "tcgen05.cp"."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from ptxsim.layout.tensor_descriptor import TensorDescriptor
from ptxsim.layout.tensor_memory import COPIES, Cells
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
        found = [part for cta in group for part in _targets(cta, int(a[lane]), (shape, warps))]
        uses = [Use(memory_of(cta), cells, True, m.line, "tcgen05.cp") for cta, cells, _ in found]
        core_of(m.cta).issue(port, partial(_copy, tile, found), uses)


def _targets(cta: Cta, address: int, form: tuple[str, str | None]) -> Iterator[tuple[Cta, Cells, slice]]:
    """Where the rows of a tile go in a CTA's tensor memory, and which rows."""
    rows, pieces, parts = COPIES[form]
    each = rows // len(parts)
    row, column = np.arange(each)[:, None], np.arange(pieces * CHUNK // 4)[None, :]
    for number, starts in enumerate(parts):
        for start in starts:
            cells = place(memory_of(cta), address, Cells(*np.broadcast_arrays(row + start, column)), "tcgen05.cp")
            yield cta, cells, slice(number * each, (number + 1) * each)


def _copy(tile: Tile, targets: Sequence[tuple[Cta, Cells, slice]]) -> None:
    """The rows of a tile in each CTA's shared memory go to its tensor memory."""
    for cta, cells, rows in targets:
        words = np.ascontiguousarray(tile.read(cta.shared)).view(np.uint32)
        memory_of(cta).cells[cells.columns, cells.rows] = words[rows]
