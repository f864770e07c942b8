"""Pools of memory. CUDA Runtime API, "Stream Ordered Memory Allocator".

Memory of all pools is one; a pool counts what has been allocated of it, and keeps what the program sets.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from typing import Any

from ptxsim.cuda.runtime.functions import CudaError, function
from ptxsim.cuda.runtime.state import INVALID_VALUE, Runtime

# cudaMemPoolAttr: what a new pool has. The first three are int, the others uint64_t.
_REUSE_EVENTS, _REUSE_OPPORTUNISTIC, _REUSE_INTERNAL, _THRESHOLD = 1, 2, 3, 4
_RESERVED, _RESERVED_MOST, _USED, _USED_MOST = 5, 6, 7, 8
_NEW = {_REUSE_EVENTS: 1, _REUSE_OPPORTUNISTIC: 1, _REUSE_INTERNAL: 1, _THRESHOLD: 0}


@dataclass
class Pool:
    """`used`: bytes that are allocated now; `most`: at one time."""

    settings: dict[int, int] = field(default_factory=lambda: dict(_NEW))
    used: int = 0
    most: int = 0
    allocations: dict[int, int] = field(default_factory=dict)  # bytes by address

    def add(self, address: int, size: int) -> None:
        self.allocations[address] = size
        self.used += size
        self.most = max(self.most, self.used)

    def value(self, attribute: int) -> int:
        """Raises CudaError. What is freed is given back at once, so what a pool holds is what is used."""
        if attribute in (_RESERVED, _USED):
            return self.used
        if attribute in (_RESERVED_MOST, _USED_MOST):
            return self.most
        if attribute not in self.settings:
            raise CudaError(INVALID_VALUE)
        return self.settings[attribute]


class Pools:
    """The pools of a process; `current` is what allocations that name none are of, `default` the one that is always there."""

    def __init__(self, runtime: Runtime):
        self.default = self.current = runtime.handle()
        self.by_handle = {self.default: Pool()}

    def of(self, handle: int | None) -> Pool:
        """Raises CudaError."""
        found = self.by_handle.get(handle or 0)
        if found is None:
            raise CudaError(INVALID_VALUE)
        return found

    def freed(self, address: int) -> None:
        """Memory is freed, of a pool or not."""
        for pool in self.by_handle.values():
            pool.used -= pool.allocations.pop(address, 0)


def pools(runtime: Runtime) -> Pools:
    """The pools of a program."""
    found: Pools = runtime.pools or Pools(runtime)
    runtime.pools = found
    return found


@function("cudaDeviceGetDefaultMemPool(void **pool, int device)")
def default_pool(runtime: Runtime, pool: Any, device: int) -> None:
    runtime.check_device(device)
    pool[0] = pools(runtime).default


@function("cudaDeviceGetMemPool(void **pool, int device)")
def device_pool(runtime: Runtime, pool: Any, device: int) -> None:
    runtime.check_device(device)
    pool[0] = pools(runtime).current


@function("cudaDeviceSetMemPool(int device, void *pool)")
def set_device_pool(runtime: Runtime, device: int, pool: int | None) -> None:
    runtime.check_device(device)
    pools(runtime).of(pool)
    pools(runtime).current = pool or 0


@function("cudaMemPoolCreate(void **pool, const void *properties)")
def create_pool(runtime: Runtime, pool: Any, properties: int | None) -> None:
    if properties is None:
        raise CudaError(INVALID_VALUE)
    pool[0] = runtime.handle()
    pools(runtime).by_handle[pool[0]] = Pool()


@function("cudaMemPoolDestroy(void *pool)")
def destroy_pool(runtime: Runtime, pool: int | None) -> None:
    """What is still allocated of it stays until it is freed."""
    found = pools(runtime)
    found.of(pool)
    if pool == found.default:
        raise CudaError(INVALID_VALUE)
    del found.by_handle[pool or 0]
    if found.current == pool:
        found.current = found.default


@function("cudaMemPoolTrimTo(void *pool, size_t size)")
@function("cudaMemPoolSetAccess(void *pool, const void *accesses, size_t count)")
def change_pool(runtime: Runtime, pool: int | None, *given: Any) -> None:
    """Nothing is kept back, and there is one device."""
    pools(runtime).of(pool)


@function("cudaMemPoolGetAccess(int *access, void *pool, const void *location)")
def pool_access(runtime: Runtime, access: Any, pool: int | None, location: int | None) -> None:
    pools(runtime).of(pool)
    access[0] = 3  # cudaMemAccessFlagsProtReadWrite


@function("cudaMemPoolGetAttribute(void *pool, int attribute, void *value)")
def pool_attribute(runtime: Runtime, pool: int | None, attribute: int, value: int | None) -> None:
    found = pools(runtime).of(pool).value(attribute)
    _cell(attribute, value).value = found


@function("cudaMemPoolSetAttribute(void *pool, int attribute, void *value)")
def set_pool_attribute(runtime: Runtime, pool: int | None, attribute: int, value: int | None) -> None:
    found, given = pools(runtime).of(pool), _cell(attribute, value).value
    if attribute in (_RESERVED_MOST, _USED_MOST) and given == 0:
        found.most = found.used  # as the manual says: counted anew
    elif attribute in found.settings:
        found.settings[attribute] = given
    else:
        raise CudaError(INVALID_VALUE)


def _cell(attribute: int, pointer: int | None) -> Any:
    """Where the program has the value of an attribute."""
    if pointer is None:
        raise CudaError(INVALID_VALUE)
    return (ctypes.c_int if attribute < _THRESHOLD else ctypes.c_uint64).from_address(pointer)
