"""Memory: allocation, pools, what a pointer is. CUDA Runtime API, "Memory Management", "Unified Addressing"."""

from __future__ import annotations

import ctypes
from typing import Any

from ptxsim.cuda.runtime.arena import INVALID_VALUE, SPACE
from ptxsim.cuda.runtime.functions import CudaError, Extent, PitchedPointer, function
from ptxsim.cuda.runtime.state import Runtime
from ptxsim.cuda.runtime.steps import Kind
from ptxsim.cuda.runtime.streams import in_order

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


@function("cudaMalloc(void **pointer, size_t size)", "cudaMallocAsync(void **pointer, size_t size, void *stream)")
@function("cudaMallocFromPoolAsync(void **pointer, size_t size, void *pool, void *stream)")
def malloc(runtime: Runtime, pointer: Any, size: int, *where: int | None) -> None:
    pointer[0] = runtime.arena.allocate(size) if size else None
    if size and where and where[-1] in runtime.captures:
        runtime.graph_memory.add(pointer[0])
        in_order(runtime, where[-1], Kind.ALLOCATE, nothing)


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
    if pointer is not None:
        is_kept = pointer in runtime.graph_memory
        in_order(
            runtime, stream, Kind.FREE, nothing if is_kept else lambda: runtime.arena.free(pointer, "device", "managed")
        )


@function("cudaFreeHost(void *pointer)")
def free_host(runtime: Runtime, pointer: int | None) -> None:
    if pointer is not None:
        runtime.arena.free(pointer, "host")


@function("cudaHostGetDevicePointer(void **device, void *host, unsigned flags)")
def device_pointer(runtime: Runtime, device: Any, host: int | None, flags: int) -> None:
    if host is None or runtime.arena.kind_at(host) != "host":
        raise CudaError(INVALID_VALUE)
    device[0] = host


@function("cudaHostGetFlags(unsigned *flags, void *host)")
def host_flags(runtime: Runtime, flags: Any, host: int | None) -> None:
    if host is None or runtime.arena.kind_at(host) != "host":
        raise CudaError(INVALID_VALUE)
    flags[0] = 2  # cudaHostAllocMapped


@function("cudaHostRegister(void *pointer, size_t size, unsigned flags)")
@function("cudaHostUnregister(void *pointer)")
def host_register(runtime: Runtime, pointer: int | None, size: int = 0, flags: int = 0) -> None:
    """Copies from registered memory are as quick; kernels are given no address of it (cudaDeviceProp says so)."""
    if pointer is None:
        raise CudaError(INVALID_VALUE)


@function("cudaMemGetInfo(size_t *free, size_t *total)")
def memory_info(runtime: Runtime, free: Any, total: Any) -> None:
    free[0], total[0] = SPACE - runtime.arena.memory.allocated, SPACE


@function("cudaPointerGetAttributes(void *attributes, const void *pointer)")
def pointer_attributes(runtime: Runtime, attributes: int | None, pointer: int | None) -> None:
    if attributes is None:
        raise CudaError(INVALID_VALUE)
    kind = runtime.arena.kind_at(pointer or 0)
    found = PointerAttributes.from_address(attributes)
    ctypes.memset(attributes, 0, ctypes.sizeof(found))
    found.type, found.device = TYPES[kind], -2 if kind is None else 0
    found.device_pointer = pointer if kind is not None else None
    found.host_pointer = None if kind == "device" else pointer


@function("cudaMemAdvise(const void *pointer, size_t size)", "cudaMemAdvise_v2(const void *pointer, size_t size)")
@function(
    "cudaMemPrefetchAsync(const void *pointer, size_t size)",
    "cudaMemPrefetchAsync_v2(const void *pointer, size_t size)",
)
@function("cudaStreamAttachMemAsync(void *stream, void *pointer)")
def advise(runtime: Runtime, pointer: int | None, size: int | None) -> None:
    """Where bytes lie makes no difference here; what else is passed is not looked at."""


# ---- pools ----


@function("cudaDeviceGetDefaultMemPool(void **pool, int device)", "cudaDeviceGetMemPool(void **pool, int device)")
@function("cudaMemPoolCreate(void **pool, const void *properties)")
def default_pool(runtime: Runtime, pool: Any, device: Any) -> None:
    pool[0] = runtime.handle()


@function("cudaDeviceSetMemPool(int device, void *pool)", "cudaMemPoolDestroy(void *pool)")
@function(
    "cudaMemPoolSetAttribute(void *pool, int attribute, void *value)", "cudaMemPoolTrimTo(void *pool, size_t size)"
)
@function("cudaMemPoolSetAccess(void *pool, const void *accesses, size_t count)")
def change_pool(runtime: Runtime, *given: Any) -> None:
    """Memory of all pools is one."""


@function("cudaMemPoolGetAttribute(void *pool, int attribute, uint64_t *value)")
def pool_attribute(runtime: Runtime, pool: int | None, attribute: int, value: Any) -> None:
    value[0] = 0
