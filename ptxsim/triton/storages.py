"""Tensors of the CPU in device memory: whole storages, as views of one storage reach the same bytes.

A launch copies in what its arguments lie in, and copies back what has changed. An address that a program asks for itself
(`Tensor.data_ptr()`, for tables of pointers) is one of device memory that the storage keeps as long as it lives; such storages
go in and out with every launch.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch.multiprocessing.reductions import StorageWeakRef

from ptxsim.diagnostic import Finding, PtxError
from ptxsim.machine.memory import Allocation, aligned
from ptxsim.session.device import Device
from ptxsim.session.foreign_arguments import dtype_of_torch
from ptxsim.session.views import View
from ptxsim.triton.fresh import FRESH, is_same, storage_of
from ptxsim.triton.in_flight import InFlight
from ptxsim.triton.repeats import Repeats
from ptxsim.triton.sampling import Samples

LIBRARIES = ("torch", "triton", "ptxsim")  # their own calls of data_ptr are about memory of the host
EVEN = 16  # what Triton's compiler takes the alignment of pointers by; torch aligns storages to 64 bytes


@dataclass(slots=True)
class Place:
    """A storage in device memory: `address` is that of its first byte."""

    host: np.ndarray
    allocation: Allocation
    address: int


@dataclass(slots=True)
class Placed:
    """The storages of one launch."""

    storages: Storages
    places: dict[int, Place] = field(default_factory=dict)  # by address in the host's memory
    is_kept: bool = True  # what has changed is copied back
    is_read: bool = True  # what lies in them matters
    alive: list[torch.UntypedStorage] = field(default_factory=list)  # scratch memory has no other owner
    named: set[int] = field(default_factory=set)  # those of arguments
    # Those whose addresses the program has: what is copied back must not go where a tensor has been meanwhile that nobody holds any more.
    held: list[torch.UntypedStorage] = field(default_factory=list)

    def have(self, hosts: Iterable[int]) -> None:
        """Take storages whose addresses the program has as they lie in device memory."""
        new = self.storages.hold([host for host in hosts if host not in self.places])
        self.held += new.values()
        self.places |= {host: self.storages.kept[host][1] for host in new}

    def address(self, value: Any, name: str) -> int:
        """The device address of what Triton passes for a pointer. Raises PtxError for what is no tensor of the CPU."""
        value = getattr(value, "base", value) if not isinstance(value, torch.Tensor) else value  # reinterpret()
        if value is None:
            return 0
        if isinstance(value, int):
            return value
        if not isinstance(value, torch.Tensor) and callable(address := getattr(value, "data_ptr", None)):
            return self._pointed(address)  # Triton asks no more of a pointer
        storage = storage_of(value) if isinstance(value, torch.Tensor) else None
        if storage is None or storage.device.type != "cpu":  # the tensor itself may say "cuda" (cuda_is_cpu)
            what = f"a tensor of {storage.device}" if storage is not None else f"a {type(value).__name__}"
            raise PtxError(
                Finding("bad-directive", f"{name} is {what}", help="ptxsim takes tensors of the CPU: tensor.cpu()")
            )
        host = storage.data_ptr()
        self.named.add(host)
        if host not in self.places and storage.nbytes():
            if self.is_read:
                self.storages.need(host)
            self.places[host] = self.storages.place(host, storage.nbytes(), name)
            self.alive.append(storage)
        return self.places[host].address + DATA_PTR(value) - host if storage.nbytes() else 0

    def _pointed(self, address: Callable[[], int]) -> int:
        """What an object that is no tensor says of itself: where a tensor lies whose address it has asked for."""
        pointer = int(address())
        self.have(self.storages.kept)
        if (host := self._holder(pointer)) is not None:
            self.named.add(host)
        return pointer

    def view(self, value: Any) -> View | None:
        """How the program sees a tensor that has been placed; None for what is none."""
        value = getattr(value, "base", value)
        if not isinstance(value, torch.Tensor) or not value.numel():
            return None
        place = self.places.get(value.untyped_storage().data_ptr())
        dtype = dtype_of_torch(value.dtype)
        if place is None or dtype is None:
            return None
        address = place.address + DATA_PTR(value) - place.host.ctypes.data
        return View(address, dtype, tuple(value.shape), tuple(value.stride()))

    def hosts(self) -> dict[int, tuple[int, int]]:
        """Address in device memory and bytes of each storage, by address in the host's memory."""
        return {host: (place.address, len(place.host)) for host, place in self.places.items()}

    def touched(self, integers: Sequence[int]) -> set[int]:
        """The storages that a launch may reach, by address in the host's memory: those of its arguments, and, of those whose addresses
        the program has, the ones into which a word of an argument's storage points, or one of these integers, and so on."""
        there = {
            host: (place.address, place.address + len(place.host)) for host, (_, place) in self.storages.kept.items()
        }
        found, new = set(self.named), [*self.named] if there else []
        words = np.array([n for n in integers if 0 <= n < 1 << 64], np.uint64)
        while True:
            more = {
                h for h, (first, end) in there.items() if h not in found and np.any((words >= first) & (words <= end))
            }
            found |= more
            new += more
            if not new:
                return found & self.places.keys()
            place = self.places.get(new.pop())
            words = words[:0] if place is None else _addresses(place.host, there.values())

    def written(self, addresses: Sequence[int] | None, touched: Collection[int]) -> dict[int, StorageWeakRef]:
        """The storages that a launch may write, by address in the host's memory: those in which these addresses lie, and of those that it
        may reach the ones whose addresses the program has, which may be in tables or among integers. All for None, or an address of none."""
        kept = {host: storage for host, (storage, _) in self.storages.kept.items() if host in touched}
        known = kept | {storage.data_ptr(): StorageWeakRef(storage) for storage in self.alive}
        holders = [self._holder(address) for address in addresses or () if address]
        hosts = {*kept, *holders}
        return (
            known if addresses is None or None in hosts else {host: known[host] for host in hosts if host is not None}
        )

    def _holder(self, address: int) -> int | None:
        held = ((host, address - place.address, len(place.host)) for host, place in self.places.items())
        return next((host for host, offset, size in held if 0 <= offset <= size), None)


