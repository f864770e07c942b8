"""What a program has registered: its fat binaries, and in them kernels and variables, by the addresses the host knows them by."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ptxsim.cuda.fatbin import MAGIC, Image, images
from ptxsim.cuda.linking import link
from ptxsim.cuda.runtime.arena import Arena
from ptxsim.cuda.runtime.functions import CudaError
from ptxsim.diagnostic import Finding, PtxError
from ptxsim.session.module import Kernel, Module
from ptxsim.session.module_memory import ModuleMemory
from ptxsim.types import Target, parse_target

BINARY, FUNCTION, VARIABLE, MANAGED = range(4)  # as in cudart.c
INVALID_DEVICE_FUNCTION, INVALID_SYMBOL = 98, 13
_WRAPPER = (0x466243B1).to_bytes(4, "little")  # what nvcc puts around a fat binary: its address is at 8
_ELF = b"\x7fELF"


class _Row(ctypes.Structure):
    """struct registration of cudart.c."""

    _fields_ = [
        ("kind", ctypes.c_uint64), ("binary", ctypes.c_void_p), ("host", ctypes.c_void_p), ("name", ctypes.c_char_p),
        ("size", ctypes.c_uint64),
    ]  # fmt: skip


class _Table(ctypes.Structure):
    _fields_ = [("count", ctypes.c_uint64), ("capacity", ctypes.c_uint64), ("rows", ctypes.POINTER(_Row))]


class NoImage(PtxError):
    """A binary has no PTX that the machine runs."""


@dataclass
class Symbol:
    """A registered variable: of which binary, its name, its bytes. A managed one: the host keeps its address at `host`."""

    binary: int
    name: str
    size: int
    is_managed: bool = False


@dataclass
class Loaded:
    """A module in the device's memory."""

    module: Module
    kernels: dict[str, Kernel] = field(default_factory=dict)

    def kernel(self, name: str) -> Kernel:
        """Raises CudaError where there is none of this name."""
        if name not in self.kernels:
            if name not in self.module.entries:
                raise CudaError(INVALID_DEVICE_FUNCTION)
            self.kernels[name] = self.module.kernel(name)
        return self.kernels[name]

    def variable(self, name: str) -> tuple[int, int]:
        """Address and bytes of a variable. Raises CudaError where there is none."""
        home = self.module.home
        assert home is not None
        if name not in home.variables:
            raise CudaError(INVALID_SYMBOL)
        return home.variables[name].address, home.variables[name].size


class Binaries:
    """Reads the registrations of cudart.c; libraries that the program loads later add some."""

    def __init__(self, table: int):
        self._table = _Table.from_address(table)
        self._read = 0
        self._data: dict[int, int] = {}  # address of the fat binary, by handle
        self._parts: dict[int, int] = {}  # address of the list of fat binaries that it was linked of, by handle
        self._given: dict[int, list[Image]] = {}  # code that the program has loaded itself, by handle
        self._functions: dict[int, tuple[int, str]] = {}
        self._numbers: dict[tuple[int, str], int] = {}  # of kernels of such code
        self._symbols: dict[int, Symbol] = {}
        self._loaded: dict[int, Loaded] = {}

    def _look(self) -> None:
        while self._read < self._table.count:
            row = self._table.rows[self._read]
            self._read += 1
            name = (row.name or b"").decode()
            if row.kind == BINARY:
                self._data[row.binary] = row.host
                self._parts[row.binary] = row.size
            elif row.kind == FUNCTION:
                self._functions[row.host] = row.binary, name
            else:
                self._symbols[row.host] = Symbol(row.binary, name, row.size, row.kind == MANAGED)

    def add(self, handle: int, address: int) -> None:
        """A program loads code itself: the text of PTX, or a fat binary, at an address."""
        magic = ctypes.string_at(address, 4)
        if magic == _WRAPPER:
            address = ctypes.c_uint64.from_address(address + 8).value
            magic = ctypes.string_at(address, 4)
        if magic == MAGIC:
            self._given[handle] = _images_at(address)
        elif magic == _ELF:
            self._given[handle] = [Image("elf", 0, b"")]
        else:
            self._given[handle] = [Image("ptx", 0, ctypes.string_at(address))]

    def known_by(self, handle: int, name: str, make: Callable[[], int]) -> int:
        """The number by which the program knows a kernel of such code: made once, so that what is set of it stays set."""
        if (handle, name) not in self._numbers:
            self._numbers[handle, name] = host = make()
            self._functions[host] = handle, name
        return self._numbers[handle, name]

    def function(self, host: int | None) -> tuple[int, str]:
        """Binary and name of the kernel that the host knows by an address. Raises CudaError."""
        if host not in self._functions:
            self._look()
        if host is None or host not in self._functions:
            raise CudaError(INVALID_DEVICE_FUNCTION)
        return self._functions[host]

    def symbol(self, host: int | None) -> Symbol:
        """The variable that the host knows by an address. Raises CudaError."""
        if host not in self._symbols:
            self._look()
        if host is None or host not in self._symbols:
            raise CudaError(INVALID_SYMBOL)
        return self._symbols[host]

    def managed(self, handle: int) -> Iterator[tuple[int, Symbol]]:
        """The managed variables of a binary, each with the place where the host keeps its address."""
        self._look()
        return (
            (host, symbol) for host, symbol in self._symbols.items() if symbol.is_managed and symbol.binary == handle
        )

    def _images(self, handle: int) -> list[list[Image]]:
        """What each of a binary's translation units holds; those that were not compiled apart are one."""
        if handle in self._given:
            return [self._given[handle]]
        self._look()
        whole = _images_at(self._data[handle])
        parts = self._parts.get(handle)
        found: list[list[Image]] = []
        while parts and (address := ctypes.c_uint64.from_address(parts + 8 * len(found)).value):
            found.append(_images_at(address))
        return found or [whole]

    def newest(self) -> Target:
        """The newest target that the program has PTX for; sm_90a where it has none. What is linked runs on one machine: that of the unit which is
        not for newer ones (NVIDIA's library of the device's runtime has PTX for the newest alone)."""
        self._look()

        def key(target: Target) -> tuple[int, str]:
            return target.number, target.suffix

        found = []
        for handle in [*self._data, *self._given]:
            units = [[target for target, _ in _texts(unit)] for unit in self._images(handle)]
            found += sorted((max(targets, key=key) for targets in units if targets), key=key)[:1]
        return max(found, key=key, default=parse_target("sm_90a"))

    def load(self, handle: int, arena: Arena, machine: Target) -> Loaded:
        """The module of a binary, in device memory from now on. Raises PtxError, NoImage where there is none."""
        if handle not in self._loaded:
            units = self._images(handle)
            found = [text for text in (_newest_text(unit, machine) for unit in units) if text is not None]
            if not found:
                raise _no_image([image for unit in units for image in unit], machine)
            text = link(found)
            place = self._data.get(handle)
            module = Module.from_text(
                text, "module.ptx" if place is None else f"{Path(path_at(place) or 'fatbin').name}.ptx"
            )
            home = ModuleMemory(arena.memory, machine, module.known)
            self._loaded[handle] = Loaded(Module(module.source, home=home))
        return self._loaded[handle]


