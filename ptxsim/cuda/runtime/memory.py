"""Memory: allocation, what a pointer is. CUDA Runtime API, "Memory Management", "Unified Addressing"."""

from __future__ import annotations

import ctypes
from typing import Any

from ptxsim.cuda.runtime.arena import INVALID_VALUE, SPACE
from ptxsim.cuda.runtime.functions import CudaError, Extent, PitchedPointer, function
from ptxsim.cuda.runtime.pools import pools
from ptxsim.cuda.runtime.state import Runtime
from ptxsim.cuda.runtime.steps import Kind
from ptxsim.cuda.runtime.streams import check_stream, in_order

_PITCH = 512  # bytes that rows of pitched memory are a multiple of
TYPES = {None: 0, "host": 1, "device": 2, "managed": 3}  # cudaMemoryType


class PointerAttributes(ctypes.Structure):
    """cudaPointerAttributes."""

    _fields_ = [
        ("type", ctypes.c_int), ("device", ctypes.c_int), ("device_pointer", ctypes.c_void_p),
        ("host_pointer", ctypes.c_void_p), ("reserved", ctypes.c_long * 8),
    ]  # fmt: skip


# ---- allocation ----


def nothing() -> None:
    """What is left to do where a graph's node allocates or frees: its memory stays."""


@function("cudaMalloc(void **pointer, size_t size)")
def malloc(runtime: Runtime, pointer: Any, size: int) -> None:
    pointer[0] = runtime.arena.allocate(size) if size else None


@function("cudaMallocFromPoolAsync(void **pointer, size_t size, void *pool, void *stream)")
def malloc_of_pool(runtime: Runtime, pointer: Any, size: int, pool: int | None, stream: int | None) -> None:
    check_stream(runtime, stream)
    found = pools(runtime).of(pool)
    malloc(runtime, pointer, size)
    if size and stream in runtime.captures:
        runtime.graph_memory.add(pointer[0])
        in_order(runtime, stream, Kind.ALLOCATE, nothing)
    elif size:
        found.add(pointer[0], size)


@function("cudaMallocAsync(void **pointer, size_t size, void *stream)")
def malloc_async(runtime: Runtime, pointer: Any, size: int, stream: int | None) -> None:
    malloc_of_pool(runtime, pointer, size, pools(runtime).current, stream)


@function("cudaMallocManaged(void **pointer, size_t size, unsigned flags)")
def malloc_managed(runtime: Runtime, pointer: Any, size: int, flags: int) -> None:
    if not size or flags not in (1, 2):  # cudaMemAttachGlobal, cudaMemAttachHost
        raise CudaError(INVALID_VALUE)
    pointer[0] = runtime.arena.allocate(size, "managed")


@function("cudaMallocHost(void **pointer, size_t size)")
@function("cudaHostAlloc(void **pointer, size_t size, unsigned flags)")
def malloc_host(runtime: Runtime, pointer: Any, size: int, flags: int = 0) -> None:
    pointer[0] = runtime.arena.allocate(size, "host") if size else None


@function("cudaMallocPitch(void **pointer, size_t *pitch, size_t width, size_t height)")
def malloc_pitch(runtime: Runtime, pointer: Any, pitch: Any, width: int, height: int) -> None:
    pitch[0] = -(-width // _PITCH) * _PITCH
    pointer[0] = runtime.arena.allocate(pitch[0] * height)


@function("cudaMalloc3D(cudaPitchedPtr *pointer, cudaExtent extent)")
def malloc_3d(runtime: Runtime, pointer: Any, extent: Extent) -> None:
    pitch = -(-extent.width // _PITCH) * _PITCH
    address = runtime.arena.allocate(pitch * extent.height * extent.depth)
    pointer[0] = PitchedPointer(address, pitch, extent.width, extent.height)


@function("cudaFree(void *pointer)", "cudaFreeAsync(void *pointer, void *stream)")
def free(runtime: Runtime, pointer: int | None, stream: int | None = None) -> None:
    if pointer is None:
        return

    def give_back() -> None:
        runtime.arena.free(pointer, "device", "managed")
        pools(runtime).freed(pointer)

    in_order(runtime, stream, Kind.FREE, nothing if pointer in runtime.graph_memory else give_back)


@function("cudaFreeHost(void *pointer)")
def free_host(runtime: Runtime, pointer: int | None) -> None:
    if pointer is not None:
        runtime.arena.free(pointer, "host")


@function("cudaMemGetInfo(size_t *free, size_t *total)")
def memory_info(runtime: Runtime, free: Any, total: Any) -> None:
    free[0], total[0] = SPACE - runtime.arena.memory.allocated, SPACE


@function("cudaPointerGetAttributes(void *attributes, const void *pointer)")
def pointer_attributes(runtime: Runtime, attributes: int | None, pointer: int | None) -> None:
    if attributes is None:
        raise CudaError(INVALID_VALUE)
    device = runtime.arena.of_registered(pointer or 0) or pointer or 0
    kind = runtime.arena.kind_at(device)
    found = PointerAttributes.from_address(attributes)
    ctypes.memset(attributes, 0, ctypes.sizeof(found))
    found.type, found.device = TYPES[kind], -2 if kind is None else 0
    found.device_pointer = device if kind is not None else None
    found.host_pointer = None if kind == "device" else pointer


@function("cudaMemAdvise(const void *pointer, size_t size)", "cudaMemAdvise_v2(const void *pointer, size_t size)")
@function(
    "cudaMemPrefetchAsync(const void *pointer, size_t size)",
    "cudaMemPrefetchAsync_v2(const void *pointer, size_t size)",
)
@function("cudaStreamAttachMemAsync(void *stream, void *pointer)")
def advise(runtime: Runtime, pointer: int | None, size: int | None) -> None:
    """Where bytes lie makes no difference here; what else is passed is not looked at."""
