"""Matrix descriptors from sm_100 on. PTX ISA, "TensorCore 5th Generation Instructions: Shared memory descriptor".

As on sm_90 (layout.descriptor), with a version, a mode of the leading offset and three bits of swizzle.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ptxsim.layout.descriptor import Descriptor
from ptxsim.layout.swizzle import WIDE_ATOMS

FIELDS = (
    ("start", 0, 14), ("leading", 16, 14), ("stride", 32, 14), ("version", 46, 3), ("base_offset", 49, 3),
    ("leading_mode", 52, 1), ("swizzle", 61, 3),
)  # fmt: skip
SWIZZLE_CODES = {"none": 0, WIDE_ATOMS: 1, "128B": 2, "64B": 4, "32B": 6}
VERSION = 1  # the constant that its bits must hold


@dataclass(frozen=True, slots=True)
class TensorDescriptor(Descriptor):
    """What products on tensor memory, and copies to it, read of shared memory. `leading_mode` 1: the leading offset is an address, not a distance."""

    fields: ClassVar[tuple[tuple[str, int, int], ...]] = FIELDS
    swizzles: ClassVar[Mapping[str, int]] = SWIZZLE_CODES

    version: int = VERSION
    leading_mode: int = 0

    def raw(self) -> dict[str, int]:
        return {**Descriptor.raw(self), "version": self.version, "leading_mode": self.leading_mode}

    def field_problems(self) -> list[tuple[str, str]]:
        found = Descriptor.field_problems(self)
        if self.version != VERSION:
            found.append(("descriptor-invalid", f"bits 46 to 48 hold {self.version}, and must hold {VERSION}"))
        if self.leading_mode:
            text = "bit 52 makes the leading offset an address, which only rows of 48 bytes have (K = 96 of sm_103)"
            found.append(("descriptor-invalid", text))
        return found
