"""The driver's devices, contexts, memory, streams and events: what `cuda.bindings` and programs on it (numba-cuda, cuda.core) ask.
CUDA Driver API. Most are functions of the runtime by another name; a CUdeviceptr and a pointer are the same eight bytes."""

from __future__ import annotations

import ctypes
from typing import Any

from ptxsim.cuda.runtime import copies, device, memory, pools, registered, streams
from ptxsim.cuda.runtime.arena import SPACE
from ptxsim.cuda.runtime.functions import NOT_SUPPORTED, CudaError, function
from ptxsim.cuda.runtime.properties import values
from ptxsim.cuda.runtime.state import CONTEXT, INVALID_DEVICE, INVALID_VALUE, Runtime

_INVALID_CONTEXT = 201

# ---- the same as a function of the runtime ----

for prototype, body in {
    "int cuDeviceGetCount(int *count)": device.device_count,
    "int cuDeviceGetAttribute(int *value, int attribute, int device)": device.device_attribute,
    "int cuDeviceGetPCIBusId(void *text, int length, int device)": device.bus,
    "int cuDeviceCanAccessPeer(int *can, int device, int peer)": device.can_access_peer,
    "int cuDeviceGetDefaultMemPool(void **pool, int device)": pools.default_pool,
    "int cuDeviceGetMemPool(void **pool, int device)": pools.device_pool,
    "int cuDeviceSetMemPool(int device, void *pool)": pools.set_device_pool,
    "int cuMemPoolCreate(void **pool, const void *properties)": pools.create_pool,
    "int cuMemPoolDestroy(void *pool)": pools.destroy_pool,
    "int cuMemPoolSetAttribute(void *pool, int attribute, void *value)": pools.set_pool_attribute,
    "int cuMemPoolSetAccess(void *pool, const void *accesses, size_t count)": pools.change_pool,
    "int cuMemPoolTrimTo(void *pool, size_t size)": pools.change_pool,
    "int cuMemPoolGetAttribute(void *pool, int attribute, void *value)": pools.pool_attribute,
    "int cuCtxSynchronize()": device.synchronize,
    "int cuCtxGetLimit(size_t *value, int limit)": device.get_limit,
    "int cuCtxSetLimit(int limit, size_t value)": device.set_limit,
    "int cuCtxSetCacheConfig(int configuration)": device.accept,
    "int cuCtxGetStreamPriorityRange(int *least, int *greatest)": streams.priorities,
    "int cuProfilerStart()": device.accept,
    "int cuProfilerStop()": device.accept,
    "int cuMemAlloc_v2(void **pointer, size_t size)": memory.malloc,
    "int cuMemAllocAsync(void **pointer, size_t size, void *stream)": memory.malloc_async,
    "int cuMemAllocFromPoolAsync(void **pointer, size_t size, void *pool, void *stream)": memory.malloc_of_pool,
    "int cuMemAllocManaged(void **pointer, size_t size, unsigned flags)": memory.malloc_managed,
    "int cuMemAllocHost_v2(void **pointer, size_t size)": memory.malloc_host,
    "int cuMemHostAlloc(void **pointer, size_t size, unsigned flags)": memory.malloc_host,
    "int cuMemFree_v2(void *pointer)": memory.free,
    "int cuMemFreeAsync(void *pointer, void *stream)": memory.free,
    "int cuMemFreeHost(void *pointer)": memory.free_host,
    "int cuMemHostGetDevicePointer_v2(void **device, void *host, unsigned flags)": registered.device_pointer,
    "int cuMemHostRegister_v2(void *pointer, size_t size, unsigned flags)": registered.register,
    "int cuMemHostUnregister(void *pointer)": registered.unregister,
    "int cuMemAdvise(const void *pointer, size_t size)": memory.advise,
    "int cuMemAdvise_v2(const void *pointer, size_t size)": memory.advise,
    "int cuMemPrefetchAsync(const void *pointer, size_t size)": memory.advise,
    "int cuMemPrefetchAsync_v2(const void *pointer, size_t size)": memory.advise,
    "int cuStreamAttachMemAsync(void *stream, void *pointer)": memory.advise,
    "int cuMemPoolGetAccess(int *access, void *pool, const void *location)": pools.pool_access,
    "int cuMemGetInfo_v2(size_t *free, size_t *total)": memory.memory_info,
    "int cuStreamCreate(void **stream, unsigned flags)": streams.create_stream,
    "int cuStreamCreateWithPriority(void **stream, unsigned flags, int priority)": streams.create_stream,
    "int cuStreamDestroy_v2(void *stream)": streams.destroy_stream,
    "int cuStreamSynchronize(void *stream)": streams.synchronize_stream,
    "int cuStreamQuery(void *stream)": streams.synchronize_stream,
    "int cuStreamWaitEvent(void *stream, void *event, unsigned flags)": streams.wait_event,
    "int cuStreamGetFlags(void *stream, unsigned *flags)": streams.stream_flags,
    "int cuStreamGetPriority(void *stream, int *priority)": streams.stream_priority,
    "int cuStreamGetId(void *stream, uint64_t *id)": streams.stream_id,
    "int cuStreamGetDevice(void *stream, int *device)": streams.stream_device,
    "int cuStreamSetAttribute(void *stream, int attribute, const void *value)": streams.set_stream_attribute,
    "int cuStreamCopyAttributes(void *stream, void *other)": streams.set_stream_attribute,
    "int cuStreamIsCapturing(void *stream, int *status)": streams.is_capturing,
    "int cuStreamAddCallback(void *stream, void *function, void *data, unsigned flags)": streams.add_callback,
    "int cuLaunchHostFunc(void *stream, void *function, void *data)": streams.launch_host,
    "int cuEventCreate(void **event, unsigned flags)": streams.create_event,
    "int cuEventDestroy_v2(void *event)": streams.destroy_event,
    "int cuEventRecord(void *event, void *stream)": streams.record_event,
    "int cuEventRecordWithFlags(void *event, void *stream, unsigned flags)": streams.record_event,
    "int cuEventSynchronize(void *event)": streams.synchronize_event,
    "int cuEventQuery(void *event)": streams.synchronize_event,
    "int cuEventElapsedTime(float *milliseconds, void *start, void *end)": streams.elapsed_time,
    "int cuEventElapsedTime_v2(float *milliseconds, void *start, void *end)": streams.elapsed_time,
}.items():
    function(prototype)(body)


