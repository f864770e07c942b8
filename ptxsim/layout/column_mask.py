"""The descriptor of columns of B that are zeros in a product of .ws. PTX ISA, "TensorCore 5th Generation Instructions: Zero-Column Mask
Descriptor"; which span is which: CUTLASS, include/cute/arch/mma_sm100_desc.hpp, MaskAndShiftB, and the manual's examples."""

from __future__ import annotations

import numpy as np

from ptxsim.layout.instruction_descriptor import InstructionDescriptor

ROWS = 128
SHIFTS = (0, 8, 16, 32)  # the most columns that an instruction descriptor lets B begin later by, by its code
RESERVED = 7 << 36 | 3 << 62


def column_shift(mask: int) -> int:
    """By how many columns B begins later."""
    return mask >> 56 & 63


def zero_columns(mask: int, m: int, n: int) -> np.ndarray:
    """Whether each of the n columns is zeros, bool (n,): 128 / m runs of them, each with a start of its own."""
    if not mask >> 39 & 1:
        return np.zeros(n, bool)
    skipped, used = (mask >> 40 & 255) + 1, (mask >> 48 & 255) + 1
    parts = ROWS // m
    column = np.arange(n // parts)
    found = []
    for part in range(parts):
        start, skips_first = mask >> 8 * part & 255, mask >> 32 + part & 1
        at = (column + start + (0 if skips_first else skipped)) % (skipped + used)
        found.append(at < skipped)
    return np.concatenate(found)


def mask_problem(mask: int, words: InstructionDescriptor) -> str | None:
    """What is wrong with a mask beside an instruction descriptor, or None."""
    if mask & RESERVED:
        return "the zero-column mask has bits 36 to 38, 62 or 63 set, and they must be 0"
    shift, most = column_shift(mask), SHIFTS[words.shift]
    if shift > most:
        return f"the zero-column mask shifts B by {shift} columns; bits 30 and 31 allow {most}"
    return None
