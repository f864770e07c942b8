"""What atom and red do to a word of memory: old value and operands to new value, as expressions over lane values."""

from __future__ import annotations

from collections.abc import Callable

from ptxsim import lanes
from ptxsim.numerics import scalar
from ptxsim.types import TYPES, ScalarType

F32 = TYPES["f32"]


def exchange(old, b):
    return b


def compare_and_swap(old, b, c):
    return lanes.where(old == b, c, old)


def increment(old, b):
    """old + 1, back to 0 behind b."""
    return lanes.where(old >= b, old - old, old + 1)


def decrement(old, b):
    """old - 1, back to b behind 0; b too where old lies above it."""
    return lanes.where((old == 0) | (old > b), b, old - 1)


def add_integer(old, b):
    return old + b


def bitwise_and(old, b):
    return old & b


def bitwise_or(old, b):
    return old | b


def bitwise_xor(old, b):
    return old ^ b


def add_single(old, b):
    """f32 in shared memory: subnormals count."""
    return scalar.finish(old + b, F32)


def add_single_flushing(old, b):
    """f32 in global memory: subnormal inputs and results become zero with their sign."""
    return scalar.finish(scalar.flush(old, F32) + scalar.flush(b, F32), F32, ftz=True)


def add_double(old, b):
    return scalar.canonical(old + b, TYPES["f64"])


def add_half(t: ScalarType) -> Callable:
    """f16 or bf16 to nearest even, subnormals kept: the f32 sum of two such numbers is exact or rounds twice without harm."""

    def add(old, b):
        return scalar.canonical(lanes.cast(scalar.wide(old, t) + scalar.wide(b, t), t), t)

    return add


def pick(t: ScalarType, larger: bool) -> Callable:
    """min or max of f16 or bf16: a number beats a NaN, -0 lies below +0."""

    def choose(old, b):
        x, y = (scalar.words(v, t) for v in (old, b))
        # Sign and magnitude to an order of integers.
        first, second = (lanes.where((w & scalar.sign_bit(t)) != 0, ~w, w | scalar.sign_bit(t)) for w in (x, y))
        is_nan = [scalar.magnitude(v, t) > scalar.infinity(t) for v in (old, b)]
        take_second = (second > first) if larger else (second < first)
        chosen = lanes.where((take_second | is_nan[0]) & ~is_nan[1], y, x)
        return scalar.canonical(lanes.bits(chosen, t), t)

    return choose


def per_half(function: Callable, t: ScalarType) -> Callable:
    """A packed word: the same for both halves."""
    element = TYPES[t.element or ""]

    def both(old, b):
        halves = []
        for shift in (0, 16):
            x, y = (lanes.bits(lanes.cast(w >> shift, "u16"), element) for w in (old, b))
            halves.append(lanes.cast(lanes.bits(function(x, y), "u16"), "u32"))
        return halves[0] | halves[1] << 16

    return both


BITWISE = {"and": bitwise_and, "or": bitwise_or, "xor": bitwise_xor}
COUNTING = {"inc": increment, "dec": decrement, "exch": exchange, "cas": compare_and_swap}


def update(op: str, t: ScalarType, flushing: bool = True) -> Callable:
    """The update of an operation on a type; `flushing` is what global memory does with f32 sums."""
    found = BITWISE.get(op) or COUNTING.get(op)
    if found:
        return found
    if t.is_integer:
        return {"add": add_integer, "min": lanes.minimum, "max": lanes.maximum}[op]
    if t.name == "f32":
        return add_single_flushing if flushing else add_single
    if t.name == "f64":
        return add_double
    element = TYPES[t.element] if t.element else t
    function = add_half(element) if op == "add" else pick(element, op == "max")
    return per_half(function, t) if t.element else function
