"""Shared-memory swizzles: which address bits flip which. PTX ISA, "Shared Memory Matrix Layout"; measured on sm_90."""

from __future__ import annotations

from typing import TypeVar

import numpy as np

# Mode -> how many address bits, from bit 7 up, are XORed onto the bits from bit 4 up.
Address = TypeVar("Address", int, np.ndarray)

SWIZZLE_BITS: dict[str, int] = {"none": 0, "32B": 1, "64B": 2, "128B": 3}
# 128-byte rows whose pieces of 32 or 64 bytes change places: from sm_100 on, those of 64 for tensor copies alone.
WIDE_ATOMS, WIDER_ATOMS = "128B_32B", "128B_64B"
ATOM_BITS = {WIDE_ATOMS: 5, WIDER_ATOMS: 6}  # the lowest address bit that is flipped, 4 in all other modes


def swizzle_mask(mode: str) -> int:
    """Of the address bits from bit 7 up, those that flip others."""
    return (1 << (7 - ATOM_BITS[mode] if mode in ATOM_BITS else SWIZZLE_BITS[mode])) - 1


def swizzle_width(mode: str) -> int:
    """Bytes of a swizzled row: 32, 64 or 128; 16 without a swizzle."""
    return 128 if mode in ATOM_BITS else 16 << SWIZZLE_BITS[mode]


def swizzle_rows(mode: str) -> int:
    """Rows of the pattern, which an MN-major tile has along K."""
    return swizzle_mask(mode) + 1 if mode in ATOM_BITS else 8


def pattern_bytes(mode: str) -> int:
    """After how many bytes the pattern repeats (and so where it must start): 256, 512, 1024; 16 without a swizzle."""
    return swizzle_rows(mode) * swizzle_width(mode) if swizzle_mask(mode) else 16


def swizzle(address: Address, mode: str, base_offset: int = 0) -> Address:
    """The address a swizzled access really goes to: bits 4.. are flipped by bits 7.., less the base offset."""
    flipped = (address >> 7) - base_offset & swizzle_mask(mode)
    swizzled: Address = address ^ (flipped << ATOM_BITS.get(mode, 4))
    return swizzled
