"""Launch arguments to device memory and parameter bytes, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ptxsim.demangle import demangle
from ptxsim.diagnostic import Finding, PtxError
from ptxsim.isa.variable_layout import size_of
from ptxsim.machine.copies.tensor_map import SIZE
from ptxsim.machine.memory import Allocation, GlobalMemory
from ptxsim.session.foreign_arguments import as_plain, struct_bytes
from ptxsim.syntax import ast
from ptxsim.types import TYPES

_PIECE = 1 << 17  # bytes that are compared at a time: they stay near the processor


class DeviceArray:
    """A device buffer of one launch made explicit: an array, and an offset in bytes that the kernel's pointer gets."""

    def __init__(self, array: np.ndarray, offset: int = 0):
        self.array, self.offset = array, offset


class Arguments:
    """Binds values to the parameters of a kernel by position. Arrays in host memory get an allocation, which is added to
    `temporary`; those that lie in device memory are passed as they are. Methods raise PtxError for what does not fit."""

    def __init__(self, kernel: ast.Function, memory: GlobalMemory, temporary: list[Allocation]):
        self.kernel, self.memory, self.temporary = kernel, memory, temporary
        self.buffers: dict[str, tuple[np.ndarray, Allocation]] = {}
        self._by_identity: dict[int, Allocation] = {}
        self.values: list[tuple[ast.Variable, Any]] = []

    def bind(self, values: Sequence[Any]) -> None:
        """Give arrays their places in memory; nothing is copied yet."""
        kernel = self.kernel
        if len(values) != len(kernel.parameters):
            raise launch_problem(
                f"{demangle(kernel.name)} takes {len(kernel.parameters)} arguments, {len(values)} are given",
                f"its parameters are: {self._order() or 'none'}",
                kernel,
            )
        for parameter, value in zip(kernel.parameters, values):
            self.values.append((parameter, self._allocate(parameter, value)))

    def _allocate(self, parameter: ast.Variable, value: Any) -> Any:
        """A value with its arrays put into memory: an address, a number or bytes."""
        value = as_plain(value)
        if isinstance(value, np.ndarray) and value.ndim == 0:
            value = value[()]
        if isinstance(value, tuple | list | Mapping):
            return self._structure(parameter, value)
        if isinstance(value, np.void):
            return value.tobytes()
        plain = value is None or isinstance(value, int | float | np.number | np.bool_ | bytes | bytearray | np.ndarray)
        if not plain and not isinstance(value, DeviceArray) and not hasattr(value, "device_bytes"):
            raise launch_problem(
                f"parameter {parameter.name} is given a {type(value).__name__}",
                "give an array or tensor for a pointer, a number, TensorMap or DeviceArray; for a structure bytes, a ctypes structure, "
                "a numpy void, a tuple or a dict",
                parameter,
            )
        array = value.array if isinstance(value, DeviceArray) else value
        if isinstance(array, np.ndarray) and not parameter.shape and TYPES[parameter.type].bytes < 8:
            raise launch_problem(
                f"parameter {parameter.name} is .{parameter.type}, and an array is given for it",
                f"arguments are given in the order of the parameters: {self._order()}",
                parameter,
            )
        if isinstance(value, np.ndarray):
            return self._buffer(parameter.name, value).address
        if isinstance(value, DeviceArray):
            return self._buffer(parameter.name, value.array).address + value.offset
        if hasattr(value, "device_bytes"):  # a TensorMap: 128 bytes that hold the address of its array
            size = size_of(parameter)
            if size != SIZE:
                raise launch_problem(
                    f"parameter {parameter.name} has {size} bytes; a tensor map has {SIZE} and is passed by value",
                    f"declare it .param .align 64 .b8 {parameter.name}[{SIZE}]; its address: mov.b64 %rd, {parameter.name}",
                    parameter,
                )
            return value.device_bytes(lambda array: self._buffer(f"{parameter.name}.array", array).address)
        return value

    def _structure(self, parameter: ast.Variable, value: Any) -> bytes:
        """A tuple, list or dict as the bytes of a parameter."""
        count = 0

        def place(array: np.ndarray) -> int:
            nonlocal count
            count += 1
            return self._buffer(f"{parameter.name}.{count}", array).address

        try:
            found = struct_bytes(value, place)
        except ValueError as error:
            raise launch_problem(
                f"parameter {parameter.name} is given {error}", "give arrays, numbers, or tuples of them", parameter
            ) from None
        size = size_of(parameter)
        if len(found) != size:
            raise launch_problem(
                f"parameter {parameter.name} has {size} bytes, the structure that is given has {len(found)}",
                "an int is taken for 4 bytes, a float for 4: give np.int64(n), np.float64(x), np.uint8(n) for others",
                parameter,
            )
        return found

    def _order(self) -> str:
        return ", ".join(f".{p.type} {p.name}" + "".join(f"[{d}]" for d in p.shape) for p in self.kernel.parameters)

    def _buffer(self, name: str, array: np.ndarray) -> Allocation:
        """The allocation of an array; one array passed twice is one buffer. Where numpy may not write, no kernel may."""
        if array.dtype.hasobject or array.dtype.kind in "USMm" or not array.dtype.isnative:
            raise launch_problem(
                f"parameter {name} is given an array of {array.dtype}, which no kernel can read",
                "give numbers in the byte order of this machine: array.astype(np.float32)",
                self.kernel,
            )
        known = self._by_identity.get(id(array))
        if known is None and (address := self.memory.address_of(array)) is not None:
            known = Allocation(name, address, array.nbytes)
        elif known is None:
            known = self.memory.allocate(name, array.nbytes, read_only=not array.flags.writeable)
            self.temporary.append(known)
        self._by_identity[id(array)] = known
        self.buffers[name] = (array, known)
        return known

    def passed_in(self, allocation: Allocation) -> ast.Variable | None:
        """The parameter that a pointer into an allocation is given for."""
        for parameter, value in self.values:
            if isinstance(value, bytes) and len(value) == 8:
                value = int.from_bytes(value, "little")
            if isinstance(value, int | np.integer) and 0 <= value - allocation.address < max(allocation.size, 1):
                return parameter
        return None

    def copy_in(self, offsets: Mapping[str, int], block: Allocation) -> None:
        """Write the buffers' contents and the parameter block; `offsets` are those of parameters in it."""
        for array, allocation in self.buffers.values():
            data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
            self.memory.view(allocation)[: len(data)] = data
        target = self.memory.view(block)
        for parameter, value in self.values:
            passed = parameter_bytes(parameter, value)
            offset = offsets[parameter.name]
            target[offset : offset + len(passed)] = np.frombuffer(passed, np.uint8)

    def copy_out(self) -> dict[str, np.ndarray]:
        """Copy the buffers back in place; arrays by parameter name. Raises PtxError where a read-only array has changed."""
        refused = []
        for name, (array, allocation) in self.buffers.items():
            if array.nbytes == 0:
                continue
            data = self.memory.view(allocation)[: array.nbytes].view(array.dtype).reshape(array.shape)
            if same_bytes(array, data):
                continue
            if array.flags.writeable:
                array[...] = data
            else:
                refused.append(name)
        if refused:
            raise launch_problem(
                f"{demangle(self.kernel.name)} wrote to {', '.join(refused)}, which is a read-only array",
                "give an array that may be written, a copy() for example",
                self.kernel,
            )
        return {name: array for name, (array, _) in self.buffers.items()}


