"""The device and the library itself: properties, attributes, limits, versions, errors. CUDA Runtime API, "Device Management",
"Error Handling", "Version Management"."""

from __future__ import annotations

import ctypes
from typing import Any

from ptxsim.cuda.runtime.functions import NOT_SUPPORTED, CudaError, NotModeled, function
from ptxsim.cuda.runtime.properties import attribute, fill
from ptxsim.cuda.runtime.state import INVALID_DEVICE, INVALID_VALUE, Runtime, errors
from ptxsim.machine.heap import HEAP_BYTES

_MINOR = {12: 12090, 13: 13000}  # the version that a runtime and its driver say they are
_STACK, _PRINTF, _HEAP = 0, 1, 2  # cudaLimit
_LIMITS = {_STACK: 1024, _PRINTF: 1 << 20, _HEAP: HEAP_BYTES}  # where the program sets no other
# Of functions that are not here, by parts of their names: why not.
_NOT_MODELED = {
    "Tex": "textures and surfaces are",
    "Surf": "textures and surfaces are",
    "ChannelDesc": "textures and surfaces are",
    "Array": "arrays, which textures and surfaces read, are",
    "Mipmapped": "textures and surfaces are",
    "GL": "graphics is",
    "Graphics": "graphics is",
    "EGL": "graphics is",
    "VDPAU": "graphics is",
    "External": "memory of other programs is",
    "Ipc": "memory of other programs is",
    "Conditional": "conditional nodes of graphs are",
}


@function("cudaGetDeviceCount(int *count)")
def device_count(runtime: Runtime, count: Any) -> None:
    count[0] = 1


@function("cudaGetDevice(int *device)", "cudaGetDeviceFlags(unsigned *flags)")
def zero(runtime: Runtime, answer: Any) -> None:
    answer[0] = 0


@function("cudaSetDevice(int device)", "cudaInitDevice(int device, unsigned device_flags, unsigned flags)")
def set_device(runtime: Runtime, device: int, *flags: int) -> None:
    runtime.check_device(device)


@function("cudaSetDeviceFlags(unsigned flags)", "cudaDeviceSetCacheConfig(int configuration)")
@function("cudaDeviceSetSharedMemConfig(int configuration)", "cudaSetValidDevices(int *devices, int count)")
@function("cudaCtxResetPersistingL2Cache()", "cudaProfilerStart()", "cudaProfilerStop()")
def accept(runtime: Runtime, *given: Any) -> None:
    """Settings without an effect here."""


@function("cudaDeviceGetCacheConfig(int *configuration)", "cudaDeviceGetSharedMemConfig(int *configuration)")
def no_preference(runtime: Runtime, configuration: Any) -> None:
    configuration[0] = 0


@function("cudaChooseDevice(int *device, const void *properties)")
def choose_device(runtime: Runtime, device: Any, properties: int | None) -> None:
    device[0] = 0


@function("cudaGetDeviceProperties(void *properties, int device)")
@function("cudaGetDeviceProperties_v2(void *properties, int device)")
def device_properties(runtime: Runtime, properties: int | None, device: int) -> None:
    runtime.check_device(device)
    if properties is None:
        raise CudaError(INVALID_VALUE)
    fill(properties, runtime.target, runtime.version)


@function("cudaDeviceGetAttribute(int *value, int attribute, int device)")
def device_attribute(runtime: Runtime, value: Any, number: int, device: int) -> None:
    runtime.check_device(device)
    found = attribute(number, runtime.target)
    if found is None:
        raise CudaError(INVALID_VALUE)
    value[0] = found


@function("cudaDeviceGetLimit(size_t *value, int limit)")
def get_limit(runtime: Runtime, value: Any, limit: int) -> None:
    value[0] = runtime.limits.get(limit, _LIMITS.get(limit, 0))


@function("cudaDeviceSetLimit(int limit, size_t value)")
def set_limit(runtime: Runtime, limit: int, value: int) -> None:
    if limit == _HEAP and not runtime.arena.memory.size_heap(value):
        raise CudaError(INVALID_VALUE, "the size of device code's heap is set before a kernel calls malloc")
    runtime.limits[limit] = value


