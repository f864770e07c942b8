"""Operators that programs register with torch for CUDA: tensors are the CPU's, so that torch would look for the CPU's.

Where a program has one for each of the two, CUDA's is meant.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import torch

_KEYS = {"CUDA": "CPU", "AutogradCUDA": "AutogradCPU", "AutocastCUDA": "AutocastCPU"}


def _name(operator: Any) -> str:
    """The name by which a library registers an operator, without the namespace; an object says it in its schema."""
    schema = getattr(operator, "_schema", None)
    parts = [str(operator)] if schema is None else [schema.name, schema.overload_name]
    return ".".join(filter(None, parts)).rsplit("::", 1)[-1]


def apply() -> None:
    """From now on an operator for CUDA is the CPU's in this process."""
    register = torch.library.Library.impl
    ours: WeakKeyDictionary[Any, set[tuple[str, str, str]]] = WeakKeyDictionary()  # by library: what ends with it

    def impl(self: Any, op_name: Any, fn: Any, dispatch_key: str = "", **more: Any) -> Any:
        asked = dispatch_key or self.dispatch_key
        key = _KEYS.get(asked, asked)
        mine = self.ns, _name(op_name), key
        if key != asked:
            ours.setdefault(self, set()).add(mine)
        elif any(mine in names for library, names in ours.items() if library.m is not None):  # destroyed ones have none
            return None
        return register(self, op_name, fn, key, **more)

    torch.library.Library.impl = impl
