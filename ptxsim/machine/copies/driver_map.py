"""Tensor maps in the format of the CUDA driver, which programs pass that have made theirs without ptxsim (CuTe DSL's host code).

Measured: what cuTensorMapEncodeTiled, -Im2col and -Im2colWide of driver 580.159 made of 1151 choices of parameters on an H100
(tests/data/tensor_maps.tsv has a part of them). 32 words of 32 bits; those that are not named are zeros:

0, 1     the address
2        bit 0 im2col, 4-6 dimensions less one, 7-10 the type as the manual numbers it (tf32 as f32 with bit 16), 11-12 interleaving,
         13-14 swizzle, 15 fill with NaN, 17-18 promotion in L2
3-6      strides of dimensions 1 to 4 in units of 16 bytes, whose bits 36 to 39 are four digits of word 7
8-12     dimensions less one
13       bits 0-14 element strides less one, three each; 24-31 the box's first dimension, or the channels, less one
14       the box's other dimensions less one, a byte each; of im2col the corners, all lower before all upper: of 16, 8 or 5 bits, of one, two or
         three dimensions
15       pixels less one, of im2col
16       bytes of the box
18       how shared memory has to be aligned, in bits: 16 without a swizzle, else 256, 512, 1024

CuTe DSL 4.8.1 sets bit 1 of word 2, too, and leaves words 16 to 31 as they were, so nothing is read from those. Its types of f4 in packed
bytes, and of f4 and f6 with padding, which the driver refuses for an H100, are 11, 12 and 13. With bit 19 it swizzles pieces of 32 bytes (tf32 along M or N). In maps of what pairs of CTAs store it sets bit 21; the products stored are right without
regard to it.
"""

from __future__ import annotations

import struct

from ptxsim.layout.swizzle import WIDE_ATOMS
from ptxsim.machine.copies import tensor_map
from ptxsim.machine.copies.tensor_map import ELEMENT_TYPES, FILLS, INTERLEAVES, SIZE, SWIZZLES, TensorDescription

WORDS = SIZE // 4
KNOWN, SEVERAL, SET_BY_CUTE = 0x2FFFF3, 0x70, 2  # bits of word 2
CORNER_BITS = {1: 16, 2: 8, 3: 5}  # by dimensions of the pixels
TF32 = {7: "tf32", 8: "tf32.ftz"}  # by the code beside the bit
NAMES = {element.name: element for element in ELEMENT_TYPES}
# The manual's tf32 is f32 with a bit here, so that what follows has numbers two lower.
TYPES = {element.code: element for element in ELEMENT_TYPES[:11]} | dict(enumerate(ELEMENT_TYPES[13:], 11))


def decode(data: bytes) -> TensorDescription:
    """A map from its 128 bytes, ours or the driver's. Raises ValueError saying which field has no meaning."""
    try:
        return tensor_map.decode(data)
    except ValueError:
        if not is_drivers(data):
            raise
    return description(data)


def ours(data: bytes) -> bytes:
    """The 128 bytes as tensormap.replace edits them."""
    try:
        return decode(data).encode() if is_drivers(data) else data
    except ValueError:
        return data


def is_drivers(data: bytes) -> bool:
    """Whether the 128 bytes can be the driver's and no map of ours: where it has several dimensions, ours has no bits; of one dimension it
    has zeros where ours has the box."""
    words = struct.unpack(f"<{WORDS}I", data)
    return bool(words[2] & SEVERAL) or (words[2] & SET_BY_CUTE != 0 and not any(words[9:13]))


def description(data: bytes) -> TensorDescription:
    """A map of the driver's. Raises ValueError."""
    words = struct.unpack(f"<{WORDS}I", data)
    if words[2] & ~KNOWN or words[7] >> 16:
        raise ValueError(
            f"bits of the driver's tensor map are not known: word 2 is {words[2]:#x}, word 7 {words[7]:#x}"
        )
    rank, code, interleave = 1 + field(words[2], 4, 3), field(words[2], 7, 4), field(words[2], 11, 2)
    if rank > 5 or code not in TYPES or interleave >= len(INTERLEAVES):
        raise ValueError(f"{rank} dimensions of type {code}, interleaved in way {interleave}")
    element = NAMES[TF32[code]] if field(words[2], 16, 1) and code in TF32 else TYPES[code]
    strides = [(words[3 + i] | field(words[7], 4 * i, 4) << 32) << 4 for i in range(rank - 1)]
    steps = tuple(1 + field(words[13], 3 * i, 3) for i in range(rank))
    swizzle, fill = SWIZZLES[field(words[2], 13, 2)], FILLS[field(words[2], 15, 1)]
    if field(words[2], 19, 1):
        if swizzle != "128B":
            raise ValueError(f"pieces of 32 bytes with the swizzle {swizzle}")
        swizzle = WIDE_ATOMS
    first = 1 + field(words[13], 24, 8)
    address, dims = words[0] | words[1] << 32, tuple(1 + extent for extent in words[8 : 8 + rank])
    if not words[2] & 1:
        box = (first, *(1 + field(words[14], 8 * i, 8) for i in range(rank - 1)))
        found = TensorDescription(
            address, element, dims, (element.bytes, *strides), box, steps, swizzle, INTERLEAVES[interleave], fill
        )
    else:
        lower, upper = corners(words[14], rank - 2)
        found = TensorDescription(
            address, element, dims, (element.bytes, *strides), (1,) * rank, steps, swizzle, INTERLEAVES[interleave], fill, lower, upper,
            first, 1 + words[15],
        )  # fmt: skip
    problem = tensor_map.check(found)
    if problem:
        raise ValueError(problem)
    return found


def corners(word: int, spatial: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The lower and the upper corner of the pixels, of so many dimensions. Raises ValueError."""
    if spatial not in CORNER_BITS:
        raise ValueError(f"im2col of {spatial + 2} dimensions")
    bits = CORNER_BITS[spatial]

    def corner(half: int) -> tuple[int, ...]:
        numbers = [field(half, bits * i, bits) for i in range(spatial)]
        return tuple(number - (number >> bits - 1 << bits) for number in numbers)

    return corner(word & 0xFFFF), corner(word >> 16)


def field(word: int, low: int, bits: int) -> int:
    return word >> low & (1 << bits) - 1
