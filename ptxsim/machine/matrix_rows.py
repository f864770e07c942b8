"""Rows of 8x8 matrices between shared memory and registers: what ldmatrix and stmatrix do.

Each matrix is eight (or sixteen) rows of 16 bytes; lane i gives the address of row i, counted over all matrices, and
the addresses that lanes beyond the last row give are ignored.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ptxsim.layout.fragments import Fragment, address_lanes
from ptxsim.layout.tables import ROW_FORMATS
from ptxsim.machine import provenance
from ptxsim.machine.event import FLAG_UNCHANGED, Event
from ptxsim.machine.fault import Fault
from ptxsim.machine.memory import check_alignment, gather, scatter
from ptxsim.machine.port import Port

ROW = 16  # bytes


def load_rows(
    m: Port, space: str | None, address: np.ndarray, tile: Fragment, packed: str | None = None
) -> list[np.ndarray]:
    """The registers (u32 lane values) of an ldmatrix; `packed` names a row format of 6- or 4-bit elements.

    Raises Fault: misaligned-address for a row that is no multiple of 16 bytes, ldmatrix-row-address for one outside
    of the CTA's shared memory.
    """
    data = np.zeros((len(m.mask), ROW), np.uint8)
    for memory, offsets, lanes in _rows(m, space, address, tile, Event.LDMATRIX):
        data[lanes] = gather(memory, offsets, lanes, ROW)[lanes]
    rows = data[address_lanes(tile.shape_name)]
    codes = unpack_row(rows, ROW_FORMATS[packed].bits) if packed else rows.view(f"<u{tile.element_bits // 8}")
    registers = list(tile.from_matrix(codes))
    if m.machine.checks != "none":
        provenance.remember_rows(m, registers, packed or tile.type, tile.majority == "trans")
    return registers


def store_rows(m: Port, space: str | None, address: np.ndarray, registers: list[np.ndarray], tile: Fragment) -> None:
    """Write the rows of an stmatrix. Faults as in load_rows."""
    if m.machine.checks != "none":
        provenance.check_stored(m, registers, tile.element_bits, tile.majority == "trans")
    codes = tile.to_matrix(np.stack(registers)).astype(f"<u{tile.element_bits // 8}")
    data = np.zeros((len(m.mask), ROW), np.uint8)
    data[address_lanes(tile.shape_name)] = codes.view(np.uint8)
    for memory, offsets, lanes in _rows(m, space, address, tile, Event.STMATRIX, data):
        scatter(memory, offsets, lanes, data)


def _rows(
    m: Port, space: str | None, address: np.ndarray, tile: Fragment, event: Event, data: np.ndarray | None = None
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield (bytes, offsets, lanes) of the shared memories the rows lie in. data: what is going to be stored there."""
    active = m.mask
    supplies = np.zeros_like(active)
    supplies[address_lanes(tile.shape_name).ravel()] = True
    name = "ldmatrix" if event is Event.LDMATRIX else "stmatrix"
    try:
        m.mask = supplies & active
        check_alignment(address, m.mask, ROW, f"{name} row")
        found = list(m.resolve(space, address, ROW, write=event is Event.STMATRIX))
        for kind, memory, offsets, lanes in found:
            if kind.name != "SHARED":
                lane = int(np.argmax(lanes))
                raise Fault(
                    "wrong-space", f"{name} row at {int(address[lane]):#x}, which is not shared memory", lane,
                    f"{name} reaches shared memory only; copy the tile there first",
                )  # fmt: skip
            stays = data is not None and np.array_equal(gather(memory, offsets, lanes, ROW)[lanes], data[lanes])
            m.emit(event, kind, ROW, FLAG_UNCHANGED if stays else 0, lanes, m.named(kind, memory, offsets, address))
            yield memory, offsets, lanes
    except Fault as fault:
        holder = fault.lane
        if holder is None or (
            fault.name != "out-of-bounds" and not (fault.name == "wrong-space" and space is not None)
        ):
            raise
        matrices = int(supplies.sum())
        raise Fault(
            "ldmatrix-row-address",
            f"lane {holder} must supply the address of row {holder % 8} of matrix {holder // 8} and holds "
            f"{int(address[holder]):#x}, which is outside of shared memory",
            holder,
            f"{name} with .{tile.shape_name.partition('.')[2] or 'x1'} takes the addresses of lanes 0..{matrices - 1}: "
            "one row of 16 bytes each",
        ) from None
    finally:
        m.mask = active


def unpack_row(rows: np.ndarray, width: int) -> np.ndarray:
    """Rows of 16 packed elements of `width` bits and padding, uint8 (..., 16), as 16 bytes: an element in the low bits of each."""
    bits = np.unpackbits(rows, axis=-1, bitorder="little")[..., : 16 * width].reshape(*rows.shape[:-1], 16, width)
    codes: np.ndarray = (bits << np.arange(width, dtype=np.uint8)).sum(axis=-1, dtype=np.uint8)
    return codes
