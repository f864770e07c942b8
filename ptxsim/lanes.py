"""The vocabulary in which instruction effects are written.

An effect is an ordinary Python expression over lane values. Lane values are numpy arrays of 32 lanes in the interpreter
(dtype carries the type; masks are bool arrays) and emitting values in the compiled engine, which print LLVM IR. Both understand
+ - * & | ^ ~ << >> comparisons, and / on floats, each within its own type: integers wrap, shifts by a constant below the
width. Everything else is one of the operations below. An @operation has its numpy form here and another one, of the
same name, on the emitter of the compiled engine; the plain functions are written in terms of these and need no second form.
"""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeAlias

import numpy as np

from ptxsim.types import TYPES, ScalarType

LANES = 32
EVERY = 0xFFFF_FFFF  # the word of the mask of all lanes
# A numpy array of LANES elements or an emitting value, whatever the type of a lane; a number stands for the same in all
# lanes. No static type covers both: numpy's operators are typed for arrays alone.
LaneValue: TypeAlias = Any
Operation: TypeAlias = Callable[..., LaneValue]
_Parameters = ParamSpec("_Parameters")

OPERATIONS: dict[str, Operation] = {}


def mask_word(mask: np.ndarray) -> int:
    """The word of a mask: 32 booleans as an integer, lane 0 lowest."""
    return int(np.packbits(mask, bitorder="little").view("<u4")[0])


@functools.lru_cache(maxsize=4096)
def lanes_of(word: int) -> np.ndarray:
    """The mask of a word, to be read only."""
    mask = word_mask(word)
    mask.flags.writeable = False
    return mask


@functools.lru_cache(maxsize=4096)
def lane_numbers(word: int) -> list[int]:
    """The numbers of the lanes of a word, to be read only."""
    found: list[int] = np.flatnonzero(lanes_of(word)).tolist()
    return found


def word_mask(words: int | np.ndarray) -> np.ndarray:
    """The mask of a word: 32 booleans, lane 0 first. Of an array of words: booleans (..., 32)."""
    octets = np.asarray(words, "<u4")[..., None].view(np.uint8)
    return np.unpackbits(octets, axis=-1, bitorder="little").view(bool)


def operation(function: Callable[_Parameters, LaneValue]) -> Callable[_Parameters, LaneValue]:
    """A named operation with two forms: numpy here, and `emitter.<name>` where an argument is an emitting value."""
    name = function.__name__
    OPERATIONS[name] = function

    @functools.wraps(function)
    def dispatch(*args: _Parameters.args, **options: _Parameters.kwargs) -> LaneValue:
        for arg in args:
            if type(arg) is not np.ndarray:
                emitter = getattr(arg, "emitter", None)
                if emitter is not None:
                    return getattr(emitter, name)(*args, **options)
        return function(*args, **options)

    return dispatch


@functools.cache
def dtype(t: ScalarType) -> np.dtype[Any]:
    """The numpy dtype of lane values of a type; untyped, packed and narrow types are unsigned words."""
    if t.kind == "predicate":
        return np.dtype(bool)
    if t.name == "bf16":
        import ml_dtypes

        bfloat16: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
        return bfloat16
    if t.is_float and t.name in ("f16", "f32", "f64"):
        return np.dtype(f"float{t.bits}")
    if t.is_signed:
        return np.dtype(f"int{max(t.bits, 8)}")
    return np.dtype(f"uint{max(t.bits, 8)}") if t.bits <= 64 else np.dtype([("lo", "<u8"), ("hi", "<u8")])


def type_of(name: ScalarType | str) -> ScalarType:
    return name if isinstance(name, ScalarType) else TYPES[name]


def bits_type(t: ScalarType) -> ScalarType:
    """The unsigned integer type of the same width."""
    return TYPES[f"u{t.bits}"]


# ---- operations with two forms --------------------------------------------------------------------------------------


@operation
def bits(x: LaneValue, t: ScalarType | str) -> LaneValue:
    """The same bits as another type of the same width."""
    return x.view(dtype(type_of(t)))


@operation
def cast(x: LaneValue, t: ScalarType | str) -> LaneValue:
    """Numeric conversion: integers extend by their own signedness or wrap; integers to floats and floats to narrower
    floats round to nearest even; masks become 0 or 1. Floats to integers only where exact (see float_to_int)."""
    target = dtype(type_of(t))
    return x.astype(target)


@operation
def where(condition: LaneValue, a: LaneValue, b: LaneValue) -> LaneValue:
    return np.where(condition, a, b)