# ---- devices and the context ----


@function("int cuDeviceGet(int *device, int ordinal)")
def get_device(runtime: Runtime, answer: Any, ordinal: int) -> None:
    runtime.check_device(ordinal)
    answer[0] = 0


@function("int cuDeviceGetName(void *name, int length, int device)")
def device_name(runtime: Runtime, name: int | None, length: int, number: int) -> None:
    runtime.check_device(number)
    if name is None or length < 1:
        raise CudaError(INVALID_VALUE)
    text: bytes = values(runtime.target)["name"][: length - 1]
    ctypes.memmove(name, text + b"\0", len(text) + 1)


@function("int cuDeviceGetUuid(void *uuid, int device)", "int cuDeviceGetUuid_v2(void *uuid, int device)")
def device_uuid(runtime: Runtime, uuid: int | None, number: int) -> None:
    runtime.check_device(number)
    if uuid is None:
        raise CudaError(INVALID_VALUE)
    ctypes.memmove(uuid, b"ptxsim".ljust(16, b"\0"), 16)


@function("int cuDeviceTotalMem_v2(size_t *bytes, int device)")
def total_memory(runtime: Runtime, size: Any, number: int) -> None:
    runtime.check_device(number)
    size[0] = SPACE


@function("int cuDeviceComputeCapability(int *major, int *minor, int device)")
def capability(runtime: Runtime, major: Any, minor: Any, number: int) -> None:
    runtime.check_device(number)
    major[0], minor[0] = divmod(runtime.target.number, 10)


@function("int cuDevicePrimaryCtxRetain(void **context, int device)")
def retain(runtime: Runtime, context: Any, number: int) -> None:
    runtime.check_device(number)
    context[0] = CONTEXT


@function("int cuDevicePrimaryCtxRelease_v2(int device)", "int cuDevicePrimaryCtxReset_v2(int device)")
@function("int cuDevicePrimaryCtxSetFlags_v2(int device, unsigned flags)")
def release(runtime: Runtime, number: int, flags: int = 0) -> None:
    runtime.check_device(number)


@function("int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active)")
def context_state(runtime: Runtime, number: int, flags: Any, active: Any) -> None:
    runtime.check_device(number)
    flags[0], active[0] = 0, int(bool(runtime.contexts))


@function("int cuCtxCreate_v4(void **context, void *parameters, unsigned flags, int device)")
def create(runtime: Runtime, context: Any, parameters: int | None, flags: int, number: int) -> None:
    """There is one context; a program that makes one has it."""
    runtime.check_device(number)
    context[0] = CONTEXT
    runtime.contexts.append(CONTEXT)


@function("int cuCtxCreate_v2(void **context, unsigned flags, int device)")
def create_without(runtime: Runtime, context: Any, flags: int, number: int) -> None:
    create(runtime, context, None, flags, number)


@function("int cuCtxDestroy_v2(void *context)")
def destroy(runtime: Runtime, context: int | None) -> None:
    if context != CONTEXT:
        raise CudaError(_INVALID_CONTEXT)
    del runtime.contexts[-1:]


@function("int cuCtxGetCurrent(void **context)")
def current(runtime: Runtime, context: Any) -> None:
    context[0] = runtime.contexts[-1] if runtime.contexts else None


@function("int cuCtxSetCurrent(void *context)")
def set_current(runtime: Runtime, context: int | None) -> None:
    del runtime.contexts[-1:]
    if context:
        runtime.contexts.append(context)


@function("int cuCtxPushCurrent_v2(void *context)")
def push(runtime: Runtime, context: int | None) -> None:
    if context != CONTEXT:
        raise CudaError(_INVALID_CONTEXT)
    runtime.contexts.append(context)


