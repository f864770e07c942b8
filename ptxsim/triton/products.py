"""Matrix products of halves as GPUs compute them: in single precision until the result, their gradients too.

torch's code for the CPU takes minutes for some float16 products that single precision has in a fifth of a second
(2,048 x 2,048 by as many, neither transposed: 44 s and 0.2 s on one core).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import torch

HALVES = (torch.float16, torch.bfloat16)
NAMES = ("mm", "bmm", "addmm", "baddbmm")  # what matmul, linear, einsum and their gradients come to
_LIBRARY = torch.library.Library("aten", "IMPL")


def apply() -> None:
    """From now on torch's products on the CPU are these."""
    with warnings.catch_warnings():  # torch 2.11 says that its own are replaced, which is meant
        warnings.simplefilter("ignore")
        for name in NAMES:
            _LIBRARY.impl(name, _product(getattr(torch.ops.aten, name)), "CPU")


def _product(operator: Any) -> Callable[..., Any]:
    def product(*args: Any, **more: Any) -> Any:
        kinds = {a.dtype for a in args}
        if len(kinds) == 1 and not kinds.isdisjoint(HALVES):
            return _own(operator, [a.float() for a in args], more).to(*kinds)
        return _own(operator, args, more)

    return product


def _own(operator: Any, args: Any, more: dict[str, Any]) -> Any:
    """By torch's own code, which is still there for results that are given."""
    return operator.out(*args, **more, out=args[0].new_empty(0))
