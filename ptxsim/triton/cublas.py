"""In place of the cuBLASLt that Triton's library wraps for comparisons, and that wants a GPU: the products by torch on the CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ptxsim.triton.fresh import FRESH, bytes_of, storage_of
from ptxsim.triton.products import HALVES


class CublasLt:
    """triton._C.libtriton.nvidia.cublas.CublasLt: results are torch's, in single precision until they are rounded."""

    def __init__(self, workspace: Any = None):
        pass

    def matmul(self, a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> None:
        """c = a @ b.T"""
        _put(c, _product(a, b, c.dtype))

    def gemm(
        self, a: torch.Tensor, b: torch.Tensor, c: torch.Tensor, d: torch.Tensor, alpha: float, beta: float
    ) -> None:
        """d = alpha * a @ b.T + beta * c"""
        d.copy_(alpha * _product(a, b, torch.float32) + beta * c.float())


def _product(a: torch.Tensor, b: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """a @ b.T; of halves as other products of them are made (products)."""
    if a.dtype == b.dtype == dtype and dtype in HALVES:
        return a @ b.T
    return (a.float() @ b.float().T).to(dtype)


def _put(place: torch.Tensor, result: torch.Tensor) -> None:
    """Give a tensor its contents, without a copy where nobody can tell."""
    storage = storage_of(result)
    if storage is not None and (place.shape, place.stride(), place.storage_offset()) == (
        result.shape,
        result.stride(),
        0,
    ):
        FRESH.fill(place, bytes_of(storage))
    else:
        place.copy_(result)


def install() -> Callable[[], None]:
    """Let Triton's library have it; what is returned takes it back."""
    from triton._C.libtriton import nvidia

    cublas = getattr(nvidia, "cublas", None)
    if cublas is None:
        return lambda: None
    before = cublas.CublasLt
    cublas.CublasLt = CublasLt

    def undo() -> None:
        cublas.CublasLt = before

    return undo