@operation
def shift_left(x: LaneValue, n: LaneValue) -> LaneValue:
    """x << n; n is unsigned and counts of the width or more give 0."""
    width = x.dtype.itemsize * 8
    n = np.asarray(n).astype(np.uint64)
    shifted = x << np.minimum(n, width - 1).astype(x.dtype)
    return np.where(n >= width, np.zeros_like(x), shifted)


@operation
def shift_right(x: LaneValue, n: LaneValue) -> LaneValue:
    """x >> n by x's signedness; counts of the width or more give 0 or the sign."""
    width = x.dtype.itemsize * 8
    n = np.asarray(n).astype(np.uint64)
    shifted = x >> np.minimum(n, width - 1).astype(x.dtype)
    return shifted if x.dtype.kind == "i" else np.where(n >= width, np.zeros_like(x), shifted)


@operation
def minimum(a: LaneValue, b: LaneValue) -> LaneValue:
    """The smaller integer."""
    return np.minimum(a, b)


@operation
def maximum(a: LaneValue, b: LaneValue) -> LaneValue:
    """The larger integer."""
    return np.maximum(a, b)


@operation
def multiply_high(a: LaneValue, b: LaneValue) -> LaneValue:
    """High half of the full integer product, by the type's signedness."""
    width = a.dtype.itemsize * 8
    if width <= 32:
        wide = np.dtype(f"{'i' if a.dtype.kind == 'i' else 'u'}8")
        return ((a.astype(wide) * b.astype(wide)) >> width).astype(a.dtype)
    signed = a.dtype.kind == "i"
    x, y = a.view(np.uint64), b.view(np.uint64)
    low = np.uint64(0xFFFFFFFF)
    x_low, x_high, y_low, y_high = x & low, x >> 32, y & low, y >> 32
    middle = x_high * y_low + (x_low * y_low >> 32)
    other = x_low * y_high + (middle & low)
    high = x_high * y_high + (middle >> 32) + (other >> 32)
    if signed:  # a negative number was read as 2^64 more than it is
        high = high - np.where(a < 0, y, 0) - np.where(b < 0, x, 0)
    return high.view(a.dtype)


@operation
def divide(a: LaneValue, b: LaneValue) -> LaneValue:
    """Integer quotient cut toward zero; division by zero gives all ones, the signed overflow wraps."""
    safe = np.where(b == 0, np.ones_like(b), b)
    if a.dtype.kind == "u":
        quotient = a // safe
    else:
        unsigned = np.dtype(f"u{a.dtype.itemsize}")
        magnitude = np.abs(a).view(unsigned) // np.abs(safe).view(unsigned)
        quotient = np.where((a < 0) != (safe < 0), -magnitude.view(a.dtype), magnitude.view(a.dtype))
    return np.where(b == 0, ~np.zeros_like(a), quotient)


@operation
def count_leading_zeros(x: LaneValue) -> LaneValue:
    """Leading zero bits; the width for zero. Result in x's type."""
    width = x.dtype.itemsize * 8
    count = np.full(x.shape, width, np.int64)
    rest = x.view(np.dtype(f"u{x.dtype.itemsize}")).copy()
    found = np.zeros(x.shape, np.int64)
    step = width // 2
    while step:
        high = rest >> rest.dtype.type(step)
        big = high != 0
        found = np.where(big, found + step, found)
        rest = np.where(big, high, rest)
        step //= 2
    count = np.where(rest != 0, width - 1 - found, count)
    return count.astype(x.dtype)


@operation
def population_count(x: LaneValue) -> LaneValue:
    """Number of set bits, in x's type."""
    return np.bitwise_count(x.view(np.dtype(f"u{x.dtype.itemsize}"))).astype(x.dtype)


@operation
def reverse_bits(x: LaneValue) -> LaneValue:
    width = x.dtype.itemsize * 8
    octets = x.view(np.uint8).reshape(-1, x.dtype.itemsize)
    reversed_bits = np.packbits(np.unpackbits(octets, axis=1, bitorder="little")[:, ::-1], axis=1, bitorder="little")
    assert width == reversed_bits.shape[1] * 8
    return np.ascontiguousarray(reversed_bits).view(x.dtype).reshape(x.shape)


@operation
def fma(a: LaneValue, b: LaneValue, c: LaneValue) -> LaneValue:
    """a * b + c rounded once to nearest even, on f32 or f64."""
    if a.dtype == np.float32:
        return _fma32(a, b, c)
    return np.frompyfunc(_fma64(), 3, 1)(a, b, c).astype(np.float64)


