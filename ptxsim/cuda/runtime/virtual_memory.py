"""Addresses that a program reserves and maps memory to. CUDA Driver API, "Virtual Memory Management".

Kernels and copies reach what is mapped and has been made accessible (`cuMemSetAccess`); mappings beside each other are one piece. The
host reaches memory of its own that has been made accessible to it. Memory is mapped at one place at a time. What it holds stays with its handle while it is mapped nowhere.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ptxsim.cuda.runtime.functions import CudaError, NotModeled, function
from ptxsim.cuda.runtime.state import INVALID_VALUE, OUT_OF_MEMORY, Runtime

GRANULARITY = 2 << 20  # of sizes and addresses, as an H200 says it
_PINNED, _DEVICE = 1, 1  # CUmemAllocationType, CUmemLocationType
_HOSTS = (2, 3, 4)  # CUmemLocationType: the host, one of its nodes, the node of this thread
_NONE, _READ, _READ_WRITE = 0, 1, 3  # CUmemAccess_flags


class Location(ctypes.Structure):
    """CUmemLocation."""

    _fields_ = [("type", ctypes.c_int), ("id", ctypes.c_int)]


class Properties(ctypes.Structure):
    """CUmemAllocationProp."""

    _fields_ = [
        ("type", ctypes.c_int), ("handle_types", ctypes.c_int), ("location", Location), ("metadata", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
    ]  # fmt: skip


class Access(ctypes.Structure):
    """CUmemAccessDesc."""

    _fields_ = [("location", Location), ("flags", ctypes.c_int)]


@dataclass(eq=False)
class Memory:
    """What cuMemCreate gives. `references` of the program; `held`: the bytes while it is mapped nowhere."""

    size: int
    properties: Properties
    references: int = 1
    held: np.ndarray | None = None
    is_mapped: bool = False


@dataclass
class Mapping:
    """Memory at an address. `access`: CUmemAccess_flags."""

    address: int
    memory: Memory
    access: int = _NONE

    @property
    def end(self) -> int:
        return self.address + self.memory.size


@dataclass
class VirtualMemory:
    """What a program has reserved (bytes by address), created (by handle) and mapped (by address)."""

    reserved: dict[int, int] = field(default_factory=dict)
    created: dict[int, Memory] = field(default_factory=dict)
    mapped: dict[int, Mapping] = field(default_factory=dict)

    def of(self, handle: int) -> Memory:
        """Raises CudaError."""
        if handle not in self.created:
            raise CudaError(INVALID_VALUE)
        return self.created[handle]

    def reservation(self, address: int, size: int) -> int:
        """The address of the reservation that bytes lie in. Raises CudaError."""
        for start, length in self.reserved.items():
            if start <= address and address + size <= start + length:
                return start
        raise CudaError(INVALID_VALUE)

    def inside(self, address: int, size: int) -> list[Mapping]:
        """The mappings that fill bytes from the first to the last. Raises CudaError where these do not."""
        found = [self.mapped[at] for at in sorted(self.mapped) if address <= at < address + size]
        ends = [address, *(mapping.end for mapping in found)]
        if not found or ends[:-1] != [mapping.address for mapping in found] or ends[-1] != address + size:
            raise CudaError(INVALID_VALUE)
        return found

    def pieces(self, start: int) -> list[tuple[int, int, bool]]:
        """Address, bytes and whether it is for reading alone, of what is accessible in one piece of a reservation."""
        runs: list[list[Mapping]] = []
        for at in sorted(at for at in self.mapped if start <= at < start + self.reserved[start]):
            mapping, before = self.mapped[at], runs[-1][-1] if runs else None
            if before and (before.end, before.access) == (at, mapping.access):
                runs[-1].append(mapping)
            else:
                runs.append([mapping])
        return [(run[0].address, run[-1].end - run[0].address, run[0].access == _READ) for run in runs if run[0].access]


def _known(runtime: Runtime) -> VirtualMemory:
    found: VirtualMemory = runtime.virtual_memory or VirtualMemory()
    runtime.virtual_memory = found
    return found


def _lay(runtime: Runtime, start: int) -> None:
    """Let kernels and copies reach what is accessible of a reservation."""
    known = _known(runtime)
    runtime.arena.memory.divide(start, known.reserved[start], "device memory", known.pieces(start))


def _check(*sizes: int) -> None:
    if any(size % GRANULARITY for size in sizes):
        raise CudaError(INVALID_VALUE)


@function("int cuMemGetAllocationGranularity(size_t *granularity, const void *properties, int option)")
def granularity(runtime: Runtime, answer: Any, properties: int | None, option: int) -> None:
    if properties is None or option not in (0, 1):
        raise CudaError(INVALID_VALUE)
    answer[0] = GRANULARITY


@function("int cuMemAddressReserve(void **pointer, size_t size, size_t alignment, void *wanted, uint64_t flags)")
def reserve(runtime: Runtime, pointer: Any, size: int, alignment: int, wanted: int | None, flags: int) -> None:
    """What address the program would like makes no difference."""
    _check(size, alignment)
    if not size or flags or alignment & (alignment - 1):
        raise CudaError(INVALID_VALUE)
    try:
        start = runtime.arena.memory.set_aside(size, max(alignment, GRANULARITY))
    except MemoryError:
        raise CudaError(OUT_OF_MEMORY) from None
    _known(runtime).reserved[start] = size
    pointer[0] = start


@function("int cuMemAddressFree(void *pointer, size_t size)")
def free(runtime: Runtime, pointer: int | None, size: int) -> None:
    known, start = _known(runtime), pointer or 0
    if known.reserved.get(start) != size or any(start <= at < start + size for at in known.mapped):
        raise CudaError(INVALID_VALUE)
    del known.reserved[start]
    del runtime.arena.memory.aside[start]


@function("int cuMemCreate(uint64_t *handle, size_t size, const void *properties, uint64_t flags)")
def create(runtime: Runtime, handle: Any, size: int, properties: int | None, flags: int) -> None:
    _check(size)
    if not size or flags or properties is None:
        raise CudaError(INVALID_VALUE)
    wanted = Properties.from_buffer_copy(ctypes.string_at(properties, ctypes.sizeof(Properties)))
    if wanted.type != _PINNED:
        raise CudaError(INVALID_VALUE)
    if wanted.location.type == _DEVICE:
        runtime.check_device(wanted.location.id)
    elif wanted.location.type not in _HOSTS:
        raise CudaError(INVALID_VALUE)
    handle[0] = runtime.handle()
    _known(runtime).created[handle[0]] = Memory(size, wanted)


@function("int cuMemRelease(uint64_t handle)")
def release(runtime: Runtime, handle: int) -> None:
    """What is mapped stays until it is unmapped."""
    known = _known(runtime)
    memory = known.of(handle)
    memory.references -= 1
    if not memory.references:
        del known.created[handle]


@function("int cuMemMap(void *pointer, size_t size, size_t offset, uint64_t handle, uint64_t flags)")
def map_memory(runtime: Runtime, pointer: int | None, size: int, offset: int, handle: int, flags: int) -> None:
    known, address = _known(runtime), pointer or 0
    memory = known.of(handle)
    _check(address, size)
    if offset or flags or size != memory.size:
        raise CudaError(INVALID_VALUE)
    start = known.reservation(address, size)
    if any(mapping.address < address + size and address < mapping.end for mapping in known.mapped.values()):
        raise CudaError(INVALID_VALUE)
    if memory.is_mapped:
        raise NotModeled("cuMemMap", "cuMemMap: memory that is mapped at two places at a time is not modeled")
    memory.is_mapped = True
    known.mapped[address] = Mapping(address, memory)
    if memory.held is not None:
        runtime.arena.memory.put(address, memory.held)
        memory.held = None
    _lay(runtime, start)


@function("int cuMemUnmap(void *pointer, size_t size)")
def unmap(runtime: Runtime, pointer: int | None, size: int) -> None:
    known = _known(runtime)
    for mapping in known.inside(pointer or 0, size):
        memory = mapping.memory
        held = runtime.arena.memory.take_out(mapping.address, memory.size, "device memory")
        memory.held, memory.is_mapped = held if memory.references else None, False
        runtime.arena.hide(mapping.address, memory.size)
        del known.mapped[mapping.address]
    _lay(runtime, known.reservation(pointer or 0, size))


@function("int cuMemSetAccess(void *pointer, size_t size, const void *wanted, size_t count)")
def set_access(runtime: Runtime, pointer: int | None, size: int, wanted: int | None, count: int) -> None:
    known = _known(runtime)
    found = known.inside(pointer or 0, size)
    if wanted is None or not count:
        raise CudaError(INVALID_VALUE)
    for access in (Access * count).from_address(wanted):
        if access.flags not in (_NONE, _READ, _READ_WRITE):
            raise CudaError(INVALID_VALUE)
        if access.location.type == _DEVICE:
            runtime.check_device(access.location.id)
            for mapping in found:
                mapping.access = access.flags
        elif any(mapping.memory.properties.location.type not in _HOSTS for mapping in found):
            raise CudaError(INVALID_VALUE)
        elif access.flags:
            runtime.arena.share(pointer or 0, size)
        else:
            runtime.arena.hide(pointer or 0, size)
    _lay(runtime, known.reservation(pointer or 0, size))


def _at(runtime: Runtime, pointer: int | None) -> Mapping:
    for mapping in _known(runtime).mapped.values():
        if mapping.address <= (pointer or 0) < mapping.end:
            return mapping
    raise CudaError(INVALID_VALUE)


@function("int cuMemGetAccess(uint64_t *flags, const void *location, void *pointer)")
def get_access(runtime: Runtime, flags: Any, location: int | None, pointer: int | None) -> None:
    flags[0] = _at(runtime, pointer).access


@function("int cuMemRetainAllocationHandle(uint64_t *handle, void *pointer)")
def retain(runtime: Runtime, handle: Any, pointer: int | None) -> None:
    known, memory = _known(runtime), _at(runtime, pointer).memory
    number = next((number for number, one in known.created.items() if one is memory), None)
    handle[0] = runtime.handle() if number is None else number
    known.created[handle[0]] = memory
    memory.references += 1


@function("int cuMemGetAllocationPropertiesFromHandle(void *properties, uint64_t handle)")
def properties_of(runtime: Runtime, properties: int | None, handle: int) -> None:
    memory = _known(runtime).of(handle)
    if properties is None:
        raise CudaError(INVALID_VALUE)
    ctypes.memmove(properties, bytes(memory.properties), ctypes.sizeof(Properties))
