"""Integer addition, subtraction, division, extrema and signs.

PTX ISA, "Integer Arithmetic Instructions": add, sub, div, rem, abs, neg, min, max, sad.
"""

from __future__ import annotations

from ptxsim import lanes
from ptxsim.isa.registry import instruction
from ptxsim.types import TYPES

INTEGERS = "u16 u32 u64 s16 s32 s64"
# Both halves of a word at once, all its bytes.
PAIRS = "u16x2@8.0:sm_90 s16x2@8.0:sm_90"
BYTES = "u8x4@9.2:sm_120f|9.4:sm_107f s8x4@9.2:sm_120f|9.4:sm_107f"
SATURATED = "s32 u32@9.2:sm_120f|9.4:sm_107f u16x2@9.2:sm_120f|9.4:sm_107f s16x2@9.2:sm_120f|9.4:sm_107f"


def saturate(wide, t):
    """A 64-bit signed lane value clamped to the range of the integer type t of at most 32 bits."""
    low, high = (-(1 << (t.bits - 1)), (1 << (t.bits - 1)) - 1) if t.is_signed else (0, (1 << t.bits) - 1)
    return lanes.cast(lanes.minimum(lanes.maximum(wide, low), high), t)


def element(t):
    return TYPES[t.element] if t.lanes > 1 else t


@instruction("add.type d, a, b", type=f"{INTEGERS} {PAIRS} {BYTES}")
@instruction("add.sat.type d, a, b", type=f"{SATURATED} {BYTES}", implies={"sat": True})
def add(a, b, *, type, sat):
    if sat:
        return lanes.per_element(
            lambda x, y: saturate(lanes.cast(x, "s64") + lanes.cast(y, "s64"), element(type)), type, a, b
        )
    return lanes.per_element(lambda x, y: x + y, type, a, b)


@instruction("sub.type d, a, b", type=f"{INTEGERS} {BYTES}")
@instruction("sub.sat.type d, a, b", type=f"s32 {BYTES}", implies={"sat": True})
def sub(a, b, *, type, sat):
    if sat:
        return lanes.per_element(
            lambda x, y: saturate(lanes.cast(x, "s64") - lanes.cast(y, "s64"), element(type)), type, a, b
        )
    return lanes.per_element(lambda x, y: x - y, type, a, b)


@instruction("div.type d, a, b", type=INTEGERS)
def div(a, b):
    return lanes.divide(a, b)


@instruction("rem.type d, a, b", type=INTEGERS)
def rem(a, b):
    # Of a division by zero the manual says nothing; the GPU gives all ones, as for the quotient.
    return lanes.where(b == 0, ~(b ^ b), a - lanes.divide(a, b) * b)


@instruction("abs.type d, a", type="s16 s32 s64")
def absolute(a):
    return lanes.absolute(a)


@instruction("neg.type d, a", type="s16 s32 s64 s8x4@9.2:sm_120f|9.4:sm_107f")
def negate(a, *, type):
    return lanes.per_element(lambda x: -x, type, a)


RECTIFIED = "s32 s16x2 s8x4@9.2:sm_120f|9.4:sm_107f"


@instruction("min.type d, a, b", type=f"{INTEGERS} {PAIRS} {BYTES}")
@instruction("min.relu.type d, a, b", type=RECTIFIED, requires="8.0 sm_90", implies={"relu": True})
def minimum(a, b, *, type, relu):
    return lanes.per_element(lambda x, y: rectify(lanes.minimum(x, y), relu), type, a, b)


@instruction("max.type d, a, b", type=f"{INTEGERS} {PAIRS} {BYTES}")
@instruction("max.relu.type d, a, b", type=RECTIFIED, requires="8.0 sm_90", implies={"relu": True})
def maximum(a, b, *, type, relu):
    return lanes.per_element(lambda x, y: rectify(lanes.maximum(x, y), relu), type, a, b)


def rectify(x, relu):
    return lanes.maximum(x, 0) if relu else x


@instruction("sad.type d, a, b, c", type=INTEGERS)
def sum_of_absolute_difference(a, b, c):
    return c + lanes.where(a < b, b - a, a - b)
