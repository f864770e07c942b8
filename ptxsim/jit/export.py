"""Bodies that native code calls by name, and what bodies call that is not one: symbols, function pointers, memory at an address.

A signature is written in the annotations, with the names of `ptxsim.jit.record`: `def take(queue: Queue, count: I32) -> I64`,
where `Queue` is a Record, or `Annotated[np.ndarray, Pointer(QUEUE)]`.
"""

from __future__ import annotations

import ctypes
import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any, Generic, ParamSpec, TypeVar, get_type_hints

import numpy as np

from ptxsim.jit.body import Body
from ptxsim.jit.compiler import PASSES, Jit, full_name
from ptxsim.jit.expressions import Expressions, Operation
from ptxsim.jit.kinds import INT, Array, Known, Several, Value
from ptxsim.jit.kinds import Record as RecordKind
from ptxsim.jit.module_text import ModuleText
from ptxsim.jit.record import OPAQUE, Number, Pointer, Record
from ptxsim.jit.translator import NOTHING, Translator

P = ParamSpec("P")
R = TypeVar("R")
Parameter = Number | Pointer
RECORDS = type(Record)


def signature(function: Callable[..., Any]) -> tuple[list[Parameter], Number | None]:
    """The parameters and the result of a function, from its annotations."""
    hints = get_type_hints(function, include_extras=True)
    found: dict[str, Parameter | None] = {}
    for name, hint in hints.items():
        if isinstance(hint, type) and issubclass(hint, Record):
            hint = Annotated[hint, Pointer(hint.dtype)]
        notes = [note for note in getattr(hint, "__metadata__", ()) if isinstance(note, (Number, Pointer))]
        if len(notes) != 1 and not (name == "return" and hint is type(None)):
            raise TypeError(f"{function.__qualname__}: {name} needs one of the annotations of {__name__}")
        found[name] = notes[0] if notes else None
    result = found.pop("return", None)
    assert not isinstance(result, Pointer)
    return [each for each in found.values() if each is not None], result


def widened(at: Expressions, what: Number, operand: str) -> Value:
    """A value of what native code gives."""
    return Value(what.kind, (at.let(f"{what.widen} {what.llvm} {operand} to i64") if what.widen else operand,))


def narrowed(at: Expressions, what: Parameter, given: Value | Known) -> str:
    """The operand that native code takes, with its type."""
    if isinstance(what, Pointer):
        if (
            isinstance(given, Known)
            or not isinstance(given.kind, (Array, RecordKind))
            or what.dtype not in (OPAQUE, given.kind.dtype)
        ):
            at.refuse(f"a pointer to {what.dtype} is expected")
        return f"ptr {given.parts[0]}"
    operand = at.convert(given, what.kind).parts[0]
    return f"{what.llvm} {at.let(f'trunc i64 {operand} to {what.llvm}') if what.widen else operand}"


class Extern(Operation, Generic[P, R]):
    """A function of native code. In Python it does what its own body says."""

    def __init__(self, plain: Callable[P, R], by_address: bool):
        functools.update_wrapper(self, plain)
        self.plain, self.by_address = plain, by_address

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.plain(*args, **kwargs)

    def emit(self, at: Expressions, arguments: list[Value | Known]) -> Value:
        parameters, result = signature(self.plain)
        returns = result.llvm if result is not None else "void"
        if self.by_address:
            (address, *arguments), (_, *parameters) = arguments, parameters
            target = at.let(f"inttoptr i64 {at.value(address).parts[0]} to ptr")
        else:
            target = "@" + at.unit.prefix + self.plain.__name__
            listed = ", ".join(each.llvm for each in parameters)
            at.unit.declare(target, f"declare {returns} {target}({listed})")
        if len(arguments) != len(parameters):
            at.refuse(f"{len(parameters)} arguments are expected, not {len(arguments)}")
        call = f"call {returns} {target}({', '.join(narrowed(at, *each) for each in zip(parameters, arguments))})"
        if result is None:
            at.do(call)
            return Value(NOTHING, ())
        return widened(at, result, at.let(call))


def extern(plain: Callable[P, R]) -> Extern[P, R]:
    """A function that compiled bodies call by its name, after the prefix of their module."""
    return Extern(plain, by_address=False)


def indirect(plain: Callable[P, R]) -> Extern[P, R]:
    """A function that compiled bodies call at an address, its first argument (U64 or I64)."""
    return Extern(plain, by_address=True)


