"""Copies of rectangles and pitched memory as the driver has them. CUDA Driver API, "Memory Management"."""

from __future__ import annotations

import ctypes
from typing import Any

from ptxsim.cuda.runtime import copies, memory
from ptxsim.cuda.runtime.functions import CudaError, Extent, NotModeled, PitchedPointer, function
from ptxsim.cuda.runtime.state import INVALID_VALUE, Runtime
from ptxsim.cuda.runtime.steps import Kind
from ptxsim.cuda.runtime.streams import in_order

_HOST, _DEVICE, _ARRAY, _UNIFIED = 1, 2, 3, 4  # CUmemorytype
_KINDS = {
    (_HOST, _HOST): copies.HOST_TO_HOST, (_HOST, _DEVICE): copies.HOST_TO_DEVICE,
    (_DEVICE, _HOST): copies.DEVICE_TO_HOST, (_DEVICE, _DEVICE): copies.DEVICE_TO_DEVICE,
}  # fmt: skip


class End(ctypes.Structure):
    """Where a copy begins or ends: half of CUDA_MEMCPY2D."""

    _fields_ = [
        ("x", ctypes.c_size_t), ("y", ctypes.c_size_t), ("type", ctypes.c_int), ("host", ctypes.c_void_p),
        ("device", ctypes.c_void_p), ("array", ctypes.c_void_p), ("pitch", ctypes.c_size_t),
    ]  # fmt: skip

    def place(self, width: int) -> tuple[int, int]:
        """The address of the first byte, and how far apart rows are. Raises CudaError."""
        if self.type == _ARRAY:
            raise NotModeled("cuMemcpy", copies.ARRAYS)
        pitch = self.pitch or width
        pointer = self.host if self.type == _HOST else self.device
        return (pointer or 0) + self.y * pitch + self.x, pitch


class Copy2D(ctypes.Structure):
    """CUDA_MEMCPY2D."""

    _fields_ = [("source", End), ("target", End), ("width", ctypes.c_size_t), ("height", ctypes.c_size_t)]


@function("int cuMemcpy2D_v2(const void *copy)", "int cuMemcpy2DUnaligned_v2(const void *copy)")
@function("int cuMemcpy2DAsync_v2(const void *copy, void *stream)")
def copy_rectangle(runtime: Runtime, given: int | None, stream: int | None = None) -> None:
    if given is None:
        raise CudaError(INVALID_VALUE)
    c = Copy2D.from_address(given)
    (source, source_pitch), (target, target_pitch) = c.source.place(c.width), c.target.place(c.width)
    kind = _KINDS.get((c.source.type, c.target.type), copies.DEFAULT)
    copies.memcpy_2d(runtime, target, target_pitch, source, source_pitch, c.width, c.height, kind, stream)


class End3D(ctypes.Structure):
    """Where a copy begins or ends: half of CUDA_MEMCPY3D."""

    _fields_ = [
        ("x", ctypes.c_size_t), ("y", ctypes.c_size_t), ("z", ctypes.c_size_t), ("level", ctypes.c_size_t),
        ("type", ctypes.c_int), ("host", ctypes.c_void_p), ("device", ctypes.c_void_p), ("array", ctypes.c_void_p),
        ("reserved", ctypes.c_void_p), ("pitch", ctypes.c_size_t), ("height", ctypes.c_size_t),
    ]  # fmt: skip

    def pitched(self, width: int, height: int) -> PitchedPointer:
        """The memory, of so many rows in a plane. Raises CudaError."""
        if self.type == _ARRAY:
            raise NotModeled("cuMemcpy", copies.ARRAYS)
        pointer = self.host if self.type == _HOST else self.device
        return PitchedPointer(pointer, self.pitch or width, width, self.height or height)


class Copy3D(ctypes.Structure):
    """CUDA_MEMCPY3D."""

    _fields_ = [
        ("source", End3D),
        ("target", End3D),
        *((name, ctypes.c_size_t) for name in ("width", "height", "depth")),
    ]


@function("int cuMemcpy3D_v2(const void *copy)", "int cuMemcpy3DAsync_v2(const void *copy, void *stream)")
def copy_box(runtime: Runtime, given: int | None, stream: int | None = None) -> None:
    if given is None:
        raise CudaError(INVALID_VALUE)
    c = Copy3D.from_address(given)
    kind = _KINDS.get((c.source.type, c.target.type), copies.DEFAULT)
    source, target = (end.pitched(c.width, c.height) for end in (c.source, c.target))
    if min(source.pitch, target.pitch) < c.width:
        raise CudaError(INVALID_VALUE)
    same = copies.Copy3D(
        None, copies.Position(c.source.x, c.source.y, c.source.z), source,
        None, copies.Position(c.target.x, c.target.y, c.target.z), target, Extent(c.width, c.height, c.depth), kind,
    )  # fmt: skip
    copies.memcpy_3d(runtime, ctypes.addressof(same), stream)


@function("int cuMemAllocPitch_v2(void **pointer, size_t *pitch, size_t width, size_t height, unsigned element)")
def allocate(runtime: Runtime, pointer: Any, pitch: Any, width: int, height: int, element: int) -> None:
    memory.malloc_pitch(runtime, pointer, pitch, width, height)


def _fill(size: int) -> Any:
    def fill(
        runtime: Runtime, pointer: int | None, pitch: int, value: int, width: int, height: int, stream: int | None = None
    ) -> int | None:  # fmt: skip
        pattern = (value & (1 << 8 * size) - 1).to_bytes(size, "little")
        in_order(runtime, stream, Kind.MEMSET, copies.fill_rows(runtime, pointer, pitch, pattern, width, height))
        return None

    return fill


for bits in (8, 16, 32):
    _SHAPE = "void *pointer, size_t pitch, unsigned value, size_t width, size_t height"
    function(f"int cuMemsetD2D{bits}_v2({_SHAPE})", f"int cuMemsetD2D{bits}Async({_SHAPE}, void *stream)")(_fill(bits // 8))  # fmt: skip
