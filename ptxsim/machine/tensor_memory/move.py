"""Loads and stores of tensor memory by a warp, until a wait covers them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from ptxsim.layout.tensor_memory import QUARTER, Area, moved
from ptxsim.machine.asynchronous import snapshot
from ptxsim.machine.event import Event, TensorUse
from ptxsim.machine.fault import Fault
from ptxsim.machine.port import Port
from ptxsim.machine.tensor_memory import cells as tensor_memory
from ptxsim.machine.tensor_memory.cells import TensorMemory, group_of, memory_of, moved_area, place, run
from ptxsim.machine.tensor_memory.core import core_of, in_flight
from ptxsim.machine.tensor_memory.order import COMMITS, MOVES, Moves, Use, check, tell
from ptxsim.machine.tensor_memory.product import move_down

SHIFTED = 8  # columns whose rows a shift moves: 32 bytes


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
    how = check(m, [use], in_flight(m), COMMITS) | check(m, [use], moves.all(), MOVES)
    moves.open.setdefault(m.warp.index, []).append(use)
    tell(m, [use], how)


def wait(m: Port, stores: bool) -> None:
    """The loads or the stores of the warp are over."""
    tell(m, m.cta.units.of(Moves).wait(m.warp.index, stores), TensorUse.ENDS)


def deallocate(m: Port, a: np.ndarray, columns: np.ndarray, ctas: int) -> None:
    """Deallocation, of columns that no operation is under way on."""
    use = Use(memory_of(m.cta), tensor_memory.deallocate(m, a, columns, ctas), True, m.line, "the deallocation")
    how = check(m, [use], in_flight(m), COMMITS) | check(m, [use], m.cta.units.of(Moves).all(), MOVES)
    tell(m, [use], how, Event.TENSOR_FREE)


def shift(m: Port, a: np.ndarray, ctas: int) -> None:
    """Every executing lane has the rows of a quarter, 8 columns of them, move down. Raises Fault where its address is not at a quarter."""
    area, group = Area(run(QUARTER), run(SHIFTED)), group_of(m, ctas)
    for lane in map(int, np.flatnonzero(m.mask)):
        address = int(a[lane])
        if (address >> 16) % QUARTER:
            raise Fault(
                "misaligned-address", f"the shift at {address:#x} begins in lane {address >> 16} of tensor memory", lane,
                f"the lane of the address, in bits 31 to 16, is a multiple of {QUARTER}",
            )  # fmt: skip
        memories = [memory_of(cta) for cta in group]
        uses = [
            Use(memory, place(memory, address, area, "the shift"), True, m.line, "the shift") for memory in memories
        ]
        core_of(m.cta).issue(snapshot(m, np.arange(32) == lane), partial(_shift, memories, address), uses)


def _shift(memories: Sequence[TensorMemory], address: int) -> None:
    for memory in memories:
        move_down(memory, address & 0xFFFF, SHIFTED, address >> 16, QUARTER)
