"""How bulk and tensor copies combine incoming elements with those in memory. PTX ISA, "cp.reduce.async.bulk".

Measured on sm_90: -0 is below +0; NaNs are canonical, but f64 keeps their payloads; `.ftz` takes f32 denormals as zeros, before
and after. A copy has a reduction as a number, 0 where it replaces.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ptxsim.machine.copies.tensor_map import ELEMENT_TYPES, ElementType

# Which element types each operation takes on tensors; measured on sm_90, the others fault.
OPERATIONS = {
    "add": "u32 s32 u64 f16 bf16 f32 f32.ftz f64 tf32 tf32.ftz",
    **dict.fromkeys(("min", "max"), "u32 s32 u64 s64 f16 bf16"),
    **dict.fromkeys(("inc", "dec"), "u32"),
    **dict.fromkeys(("and", "or", "xor"), "u32 s32 u64"),
}
_NAMES = tuple(OPERATIONS)
_TYPES = len(ELEMENT_TYPES)
ALLOWED = tuple(sum(1 << t.code for t in ELEMENT_TYPES if t.name in types.split()) for types in OPERATIONS.values())
MASKED = 1 << 16  # plus a mask of bytes: of every sixteen, those are copied


def first_number(operation: str) -> int:
    """The number of a reduction of elements with code 0; of others it is so much larger."""
    return 1 + _NAMES.index(operation) * _TYPES


def number_of(operation: str, type_name: str) -> int:
    """The number of a reduction on elements of a type of tensor maps; untyped bits are unsigned."""
    name = type_name.replace("b", "u") if type_name in ("b32", "b64") else type_name
    return first_number(operation) + next(t.code for t in ELEMENT_TYPES if t.name == name)


def combine(number: int, old: np.ndarray, new: np.ndarray) -> np.ndarray:
    """The bytes that a reduction makes of old bytes and incoming bytes."""
    if number >= MASKED:
        chosen = number >> np.arange(16) & 1 == 1
        return np.where(np.tile(chosen, len(old) // 16), new, old)
    operation, code = divmod(number - 1, _TYPES)
    return _apply(_UPDATES[_NAMES[operation]], ELEMENT_TYPES[code], old, new)


def _apply(update: Update, element: ElementType, old: np.ndarray, new: np.ndarray) -> np.ndarray:
    dtype, flush = _dtype(element.numpy), element.name.endswith(".ftz")
    old, new = old.view(dtype), new.view(dtype)
    with np.errstate(all="ignore"):
        result = update(_flushed(old), _flushed(new)) if flush else update(old, new)
        result = _flushed(result.astype(dtype)) if flush else result.astype(dtype)
    if dtype.kind not in "iu" and dtype.itemsize < 8:
        words = result.view(f"u{dtype.itemsize}")
        words[result != result] = (1 << (8 * dtype.itemsize - 1)) - 1
    return result.view(np.uint8)


def _dtype(name: str) -> np.dtype:
    if name == "bfloat16":
        import ml_dtypes

        kind: np.dtype = np.dtype(ml_dtypes.bfloat16)
        return kind
    return np.dtype(name)


def _flushed(x: np.ndarray) -> np.ndarray:
    words = x.view(np.uint32)
    return np.where(words & 0x7F800000, words, words & 0x80000000).view(np.float32)


def _add(old: np.ndarray, new: np.ndarray) -> np.ndarray:
    if old.dtype.kind in "iu" or old.dtype.itemsize == 4:
        return np.asarray(old + new)
    if old.dtype.itemsize == 8:
        total = old + new
        total = np.where(np.isnan(total), np.uint64(0xFFF8 << 48).view(np.float64), total)
        return np.where(new != new, _quiet(new), np.where(old != old, _quiet(old), total))
    # Rounds once: f32 holds twice the digits and two more.
    return np.add(old.astype(np.float32), new.astype(np.float32))


def _quiet(x: np.ndarray) -> np.ndarray:
    words: np.ndarray = x.view(np.uint64) | np.uint64(1 << 51)
    return words.view(np.float64)


def _smaller(old: np.ndarray, new: np.ndarray) -> np.ndarray:
    return np.where(old == new, np.where(np.signbit(old), old, new), np.fmin(old, new))


def _larger(old: np.ndarray, new: np.ndarray) -> np.ndarray:
    return np.where(old == new, np.where(np.signbit(old), new, old), np.fmax(old, new))


Update = Callable[[np.ndarray, np.ndarray], np.ndarray]
_UPDATES: dict[str, Update] = {
    "add": _add,
    "min": _smaller,
    "max": _larger,
    "inc": lambda old, new: np.where(old >= new, 0, old + 1),
    "dec": lambda old, new: np.where((old == 0) | (old > new), new, old - 1),
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}
