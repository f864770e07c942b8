"""Operands of one program as emitted values: registers in a warp's memory and in SSA values, constants, special registers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ptxsim import lanes
from ptxsim.engine.compiled.ir.emitter import Emitter
from ptxsim.engine.compiled.ir.module import Module
from ptxsim.engine.compiled.ir.value import CannotEmit, Value, element_type, is_float, kind_of, width
from ptxsim.engine.compiled.runtime.abi import WARP, WarpLayout
from ptxsim.engine.program.operand import (
    Address,
    Constant,
    Literal,
    Operand,
    Register,
    SharedAddress,
    Special,
    StackAddress,
    Vector,
)
from ptxsim.engine.program.operation import Op, Program
from ptxsim.isa.special_registers import CLOCKS
from ptxsim.jit.compiler import Abilities
from ptxsim.machine.event import Wanted
from ptxsim.types import ScalarType


@dataclass(frozen=True, slots=True)
class Options:
    """Which code is wanted: `full` assumes that all 32 lanes run; `wanted` is what it records; `keep` writes back every
    register, wanted or not; `cluster`: there are other CTAs whose shared memory may be accessed."""

    full: bool = True
    wanted: Wanted = field(default_factory=Wanted)
    keep: bool = False
    target: str = ""  # the machine, on which the arithmetic of matrix products depends
    numerics: str = "target"
    cluster: bool = False


class OperandWriter:
    """Reads and writes the operands of the operation that is being printed.

    `values` are the registers known in this block, by slot; `dirty` those that memory does not hold yet; `live` the
    registers wanted before each operation of the block.
    """

    op: Op
    index: int

    def __init__(self, program: Program, places: WarpLayout, options: Options, cpu: Abilities):
        self.program, self.places, self.options = program, places, options
        self.module = Module(cpu)
        self.emitter = Emitter(self.module)
        self.live: list[set[int]] = []
        self.begin_block()

    def begin_block(self) -> None:
        """Forget the registers: from here on they are in memory."""
        self.values: dict[int, Any] = {}
        self.dirty: set[int] = set()
        self.begin_operation()

    def begin_operation(self) -> None:
        self._loaded: list[int] = []
        self._before = set(self.dirty)

    def undo(self) -> None:
        """Forget the registers that were loaded since begin_operation, and what was stored; what gives up has written none."""
        self.dirty = self._before
        for slot in self._loaded:
            del self.values[slot]

    def guard(self, op: Op) -> Value | None:
        """The executing lanes under a guard, or None."""
        if op.guard is None:
            return None
        slot, negated = op.guard
        predicate: Value = self._slot(slot)
        if negated:
            predicate = ~predicate
        return predicate if self.options.full else predicate & Value(self.emitter, "%lanes", "pred")

    def read(self, operand: Operand | None) -> Any:
        """An operand as the effect takes it: a value, a list of values, a number, or None."""
        e = self.emitter
        match operand:
            case None:
                return None
            case Register():
                return self._register(operand)
            case SharedAddress() if self.options.cluster:
                return e.convert(self._shared_address(operand), kind_of(operand.type))
            case Constant():
                t = operand.type
                if t.bits == 128:
                    return [e.splat(operand.value & (2**64 - 1), "u64"), e.splat(operand.value >> 64, "u64")]
                kind = kind_of(t)
                if is_float(kind):
                    return (
                        e.bits(self._word(operand.value, width(kind)), t)
                        if kind in ("f32", "f64")
                        else Value(e, self._word(operand.value, 16).text, kind)
                    )
                return e.splat(_signed(operand.value, kind), kind)
            case Address():
                if operand.extra:
                    return [self._address(operand), *(self.read(part) for part in operand.extra)]
                return self._address(operand)
            case Vector():
                return [self.read(element) for element in operand.elements]
            case Special():
                return self._special(operand.name, operand.type)
            case StackAddress():
                return e.convert(
                    self._stack() + operand.offset if operand.offset else self._stack(), kind_of(operand.type)
                )
            case Literal():
                return operand.value
        raise CannotEmit(f"operand {operand}")

    def _word(self, value: int, bits: int) -> Value:
        return self.emitter.splat(value & (1 << bits) - 1, f"u{bits}")

    def _slot(self, slot: int) -> Any:
        """A register's raw value: unsigned, a mask, or a list of two for 128 bits."""
        found = self.values.get(slot)
        if found is None:
            self._loaded.append(slot)
            found = self.values[slot] = self._load(self.places.registers[slot], self.program.slots[slot])
        return found

    def _load(self, offset: int, t: ScalarType) -> Any:
        e = self.emitter
        if t.bits == 128:
            return [self._load(offset + 256 * i, lanes.type_of("u64")) for i in (0, 1)]
        at = self._at(offset)
        if t.kind == "predicate":
            word = e.let(f"load i32, ptr {at}, align 8")
            return Value(e, e.let(f"bitcast i32 {word} to <32 x i1>"), "pred")
        kind = f"u{8 * t.bytes}"
        return Value(e, e.let(f"load {e.vector(kind)}, ptr {at}, align {min(64, 32 * t.bytes)}"), kind)

    def _at(self, offset: int) -> str:
        return self.emitter.at("%warp", offset)

    def _register(self, operand: Register) -> Any:
        e, raw, t = self.emitter, self._slot(operand.slot), operand.type
        if isinstance(raw, list):
            if t.bits == 128:
                return raw
            raw = raw[0]
        kind = kind_of(t)
        if kind == "pred":
            return ~raw if operand.negated else raw
        if width(kind) != width(raw.kind):
            raw = e.convert(raw, f"u{width(kind)}")
        value = (
            raw
            if raw.kind == kind
            else Value(e, raw.text, kind)
            if element_type(kind) == element_type(raw.kind)
            else e.bits(raw, t)
        )
        return ~value if operand.negated else value

    def _address(self, operand: Address) -> Value:
        e, base = self.emitter, operand.base
        if base is None:
            return e.splat(operand.offset & (2**64 - 1), "u64")
        address: Value
        if isinstance(base, StackAddress):
            address = self._stack() + base.offset
        elif isinstance(base, SharedAddress):
            address = self._shared_address(base)
        else:
            address = self._slot(base.slot)
            if width(address.kind) < 64:
                if width(address.kind) < 32:
                    raise CannotEmit("an address in a narrow register")
                return e.convert(address + (operand.offset & 0xFFFFFFFF) if operand.offset else address, "u64")
        return address + (operand.offset & (2**64 - 1)) if operand.offset else address

    def _stack(self) -> Value:
        return Value(self.emitter, self.emitter.let(f"load <32 x i64>, ptr {self._at(WARP['stack'])}, align 8"), "u64")

    def _shared_address(self, operand: SharedAddress) -> Value:
        """The address of a shared variable: in a cluster, of the executing CTA's."""
        address = self.emitter.splat(operand.value, "u64")
        if not self.options.cluster:
            return address
        return address + self.spread(self.emitter.let(f"load i64, ptr {self._at(WARP['named'])}, align 8"), "u64")

    def _special(self, name: str, t: ScalarType) -> Value:
        e, kind = self.emitter, kind_of(t)
        if (begin := CLOCKS.get(name)) is not None:
            count = e.let(f"add i64 {e.let('load i64, ptr %count.at')}, {self.index + 1}")
            if begin:
                count = e.let(f"lshr i64 {count}, {begin}")
            return e.convert(Value(e, self.spread(count, "u64").text, "u64"), kind)
        offset: int | None = self.places.specials.get(name)
        if offset is None:
            raise CannotEmit(f"{name} has no place")
        found: Value = self._load(offset, t)
        return found

    def spread(self, scalar: str, kind: str) -> Value:
        """A scalar in every lane."""
        e, t = self.emitter, element_type(kind)
        first = e.pure(f"insertelement <32 x {t}> poison, {t} {scalar}, i64 0", kind).text
        return e.pure(f"shufflevector <32 x {t}> {first}, <32 x {t}> poison, <32 x i32> zeroinitializer", kind)

    def raw(self, value: Value) -> Value:
        """A value as the unsigned word of its width."""
        e = self.emitter
        if value.kind == "pred":
            raise CannotEmit("a predicate as a word")
        if value.kind in ("f32", "f64"):
            return e.bits(value, lanes.type_of(f"u{width(value.kind)}"))
        return Value(e, value.text, f"u{width(value.kind)}")

    def _words(self, value: Value) -> list[Value]:
        """A value extended to 128 bits: signed ones by their sign, all others by zeros."""
        e = self.emitter
        if value.kind[0] != "s":
            return [e.convert(self.raw(value), "u64"), e.splat(0, "u64")]
        wide = e.convert(value, "s64")
        return [self.raw(wide), self.raw(wide >> 63)]

    def write(self, operand: Operand | None, value: Any, mask: Value | None) -> None:
        """Put a result into a destination; wider registers are extended, lanes outside of `mask` keep what they had."""
        e = self.emitter
        if operand is None:
            return
        if isinstance(operand, Vector):
            for element, part in zip(operand.elements, value, strict=True):
                self.write(element, part, mask)
            return
        assert isinstance(operand, Register)
        if operand.sink:
            return
        if isinstance(value, np.ndarray):  # the same whatever runs
            value = e.constant(value, None)
        slot, declared = operand.slot, operand.declared
        if declared.bits == 128:
            parts = [self.raw(v) for v in value] if isinstance(value, list) else self._words(value)
            if mask is not None:
                parts = [e.where(mask, new, old) for new, old in zip(parts, self._slot(slot), strict=True)]
            self.values[slot] = parts
            self.dirty.add(slot)
            return
        if not isinstance(value, Value):
            raise TypeError(f"a result that is a {type(value).__name__}")
        if declared.kind == "predicate":
            if value.kind != "pred":
                raise TypeError(f"a predicate from {value.kind}")
        else:
            bits = 8 * declared.bytes
            raw = self.raw(value)
            if width(raw.kind) != bits:
                signed = value.kind[0] == "s"
                raw = Value(
                    e,
                    e.convert(Value(e, raw.text, f"{'s' if signed else 'u'}{width(raw.kind)}"), f"u{bits}").text,
                    f"u{bits}",
                )
            value = raw
        if mask is not None:
            value = e.where(mask, value, self._slot(slot))
        self.values[slot] = value
        self.dirty.add(slot)

    def flush(self, wanted: set[int]) -> None:
        """Write back the changed registers that are wanted."""
        e = self.emitter
        for slot in sorted(self.dirty & wanted):
            value, offset = self.values[slot], self.places.registers[slot]
            for i, part in enumerate(value if isinstance(value, list) else [value]):
                if part.kind == "pred":
                    word = e.let(f"bitcast <32 x i1> {part.text} to i32")
                    e.line(f"  store i32 {word}, ptr {self._at(offset)}, align 8")
                else:
                    e.line(
                        f"  store {part.type} {part.text}, ptr {self._at(offset + 256 * i)}, align {min(64, 4 * width(part.kind))}"
                    )
        self.dirty -= wanted

    def save_before_bail(self) -> None:
        """Make memory exact before something that may take the slow path."""
        self.flush(self.live[self.index])


def _signed(value: int, kind: str) -> int:
    bits = width(kind)
    return value - (1 << bits) if kind[0] == "s" and value >> bits - 1 else value
