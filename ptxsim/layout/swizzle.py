"""Shared-memory swizzles: which address bits flip which. PTX ISA, "Shared Memory Matrix Layout"; measured on sm_90."""

from __future__ import annotations

from typing import TypeVar

import numpy as np

# Mode -> how many address bits, from bit 7 up, are XORed onto the bits from bit 4 up.
Address = TypeVar("Address", int, np.ndarray)

SWIZZLE_BITS: dict[str, int] = {"none": 0, "32B": 1, "64B": 2, "128B": 3}


def swizzle_width(mode: str) -> int:
    """Bytes of a swizzled row: 32, 64 or 128; 16 without a swizzle."""
    return 16 << SWIZZLE_BITS[mode]


def pattern_bytes(mode: str) -> int:
    """After how many bytes the pattern repeats (and so where it must start): 256, 512, 1024; 16 without a swizzle."""
    return 8 * swizzle_width(mode) if SWIZZLE_BITS[mode] else 16


def swizzle(address: Address, mode: str, base_offset: int = 0) -> Address:
    """The address a swizzled access really goes to: bits 4.. are flipped by bits 7.., less the base offset."""
    mask = (1 << SWIZZLE_BITS[mode]) - 1
    swizzled: Address = address ^ (((address >> 7) - base_offset & mask) << 4)
    return swizzled
