"""Arrays and records of bodies: where an element lies, how it is read and written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ptxsim.jit.arithmetic import Arithmetic
from ptxsim.jit.kinds import (
    BOOL,
    FLOAT,
    INT,
    SINGLE,
    UNSIGNED,
    Array,
    Kind,
    Known,
    Record,
    Scalar,
    Several,
    Struct,
    Table,
    Value,
    words,
)

_FLOATS = {4: "float", 8: "double"}


@dataclass(frozen=True, slots=True)
class Spot:
    """A number in memory."""

    address: str
    dtype: np.dtype[Any]


@dataclass(frozen=True, slots=True)
class Slots:
    """A local variable: stack slots of its parts."""

    kind: Kind
    slots: tuple[str, ...]


class Memory(Arithmetic):
    """Reads and writes."""

    def hole(self) -> str:
        """Memory that an access out of bounds may touch; only checked code asks for it."""
        raise NotImplementedError

    def __init__(self) -> None:
        super().__init__()
        self.known: dict[tuple[str, int], Value] = {}  # arguments that have been taken out of a block

    # ---- places ----

    def offset(self, address: str, distance: str | int) -> str:
        return address if distance == 0 else self.let(f"getelementptr inbounds i8, ptr {address}, i64 {distance}")

    def element(self, address: str, dtype: np.dtype[Any]) -> Spot | Value:
        """What lies at an address: a number, a record, an array within a record."""
        if dtype.subdtype is not None:
            base, shape = dtype.subdtype
            return Value(Array(base, shape), (address,))
        if dtype.fields is not None:
            return Value(Record(dtype), (address,))
        known = dtype.kind in "iub" or (dtype.kind == "f" and dtype.itemsize in _FLOATS)
        if not known or not dtype.isnative:
            self.refuse(f"numbers of dtype {dtype}")
        return Spot(address, dtype)

    def field(self, base: Value, name: str) -> Spot | Value:
        """A field of a record, of a tuple, or the same field of all records of an array."""
        kind = base.kind
        if isinstance(kind, Struct):
            if name not in kind.fields:
                self.refuse(f"no field {name!r}")
            return self.member(base, kind.fields.index(name))
        if not isinstance(kind, (Array, Record)):
            self.refuse(f"{kind.name} has no fields")
        dtype = kind.dtype
        if dtype.fields is None or name not in dtype.fields:
            self.refuse(f"no field {name!r}")
        found, offset = dtype.fields[name][:2]
        address = self.offset(base.parts[0], offset)
        if isinstance(kind, Record):
            return self.element(address, found)
        if len(kind.shape) > 1 or found.subdtype is not None:
            self.refuse("a field of an array of several dimensions")
        step = base.parts[-1] if kind.strided else str(dtype.itemsize)
        runtime = base.parts[1:2] if kind.shape[0] is None else ()
        return Value(Array(found, kind.shape, strided=True), (address, *runtime, step))

    def member(self, base: Value, number: int) -> Value:
        """A member of a tuple."""
        kind = base.kind
        if isinstance(kind, Several):
            first = sum(len(each.parts) for each in kind.kinds[:number])
            member = kind.kinds[number]
            return Value(member, base.parts[first : first + len(member.parts)])
        assert isinstance(kind, Struct)
        return self.argument(base.parts[0], sum(map(words, kind.kinds[:number])), kind.kinds[number])

    def members(self, base: Value) -> list[Value]:
        """All members of a tuple."""
        assert isinstance(base.kind, (Struct, Several))
        return [self.member(base, number) for number in range(len(base.kind.kinds))]

    def argument(self, block: str, word: int, kind: Kind) -> Value:
        """A value in the block of a call, in which nothing changes: read once, where the function begins."""
        found = self.known.get((block, word))
        if found is not None:
            return found
        lines = self.here.lines
        early = block[1] in "ab" or any(block in value.parts for value in self.known.values())
        if early:
            self.here.lines = self.slots
        parts: list[str] = []
        if isinstance(kind, Struct):
            parts.append(self.offset(block, 8 * word))
        else:
            for number, part in enumerate(kind.parts):
                at = self.offset(block, 8 * (word + number))
                text = self.let(f"load {'i64' if part == 'i1' else part}, ptr {at}, align 8, !invariant.load !0")
                parts.append(self.let(f"trunc i64 {text} to i1") if part == "i1" else text)
        self.here.lines = lines
        found = Value(kind, tuple(parts))
        if early:
            self.known[block, word] = found
        return found

    def sizes(self, array: Value) -> list[str]:
        """The dimensions of an array, or how many tuples there are."""
        if isinstance(array.kind, Table):
            return [array.parts[1]]
        assert isinstance(array.kind, Array)
        runtime = iter(array.parts[1:])
        return [next(runtime) if size is None else str(size) for size in array.kind.shape]

    def index(self, base: Value, indices: list[Value | Known]) -> Spot | Value:
        """An element of an array, or the row that is left where there are fewer indices than dimensions."""
        kind = base.kind
        if isinstance(kind, (Struct, Several)):
            if len(indices) != 1 or not isinstance(indices[0], Known) or not isinstance(indices[0].value, int):
                self.refuse("members of tuples are named by constants")
            return self.member(base, range(len(kind.kinds))[indices[0].value])
        if isinstance(kind, Table) and len(indices) == 1:
            which = self.value(indices[0]).parts[0]
            if self.checked:
                self.guard(self.let(f"icmp ult i64 {which}, {base.parts[1]}"))
            step = self.let(f"mul i64 {which}, {8 * words(kind.kind)}")
            return Value(kind.kind, (self.offset(base.parts[0], step),))
        if not isinstance(kind, Array) or len(indices) > len(kind.shape):
            self.refuse(f"{len(indices)} indices of {kind.name}")
        sizes, numbers, inside = self.sizes(base), [], "true"
        for size, each in zip(sizes, indices):
            if isinstance(each, Known) and each.value < 0:
                self.refuse(f"index {each.value}")
            number = self.value(each)
            if number.kind not in (INT, UNSIGNED):
                self.refuse(f"{number.kind.name} as an index")
            numbers.append(number.parts[0])
            if self.checked:
                within = self.let(f"icmp ult i64 {numbers[-1]}, {size}")
                inside = self.let(f"and i1 {inside}, {within}")
        address = base.parts[0]
        if kind.strided:
            address = self.offset(address, self.let(f"mul i64 {numbers[0]}, {base.parts[-1]}"))
            numbers[0] = "0"
        distance = numbers[0]
        for next_one, size in zip([*numbers[1:], *("0" for _ in sizes[len(numbers) :])], sizes[1:]):
            distance = self.let(f"mul i64 {distance}, {size}") if distance != "0" else "0"
            distance = self.let(f"add i64 {distance}, {next_one}") if next_one != "0" else distance
        if distance != "0":
            address = self.offset(address, self.let(f"mul i64 {distance}, {kind.dtype.itemsize}"))
        if self.checked:
            self.guard(inside)
            address = self.let(f"select i1 {inside}, ptr {address}, ptr {self.hole()}")
        rest = kind.shape[len(indices) :]
        if not rest:
            return self.element(address, kind.dtype)
        runtime = tuple(text for text, size in zip(sizes[len(indices) :], rest) if size is None)
        return Value(Array(kind.dtype, rest), (address, *runtime))

    # ---- reading and writing ----

    def load(self, spot: Spot) -> Value:
        """A number of memory: 64 bits wide, by its sign."""
        kind, size = spot.dtype.kind, spot.dtype.itemsize
        if kind == "f":
            number = self.let(f"load {_FLOATS[size]}, ptr {spot.address}, align 1")
            return Value(FLOAT if size == 8 else SINGLE, (number,))
        number = self.let(f"load i{8 * size}, ptr {spot.address}, align 1")
        if kind == "b":
            return Value(BOOL, (self.let(f"icmp ne i8 {number}, 0"),))
        if size < 8:
            number = self.let(f"{'sext' if kind == 'i' else 'zext'} i{8 * size} {number} to i64")
        return Value(UNSIGNED if kind == "u" and size == 8 else INT, (number,))

    def store(self, spot: Spot, given: Value | Known) -> None:
        """Write a number; its upper bits are lost where it does not fit."""
        kind, size = spot.dtype.kind, spot.dtype.itemsize
        if kind == "f":
            single = size == 4 and isinstance(given, Value) and given.kind == SINGLE
            number = self.convert(given, SINGLE if single else FLOAT).parts[0]
            if size == 4 and not single:
                number = self.let(f"fptrunc double {number} to float")
            self.do(f"store {_FLOATS[size]} {number}, ptr {spot.address}, align 1")
            return
        value = self.value(given)
        if kind == "b":
            number = self.let(f"zext i1 {self.truth(value)} to i8")
        else:
            if value.kind == FLOAT:
                self.refuse(f"a float where {spot.dtype} is stored")
            number = (value if value.kind == UNSIGNED else self.convert(value, INT)).parts[0]
            if size < 8:
                number = self.let(f"trunc i64 {number} to i{8 * size}")
        self.do(f"store i{8 * size} {number}, ptr {spot.address}, align 1")

    def copy(self, to: Value, source: Value) -> None:
        """Copy a record or a row."""
        if isinstance(to.kind, Array) and isinstance(source.kind, Array):
            bits = [(kind.dtype.kind.replace("u", "i"), kind.dtype.itemsize) for kind in (to.kind, source.kind)]
            alike = (to.kind.dtype == source.kind.dtype or bits == [("i", 8)] * 2) and len(to.kind.shape) == len(
                source.kind.shape
            )
            if not alike or to.kind.strided or source.kind.strided:
                self.refuse("a copy of what is not alike")
            size: str | int = to.kind.dtype.itemsize
            for each, other in zip(self.sizes(to), self.sizes(source)):
                if self.checked:
                    self.guard(self.let(f"icmp eq i64 {each}, {other}"))
                size = self.let(f"mul i64 {size}, {each}")
        elif isinstance(to.kind, Record) and to.kind == source.kind:
            size = to.kind.dtype.itemsize
        else:
            self.refuse(f"{source.kind.name} stored as {to.kind.name}")
        self.do(f"call void @llvm.memmove.p0.p0.i64(ptr {to.parts[0]}, ptr {source.parts[0]}, i64 {size}, i1 false)")

    def room(self, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Value:
        """An array on the stack."""
        address = self.slot(f"[{dtype.itemsize * int(np.prod(shape))} x i8]", 64)
        return Value(Array(dtype, shape), (address,))

    def cleared(self, array: Value) -> Value:
        """Fill an array on the stack with zeros."""
        assert isinstance(array.kind, Array)
        size = array.kind.dtype.itemsize * int(np.prod(list(map(int, self.sizes(array)))))
        self.do(f"call void @llvm.memset.p0.i64(ptr {array.parts[0]}, i8 0, i64 {size}, i1 false)")
        return array

    # ---- local variables ----

    def variable(self, kind: Kind) -> Slots:
        return Slots(kind, tuple(self.slot(part) for part in kind.parts))

    def get(self, variable: Slots) -> Value:
        parts = zip(variable.kind.parts, variable.slots)
        return Value(variable.kind, tuple(self.let(f"load {part}, ptr {slot}, align 8") for part, slot in parts))

    def put(self, variable: Slots, given: Value | Known) -> None:
        value = self.convert(given, variable.kind) if isinstance(variable.kind, Scalar) else self.value(given)
        if value.kind != variable.kind:
            self.refuse(f"{value.kind.name} where {variable.kind.name} was expected")
        for part, operand, slot in zip(value.kind.parts, value.parts, variable.slots):
            self.do(f"store {part} {operand}, ptr {slot}, align 8")