@function("int cuCtxPopCurrent_v2(void **context)")
def pop(runtime: Runtime, context: Any) -> None:
    if not runtime.contexts:
        raise CudaError(_INVALID_CONTEXT)
    found = runtime.contexts.pop()
    if context:
        context[0] = found


@function("int cuCtxGetDevice(int *device)")
def context_device(runtime: Runtime, number: Any) -> None:
    if not runtime.contexts:
        raise CudaError(_INVALID_CONTEXT)
    number[0] = 0


@function("int cuCtxGetApiVersion(void *context, unsigned *version)")
def context_version(runtime: Runtime, context: int | None, version: Any) -> None:
    version[0] = 1000 * runtime.version


@function("int cuCtxGetFlags(unsigned *flags)")
def context_flags(runtime: Runtime, flags: Any) -> None:
    flags[0] = 0


@function("int cuStreamGetCtx(void *stream, void **context)")
def stream_context(runtime: Runtime, stream: int | None, context: Any) -> None:
    streams.check_stream(runtime, stream)
    context[0] = CONTEXT


# ---- memory ----


@function("int cuMemcpy(void *to, void *from, size_t size)")
@function("int cuMemcpyAsync(void *to, void *from, size_t size, void *stream)")
def copy(runtime: Runtime, to: int | None, source: int | None, size: int, stream: int | None = None) -> None:
    copies.memcpy(runtime, to, source, size, copies.DEFAULT, stream)


@function("int cuMemcpyHtoD_v2(void *to, const void *from, size_t size)")
@function("int cuMemcpyHtoDAsync_v2(void *to, const void *from, size_t size, void *stream)")
def copy_in(runtime: Runtime, to: int | None, source: int | None, size: int, stream: int | None = None) -> None:
    copies.memcpy(runtime, to, source, size, copies.HOST_TO_DEVICE, stream)


@function("int cuMemcpyDtoH_v2(void *to, void *from, size_t size)")
@function("int cuMemcpyDtoHAsync_v2(void *to, void *from, size_t size, void *stream)")
def copy_out(runtime: Runtime, to: int | None, source: int | None, size: int, stream: int | None = None) -> None:
    copies.memcpy(runtime, to, source, size, copies.DEVICE_TO_HOST, stream)


@function("int cuMemcpyDtoD_v2(void *to, void *from, size_t size)")
@function("int cuMemcpyDtoDAsync_v2(void *to, void *from, size_t size, void *stream)")
def copy_within(runtime: Runtime, to: int | None, source: int | None, size: int, stream: int | None = None) -> None:
    copies.memcpy(runtime, to, source, size, copies.DEVICE_TO_DEVICE, stream)


@function("int cuMemGetAddressRange_v2(void **base, size_t *size, void *pointer)")
def address_range(runtime: Runtime, base: Any, size: Any, pointer: int | None) -> None:
    start, length = _range(runtime, pointer)
    if base:
        base[0] = start
    if size:
        size[0] = length


def _range(runtime: Runtime, pointer: int | None) -> tuple[int, int]:
    """Address and bytes of the allocation that a pointer lies in. Raises CudaError."""
    start = runtime.arena.holder_of(pointer or 0, 1)
    if start is None:
        raise CudaError(INVALID_VALUE)
    holder = runtime.arena.memory.holder(start)
    assert holder is not None
    return start, holder.size


# CUpointer_attribute: what is written, and how.
_MEMORY_TYPES = {"host": 1, "device": 2, "managed": 2}
_UNSIGNED, _POINTER = ctypes.c_uint32, ctypes.c_uint64


@function("int cuPointerGetAttribute(void *data, int attribute, void *pointer)")
def pointer_attribute(runtime: Runtime, data: int | None, attribute: int, pointer: int | None) -> None:
    if data is None:
        raise CudaError(INVALID_VALUE)
    kind = runtime.arena.kind_at(pointer or 0)
    if kind is None:
        raise CudaError(INVALID_VALUE)
    start, size = _range(runtime, pointer)
    found: dict[int, tuple[Any, int]] = {
        1: (_POINTER, CONTEXT), 2: (_UNSIGNED, _MEMORY_TYPES[kind]), 3: (_POINTER, pointer or 0), 7: (_POINTER, start),
        8: (ctypes.c_bool, kind == "managed"), 9: (_UNSIGNED, 0), 11: (_POINTER, start), 12: (_POINTER, size),
        13: (ctypes.c_bool, True),
    }  # fmt: skip
    if kind != "device":
        found[4] = _POINTER, pointer or 0
    if attribute not in found:
        raise CudaError(INVALID_VALUE if attribute == 4 else NOT_SUPPORTED)
    cell, value = found[attribute]
    cell.from_address(data).value = value


@function("int cuDeviceGetByPCIBusId(int *device, const char *text)")
def device_by_bus(runtime: Runtime, answer: Any, text: bytes) -> None:
    device.device_by_bus(runtime, answer, text)


@function("int cuCtxEnablePeerAccess(void *peer, unsigned flags)")
def enable_peer(runtime: Runtime, peer: int | None, flags: int) -> None:
    raise CudaError(INVALID_DEVICE)
