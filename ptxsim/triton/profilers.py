"""torch's profilers, without the GPU's part, which they would take from libraries of NVIDIA's that are not there."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import torch
import torch.profiler
from torch.autograd import profiler as autograd_profiler


def _of_cpu(begin: Callable[..., None]) -> Callable[..., None]:
    """The beginning of torch.profiler's profile: of the activities the CPU's."""

    def __init__(self: Any, *, activities: Any = None, **more: Any) -> None:
        begin(self, activities=[torch.profiler.ProfilerActivity.CPU], **more)

    return __init__


def _without_device(begin: Callable[..., None]) -> Callable[..., None]:
    """The same of the profiler beneath."""

    def __init__(self: Any, *given: Any, use_cuda: bool = False, use_device: Any = None, **more: Any) -> None:
        begin(self, *given, **more)

    return __init__


def apply() -> None:
    """From now on profilers look at the CPU alone."""
    profile = torch.profiler.profiler._KinetoProfile
    profile.__init__ = _of_cpu(profile.__init__)
    autograd_profiler.profile.__init__ = _without_device(autograd_profiler.profile.__init__)
    autograd_profiler.emit_nvtx = lambda enabled=True, record_shapes=False: nullcontext()
