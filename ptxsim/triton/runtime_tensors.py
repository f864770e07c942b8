"""torch's tensors in the memory of ptxsim's CUDA runtime, for libraries that launch through that: what tensors hold goes in and comes out
with every launch."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import torch

from ptxsim.cuda.runtime import process
from ptxsim.cuda.runtime.library import PRELOAD, VERSIONS
from ptxsim.cuda.runtime.state import Runtime
from ptxsim.triton.fresh import storage_of
from ptxsim.triton.storages import DATA_PTR, LIBRARIES, Storages

_KINDS = {
    torch.float64: "<f8", torch.float32: "<f4", torch.float16: "<f2", torch.int64: "<i8", torch.int32: "<i4", torch.int16: "<i2",
    torch.int8: "|i1", torch.uint8: "|u1", torch.bool: "|b1", torch.complex64: "<c8", torch.complex128: "<c16",
}  # fmt: skip


_OWN: list[Storages] = []  # of the runtime's memory, once that is started


def prepare(runtime: Runtime) -> None:
    """A runtime has been started: what is kept of tensors goes into its memory before anything else does."""
    if runtime.version != VERSIONS[-1] or _OWN:
        return
    found = Storages(cast(Any, runtime.arena))  # of a device its memory is used

    @contextmanager
    def around() -> Iterator[None]:
        with found.placed():
            yield

    runtime.around = around
    found.join()
    _OWN.append(found)


def storages() -> Storages | None:
    """Those that the runtime's launches see; None where the runtime could not be built."""
    library = _library()
    if library is not None and not _OWN:
        library.cudaFree(None)  # brings the runtime up
        prepare(process.STARTED[VERSIONS[-1]])
    return _OWN[0] if _OWN else None


def _library() -> Any:
    path = os.environ.get(PRELOAD, "").split(os.pathsep)[-1]
    return ctypes.CDLL(path) if path else None


def data_ptr(tensor: torch.Tensor) -> int:
    """Tensor.data_ptr(), where Triton is not there: of device memory, once the program has code of CUDA's for which that may be."""
    caller = str(sys._getframe(1).f_globals.get("__name__", "")).partition(".")[0]
    with torch._C.DisableTorchFunction():
        storage = storage_of(tensor)
        are_wanted = bool(_OWN) or bool((library := _library()) and library.__cudaHasRegistered())
        if caller in LIBRARIES or storage is None or storage.device.type != "cpu" or not are_wanted:
            return int(DATA_PTR(tensor))
        place = storages()
        assert place is not None
        address = place.keep(tensor)
        place.refresh(tensor)
        return address


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
