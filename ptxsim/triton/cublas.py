"""In place of the cuBLASLt that Triton's library wraps for comparisons, and that wants a GPU: the products by torch on the CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


class CublasLt:
    """triton._C.libtriton.nvidia.cublas.CublasLt: results are torch's, in single precision until they are rounded."""

    def __init__(self, workspace: Any = None):
        pass

    def matmul(self, a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> None:
        """c = a @ b.T"""
        c.copy_(a.float() @ b.float().T)

    def gemm(
        self, a: torch.Tensor, b: torch.Tensor, c: torch.Tensor, d: torch.Tensor, alpha: float, beta: float
    ) -> None:
        """d = alpha * a @ b.T + beta * c"""
        d.copy_(alpha * (a.float() @ b.float().T) + beta * c.float())


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
