"""Loads and stores of tensor memory by a warp, until a wait covers them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ptxsim.layout.tensor_memory import moved
from ptxsim.machine import tensor_memory
from ptxsim.machine.port import Port
from ptxsim.machine.tensor_core import in_flight
from ptxsim.machine.tensor_memory import memory_of, moved_area
from ptxsim.machine.tensor_order import COMMITS, MOVES, Moves, Use, check


def load(m: Port, a: np.ndarray, shape: str, number: int, split: int, packed: bool) -> list[np.ndarray]:
    """The registers. An instruction that reads them comes after the load, with no wait; what the load reads may be written to only
    after one. PTX ISA, "Canonical synchronization patterns: Register dependency, same thread"."""
    cells = moved(shape, number, split, packed)
    memory, address, area = moved_area(m, a, cells, "the load")
    _begin(m, Use(memory, area, False, m.line, "the load"))
    rows, columns = cells.at(address)
    words = memory.cells[columns, rows]
    if packed:
        words = words[0] & np.uint32(0xFFFF) | words[1] << np.uint32(16)
    return list(words)


def store(
    m: Port, a: np.ndarray, values: Sequence[np.ndarray], shape: str, number: int, split: int, packed: bool
) -> None:
    """Registers go to the cells."""
    cells = moved(shape, number, split, packed)
    memory, address, area = moved_area(m, a, cells, "the store")
    _begin(m, Use(memory, area, True, m.line, "the store"))
    words = np.stack(values)
    if packed:
        words = np.stack([words & np.uint32(0xFFFF), words >> np.uint32(16)])
    rows, columns = cells.at(address)
    memory.cells[columns, rows] = words


def _begin(m: Port, use: Use) -> None:
    moves = m.cta.units.of(Moves)
    check(m, [use], in_flight(m), COMMITS)
    check(m, [use], moves.all(), MOVES)
    moves.open.setdefault(m.warp.index, []).append(use)


def wait(m: Port, stores: bool) -> None:
    """The loads or the stores of the warp are over."""
    m.cta.units.of(Moves).wait(m.warp.index, stores)


def deallocate(m: Port, a: np.ndarray, columns: np.ndarray, ctas: int) -> None:
    """Deallocation, of columns that nobody works on any more."""
    use = Use(memory_of(m.cta), tensor_memory.deallocate(m, a, columns, ctas), True, m.line, "the deallocation")
    check(m, [use], in_flight(m), COMMITS)
    check(m, [use], m.cta.units.of(Moves).all(), MOVES)