class Storages:
    """Puts storages into the memory of a device."""

    def __init__(self, device: Device):
        self.device = device
        self.samples: Samples | None = None  # while a benchmark runs
        self.repeats = Repeats()
        self.in_flight = InFlight()
        self.kept: dict[int, tuple[Any, Place]] = {}  # whose addresses the program has, by address in the host's memory
        self.are_staying = False  # the next launch may well take the same: a trial of the autotuner's is one of many
        self._stays: dict[tuple[int, int], Place] = {}  # of the last launch, by address in the host's memory and bytes

    def place(self, host: int, size: int, name: str, at: int | None = None) -> Place:
        """A copy of a storage in device memory, where its allocation begins if that is said."""
        slack = host % EVEN
        place = self._stays.pop((host, size), None) if at is None else None
        if place is None:
            allocation = self.device.memory.allocate(name, size + slack, at=at)
            place = Place(_memory(host, size), allocation, allocation.address + slack)
        place.allocation.name = name
        if not self._is_as_on_device(place):
            self._on_device(place)[:] = place.host
        return place

    def _is_as_on_device(self, place: Place) -> bool:
        return is_same(place.host.ctypes.data, self._on_device(place).ctypes.data, len(place.host))

    def clear(self) -> None:
        """Free what stays in device memory for the next launch to find it there."""
        while self._stays:
            self.device.memory.free(self._stays.popitem()[1].allocation)

    def _on_device(self, place: Place) -> np.ndarray:
        return self.device.memory.view(place.allocation)[-len(place.host) :]

    def need(self, *hosts: int) -> None:
        """What lies at these addresses of the host's memory is about to be used."""
        if self.samples is not None:
            self.samples.need(hosts)

    @contextmanager
    def placed(self, is_read: bool = True) -> Iterator[Placed]:
        """The storages of one launch: what is placed is copied back at the end, where it has changed and unless it says otherwise."""
        if is_read:
            self.need(*self.kept)
        for host in [host for host, (storage, _) in self.kept.items() if storage.expired()]:
            self.device.memory.free(self.kept.pop(host)[1].allocation)
        placed = Placed(self, is_read=is_read)
        placed.have(self.kept)
        for place in placed.places.values():
            self._on_device(place)[:] = place.host
        try:
            yield placed
        finally:
            for host, place in placed.places.items():
                if placed.is_kept and not self._is_as_on_device(place):
                    place.host[:] = self._on_device(place)  # what is only read may lie where no code may write
                if host in self.kept:
                    continue
                if self.are_staying:
                    self._stays[host, len(place.host)] = place
                else:
                    self.device.memory.free(place.allocation)
            placed.held.clear()

    def hold(self, hosts: Collection[int]) -> dict[int, torch.UntypedStorage]:
        """The storages among these whose addresses the program has, so that they stay."""
        kept = ((host, storage) for host, (storage, _) in self.kept.items() if host in hosts)
        held = {host: torch.UntypedStorage._new_with_weak_ptr(storage.cdata) for host, storage in kept}
        return {host: storage for host, storage in held.items() if storage is not None}

    def keep(self, tensor: torch.Tensor) -> int:
        """The address of a tensor in device memory, which its storage has from now on."""
        FRESH.use([tensor])
        storage = tensor.untyped_storage()
        host, size = storage.data_ptr(), storage.nbytes()
        if not size:
            return 0
        self.need(host)
        known = self.kept.get(host)
        if known is None or known[0].expired() or len(known[1].host) != size:
            everywhere = TOGETHER if self in TOGETHER else [self]
            at = aligned(max(storages.device.memory.next for storages in everywhere), 512)  # free in all of them
            for storages in everywhere:
                storages._keep_at(StorageWeakRef(storage), host, size, at)
        return self.kept[host][1].address + int(DATA_PTR(tensor) - host)

    def _keep_at(self, storage: StorageWeakRef, host: int, size: int, at: int) -> None:
        if (known := self.kept.pop(host, None)) is not None:
            self.device.memory.free(known[1].allocation)
        self.kept[host] = storage, self.place(host, size, "a tensor", at)

    def join(self) -> None:
        """Have what is kept at the addresses that it has for the others of this process, from now on (`TOGETHER`)."""
        for storages in TOGETHER:
            for host, (storage, place) in storages.kept.items():
                if not storage.expired() and host not in self.kept:
                    self._keep_at(storage, host, len(place.host), place.allocation.address)
        TOGETHER.append(self)

    def refresh(self, tensor: torch.Tensor) -> None:
        """Let device memory hold what a tensor holds whose address the program has."""
        if (kept := self.kept.get(tensor.untyped_storage().data_ptr())) is not None:
            self._on_device(kept[1])[:] = kept[1].host

    def install(self) -> Callable[[], None]:
        """Let programs get device addresses of Tensor.data_ptr; what is returned takes it back."""
        before = torch.Tensor.data_ptr

        def data_ptr(tensor: torch.Tensor) -> int:
            # Triton calls from code that it has generated, which is of no module.
            caller = str(sys._getframe(1).f_globals.get("__name__", LIBRARIES[0]))
            storage = storage_of(tensor)
            if caller.partition(".")[0] in LIBRARIES or storage is None or storage.device.type != "cpu":
                with torch._C.DisableTorchFunction():
                    return int(DATA_PTR(tensor))
            return self.keep(tensor)

        torch.Tensor.data_ptr = data_ptr

        self.join()

        def undo() -> None:
            torch.Tensor.data_ptr = before
            TOGETHER.remove(self)

        return undo


# Those of this process: Triton's, the CUDA runtime's. An address that a program asks for is good for the launches of each.
TOGETHER: list[Storages] = []


DATA_PTR: Callable[[Any], int] = torch._C.TensorBase.data_ptr


def _addresses(memory: np.ndarray, places: Iterable[tuple[int, int]]) -> np.ndarray:
    """The words in memory that lie between the first and the last of these places."""
    words = memory[: len(memory) // 8 * 8].view(np.uint64)
    low, high = min(first for first, _ in places), max(end for _, end in places)
    return np.unique(words[(words >= low) & (words <= high)])


def _memory(address: int, size: int) -> np.ndarray:
    """Bytes of this process."""
    return np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(address))
