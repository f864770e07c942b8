"""Counting, finding and moving bits.

PTX ISA, "Integer Arithmetic Instructions": popc, clz, bfind, fns, brev, bfe, bfi, szext, bmsk.
"""

from __future__ import annotations

from typing import Any

from ptxsim import lanes
from ptxsim.instructions.costs import by_width
from ptxsim.isa.facts import Word
from ptxsim.isa.operand import Reg, Value
from ptxsim.isa.registry import Kinds, computes, instruction
from ptxsim.lanes import LaneValue
from ptxsim.types import TYPES, ScalarType

_NUMBER: Kinds = {"d": Reg("u32")}
WORDS = "u32 u64 s32 s64"


def unsigned(x: LaneValue, t: ScalarType) -> LaneValue:
    return lanes.bits(x, lanes.bits_type(t))


@instruction("popc.type d, a", cost="convert", type="b32 b64", operands=_NUMBER)
@computes(folds=True)
def population_count(a: LaneValue) -> LaneValue:
    return lanes.cast(lanes.population_count(a), "u32")


@instruction("clz.type d, a", cost=by_width("clz", "find"), type="b32 b64", operands=_NUMBER)
@computes(folds=True)
def count_leading_zeros(a: LaneValue) -> LaneValue:
    return lanes.cast(lanes.count_leading_zeros(a), "u32")


@instruction("brev.type d, a", cost="convert", type="b32 b64")
@computes(folds=True)
def reverse(a: LaneValue) -> LaneValue:
    return lanes.reverse_bits(a)


@instruction("bfind{.shiftamt}.type d, a", cost="find", type=WORDS, operands=_NUMBER)
@computes(folds=True)
def find_leading(a: LaneValue, *, type: ScalarType, shiftamt: bool) -> LaneValue:
    """The highest bit that is not the sign, as its number or as the left shift that brings it to the top; or -1."""
    if type.is_signed:
        a = lanes.where(a < 0, ~a, a)
    word = unsigned(a, type)
    zeros = lanes.cast(lanes.count_leading_zeros(word), "u32")
    return lanes.where(word == 0, 0xFFFFFFFF, zeros if shiftamt else type.bits - 1 - zeros)


@instruction(
    "fns.type d, a, b, c", cost="fns", type="b32",
    operands={"d": Reg("b32"), "a": Value("b32"), "b": Value("b32"), "c": Value("s32")},
)  # fmt: skip
@computes(folds=True)
def find_nth_set(a: LaneValue, b: LaneValue, c: LaneValue) -> LaneValue:
    """The c-th set bit of a, counted upward from bit b if c > 0, downward if c < 0; c = 0 asks whether bit b is set.

    As the assembler's code has it: a b of 32 or more finds nothing, the least c of all, which has no negative, bit 0.
    """
    zero = a ^ a
    backward = c < 0
    word = lanes.where(backward, lanes.reverse_bits(a), a)
    word = word & lanes.shift_left(~zero, lanes.where(backward, 31 - b, b))
    word = lanes.where(c == 0, word & lanes.shift_left(zero | 1, b), word)
    wanted = lanes.where(c == 0, 1, lanes.where(backward, -c, c))
    missing = lanes.bits(lanes.population_count(word), "s32") < wanted
    left, position = lanes.bits(wanted, "u32"), zero
    for width in (16, 8, 4, 2, 1):  # is it in the lower half of what is left, or in the upper?
        below = lanes.population_count(word & (1 << width) - 1)
        upper = below < left
        left = lanes.where(upper, left - below, left)
        word = lanes.where(upper, word >> width, word)
        position = lanes.where(upper, position + width, position)
    return lanes.where(missing, 0xFFFFFFFF, lanes.where(backward, 31 - position, position))


def place(position: Any, length: Any, t: ScalarType) -> LaneValue:
    """Where a field is, as far as the GPU looks: 8 bits of each number, but all of them where the field is of 64 bits."""
    return (position, length) if t.bits == 64 else (position & 0xFF, length & 0xFF)


_BITS = Value("u32", literals=(0, 255))
_FIELD: Kinds = {"b": _BITS, "c": _BITS}


@instruction("bfe.type d, a, b, c", cost=by_width("bfe", "add.64"), type=WORDS, operands=_FIELD)
@computes(folds=True)
def extract(a: LaneValue, b: LaneValue, c: LaneValue, *, type: ScalarType) -> LaneValue:
    position, length = place(b, c, type)
    return extend(lanes.shift_right(a, position), length, type)


def extend(a: LaneValue, length: Any, t: ScalarType) -> LaneValue:
    """The low `length` bits of a, extended by the signedness of t."""
    unused = t.bits - lanes.minimum(length, t.bits)
    return lanes.shift_right(lanes.shift_left(a, unused), unused) if t.is_signed else a & low_mask(length, t)


def low_mask(length: Any, t: ScalarType) -> LaneValue:
    """`length` ones at the bottom of a word of t's width."""
    ones = lanes.cast(length | 0, lanes.bits_type(t))
    return ~lanes.shift_left(~(ones ^ ones), length)


@instruction(
    "bfi.type f, a, b, c, d", cost=by_width("bfi", "add.64"), type="b32 b64", writes="f",
    operands={"f": Reg("type"), "c": _BITS, "d": _BITS},
)  # fmt: skip
@computes(folds=True)
def insert(a: LaneValue, b: LaneValue, c: LaneValue, d: LaneValue, *, type: ScalarType) -> LaneValue:
    position, length = place(c, d, type)
    mask = lanes.shift_left(low_mask(length, type), position)
    return b & ~mask | lanes.shift_left(a, position) & mask


@instruction(
    "szext.mode.type d, a, b", cost="alu", mode="clamp wrap", type="u32 s32", requires="7.6 sm_70",
    operands={"b": Value("u32")},
)  # fmt: skip
@computes(folds=lambda words: bool(words["mode"] == "clamp"))
def extend_from(a: LaneValue, b: LaneValue, *, mode: Word, type: ScalarType) -> LaneValue:
    length = b & 31 if mode == "wrap" else b
    return extend(a, length, type)


@instruction(
    "bmsk.mode.b32 d, a, b", cost="alu", mode="clamp wrap", requires="7.6 sm_70", implies={"type": "b32"},
    operands={"d": Reg("u32"), "a": Value("u32"), "b": Value("u32")},
)  # fmt: skip
def mask(a: LaneValue, b: LaneValue, *, mode: Word) -> LaneValue:
    """b ones from bit a on."""
    position, length = (a & 31, b & 31) if mode == "wrap" else (a, b)
    return lanes.shift_left(low_mask(length, TYPES["b32"]), position)
