"""Values of expressions: wide for computing, with the type they are stored in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Value:
    """A wide value and, if it is stored data untouched by arithmetic, the dtype it is stored in."""

    data: Any
    dtype: Any = None


def widen(array: Any) -> Any:
    """An array in the type it is computed in: floats as float64, integers as int64 (uint64 stays)."""
    import numpy as np

    array = np.asarray(array)
    if array.dtype.name in ("bool", "float64", "int64", "uint64"):
        return array
    is_integer = array.dtype.kind in "iu" or array.dtype.name in ("int4", "uint4")
    return array.astype(np.int64 if is_integer else np.float64)


def narrow(data: Any, dtype: Any) -> Any:
    """A wide value as it would be stored: floats rounded once, integers wrapped."""
    import numpy as np

    data = np.asarray(data)
    with np.errstate(all="ignore"):
        if dtype.name in ("int4", "uint4"):
            data = data.astype(np.int64)
            return ((data + 8) % 16 - 8 if dtype.name == "int4" else data % 16).astype(dtype)
        return data.astype(dtype)
