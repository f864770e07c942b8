"""Canonical shared-memory layouts of matrix operands: swizzle atoms, strides, CuTe text, descriptors.

PTX ISA, "Shared Memory Matrix Layout", "Major-ness supported by Strides", "Canonical Layouts". In that notation
T = 128 / element bits, and m and k count the repeating patterns along rows and columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ptxsim.diagnostic import Finding, PtxError
from ptxsim.given import a_number
from ptxsim.layout.descriptor import Descriptor, linear_offsets
from ptxsim.layout.swizzle import SWIZZLE_BITS, swizzle, swizzle_width
from ptxsim.types import TYPES

LARGEST = 1 << 22  # elements of a tile: twice as many as four-bit ones fill the shared memory of a cluster of eight


@dataclass(frozen=True)
class SharedLayout:
    """A tile of m x k patterns in shared memory; rows are M or N, columns K.

    major: "K" or "MN", the direction of consecutive elements. swizzle: none, 32B, 64B, 128B. type: a PTX type.
    leading, stride: the byte offsets of the descriptor; None packs the tile (a swizzled K-major tile has no leading
    offset). K-major tiles are 8 m rows by 2 k T columns, MN-major ones T x (swizzle bytes / 16) x m rows by 8 k columns.
    Layouts that no instruction takes (tf32 MN-major) are allowed. Raises PtxError for unknown words.
    """

    major: str
    swizzle: str
    type: str
    leading: int | None = None
    stride: int = None  # type: ignore[assignment]  # __post_init__ puts the packed one
    m: int = 1
    k: int = 1

    def __post_init__(self) -> None:
        for name in ("leading", "stride", "m", "k"):
            if getattr(self, name) is not None or name in ("m", "k"):
                object.__setattr__(self, name, a_number(name, getattr(self, name)))
        for word, legal in ((self.major, ("K", "MN")), (self.swizzle, tuple(SWIZZLE_BITS))):
            if not isinstance(word, str) or word not in legal:
                raise PtxError(Finding("descriptor-invalid", f"{word!r} is none of {', '.join(legal)}"))
        if self.type not in TYPES or 128 % TYPES[self.type].bits:
            raise PtxError(Finding("descriptor-invalid", f"no shared-memory layout for type {self.type!r}"))
        stride, leading = self.stride, self.leading
        atom_bytes = 8 * swizzle_width(self.swizzle)
        # What repeats along rows is packed first, then what repeats along columns.
        if self.major == "K" or self.swizzle == "none":
            stride = atom_bytes if stride is None else stride
            leading = stride * self.m if leading is None and self.swizzle == "none" else leading
        else:
            leading = atom_bytes if leading is None else leading
            stride = leading * self.m if stride is None else stride
        object.__setattr__(self, "stride", stride)
        object.__setattr__(self, "leading", leading)
        rows, columns = self.shape
        if min(self.m, self.k) < 1 or rows * columns > LARGEST:
            what = f"m={self.m}, k={self.k}: patterns are counted from 1, and a tile has at most {LARGEST:,} elements"
            raise PtxError(Finding("descriptor-invalid", what))

    @property
    def bits(self) -> int:
        return TYPES[self.type].bits

    @property
    def unit(self) -> int:
        """T: elements in 128 bits."""
        return 128 // self.bits

    @property
    def atom_units(self) -> tuple[int, int]:
        """The swizzle atom (rows, columns), its leading dimension in 128-bit units: 8x8, 4x8, 8x2, ..."""
        wide = swizzle_width(self.swizzle) // 16
        return (8, wide) if self.major == "K" else (wide, 8)

    @property
    def atom(self) -> tuple[int, int]:
        """The swizzle atom (rows, columns) in elements: (32, 8) for 128B MN-major tf32."""
        rows, columns = self.atom_units
        return (rows, columns * self.unit) if self.major == "K" else (rows * self.unit, columns)

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns) of the tile in elements."""
        if self.major == "K":
            return 8 * self.m, 2 * self.k * self.unit
        return self.atom[0] * self.m, 8 * self.k

    def offset(self, row: int, k: int) -> int:
        """Byte offset of element (row, k) from a start that is a multiple of the swizzle pattern."""
        row, k = a_number("the row", row), a_number("the column", k)
        rows, columns = self.shape
        if not (0 <= row < rows and 0 <= k < columns):
            raise PtxError(Finding("descriptor-past-tile", f"({row}, {k}) lies outside a tile of {rows} x {columns}"))
        return int(self.offsets[row, k])

    @cached_property
    def offsets(self) -> np.ndarray:
        """Byte offset of every element, int64 (rows, columns), swizzled."""
        rows, columns = (np.arange(size) for size in self.shape)
        linear = linear_offsets(
            self.major, self.swizzle, self.leading or 0, self.stride, self.bits, rows[:, None], columns[None, :]
        )
        return swizzle(linear, self.swizzle)

    def descriptor(self, start: int) -> Descriptor:
        """The descriptor of the tile at byte address `start`; a leading offset that is not used is written as 16."""
        return Descriptor(start, 16 if self.leading is None else self.leading, self.stride, self.swizzle)

    @property
    def canonical(self) -> str:
        """The canonical layout, as the manual's table has it: `Swizzle<1,4,3> o ((8,m),(T,2k)):((2T,SBO),(1,T))`."""
        wide = swizzle_width(self.swizzle) // 16
        if self.major == "K":
            along = "LBO" if self.swizzle == "none" else "T"
            return self._swizzled(f"((8,m),(T,2k)):(({wide}T,SBO),(1,{along}))")
        blocks, groups = ("SBO", "LBO") if self.swizzle == "none" else ("LBO", "SBO")
        return self._swizzled(f"((T,{wide},m),(8,k)):((1,T,{blocks}),({wide}T,{groups}))")

    def cute(self) -> str:
        """The exact layout in elements: `Swizzle<1,4,3> o ((8,2),(4,4)):((8,64),(1,4))`."""
        t, wide = self.unit, swizzle_width(self.swizzle) // 16
        stride = self.stride * 8 // self.bits
        leading = (self.leading or 0) * 8 // self.bits
        if self.major == "K":
            leading = leading if self.swizzle == "none" else t
            return self._swizzled(f"((8,{self.m}),({t},{2 * self.k})):(({wide * t},{stride}),(1,{leading}))")
        blocks, groups = (stride, leading) if self.swizzle == "none" else (leading, stride)
        return self._swizzled(f"(({t},{wide},{self.m}),(8,{self.k})):((1,{t},{blocks}),({wide * t},{groups}))")

    def _swizzled(self, text: str) -> str:
        return f"Swizzle<{SWIZZLE_BITS[self.swizzle]},4,3> o {text}"
