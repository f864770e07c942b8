"""Storages that torch.empty has made and nothing has used since: what lies in them is anything, so that it may be anything else.

Results that are known can be put there without a copy: torch shares memory until somebody writes (`torch._lazy_clone`).
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from types import MethodWrapperType
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._pytree import tree_leaves

_MAKERS = {torch.empty, torch.empty_like, torch.empty_strided, torch.Tensor.new_empty}
_T = torch.Tensor
# What asks a tensor for nothing that lies in it.
_HARMLESS = {
    *(getattr(_T, name).__get__ for name in ("shape", "dtype", "device", "is_cuda", "is_cpu", "ndim", "layout", "requires_grad", "_version")),
    _T.stride, _T.size, _T.numel, _T.nelement, _T.dim, _T.element_size, _T.is_contiguous, _T.get_device, _T.storage_offset,
    _T.is_floating_point, _T.__len__, torch.numel, torch.is_tensor, torch.is_floating_point, torch._C.TensorBase.data_ptr,
}  # fmt: skip
# What makes another view of the same storage, or says where it is: no work of a stream. (Nor are attributes, of which torch tells by
# method wrappers.)
_VIEWS = {
    _T.view, _T.t, _T.transpose, _T.permute, _T.unsqueeze, _T.squeeze, _T.expand, _T.detach, _T.narrow, _T.select, _T.untyped_storage,
}  # fmt: skip
_ADDRESS: Any = torch._C.TensorBase.data_ptr
_compare = ctypes.CDLL(None).memcmp
_compare.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
_MOST = 1000  # storages that are remembered before those that are gone are forgotten
_ALONE = 2  # counts of a storage: a tensor's, and that of the object in Python


class Fresh:
    """The storages, by address in the host's memory. Told of functions by a mode of torch's (cuda_is_cpu)."""

    def __init__(self) -> None:
        self.worked = 0  # functions that are work of a stream
        self._storages: dict[int, StorageWeakRef] = {}

    def see(self, function: Any, values: Any, result: Any) -> None:
        """A function of torch has been called."""
        if function in _MAKERS:
            storage = storage_of(result) if isinstance(result, torch.Tensor) else None
            if storage is not None and storage.device.type == "cpu" and storage.nbytes():
                if len(self._storages) == _MOST:
                    self._storages = {host: known for host, known in self._storages.items() if not known.expired()}
                self._storages[storage.data_ptr()] = StorageWeakRef(storage)
        elif function not in _HARMLESS:
            self.worked += not (
                function in _VIEWS or function is torch.Tensor.data_ptr or isinstance(function, MethodWrapperType)
            )
            if self._storages:
                self.use(tree_leaves(values))

    def use(self, values: Iterable[Any]) -> None:
        """Something lies in these tensors from now on, or has been looked at."""
        for value in values:
            storage = storage_of(value) if isinstance(value, torch.Tensor) and self._storages else None
            if storage is not None and storage.device.type == "cpu":
                self._storages.pop(storage.data_ptr(), None)

    def has(self, storage: torch.UntypedStorage) -> bool:
        """Whether a storage is such a one."""
        known = self._storages.get(storage.data_ptr())
        return known is not None and not known.expired()

    def fill(self, tensor: torch.Tensor, contents: torch.Tensor) -> None:
        """Put bytes (all of a storage) into a tensor's. Nothing is copied where the storage is fresh and no other tensor's."""
        with torch.no_grad(), torch._C.DisableTorchFunction():
            storage = tensor.untyped_storage()
            is_alone = self.has(storage) and torch._C._storage_Use_Count(storage._cdata) == _ALONE
            self.use([tensor])
            if is_alone and not tensor.requires_grad:
                shared = torch._lazy_clone(contents).untyped_storage()
                tensor.set_(shared, tensor.storage_offset(), tensor.shape, tensor.stride())
            else:
                bytes_of(storage).copy_(contents)


def storage_of(tensor: torch.Tensor) -> torch.UntypedStorage | None:
    """A tensor's storage, without a mode of torch's taking notice; None for one that has none."""
    with torch._C.DisableTorchFunction():
        try:
            return tensor.untyped_storage()
        except (NotImplementedError, RuntimeError):  # sparse tensors, wrappers of others
            return None


def bytes_of(storage: torch.UntypedStorage) -> torch.Tensor:
    """All that lies in a storage."""
    with torch._C.DisableTorchFunction():
        return torch.empty(0, dtype=torch.uint8).set_(storage)


def copy_of(storage: torch.UntypedStorage) -> torch.Tensor:
    """The same, in a place of its own."""
    with torch._C.DisableTorchFunction():
        return bytes_of(storage).clone()


def is_equal(storage: torch.UntypedStorage, contents: torch.Tensor) -> bool:
    """Whether these bytes lie in a storage."""
    size = storage.nbytes()
    return size == contents.nbytes and is_same(storage.data_ptr(), _ADDRESS(contents), size)


def is_same(one: int, other: int, size: int) -> bool:
    """Whether the same bytes lie at two addresses in the host's memory."""
    return not _compare(one, other, size)


FRESH = Fresh()
