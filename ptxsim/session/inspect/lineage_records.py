"""What is known of where an element of memory comes from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ptxsim.engine.program.operation import Op
from ptxsim.machine.memory import Allocation
from ptxsim.session.inspect.steps import Step

Kinds = Callable[[Allocation], "np.dtype | None"]  # what lies in an allocation, as far as it is known


@dataclass(slots=True)
class Read:
    """What a load of the CTA brings from one allocation: elements counted from its start, and those that matter."""

    op: Op
    allocation: Allocation
    dtype: np.dtype
    loaded: np.ndarray
    used: np.ndarray


@dataclass(slots=True)
class Masked:
    """A load by a mask, whose lanes that are off matter: the values that these hold in its stead."""

    op: Op
    held: list[Any]


@dataclass(slots=True)
class Lineage:
    """Of one element. `by` (operation, CTA, warp, lane) is the last store, None if there is none; `stored` are the elements of the
    allocation that any was to; `ctas` and `times`: by how many, how often this one was. `steps`: of that thread, to the value. `is_complete`: no trial was left out."""

    allocation: Allocation
    dtype: np.dtype
    index: int
    before: Any
    after: Any
    stored: np.ndarray
    by: tuple[Op, tuple[int, int, int], int, int] | None = None
    times: int = 0
    ctas: int = 0
    reads: list[Read] = field(default_factory=list)
    masked: list[Masked] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    is_complete: bool = True