def same_bytes(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two arrays of one size hold the same bytes; looked at in pieces, which take no memory beside them."""
    mine, other = (np.ascontiguousarray(array).reshape(-1).view(np.uint8) for array in (a, b))
    pieces = range(0, len(mine), _PIECE)
    return all(np.array_equal(mine[start : start + _PIECE], other[start : start + _PIECE]) for start in pieces)


def parameter_bytes(parameter: ast.Variable, value: Any) -> bytes:
    """A value as the bytes of a parameter's type."""
    size = size_of(parameter)
    if isinstance(value, bytes | bytearray):
        if len(value) != size:
            raise launch_problem(
                f"parameter {parameter.name} has {size} bytes, {len(value)} are given",
                "pad the structure as C does",
                parameter,
            )
        return bytes(value)
    if value is None:
        value = 0
    t = TYPES[parameter.type]
    if parameter.shape and size == 8 and isinstance(value, int | np.integer):  # a pointer, as some compilers declare it
        return int(value).to_bytes(8, "little")
    if parameter.shape:
        raise launch_problem(
            f"parameter {parameter.name} is {size} bytes passed by value",
            "give bytes, a structure (ctypes, numpy void, tuple, dict) or a TensorMap for it",
            parameter,
        )
    if t.name in ("f32", "f64", "f16", "bf16"):
        from ptxsim import lanes

        return np.array([float(value)]).astype(lanes.dtype(t)).tobytes()
    if isinstance(value, float | np.floating):
        if t.kind == "bits" and t.bits in (32, 64):  # an untyped parameter takes a number as the kernel will read it
            if not float(value).is_integer():
                return np.array([value], f"f{t.bytes}").tobytes()
            return int(value).to_bytes(size, "little", signed=bool(value < 0))
        if not float(value).is_integer():
            raise launch_problem(f"parameter {parameter.name} is {t}, {value} is no integer", None, parameter)
    number = int(value)
    if not -(1 << (8 * size - 1)) <= number < 1 << (8 * size):
        raise launch_problem(f"{number} does not fit parameter {parameter.name} of type {t}", None, parameter)
    return (number & ((1 << (8 * size)) - 1)).to_bytes(size, "little")


def launch_problem(message: str, help: str | None, place: ast.Node) -> PtxError:
    return PtxError(Finding("bad-directive", message, place.line, place.column, help=help))