@function("cudaDeviceGetPCIBusId(void *text, int length, int device)")
def bus(runtime: Runtime, text: int | None, length: int, device: int) -> None:
    runtime.check_device(device)
    name = b"0000:00:00.0\0"
    if text is None or length < len(name):
        raise CudaError(INVALID_VALUE)
    ctypes.memmove(text, name, len(name))


@function("cudaDeviceGetByPCIBusId(int *device, const char *text)")
def device_by_bus(runtime: Runtime, device: Any, text: bytes) -> None:
    if text != b"0000:00:00.0":
        raise CudaError(INVALID_DEVICE)
    device[0] = 0


@function("cudaDeviceCanAccessPeer(int *can, int device, int peer)")
def can_access_peer(runtime: Runtime, can: Any, device: int, peer: int) -> None:
    runtime.check_device(device)
    runtime.check_device(peer)
    can[0] = 0


@function("cudaDeviceEnablePeerAccess(int peer, unsigned flags)", "cudaDeviceDisablePeerAccess(int peer)")
def enable_peer(runtime: Runtime, peer: int, flags: int = 0) -> None:
    raise CudaError(INVALID_DEVICE if flags == 0 else INVALID_VALUE)


@function("cudaDeviceSynchronize()", "cudaThreadSynchronize()")
def synchronize(runtime: Runtime) -> None:
    """Launches are over when their call returns; an error that one has left is returned here."""
    runtime.in_flight.synchronise_all()


@function("cudaDeviceReset()", "cudaThreadExit()", is_plain=True)
def reset(runtime: Runtime) -> int:
    runtime.last = runtime.sticky = 0
    return 0


@function("cudaDriverGetVersion(int *version)", "cudaRuntimeGetVersion(int *version)")
def version(runtime: Runtime, answer: Any) -> None:
    answer[0] = _MINOR[runtime.version]


# ---- errors ----


@function("cudaGetLastError()", is_plain=True)
def last_error(runtime: Runtime) -> int:
    last, runtime.last = runtime.last, runtime.sticky
    return last


@function("cudaPeekAtLastError()", is_plain=True)
def peek_error(runtime: Runtime) -> int:
    return runtime.last


def error_text(runtime: Runtime, error: int, which: int) -> int:
    """The address of an error's name (0), of its message (1) or of the driver's name of it (2)."""
    text = errors().get(error, (b"unrecognized error code",) * 3)[which]
    if (error, which) not in runtime.texts:
        runtime.texts[error, which] = ctypes.create_string_buffer(text)
    return ctypes.addressof(runtime.texts[error, which])


@function("char *cudaGetErrorName(cudaError_t error)", is_plain=True)
def error_name(runtime: Runtime, error: int) -> int:
    return error_text(runtime, error, 0)


@function("char *cudaGetErrorString(cudaError_t error)", is_plain=True)
def error_string(runtime: Runtime, error: int) -> int:
    return error_text(runtime, error, 1)


# ---- what the C side calls ----


@function("ptxsim_missing(const char *name)")
def missing(runtime: Runtime, name: bytes) -> None:
    """A function of the runtime's or the driver's that is not here is called."""
    if name not in runtime.missing:
        runtime.missing.add(name)
        text = name.decode()
        why = next((f" ({words} not modeled)" for part, words in _NOT_MODELED.items() if part in text), "")
        raise NotModeled(text, f"{text} is not provided{why}")
    raise CudaError(NOT_SUPPORTED)


@function("int ptxsim_init_module(void *handle)", is_plain=True)
def init_module(runtime: Runtime, handle: int) -> int:
    """The host is about to use a binary's managed variables: they are placed where both sides reach them."""
    for host, symbol in runtime.binaries.managed(handle):
        cell = ctypes.c_void_p.from_address(host)
        address, size = runtime.loaded(handle).variable(symbol.name)
        if runtime.arena.kinds.get(address) != "managed":
            runtime.arena.kinds[address] = "managed"
            runtime.arena.share(address, size)
        cell.value = address
    return 0


@function("int ptxsim_finish()", is_plain=True)
def finish(runtime: Runtime) -> int:
    """The program exits."""
    runtime.collector.finish(runtime.remarks)
    return 0
