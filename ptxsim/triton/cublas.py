"""In place of the cuBLASLt that Triton's library wraps for comparisons, and that wants a GPU: the products by torch on the CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from ptxsim.numerics.narrow import decode, decode_scale
from ptxsim.triton.fresh import FRESH, bytes_of, storage_of
from ptxsim.triton.products import HALVES
from ptxsim.types import TYPES


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

    def block_scaled_matmul_mxfp8(
        self, a: torch.Tensor, b: torch.Tensor, c: torch.Tensor, scale_a: torch.Tensor, scale_b: torch.Tensor
    ) -> None:  # fmt: skip
        """c = a @ b.T of e4m3, each 32 of a row scaled by a power of 2 (e8m0)."""
        left, right = _scaled(a.float(), _exponents(scale_a), 32), _scaled(b.float(), _exponents(scale_b), 32)
        _put(c, _product(left, right, c.dtype))

    def block_scaled_matmul_nvfp4(
        self, a: torch.Tensor, b: torch.Tensor, c: torch.Tensor, scale_a: torch.Tensor, scale_b: torch.Tensor
    ) -> None:  # fmt: skip
        """c = a @ b.T of e2m1, two in a byte, the lower half first, each 16 of a row scaled by an e4m3."""
        scales_a, scales_b = (scale.view(torch.float8_e4m3fn).float() for scale in (scale_a, scale_b))
        _put(c, _product(_scaled(_nibbles(a), scales_a, 16), _scaled(_nibbles(b), scales_b, 16), c.dtype))


def _nibbles(packed: torch.Tensor) -> torch.Tensor:
    """Bytes (rows, n) as numbers (rows, 2n)."""
    table = torch.from_numpy(decode(np.arange(16, dtype=np.uint32), TYPES["e2m1"]))
    bytes_ = packed.view(torch.uint8)
    return table[torch.stack([bytes_ & 15, bytes_ >> 4], -1).long()].flatten(-2)


def _exponents(scales: torch.Tensor) -> torch.Tensor:
    """What e8m0 bytes mean."""
    table = torch.from_numpy(decode_scale(np.arange(256, dtype=np.uint32)))
    return table[scales.view(torch.uint8).long()]


def _scaled(numbers: torch.Tensor, scales: torch.Tensor, block: int) -> torch.Tensor:
    """Rows with each `block` of them scaled. Scales lie as cuBLAS has them ("1D block scaling factors layout"): tiles of 128 rows by 4 one after
    the other, in which the four of a row lie together, and rows 32 apart beside each other."""
    rows, columns = numbers.shape[0], numbers.shape[1] // block
    tiles = scales.reshape(-(-rows // 128), -(-columns // 4), 32, 4, 4)
    plain = tiles.permute(0, 3, 2, 1, 4).reshape(tiles.shape[0] * 128, tiles.shape[1] * 4)
    return numbers * plain[:rows, :columns].repeat_interleave(block, 1)


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
