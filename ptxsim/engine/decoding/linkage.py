"""Where the variables of a module lie when one of its kernels runs: symbols to state space and address."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from ptxsim.diagnostic import Finding, PtxError
from ptxsim.engine.builtin import BUILTINS
from ptxsim.isa.variable_layout import align, align_of, lay_out, size_of
from ptxsim.machine.memory import FIRST, GUARD, PARAMETERS, Allocation, GlobalMemory
from ptxsim.machine.state import shared_start
from ptxsim.syntax import ast
from ptxsim.types import TYPES, Target

FUNCTION_WINDOW = 0x7C00_0000_0000  # code addresses of functions
ONE_FILE = "ptxsim links one file only: put what defines it into the same file"


@dataclass(frozen=True, slots=True)
class SymbolPlace:
    """A variable: its state space, its address there, its size in bytes. `dynamic`: the extern array at the end of shared."""

    space: str
    address: int
    size: int
    dynamic: bool = False


@dataclass(slots=True)
class Linkage:
    """Symbols of one kernel: module globals and constants, parameters, static and dynamic shared memory.

    variables: those at module scope in global and constant memory; inner: those of function bodies. allocates: whether the
    module calls malloc. unresolved: arrays of other files, of which nothing here says how large they are.
    """

    variables: list[ast.Variable]
    inner: list[ast.Variable]
    unresolved: frozenset[str]
    allocates: bool
    parameter_offsets: dict[str, int]
    parameter_bytes: int
    symbols: dict[str, SymbolPlace]
    dynamic_shared_start: int
    static_shared_bytes: int


def link(
    module: ast.Module, kernel: ast.Function, shared: Iterable[ast.Variable], inner: Iterable[ast.Variable],
    target: Target, base: int = FIRST, inner_base: int | None = None,
) -> Linkage:  # fmt: skip
    """Lay out a kernel's symbols. `shared` are the variables it uses, `inner` the global ones of function bodies.

    base, inner_base: where the module's variables and the inner ones begin; by default these follow those.
    """
    variables, unresolved = module_variables(module.items)
    symbols, end = lay_out_variables(variables, base)
    own, foreign = module_variables(v for v in inner if v.name not in symbols)
    symbols |= lay_out_variables(own, end if inner_base is None else inner_base)[0]
    offsets, parameter_bytes = lay_out(kernel.parameters)
    for parameter in kernel.parameters:
        symbols[parameter.name] = SymbolPlace("param", PARAMETERS + offsets[parameter.name], size_of(parameter))
    shared_symbols, dynamic_start, static_bytes = _place_shared(shared, target)
    allocates = any(isinstance(item, ast.Function) and item.name == "malloc" for item in module.items)
    return Linkage(
        variables, own, unresolved | foreign, allocates, offsets, parameter_bytes, symbols | shared_symbols, dynamic_start,
        static_bytes,
    )  # fmt: skip


def module_variables(items: Iterable[ast.Node]) -> tuple[list[ast.Variable], frozenset[str]]:
    """The variables in global and constant memory, and the names of those that have no place there.

    A file that is assembled alone defines what it declares .extern, where the size is known: so does the assembler.
    """
    found = [item for item in items if isinstance(item, ast.Variable) and item.space in ("global", "const")]
    own = [variable for variable in found if "extern" not in variable.linkage]
    defined = {variable.name for variable in own}
    foreign = {variable.name: variable for variable in found if variable.name not in defined}
    sized = [variable for variable in foreign.values() if all(variable.shape)]
    return own + sized, frozenset(foreign) - {variable.name for variable in sized}


def lay_out_variables(variables: Iterable[ast.Variable], start: int) -> tuple[dict[str, SymbolPlace], int]:
    """Places in global memory from an address on, always the same ones, and where they end."""
    symbols = {}
    for variable in variables:
        address = align(start, max(512, align_of(variable)))
        symbols[variable.name] = SymbolPlace(variable.space, address, size_of(variable))
        start = address + max(size_of(variable), 1) + GUARD
    return symbols, start


def place_variables(
    memory: GlobalMemory, variables: Iterable[ast.Variable], symbols: Mapping[str, SymbolPlace]
) -> dict[str, Allocation]:
    """Allocate variables where their symbols say, by name."""
    return {
        v.name: memory.allocate(v.name, size_of(v), v.space, v.space == "const", at=symbols[v.name].address)
        for v in variables
    }


def initialize(
    memory: GlobalMemory, variables: Iterable[ast.Variable], allocations: Mapping[str, Allocation],
    symbols: Mapping[str, SymbolPlace], functions: Mapping[str, int],
) -> None:  # fmt: skip
    """Write the initialisers of variables. Raises PtxError for a name that nothing declares."""
    for variable in variables:
        if variable.initializer is not None:
            data = initial_bytes(variable, symbols, functions)
            memory.view(allocations[variable.name])[: len(data)] = np.frombuffer(data, np.uint8)


def function_addresses(module: ast.Module, alone: bool = False) -> dict[str, int]:
    """The code addresses of the functions that the file defines, for indirect calls; the same for all its kernels.

    In a file that is assembled alone, what other files define has some address too.
    """
    names = dict.fromkeys([*(f.name for f in module.functions() if alone or f.body is not None), *BUILTINS])
    return {name: FUNCTION_WINDOW + 16 * i for i, name in enumerate(names)}


def _place_shared(shared: Iterable[ast.Variable], target: Target) -> tuple[dict[str, SymbolPlace], int, int]:
    """Symbols of shared memory, where its dynamic part starts, and the bytes of the static one."""
    static: list[ast.Variable] = []
    dynamic: list[ast.Variable] = []
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
    flat: list[object] = []
    _flatten(variable.initializer, variable.shape, flat)
    return b"".join(_element_bytes(value, size, TYPES[variable.type].is_float, symbols, functions) for value in flat)


def _flatten(value: object, shape: tuple[int | None, ...], flat: list[object]) -> None:
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


def _element_bytes(
    value: object, size: int, is_float: bool, symbols: Mapping[str, SymbolPlace], functions: Mapping[str, int]
) -> bytes:
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
    base, offset = (value.base, value.offset) if isinstance(value, ast.Offset) else (value, 0)
    assert isinstance(base, ast.Name), base
    name = base.name
    address = symbols[name].address if name in symbols else functions.get(name)
    if address is None:
        raise PtxError(Finding("undeclared-name", f"the initialiser names {name}, which nothing declares"))
    address += offset
    if mask is not None:
        shift = (mask & -mask).bit_length() - 1
        address = (address & mask) >> shift
    return (address & ((1 << (8 * size)) - 1)).to_bytes(size, "little")
