"""Operators that programs register with torch for CUDA: tensors are the CPU's, so that torch would look for the CPU's.

Where a program has one for each of the two, CUDA's is meant.
"""

from __future__ import annotations

from typing import Any

import torch

_KEYS = {"CUDA": "CPU", "AutogradCUDA": "AutogradCPU", "AutocastCUDA": "AutocastCPU"}


def apply() -> None:
    """From now on an operator for CUDA is the CPU's in this process."""
    register = torch.library.Library.impl
    ours: set[tuple[str, str, str]] = set()

    def impl(self: Any, op_name: Any, fn: Any, dispatch_key: str = "", **more: Any) -> Any:
        asked = dispatch_key or self.dispatch_key
        key = _KEYS.get(asked, asked)
        mine = self.ns, str(op_name).rsplit("::", 1)[-1], key
        if key != asked:
            ours.add(mine)
        elif mine in ours:
            return None
        return register(self, op_name, fn, key, **more)

    torch.library.Library.impl = impl
