"""Copies and fills of memory and of variables. CUDA Runtime API, "Memory Management".

Everything is done when the call returns, so copies on any stream are in order with launches.
"""

from __future__ import annotations

import ctypes
from typing import Any

from ptxsim.cuda.runtime.arena import INVALID_VALUE
from ptxsim.cuda.runtime.functions import CudaError, Extent, NotModeled, PitchedPointer, function
from ptxsim.cuda.runtime.state import Runtime
from ptxsim.cuda.runtime.steps import Kind, Work
from ptxsim.cuda.runtime.streams import in_order

HOST_TO_HOST, HOST_TO_DEVICE, DEVICE_TO_HOST, DEVICE_TO_DEVICE, DEFAULT = range(5)  # cudaMemcpyKind
INVALID_DIRECTION = 21
INVALID_PITCH = 12
ARRAYS = "copies of arrays, which textures and surfaces read, are not modeled"


class Position(ctypes.Structure):
    """cudaPos."""

    _fields_ = [("x", ctypes.c_size_t), ("y", ctypes.c_size_t), ("z", ctypes.c_size_t)]


class Copy3D(ctypes.Structure):
    """cudaMemcpy3DParms."""

    _fields_ = [
        ("from_array", ctypes.c_void_p), ("from_position", Position), ("source", PitchedPointer),
        ("to_array", ctypes.c_void_p), ("to_position", Position), ("target", PitchedPointer), ("extent", Extent),
        ("kind", ctypes.c_int),
    ]  # fmt: skip


class PeerCopy3D(ctypes.Structure):
    """cudaMemcpy3DPeerParms."""

    _fields_ = [
        ("from_array", ctypes.c_void_p), ("from_position", Position), ("source", PitchedPointer),
        ("from_device", ctypes.c_int), ("to_array", ctypes.c_void_p), ("to_position", Position),
        ("target", PitchedPointer), ("to_device", ctypes.c_int), ("extent", Extent),
    ]  # fmt: skip


def copy(runtime: Runtime, to: int | None, source: int | None, size: int, kind: int) -> None:
    """Copy bytes between pointers of host or device. Raises CudaError."""
    if not HOST_TO_HOST <= kind <= DEFAULT:
        raise CudaError(INVALID_DIRECTION)
    if not size:
        return
    arena = runtime.arena
    for pointer, is_device in ((to, kind in (HOST_TO_DEVICE, DEVICE_TO_DEVICE)), (source, kind >= DEVICE_TO_HOST)):
        if kind != DEFAULT and is_device and not arena.is_device(pointer or 0):
            raise CudaError(
                INVALID_VALUE, f"by its direction {pointer or 0:#x} is memory of the device, it is the host's"
            )
    ctypes.memmove(arena.host(to, size), arena.host(source, size), size)
    if to is not None and source is not None and arena.is_device(source) and not arena.is_device(to):
        runtime.collector.copied(to, source, size)


@function("cudaMemcpy(void *to, const void *from, size_t size, int kind)")
@function("cudaMemcpyAsync(void *to, const void *from, size_t size, int kind, void *stream)")
def memcpy(
    runtime: Runtime, to: int | None, source: int | None, size: int, kind: int, stream: int | None = None
) -> None:
    in_order(runtime, stream, Kind.MEMCPY, lambda: copy(runtime, to, source, size, kind))


@function("cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device, size_t size)")
@function("cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t size, void *stream)")
def memcpy_peer(
    runtime: Runtime, to: int | None, to_device: int, source: int | None, from_device: int, size: int,
    stream: int | None = None,
) -> None:  # fmt: skip
    runtime.check_device(to_device)
    runtime.check_device(from_device)
    in_order(runtime, stream, Kind.MEMCPY, lambda: copy(runtime, to, source, size, DEVICE_TO_DEVICE))


@function(
    "cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height, int kind)"
)
@function(
    "cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height, int kind, void *stream)"
)
def memcpy_2d(
    runtime: Runtime, to: int | None, to_pitch: int, source: int | None, from_pitch: int, width: int, height: int,
    kind: int, stream: int | None = None,
) -> None:  # fmt: skip
    if width > to_pitch or width > from_pitch:
        raise CudaError(INVALID_PITCH)

    def rows() -> None:
        for row in range(height):
            copy(runtime, (to or 0) + row * to_pitch, (source or 0) + row * from_pitch, width, kind)

    in_order(runtime, stream, Kind.MEMCPY, rows)


def _copy_3d(runtime: Runtime, p: Copy3D | PeerCopy3D, kind: int) -> None:
    if p.from_array or p.to_array:
        raise NotModeled("cudaMemcpy3D", ARRAYS)
    width, height, depth = p.extent.width, p.extent.height, p.extent.depth
    for z in range(depth):
        for y in range(height):
            ends: list[int] = []
            for pointer, at in ((p.target, p.to_position), (p.source, p.from_position)):
                row = (at.z + z) * pointer.ysize + at.y + y
                ends.append((pointer.pointer or 0) + row * pointer.pitch + at.x)
            copy(runtime, ends[0], ends[1], width, kind)


def work_of_copy(runtime: Runtime, given: bytes) -> Work:
    """The copy that the bytes of a Copy3D ask for."""
    p = Copy3D.from_buffer_copy(given)
    return lambda: _copy_3d(runtime, p, p.kind)


