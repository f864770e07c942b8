"""Arithmetic of the tensor cores and of the special-function unit, on plain numpy arrays of element codes."""

from __future__ import annotations

import importlib
from typing import Any

_WHERE = {
    "Rule": "parameters", "find": "parameters", "matmul": "arrays", "product": "matrix", "sparse_product": "matrix",
}  # fmt: skip

__all__ = ["Rule", "find", "matmul", "product", "sparse_product"]


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(importlib.import_module(f"{__name__}.{_WHERE[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
