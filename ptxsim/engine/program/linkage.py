"""Where the variables of a module lie when one of its kernels runs: symbols to state space and address."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from ptxsim.diagnostic import Finding, PtxError
from ptxsim.isa.variable_layout import align, align_of, lay_out, size_of
from ptxsim.machine.heap import HEAP, HEAP_BYTES, Heap
from ptxsim.machine.memory import Allocation, GlobalMemory
from ptxsim.machine.state import shared_start
from ptxsim.syntax import ast
from ptxsim.types import TYPES, Target

ONE_FILE = "ptxsim links one file only: put what defines it into the same file"


@dataclass(frozen=True, slots=True)
class SymbolPlace:
    """A variable: its state space, its address there, its size in bytes. `dynamic`: the extern array at the end of shared."""

    space: str
    address: int
    size: int
    dynamic: bool = False


def _module_memory(variables: Iterable[ast.Variable]) -> tuple[list[ast.Variable], frozenset[str]]:
    """The variables in global and constant memory, and the names of those that have no place there.

    A file that is assembled alone defines what it declares .extern, where the size is known: so does the assembler.
    """
    found = [variable for variable in variables if variable.space in ("global", "const")]
    defined = {variable.name for variable in found if "extern" not in variable.linkage}
    foreign = {variable.name: variable for variable in found if variable.name not in defined}
    sized = [variable for variable in foreign.values() if all(variable.shape)]
    own = [variable for variable in found if "extern" not in variable.linkage]
    return own + sized, frozenset(foreign) - {variable.name for variable in sized}


@dataclass(slots=True)
class Linkage:
    """Symbols of one kernel: module globals and constants, parameters, static and dynamic shared memory.

    Module memory is laid out by `place_globals` in a fresh GlobalMemory, always the same way, so addresses are known
    before any launch. `open` are the arrays of other files, of which nothing here says how large they are.
    """

    globals: list[ast.Variable]
    open: frozenset[str]
    allocates: bool  # whether the module calls malloc
    parameter_offsets: dict[str, int]
    parameter_bytes: int
    symbols: dict[str, SymbolPlace]
    dynamic_shared_start: int
    static_shared_bytes: int

    def place_globals(self, memory: GlobalMemory) -> dict[str, Allocation]:
        """Allocate module variables, the parameter block and the heap, in this order; returns allocations by name."""
        allocations = {}
        for variable in self.globals:
            allocations[variable.name] = memory.allocate(
                variable.name, size_of(variable), variable.space, variable.space == "const", align_of(variable)
            )
        allocations["parameters"] = memory.allocate("parameters", max(self.parameter_bytes, 1), "param", True)
        if self.allocates:
            allocations[HEAP] = heap = memory.allocate(HEAP, HEAP_BYTES)
            memory.heap = Heap(heap.address, heap.size)
        return allocations

    def initialize(
        self, memory: GlobalMemory, allocations: Mapping[str, Allocation], functions: Mapping[str, int]
    ) -> None:
        """Write the initialisers of module variables into frozen memory."""
        for variable in self.globals:
            if variable.initializer is not None:
                data = initial_bytes(variable, self.symbols, functions)
                memory.view(allocations[variable.name])[: len(data)] = np.frombuffer(data, np.uint8)


def link(
    module: ast.Module,
    kernel: ast.Function,
    shared: Iterable[ast.Variable],
    inner: Iterable[ast.Variable],
    target: Target,
) -> Linkage:
    """Lay out a kernel's symbols. `shared` are the variables it uses, `inner` the global ones of function bodies."""
    variables, open = _module_memory(v for v in (*module.items, *inner) if isinstance(v, ast.Variable))
    offsets, end = lay_out(kernel.parameters)
    shared_symbols, dynamic_start, static_bytes = _place_shared(shared, target)
    allocates = any(isinstance(item, ast.Function) and item.name == "malloc" for item in module.items)
    linkage = Linkage(variables, open, allocates, offsets, end, shared_symbols, dynamic_start, static_bytes)
    places = linkage.place_globals(GlobalMemory())
    for variable in variables:
        place = places[variable.name]
        linkage.symbols[variable.name] = SymbolPlace(variable.space, place.address, place.size)
    for parameter in kernel.parameters:
        address = places["parameters"].address + offsets[parameter.name]
        linkage.symbols[parameter.name] = SymbolPlace("param", address, size_of(parameter))
    return linkage


def _place_shared(shared: Iterable[ast.Variable], target: Target) -> tuple[dict[str, SymbolPlace], int, int]:
    """Symbols of shared memory, where its dynamic part starts, and the bytes of the static one."""
    static, dynamic = [], []
    for variable in shared:
        unbounded = variable.shape[:1] in ((None,), (0,)) and variable.initializer is None
        (dynamic if unbounded else static).append(variable)
    offsets, end = lay_out(static, shared_start(target))
    symbols = {v.name: SymbolPlace("shared", offsets[v.name], size_of(v)) for v in static}
    start = align(end, max([16, *(align_of(v) for v in dynamic)])) if dynamic else end
    symbols |= {v.name: SymbolPlace("shared", start, 0, dynamic=True) for v in dynamic}
    return symbols, start, end - shared_start(target)


def initial_bytes(variable: ast.Variable, symbols: Mapping[str, SymbolPlace], functions: Mapping[str, int]) -> bytes:
    """The bytes of an initialiser; missing elements are zero."""
    size = TYPES[variable.type].bytes
    flat: list = []
    _flatten(variable.initializer, variable.shape, flat)
    return b"".join(_element_bytes(value, size, TYPES[variable.type].is_float, symbols, functions) for value in flat)


def _flatten(value: object, shape: tuple[int | None, ...], flat: list) -> None:
    """Nested initialisers in row order; a short row is filled up with zeros."""
    if not isinstance(value, tuple):
        flat.append(value)
        return
    inner = shape[1:]
    size = 1
    for dimension in inner:
        size *= dimension or 1
    for item in value:
        start = len(flat)
        _flatten(item, inner, flat)
        if isinstance(item, tuple):
            flat.extend([None] * (size - (len(flat) - start)))


def _element_bytes(value: object, size: int, is_float: bool, symbols, functions) -> bytes:
    if value is None:
        return bytes(size)
    if isinstance(value, ast.Float):
        if value.width == 64 and size == 4:
            return struct.pack("<f", struct.unpack("<d", value.bits.to_bytes(8, "little"))[0])
        return value.bits.to_bytes(value.width // 8, "little")[:size]
    if isinstance(value, ast.Integer):
        if is_float:
            return struct.pack("<f" if size == 4 else "<d", float(value.value))
        return (value.value & ((1 << (8 * size)) - 1)).to_bytes(size, "little")
    mask = None
    if isinstance(value, ast.MaskedAddress):
        mask, value = value.mask, value.operand
    name, offset = (value.base.name, value.offset) if isinstance(value, ast.Offset) else (value.name, 0)  # type: ignore
    address = symbols[name].address if name in symbols else functions.get(name)
    if address is None:
        raise PtxError(Finding("undeclared-name", f"the initialiser names {name}, which nothing declares"))
    address += offset
    if mask is not None:
        shift = (mask & -mask).bit_length() - 1
        address = (address & mask) >> shift
    return (address & ((1 << (8 * size)) - 1)).to_bytes(size, "little")
