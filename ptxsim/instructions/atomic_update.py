"""What atom and red do to a word of memory: old value and operands to new value, as expressions over lane values."""

from __future__ import annotations

from functools import cache

from ptxsim import lanes
from ptxsim.lanes import LaneValue, Operation
from ptxsim.numerics import scalar, scalar64
from ptxsim.types import TYPES, ScalarType

F32 = TYPES["f32"]


def exchange(old: LaneValue, b: LaneValue) -> LaneValue:
    return b


def compare_and_swap(old: LaneValue, b: LaneValue, c: LaneValue) -> LaneValue:
    return lanes.where(old == b, c, old)


def increment(old: LaneValue, b: LaneValue) -> LaneValue:
    """old + 1, back to 0 after b."""
    return lanes.where(old >= b, old - old, old + 1)


def decrement(old: LaneValue, b: LaneValue) -> LaneValue:
    """old - 1, back to b after 0; b too where old lies above it."""
    return lanes.where((old == 0) | (old > b), b, old - 1)


def add_integer(old: LaneValue, b: LaneValue) -> LaneValue:
    return old + b


def bitwise_and(old: LaneValue, b: LaneValue) -> LaneValue:
    return old & b


def bitwise_or(old: LaneValue, b: LaneValue) -> LaneValue:
    return old | b


def bitwise_xor(old: LaneValue, b: LaneValue) -> LaneValue:
    return old ^ b


def add_single(old: LaneValue, b: LaneValue) -> LaneValue:
    """f32 in shared memory: subnormals count."""
    return scalar.finish(old + b, F32)


def add_single_flushing(old: LaneValue, b: LaneValue) -> LaneValue:
    """f32 in global memory: subnormal inputs and results become zero with their sign."""
    return scalar.finish(scalar.flush(old, F32) + scalar.flush(b, F32), F32, ftz=True)


def add_double(old: LaneValue, b: LaneValue) -> LaneValue:
    """f64 in shared memory: an ordinary sum, whose NaN are quiet."""
    return scalar64.propagate(old + b, old, b)


def add_double_in_global(old: LaneValue, b: LaneValue) -> LaneValue:
    """f64 in global memory: a NaN stays as it is, the operand's before the old one (measured on sm_90)."""
    found, of_nan = scalar.canonical(old + b, TYPES["f64"]), lanes.where(b != b, b, old)
    return lanes.where((old != old) | (b != b), of_nan, found)


@cache  # what is the same in all memory is one update
def add_half(t: ScalarType) -> Operation:
    """f16 or bf16 to nearest even, subnormals kept: the f32 sum of two such numbers is exact or rounds twice without harm."""

    def add(old: LaneValue, b: LaneValue) -> LaneValue:
        return scalar.canonical(lanes.cast(scalar.wide(old, t) + scalar.wide(b, t), t), t)

    return add


@cache
def pick(t: ScalarType, larger: bool) -> Operation:
    """min or max of f16 or bf16: a number beats a NaN, -0 lies below +0."""

    def choose(old: LaneValue, b: LaneValue) -> LaneValue:
        x, y = (scalar.words(v, t) for v in (old, b))
        # Sign and magnitude to an order of integers.
        first, second = (lanes.where((w & scalar.sign_bit(t)) != 0, ~w, w | scalar.sign_bit(t)) for w in (x, y))
        is_nan = [scalar.magnitude(v, t) > scalar.infinity(t) for v in (old, b)]
        take_second = (second > first) if larger else (second < first)
        chosen = lanes.where((take_second | is_nan[0]) & ~is_nan[1], y, x)
        return scalar.canonical(lanes.bits(chosen, t), t)

    return choose


@cache
def per_half(function: Operation, t: ScalarType) -> Operation:
    """A packed word: the same for both halves."""
    element = TYPES[t.element or ""]

    def both(old: LaneValue, b: LaneValue) -> LaneValue:
        halves = []
        for shift in (0, 16):
            x, y = (lanes.bits(lanes.cast(w >> shift, "u16"), element) for w in (old, b))
            halves.append(lanes.cast(lanes.bits(function(x, y), "u16"), "u32"))
        return halves[0] | halves[1] << 16

    return both


BITWISE: dict[str, Operation] = {"and": bitwise_and, "or": bitwise_or, "xor": bitwise_xor}
COUNTING: dict[str, Operation] = {"inc": increment, "dec": decrement, "exch": exchange, "cas": compare_and_swap}


def update(op: str, t: ScalarType, in_global: bool = True) -> Operation:
    """The update of an operation on a type; global memory has sums of its own."""
    found = BITWISE.get(op) or COUNTING.get(op)
    if found:
        return found
    if t.is_integer:
        integers: dict[str, Operation] = {"add": add_integer, "min": lanes.minimum, "max": lanes.maximum}
        return integers[op]
    if t.name == "f32":
        return add_single_flushing if in_global else add_single
    if t.name == "f64":
        return add_double_in_global if in_global else add_double
    element = TYPES[t.element] if t.element else t
    function = add_half(element) if op == "add" else pick(element, op == "max")
    return per_half(function, t) if t.element else function
