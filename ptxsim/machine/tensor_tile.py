"""The global side of a tensor copy: which bytes of the tensor a box at given coordinates covers.

PTX ISA, "Tensors": tiled mode and im2col mode. Elements outside of the tensor read as the fill value and are not written.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ptxsim.machine.event import Space
from ptxsim.machine.fault import Fault
from ptxsim.machine.memory import ARENA, GlobalMemory
from ptxsim.machine.tensor_map import TensorDescription

NAN_FILL = b"\xf7\x7f"  # repeated where elements lie outside of the tensor in "nan" mode; measured on sm_90


@dataclass(slots=True, eq=False)
class GlobalTile:
    """Rows of a box in the tensor: `starts` are offsets in the arena of each row's first element (meaningless where
    not `inside`); within a row the elements `low` to `high` - 1 lie in the tensor."""

    memory: np.ndarray
    starts: np.ndarray
    inside: np.ndarray
    row_bytes: int
    low: int  # bytes
    high: int
    fill: bytes = b"\0"
    tf32: bool = False  # f32 values are rounded as they are read
    space: Space = Space.GLOBAL

    @property
    def size(self) -> int:
        return len(self.starts) * self.row_bytes

    def _index(self) -> tuple[np.ndarray, np.ndarray]:
        return np.flatnonzero(self.inside), np.arange(self.low, self.high)

    def read(self) -> np.ndarray:
        data = np.tile(np.frombuffer(self.fill, np.uint8), self.size // len(self.fill)).reshape(-1, self.row_bytes)
        rows, columns = self._index()
        if len(rows) and len(columns):
            found = self.memory[self.starts[rows][:, None] + columns]
            if self.tf32:
                found = _round_to_tf32(found)
            data[rows[:, None], columns] = found
        return data.ravel()

    def write(self, data: np.ndarray) -> None:
        rows, columns = self._index()
        if len(rows) and len(columns):
            self.memory[self.starts[rows][:, None] + columns] = data.reshape(-1, self.row_bytes)[rows[:, None], columns]

    def rows(self) -> tuple[np.ndarray, int]:
        rows, columns = self._index()
        if not len(columns):
            return np.zeros(0, np.uint64), 0
        return (ARENA + self.starts[rows] + self.low).astype(np.uint64), self.high - self.low


def box_tile(memory: GlobalMemory, t: TensorDescription, coordinates: tuple[int, ...], lane: int) -> GlobalTile:
    """The box of a tiled copy whose first element is at `coordinates` (innermost first)."""
    positions = []
    for i, (start, extent, step) in enumerate(zip(coordinates, t.box, t.element_strides)):
        step = step if i or t.interleave != "none" else 1  # the innermost dimension has no traversal stride
        positions.append(start + np.arange(0, extent, step, dtype=np.int64))
    return _tile(memory, t, positions[0], _outer(positions[1:]), lane)


def gathered_tile(
    memory: GlobalMemory, t: TensorDescription, column: int, rows: tuple[int, ...], lane: int
) -> GlobalTile:
    """Four rows of a two-dimensional tensor, each from `column` on."""
    inner = column + np.arange(t.box[0], dtype=np.int64)
    return _tile(memory, t, inner, np.array(rows, np.int64)[:, None], lane)


def im2col_tile(
    memory: GlobalMemory, t: TensorDescription, coordinates: tuple[int, ...], offsets: tuple[int, ...], lane: int
) -> GlobalTile:
    """Pixels of an im2col copy: they walk through the pixels' bounding box, innermost spatial dimension first, then from
    image to image; `offsets` move each pixel to the filter tap that is loaded."""
    spatial = t.rank - 2
    low = np.array(t.lower_corner, np.int64)
    high = np.array([t.dims[1 + i] for i in range(spatial)], np.int64) + np.array(t.upper_corner, np.int64)
    steps = np.array(t.element_strides[1 : 1 + spatial], np.int64)
    start = np.array(coordinates[1 : 1 + spatial], np.int64)
    if ((start < low) | (start >= high)).any():  # measured on sm_90: the copy faults
        raise Fault(
            "illegal-instruction",
            f"im2col copy from pixel {tuple(map(int, start))}, the pixels' bounding box is {tuple(map(int, low))} to {tuple(map(int, high - 1))}",
            lane,
            "start inside of the box that lower_corner and upper_corner describe",
        )
    pixel, image, walk = start.copy(), coordinates[-1], []
    for _ in range(t.pixels):
        walk.append((*(pixel + np.array(offsets)), image))
        for i in range(spatial):
            pixel[i] += steps[i]
            if pixel[i] < high[i]:
                break
            pixel[i] = low[i]
        else:
            image += t.element_strides[-1]
    inner = coordinates[0] + np.arange(t.channels, dtype=np.int64)
    return _tile(memory, t, inner, np.array(walk, np.int64), lane)


def _outer(positions: list[np.ndarray]) -> np.ndarray:
    """All combinations of the outer coordinates, the first one fastest: (rows, dimensions)."""
    if not positions:
        return np.zeros((1, 0), np.int64)
    grids = np.meshgrid(*reversed(positions), indexing="ij")
    return np.stack([g.ravel() for g in reversed(grids)], axis=1)


def _tile(memory: GlobalMemory, t: TensorDescription, inner: np.ndarray, outer: np.ndarray, lane: int) -> GlobalTile:
    size = t.type.bytes
    if int(inner[0]) * size % 16:  # measured on sm_90: the copy faults
        raise Fault(
            "misaligned-address",
            f"tensor copy at innermost coordinate {int(inner[0])}: {int(inner[0]) * size} bytes are no multiple of 16",
            lane,
            f"let tiles begin at multiples of {16 // size} elements",
        )
    dims, strides = np.array(t.dims[1:], np.int64), np.array(t.strides[1:], np.int64)
    inside = np.asarray(((outer >= 0) & (outer < dims)).all(axis=1))
    within = np.flatnonzero((inner >= 0) & (inner < t.dims[0]))
    low, high = (int(within[0]), int(within[-1]) + 1) if len(within) else (0, 0)
    address = t.address + outer @ strides + int(inner[0]) * size
    if high and inside.any():
        _check_bounds(memory, address[inside] + low * size, (high - low) * size, t, lane)
    fill = NAN_FILL if t.fill == "nan" else b"\0"
    return GlobalTile(
        memory.bytes,
        address - ARENA,
        inside,
        len(inner) * size,
        low * size,
        high * size,
        fill,
        t.type.name.startswith("tf32"),
    )


def _round_to_tf32(data: np.ndarray) -> np.ndarray:
    """f32 bytes rounded to the ten fraction bits of tf32, to nearest even."""
    words = np.ascontiguousarray(data).view("<u4")
    rounded = (words + np.uint32(0xFFF) + (words >> np.uint32(13) & np.uint32(1))) & np.uint32(0xFFFFE000)
    nan = (words & np.uint32(0x7FFFFFFF)) > np.uint32(0x7F800000)
    return np.where(nan, np.uint32(0x7FFFE000), rounded).view(np.uint8)


def _check_bounds(memory: GlobalMemory, starts: np.ndarray, size: int, t: TensorDescription, lane: int) -> None:
    found = memory.find(starts.astype(np.uint64), size)
    if (found < 0).any():
        at = int(starts[int(np.argmin(found))])
        raise Fault(
            "out-of-bounds",
            f"tensor copy of {size} bytes at {at:#x}: {memory.describe(at)}; the tensor map says the tensor begins at "
            f"{t.address:#x} and has dimensions {' x '.join(map(str, t.dims))}",
            lane,
            "check the map's address, dimensions and strides",
        )