def _fma32(a: LaneValue, b: LaneValue, c: LaneValue) -> LaneValue:
    # The product is exact in f64; rounding the f64 sum to odd first makes the second rounding to f32 right.
    product = a.astype(np.float64) * b.astype(np.float64)
    addend = c.astype(np.float64)
    total = product + addend
    back = total - product
    error = (product - (total - back)) + (addend - back)
    word = total.view(np.int64)
    inexact = np.isfinite(total) & (error != 0) & (word & 1 == 0)
    toward = np.where((error > 0) == (total > 0), 1, -1)
    return np.where(inexact, (word + toward).view(np.float64), total).astype(np.float32)


@functools.cache
def _fma64() -> Callable[..., Any]:
    """The C library's fma: one rounding. numpy has none, and Python only from 3.13 on."""
    function = ctypes.CDLL("ucrtbase" if os.name == "nt" else None).fma
    function.argtypes, function.restype = [ctypes.c_double] * 3, ctypes.c_double
    return function


@operation
def square_root(x: LaneValue) -> LaneValue:
    """IEEE square root, to nearest even."""
    return np.sqrt(x)


@operation
def absolute(x: LaneValue) -> LaneValue:
    """Sign bit cleared on floats; wrapping absolute value on signed integers."""
    if x.dtype.kind == "i":
        return np.abs(x)
    return bits(bits(x, f"u{x.dtype.itemsize * 8}") & ((1 << (x.dtype.itemsize * 8 - 1)) - 1), _name(x))


@operation
def round_to_integral(x: LaneValue, mode: str) -> LaneValue:
    """A float rounded to an integral float: mode rn (even), rz, rm (down), rp (up). Zero results keep x's sign."""
    function = {"rn": np.rint, "rz": np.trunc, "rm": np.floor, "rp": np.ceil}[mode]
    return function(x)


@operation
def float_to_int(x: LaneValue, t: ScalarType | str) -> LaneValue:
    """A float with an integral value to an integer type, saturating; NaN gives 0."""
    t = type_of(t)
    low, high = t.limits
    wide = x.astype(np.float64)
    over, under = wide >= float(high) + (0 if t.bits > 52 else 1), wide < float(low)
    inside = np.where(over | under | np.isnan(wide), 0.0, wide)
    result = inside.astype(dtype(t))
    result = np.where(over, dtype(t).type(high), result)
    return np.where(under, dtype(t).type(low), result)


@operation
def constant(values: Sequence[int] | np.ndarray, like: LaneValue) -> LaneValue:
    """A lane value with a different constant in each lane; `like` is any lane value (it says which engine runs)."""
    return np.asarray(values)


@operation
def permute(x: LaneValue, lanes: Sequence[int]) -> LaneValue:
    """Lane i gets the value of lane lanes[i]; `lanes` is a constant sequence."""
    return x[np.asarray(lanes)]


@operation
def lookup(table: np.ndarray, index: LaneValue) -> LaneValue:
    """table[index] for a constant 1-D numpy table and an integer lane value in range."""
    return table[index]


# ---- written in terms of them ---------------------------------------------------------------------------------------


def _name(x: LaneValue) -> str:
    return {"f": "f", "i": "s", "u": "u"}.get(x.dtype.kind, "b") + str(x.dtype.itemsize * 8)


def is_nan(x: LaneValue) -> LaneValue:
    return x != x


def lane_index(like: LaneValue) -> LaneValue:
    """0..31 as u32."""
    return constant(np.arange(LANES, dtype=np.uint32), like)


def split(word: LaneValue, t: ScalarType | str) -> list[LaneValue]:
    """The elements of a packed word, the lowest first, as lane values of the element type."""
    t = type_of(t)
    element = TYPES[t.element or t.name]
    return [bits(cast(word >> i * element.bits, bits_type(element)), element) for i in range(t.lanes)]


def join(elements: Sequence[LaneValue], t: ScalarType | str) -> LaneValue:
    """Elements of a packed type as one word, the first lowest."""
    t = type_of(t)
    word_type, element = bits_type(t), TYPES[t.element or t.name]
    words = [cast(bits(x, bits_type(element)), word_type) << i * element.bits for i, x in enumerate(elements)]
    return functools.reduce(lambda a, b: a | b, words)


def per_element(function: Operation, t: ScalarType | str, *operands: LaneValue) -> LaneValue:
    """`function` of the operands; of each element in turn where t is a packed type."""
    t = type_of(t)
    if t.lanes == 1:
        return function(*operands)
    columns = zip(*(split(x, t) for x in operands), strict=True)
    return join([function(*column) for column in columns], t)
