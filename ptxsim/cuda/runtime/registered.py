"""Memory of the host that the program makes the device's too. CUDA Runtime API, "Memory Management".

Its pages become pages of device memory, with the bytes that they hold; the host finds them where they were.
"""

from __future__ import annotations

from typing import Any

from ptxsim.cuda.runtime.functions import CudaError, NotModeled, function
from ptxsim.cuda.runtime.state import INVALID_VALUE, Runtime

ALREADY_REGISTERED, NOT_REGISTERED = 712, 713
_MAPPED = 2  # cudaHostAllocMapped
_FLAGS = 0xF  # portable, mapped, I/O memory, read only


@function("cudaHostRegister(void *pointer, size_t size, unsigned flags)")
def register(runtime: Runtime, pointer: int | None, size: int, flags: int) -> None:
    if pointer is None or not size or flags & ~_FLAGS:
        raise CudaError(INVALID_VALUE)
    if pointer in runtime.registered or runtime.arena.kind_at(pointer) is not None:
        raise CudaError(ALREADY_REGISTERED)
    runtime.registered[pointer] = runtime.arena.adopt(pointer, size)


@function("cudaHostUnregister(void *pointer)")
def unregister(runtime: Runtime, pointer: int | None) -> None:
    if pointer not in runtime.registered:
        raise CudaError(NOT_REGISTERED)
    if runtime.registered.pop(pointer or 0):
        runtime.arena.give_back(pointer or 0)


@function("cudaHostGetDevicePointer(void **device, void *host, unsigned flags)")
def device_pointer(runtime: Runtime, device: Any, host: int | None, flags: int) -> None:
    device[0] = _on_device(runtime, host)


@function("cudaHostGetFlags(unsigned *flags, void *host)")
def host_flags(runtime: Runtime, flags: Any, host: int | None) -> None:
    _on_device(runtime, host)
    flags[0] = _MAPPED


def _on_device(runtime: Runtime, host: int | None) -> int:
    """The device's address of memory of the host. Raises CudaError."""
    if host is None:
        raise CudaError(INVALID_VALUE)
    if runtime.arena.kind_at(host) == "host":
        return host
    found = runtime.arena.of_registered(host)
    if found is None:
        if host in runtime.registered:
            raise NotModeled(
                "cudaHostRegister",
                "cudaHostRegister: kernels are given no address of memory that shares a page with other registered memory, "
                "or that is a file's or another process's too",
            )
        raise CudaError(INVALID_VALUE)
    return found
