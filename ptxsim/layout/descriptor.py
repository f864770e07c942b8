"""The 64-bit matrix descriptor of a tile in shared memory, and the addresses it reads. PTX ISA, "Matrix Descriptor Format"; measured on sm_90."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from ptxsim.diagnostic import Finding, PtxError
from ptxsim.given import a_number
from ptxsim.layout.swizzle import pattern_bytes, swizzle, swizzle_mask, swizzle_rows, swizzle_width

# (field, lowest bit, bits). Addresses and offsets are stored in units of 16 bytes, 18 bits of address at most.
FIELDS = (("start", 0, 14), ("leading", 16, 14), ("stride", 32, 14), ("base_offset", 49, 3), ("swizzle", 62, 2))
SWIZZLE_CODES = {"none": 0, "128B": 1, "64B": 2, "32B": 3}
_LIMIT = 1 << 18


def unused_bits(fields: tuple[tuple[str, int, int], ...]) -> int:
    """The bits of 64 that no field has."""
    return 0xFFFFFFFFFFFFFFFF & ~sum(((1 << bits) - 1) << low for _, low, bits in fields)


RESERVED = unused_bits(FIELDS)


@dataclass(frozen=True, slots=True)
class Descriptor:
    """Where a matrix starts and how to walk it; `start`, `leading` and `stride` are bytes.

    `leading` and `stride` are the leading and stride dimension byte offsets. A swizzled K-major tile has no leading
    offset: it is written as 16 (raw 1) and ignored on reading. `base_offset` is the row (0..7) of the swizzle pattern
    that lies on a multiple of the pattern. `reserved` keeps the bits the manual gives no meaning.
    """

    fields: ClassVar[tuple[tuple[str, int, int], ...]] = FIELDS
    swizzles: ClassVar[Mapping[str, int]] = SWIZZLE_CODES

    start: int = 0
    leading: int = 16
    stride: int = 0
    swizzle: str = "none"
    base_offset: int = 0
    reserved: int = 0

    def encode(self) -> int:
        """The 64-bit value. Raises PtxError where a field does not fit."""
        faults = self._faults()
        if faults:
            raise PtxError([Finding("descriptor-invalid", text) for text in faults])
        raw = self.raw()
        return self.reserved | sum(raw[name] << low for name, low, _ in self.fields)

    def raw(self) -> dict[str, int]:
        """The fields as stored: 16-byte units and the swizzle's number."""
        return {
            "start": (self.start % _LIMIT) >> 4,
            "leading": self.leading >> 4,
            "stride": self.stride >> 4,
            "base_offset": self.base_offset,
            "swizzle": int(self.swizzle[7:]) if self.swizzle.startswith("number ") else self.swizzles[self.swizzle],
        }

    @classmethod
    def decode(cls, value: int) -> Self:
        """The fields of any 64-bit value; nothing is invalid here, see `problems`."""
        value = a_number("the descriptor", value)
        field: dict[str, Any] = {name: value >> low & (1 << bits) - 1 for name, low, bits in cls.fields}
        for name in ("start", "leading", "stride"):
            field[name] <<= 4
        names = {code: name for name, code in cls.swizzles.items()}
        field["swizzle"] = names.get(field["swizzle"], f"number {field['swizzle']}")
        return cls(**field, reserved=value & unused_bits(cls.fields))

    def _faults(self) -> list[str]:
        faults = []
        for name in ("start", "leading", "stride", "base_offset"):
            object.__setattr__(self, name, a_number(name, getattr(self, name)))
        if self.swizzle not in self.swizzles:
            faults.append(f"no swizzle {self.swizzle!r}; there are {', '.join(self.swizzles)}")
        for name in ("start", "leading", "stride"):
            value = getattr(self, name)
            if value < 0 or value % 16:
                faults.append(f"{name} = {value} is not a multiple of 16 bytes")
            elif value >= _LIMIT and name != "start":
                faults.append(f"{name} = {value} does not fit in 18 bits")
        if not 0 <= self.base_offset < 8:
            faults.append(f"base_offset = {self.base_offset} is not in 0..7")
        return faults

    def problems(self) -> list[tuple[str, str]]:
        """Errors and doubtful fields, as (finding name, text)."""
        start = self.start_problem()
        return self.field_problems() + ([("swizzle-start", start)] if start else [])

    def field_problems(self) -> list[tuple[str, str]]:
        """What is wrong with fields wherever the tile lies, as (finding name, text)."""
        faults = self._faults()
        if faults:
            return [("descriptor-invalid", text) for text in faults]
        found = []
        if self.reserved:
            bits = [str(bit) for bit in range(64) if self.reserved >> bit & 1]
            found.append(("descriptor-invalid", f"reserved bits are set ({', '.join(bits)}); the GPU ignores them"))
        if self.swizzle == "none" and self.base_offset:
            found.append(("descriptor-invalid", f"base offset {self.base_offset} does nothing without a swizzle"))
        return found

    def start_problem(self) -> str | None:
        """Where in the swizzle's pattern the tile starts, if the base offset does not say so. What a tensor copy has written has
        its pattern there too."""
        if self.swizzle == "none" or self._faults():
            return None
        mask = swizzle_mask(self.swizzle)
        row = (self.start >> 7) & mask
        if not (row - self.base_offset) & mask:
            return None
        return (
            f"start {self.start:#x} lies in row {row} of its {self.swizzle} pattern, base offset "
            f"{self.base_offset} says {self.base_offset & mask}; patterns start at multiples of {pattern_bytes(self.swizzle)}"
        )

    def addresses(self, major: str, rows: int, k: int, element_bits: int) -> np.ndarray:
        """Byte address of every element (row, k) that an instruction reads, int64 (rows, k)."""
        return addresses(self, major, rows, k, element_bits)


def addresses(descriptor: Descriptor, major: str, rows: int, k: int, element_bits: int) -> np.ndarray:
    """Byte address of every element of a `rows` x `k` operand, int64 (rows, k).

    major: "K" or "MN". Rows are m for A, n for B. Elements narrower than a byte share an address. Offsets are
    unsigned and never wrap, so an address may lie past 2^18.
    """
    row, column = np.arange(rows)[:, None], np.arange(k)[None, :]
    offsets = linear_offsets(
        major, descriptor.swizzle, descriptor.leading, descriptor.stride, element_bits, row, column
    )
    return swizzle(descriptor.start + offsets, descriptor.swizzle, descriptor.base_offset)


def linear_offsets(
    major: str, mode: str, leading: int, stride: int, element_bits: int, row: np.ndarray, k: np.ndarray
) -> np.ndarray:
    """Byte offset of element (row, k) from the start of the tile, before the swizzle flips address bits.

    The table of hardware.md; `row` and `k` broadcast.
    """
    unit = 128 // element_bits
    width = swizzle_width(mode)
    if major == "K":
        along = k // unit * leading + k % unit * element_bits // 8 if mode == "none" else k * element_bits // 8
        offset: np.ndarray = row // 8 * stride + row % 8 * width + along
    else:
        across = width * 8 // element_bits
        outer, inner = (stride, leading) if mode == "none" else (leading, stride)
        deep = swizzle_rows(mode)
        offset = row % across * element_bits // 8 + row // across * outer + k // deep * inner + k % deep * width
    return offset