@function("cudaMemcpy3D(const void *parameters)", "cudaMemcpy3DAsync(const void *parameters, void *stream)")
def memcpy_3d(runtime: Runtime, parameters: int | None, stream: int | None = None) -> None:
    if parameters is None:
        raise CudaError(INVALID_VALUE)
    given = ctypes.string_at(parameters, ctypes.sizeof(Copy3D))
    in_order(runtime, stream, Kind.MEMCPY, work_of_copy(runtime, given), lambda: given)


@function("cudaMemcpy3DPeer(const void *parameters)", "cudaMemcpy3DPeerAsync(const void *parameters, void *stream)")
def memcpy_3d_peer(runtime: Runtime, parameters: int | None, stream: int | None = None) -> None:
    if parameters is None:
        raise CudaError(INVALID_VALUE)
    p = PeerCopy3D.from_buffer_copy(ctypes.string_at(parameters, ctypes.sizeof(PeerCopy3D)))
    in_order(runtime, stream, Kind.MEMCPY, lambda: _copy_3d(runtime, p, DEVICE_TO_DEVICE))


def fill_rows(
    runtime: Runtime, pointer: int | None, pitch: int, value: bytes, width: int, height: int, depth: int = 1, high: int = 0
) -> Work:  # fmt: skip
    """Write a value `width` times into each of `height` rows, `pitch` bytes apart; high: rows from one of `depth` planes to the
    next."""
    size = width * len(value)

    def work() -> None:
        for row in (z * high + y for z in range(depth) for y in range(height) if size):
            at = (pointer or 0) + row * pitch
            if not runtime.arena.is_device(at):
                raise CudaError(INVALID_VALUE)
            place = runtime.arena.host(at, size)
            if len(value) == 1:
                ctypes.memset(place, value[0], size)
            else:
                ctypes.memmove(place, value * width, size)

    return work


def _byte(value: int) -> bytes:
    return bytes([value & 0xFF])


@function("cudaMemset(void *pointer, int value, size_t size)")
@function("cudaMemsetAsync(void *pointer, int value, size_t size, void *stream)")
def memset(runtime: Runtime, pointer: int | None, value: int, size: int, stream: int | None = None) -> None:
    in_order(runtime, stream, Kind.MEMSET, fill_rows(runtime, pointer, 0, _byte(value), size, 1))


@function("cudaMemset2D(void *pointer, size_t pitch, int value, size_t width, size_t height)")
@function("cudaMemset2DAsync(void *pointer, size_t pitch, int value, size_t width, size_t height, void *stream)")
def memset_2d(
    runtime: Runtime, pointer: int | None, pitch: int, value: int, width: int, height: int, stream: int | None = None
) -> None:  # fmt: skip
    in_order(runtime, stream, Kind.MEMSET, fill_rows(runtime, pointer, pitch, _byte(value), width, height))


@function("cudaMemset3D(cudaPitchedPtr pointer, int value, cudaExtent extent)")
@function("cudaMemset3DAsync(cudaPitchedPtr pointer, int value, cudaExtent extent, void *stream)")
def memset_3d(
    runtime: Runtime, pointer: PitchedPointer, value: int, extent: Extent, stream: int | None = None
) -> None:  # fmt: skip
    e = extent
    rows = fill_rows(runtime, pointer.pointer, pointer.pitch, _byte(value), e.width, e.height, e.depth, pointer.ysize)
    in_order(runtime, stream, Kind.MEMSET, rows)


# ---- variables ----


def place(runtime: Runtime, host: int | None) -> tuple[int, int]:
    """Address and bytes of a variable that the host knows. Raises CudaError."""
    symbol = runtime.binaries.symbol(host)
    return runtime.loaded(symbol.binary).variable(symbol.name)


@function("cudaGetSymbolAddress(void **pointer, const void *symbol)")
def symbol_address(runtime: Runtime, pointer: Any, symbol: int | None) -> None:
    pointer[0] = place(runtime, symbol)[0]


@function("cudaGetSymbolSize(size_t *size, const void *symbol)")
def symbol_size(runtime: Runtime, size: Any, symbol: int | None) -> None:
    size[0] = place(runtime, symbol)[1]


@function("cudaMemcpyToSymbol(const void *symbol, const void *from, size_t size, size_t offset, int kind)")
@function(
    "cudaMemcpyToSymbolAsync(const void *symbol, const void *from, size_t size, size_t offset, int kind, void *stream)"
)
def to_symbol(
    runtime: Runtime, symbol: int | None, source: int | None, size: int, offset: int, kind: int, stream: int | None = None
) -> None:  # fmt: skip
    at = place(runtime, symbol)[0] + offset
    in_order(runtime, stream, Kind.MEMCPY, lambda: copy(runtime, at, source, size, kind))


@function("cudaMemcpyFromSymbol(void *to, const void *symbol, size_t size, size_t offset, int kind)")
@function("cudaMemcpyFromSymbolAsync(void *to, const void *symbol, size_t size, size_t offset, int kind, void *stream)")
def from_symbol(
    runtime: Runtime, to: int | None, symbol: int | None, size: int, offset: int, kind: int, stream: int | None = None
) -> None:  # fmt: skip
    at = place(runtime, symbol)[0] + offset
    in_order(runtime, stream, Kind.MEMCPY, lambda: copy(runtime, to, at, size, kind))
