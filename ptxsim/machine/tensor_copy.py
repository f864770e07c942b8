"""Copies from shared to tensor memory. PTX ISA, "tcgen05.cp"."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from ptxsim.layout.tensor_descriptor import TensorDescriptor
from ptxsim.layout.tensor_memory import COPIES, Cells
from ptxsim.machine.asynchronous import snapshot
from ptxsim.machine.cta import Cta
from ptxsim.machine.port import Port
from ptxsim.machine.tensor_core import core_of, read_tiles
from ptxsim.machine.tensor_memory import group_of, memory_of, place
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
        core_of(m.cta).issue(port, partial(_copy, group, tile, int(a[lane]), (shape, warps)))


def _copy(group: Sequence[Cta], tile: Tile, address: int, form: tuple[str, str | None]) -> None:
    """The rows of a tile in each CTA's shared memory go to its tensor memory."""
    rows, _, parts = COPIES[form]
    for cta in group:
        words = np.ascontiguousarray(tile.read(cta.shared)).view(np.uint32)
        each = rows // len(parts)
        for number, starts in enumerate(parts):
            part = words[number * each : (number + 1) * each]
            for start in starts:
                cells = Cells(np.arange(each)[:, None] + start, np.arange(part.shape[1])[None, :])
                found = place(memory_of(cta), address, Cells(*np.broadcast_arrays(*cells)), "tcgen05.cp")
                memory_of(cta).cells[found.columns, found.rows] = part
