"""Arguments as other libraries have them: tensors, C structures, tuples and dicts for what a kernel takes by value."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

Place = Callable[[np.ndarray], int]  # puts an array into device memory and gives its address


def as_plain(value: Any) -> Any:
    """A value as numpy or Python has it: arrays share their memory with it. What is nothing of the kind stays as it is.

    `__cuda_array_interface__` gives an address, which must be one of ptxsim's own device memory.
    """
    if isinstance(value, np.ndarray | np.generic | int | float | bytes | bytearray) or value is None:
        return value
    if hasattr(value, "__cuda_array_interface__"):
        return int(value.__cuda_array_interface__["data"][0])
    if isinstance(value, ctypes.Structure | ctypes.Union | ctypes.Array):
        return bytes(value)
    if isinstance(value, ctypes._SimpleCData):
        return value.value
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        return _of_torch(torch, value)
    if hasattr(value, "__dlpack__"):
        return np.from_dlpack(value)
    if hasattr(value, "__array_interface__"):
        return np.asarray(value)
    return value


def _of_torch(torch: Any, tensor: Any) -> np.ndarray:
    """A tensor in host memory, its elements as numbers of as many bits where numpy lacks their type."""
    tensor = tensor.detach()
    try:
        found: np.ndarray = tensor.numpy()
    except TypeError:
        words = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
        found = tensor.view(words[tensor.element_size()]).numpy()
    return found


def dtype_of_torch(dtype: Any) -> np.dtype | None:
    """A type of torch's as numpy has it, or ml_dtypes."""
    import ml_dtypes

    name = str(dtype).removeprefix("torch.")
    found = getattr(np, name, None) or getattr(ml_dtypes, name, None)
    return None if found is None else np.dtype(found)


def array_of(tensor: Any) -> np.ndarray | None:
    """A tensor in host memory, in the memory where it lies; None where numpy and ml_dtypes have no such numbers."""
    dtype = dtype_of_torch(tensor.dtype)
    if dtype is None or tensor.untyped_storage().device.type != "cpu":
        return None
    return _of_torch(sys.modules["torch"], tensor).view(dtype)


def struct_bytes(value: Sequence[Any] | Mapping[str, Any], place: Place) -> bytes:
    """A tuple, list or dict as a C structure: members in order, each at a multiple of its size.

    An array is a pointer, an int is a C int, a float a C float, a bool one byte; numpy scalars say other types; what is nested is a
    structure in it. Raises ValueError for anything else.
    """
    return _struct(value, place)[0]


def _struct(value: Sequence[Any] | Mapping[str, Any], place: Place) -> tuple[bytes, int]:
    """The bytes, and what their place is a multiple of."""
    found, widest = b"", 1
    for member in value.values() if isinstance(value, Mapping) else value:
        data, align = _member(as_plain(member), place)
        widest = max(widest, align)
        found += b"\0" * (-len(found) % align) + data
    return found + b"\0" * (-len(found) % widest), widest


def _member(value: Any, place: Place) -> tuple[bytes, int]:
    match value:
        case np.ndarray():
            return place(value).to_bytes(8, "little"), 8
        case None:
            return bytes(8), 8
        case np.void():
            return value.tobytes(), value.dtype.alignment
        case np.generic():
            return value.tobytes(), value.nbytes
        case bool():
            return bytes([value]), 1
        case int():
            size = 4 if -(2**31) <= value < 2**32 else 8
            return (value & 2 ** (8 * size) - 1).to_bytes(size, "little"), size
        case float():
            return np.float32(value).tobytes(), 4
        case tuple() | list() | Mapping():
            return _struct(value, place)
    raise ValueError(f"a {type(value).__name__} in a structure")