class _View(Operation):
    """`view(address, dtype, count, distance)`: elements in memory, `distance` bytes apart or side by side; for `dtype` may stand
    a Record."""

    def __call__(self, address: int, dtype: Any, count: int, distance: int | None = None) -> Any:
        if isinstance(dtype, RECORDS):
            if count == 1:
                return (dtype.from_address(address),)
            return [dtype.from_address(address + i * (distance or dtype.dtype.itemsize)) for i in range(count)]
        size = np.dtype(dtype).itemsize
        distance = distance or size
        memory = (ctypes.c_char * max(1, (count - 1) * distance + size)).from_address(int(address))
        return np.ndarray((count,), dtype, memory, strides=(distance,))

    def emit(self, at: Expressions, arguments: list[Value | Known]) -> Value:
        address, dtype, *numbers = arguments
        if not isinstance(dtype, Known):
            at.refuse("the dtype of a view is constant")
        pointer = at.let(f"inttoptr i64 {at.value(address).parts[0]} to ptr")
        parts = (pointer, *(at.convert(each, INT).parts[0] for each in numbers))
        return Value(Array(np.dtype(dtype.value), (None,), strided=len(numbers) > 1), parts)


view = _View()


class _MoveBytes(Operation):
    """`move_bytes(to, source, count)`: bytes from an address to another one."""

    def __call__(self, to: int, source: int, count: int) -> None:
        ctypes.memmove(to, source, count)

    def emit(self, at: Expressions, arguments: list[Value | Known]) -> Value:
        to, source, count = (at.convert(each, INT).parts[0] for each in arguments)
        pointers = ", ".join(f"ptr {at.let(f'inttoptr i64 {each} to ptr')}" for each in (to, source))
        at.do(f"call void @llvm.memmove.p0.p0.i64({pointers}, i64 {count}, i1 false)")
        return Value(NOTHING, ())


class _FillBytes(Operation):
    """`fill_bytes(to, value, count)`: a byte, count times, from an address on."""

    def __call__(self, to: int, value: int, count: int) -> None:
        ctypes.memset(to, value, count)

    def emit(self, at: Expressions, arguments: list[Value | Known]) -> Value:
        to, value, count = (at.convert(each, INT).parts[0] for each in arguments)
        start, byte = at.let(f"inttoptr i64 {to} to ptr"), at.let(f"trunc i64 {value} to i8")
        at.do(f"call void @llvm.memset.p0.i64(ptr {start}, i8 {byte}, i64 {count}, i1 false)")
        return Value(NOTHING, ())


move_bytes, fill_bytes = _MoveBytes(), _FillBytes()


class _AddressOf(Operation):
    """`address_of(record)`: where a record lies, for `view`."""

    def __call__(self, what: Record) -> int:
        return what.address

    def emit(self, at: Expressions, arguments: list[Value | Known]) -> Value:
        (what,) = arguments
        if isinstance(what, Known) or not isinstance(what.kind, RecordKind):
            at.refuse("the address of what is no record")
        return Value(INT, (at.let(f"ptrtoint ptr {what.parts[0]} to i64"),))


address_of = _AddressOf()


def export(jit: Jit, prefix: str, *bodies: Body[..., Any]) -> None:
    """Make bodies callable by native code as `prefix` + their names, with the signatures they are annotated with."""
    names = [prefix + each.function.__name__ for each in bodies]
    if all(name in jit.helpers for name in names):
        return
    jit.load(jit.key("export", prefix, *(full_name(each.function) for each in bodies)),
             lambda: exported(prefix, *bodies), level=2, passes=PASSES)  # fmt: skip
    for name in names:
        jit.helpers[name] = jit.address(name)
        jit.publish(name, jit.helpers[name])


def exported(prefix: str, *bodies: Body[..., Any]) -> str:
    """IR of bodies under their exported names."""
    unit = ModuleText(prefix=prefix)
    for each in bodies:
        function = inspect.unwrap(each.function)
        parameters, result = signature(function)
        name, kind = unit.function(function, tuple(parameter.kind for parameter in parameters))
        entry = Translator(unit, function, ())
        values = [
            widened(entry, what, f"%p{n}") if isinstance(what, Number) else Value(what.kind, (f"%p{n}",))
            for n, what in enumerate(parameters)
        ]
        found = entry.invoke(function, values)
        if isinstance(kind, Several) != (result is None):
            raise TypeError(f"{function.__qualname__} returns something else than its annotation says")
        entry.end(f"ret {narrowed(entry, result, found)}" if result is not None else "ret void")
        listed = ", ".join(f"{what.llvm} %p{n}" for n, what in enumerate(parameters))
        returns = result.llvm if result is not None else "void"
        unit.functions.append(entry.text(f"{returns} @{prefix}{function.__name__}({listed}) #0"))
    return unit.text()
