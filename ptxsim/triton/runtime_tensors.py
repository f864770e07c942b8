"""torch's tensors in the memory of ptxsim's CUDA runtime, for libraries that launch through that: what tensors hold goes in and comes out
with every launch."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, cast

import torch

from ptxsim.cuda.runtime import process
from ptxsim.cuda.runtime.library import PRELOAD, VERSIONS
from ptxsim.triton.storages import Storages

_KINDS = {
    torch.float64: "<f8", torch.float32: "<f4", torch.float16: "<f2", torch.int64: "<i8", torch.int32: "<i4", torch.int16: "<i2",
    torch.int8: "|i1", torch.uint8: "|u1", torch.bool: "|b1", torch.complex64: "<c8", torch.complex128: "<c16",
}  # fmt: skip


@cache
def storages() -> Storages | None:
    """Those that the runtime's launches see; None where the runtime could not be built."""
    library = os.environ.get(PRELOAD, "").split(os.pathsep)[-1]
    if not library:
        return None
    ctypes.CDLL(library).cudaFree(None)  # brings the runtime up
    runtime = process.STARTED[VERSIONS[-1]]
    found = Storages(cast(Any, runtime.arena))  # of a device its memory is used

    @contextmanager
    def around() -> Iterator[None]:
        with found.placed():
            yield

    runtime.around = around
    return found


def interface(tensor: torch.Tensor) -> dict[str, Any]:
    """Tensor.__cuda_array_interface__. Raises AttributeError for tensors that have none."""
    with torch._C.DisableTorchFunction():
        place = storages() if tensor.device.type == "cpu" and not tensor.is_sparse else None
        if place is None or tensor.dtype not in _KINDS:
            raise AttributeError(f"no __cuda_array_interface__ for {tensor.dtype} here")
        if tensor.requires_grad:
            raise RuntimeError("Can't get __cuda_array_interface__ on Variable that requires grad: detach() it")
        size, shape = tensor.element_size(), tuple(tensor.shape)
        strides = None if tensor.is_contiguous() else tuple(stride * size for stride in tensor.stride())
        address = place.keep(tensor) if tensor.numel() else 0
        place.refresh(tensor)
    return {"typestr": _KINDS[tensor.dtype], "shape": shape, "strides": strides, "data": (address, False), "version": 2}