def _images_at(address: int) -> list[Image]:
    """What a fat binary in memory holds."""
    header, size = ctypes.c_uint16.from_address(address + 6).value, ctypes.c_uint64.from_address(address + 8).value
    return images(ctypes.string_at(address, header + size))


def _newest_text(found: list[Image], machine: Target) -> str | None:
    """The newest PTX among images that a machine runs."""
    fitting = [(target, text) for target, text in _texts(found) if _runs_on(target, machine)]
    return max(fitting, key=lambda pair: (pair[0].number, pair[0].suffix), default=(None, None))[1]


def _no_image(found: list[Image], machine: Target) -> NoImage:
    """Why none of the images can run, and what helps."""
    texts = ", ".join(sorted({target.name for target, _ in _texts(found)}))
    if texts:
        message = f"the program's PTX is for {texts}, which does not run on {machine}"
        return NoImage(Finding("wrong-target", message, help="--target names another machine"))
    if not any(image.arch for image in found):
        message = "the program loads machine code, which ptxsim does not run"
        return NoImage(Finding("bad-directive", message, help="let it load the PTX instead"))
    codes = ", ".join(sorted({f"sm_{image.arch}" for image in found})) or "nothing"
    help = "build it with nvcc -gencode arch=compute_90a,code=[sm_90a,compute_90a]"
    return NoImage(Finding("bad-directive", f"the program holds machine code for {codes} and no PTX", help=help))


class _Place(ctypes.Structure):
    """Dl_info of dladdr(3)."""

    _fields_ = [
        ("file", ctypes.c_char_p), ("base", ctypes.c_void_p), ("symbol", ctypes.c_char_p), ("address", ctypes.c_void_p),
    ]  # fmt: skip


def path_at(address: int) -> str | None:
    """The executable or library that lies at an address."""
    found = _Place()
    if not ctypes.CDLL(None).dladdr(ctypes.c_void_p(address), ctypes.byref(found)) or not found.file:
        return None
    return str(found.file.decode(errors="replace"))


def _texts(found: list[Image]) -> Iterator[tuple[Target, str]]:
    """The PTX among images, and what it is for."""
    for image in found:
        if image.kind == "ptx":
            target = re.search(r"^\s*\.target\s+(\w+)", image.text, re.M)
            if target is not None:
                yield parse_target(target[1]), image.text


def _runs_on(code: Target, machine: Target) -> bool:
    """Code for a newer target does not load on an older machine; architecture-specific code on its own one only."""
    return code.number <= machine.number and (not code.suffix or machine.meets(code.name))
