"""Numbers and records of C in the signatures and the memory of bodies.

A `Record` is a class whose annotations are its fields: Python reads and writes them as attributes, bodies as fields of the
dtype it makes, native code at the offsets of that dtype.

    @record
    class Queue(Record):
        head: I32
        items: Annotated[MutableSequence[int], U64, 32]

    def take(queue: Queue, count: I32) -> I64: ...
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Self, TypeVar, get_type_hints

import numpy as np

from ptxsim.jit.kinds import BOOL, FLOAT, INT, UNSIGNED, Array, Kind
from ptxsim.jit.kinds import Record as RecordKind

OPAQUE = np.dtype([])
UNBOUNDED = 1 << 40  # elements at a pointer that does not say how many there are


@dataclass(frozen=True)
class Number:
    """A number of C: its LLVM type; `widen` is how it becomes one of 64 bits."""

    llvm: str
    kind: Kind
    ctype: type
    widen: str = ""


@dataclass(frozen=True)
class Pointer:
    """The address of a record, or of `count` elements side by side; OPAQUE: of what bodies only pass on."""

    dtype: np.dtype[Any]
    count: int | None = None
    llvm = "ptr"

    @property
    def kind(self) -> Kind:
        one = self.dtype.fields is not None and self.count is None
        return RecordKind(self.dtype) if one else Array(self.dtype, (self.count or UNBOUNDED,))


I32 = Annotated[int, Number("i32", INT, ctypes.c_int32, "sext")]
U32 = Annotated[int, Number("i32", INT, ctypes.c_uint32, "zext")]
I64 = Annotated[int, Number("i64", INT, ctypes.c_int64)]
U64 = Annotated[int, Number("i64", UNSIGNED, ctypes.c_uint64)]
F64 = Annotated[float, Number("double", FLOAT, ctypes.c_double)]
FLAG = Annotated[bool, Number("i1", BOOL, ctypes.c_bool)]


class Record(ctypes.Structure):
    """One record, at an address or in an array. An array of them is annotated with its element and its length."""

    dtype: ClassVar[np.dtype[Any]]

    @classmethod
    def of(cls, memory: np.ndarray[Any, Any]) -> Self:
        """The record at the start of some memory, which lives as long as it."""
        return cls.from_buffer(memory.data)

    @classmethod
    def offsets(cls) -> dict[str, int]:
        """Where each field lies, in bytes."""
        fields = cls.dtype.fields
        assert fields is not None
        return {name: place[1] for name, place in fields.items()}

    @property
    def address(self) -> int:
        return ctypes.addressof(self)


Kept = TypeVar("Kept", bound=type[Record])


def record(cls: Kept) -> Kept:
    """Give a Record the fields that its annotations name."""
    hints, own = get_type_hints(cls, include_extras=True), vars(cls)["__annotations__"]
    cls._fields_ = [(field, _ctype(hints[field])) for field in own]
    cls.dtype = np.dtype(cls)
    return cls


def _ctype(hint: Any) -> Any:
    """The type of a field: a record, a number, or an array (its element and its length)."""
    if isinstance(hint, type) and issubclass(hint, Record):
        return hint
    first, *length = hint.__metadata__
    return _ctype(first) * length[0] if length else first.ctype


def row(values: np.ndarray[Any, Any], number: Any) -> Sequence[int]:
    """Numbers as bodies and the fields of records take them: `row(addresses, U64)`."""
    element = _ctype(number)
    found: Sequence[int] = (element * len(values)).from_buffer_copy(values.astype(element).data)
    return found
