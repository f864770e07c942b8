"""Operands of statements to operands of a program: register slots, constants, addresses."""

from __future__ import annotations

from collections.abc import Mapping

from ptxsim.diagnostic import Finding, PtxError
from ptxsim.engine.decoding.function_names import FunctionNames
from ptxsim.engine.decoding.linkage import ONE_FILE, SymbolPlace
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
from ptxsim.engine.program.operation import Program
from ptxsim.isa.bind import Bound
from ptxsim.isa.check_operand import check
from ptxsim.isa.operand import Addr, Either, Imm, Kind, Nowhere, Pred, Reg, Symbol, Value, Vec, resolve_type
from ptxsim.isa.special_registers import SPECIAL_REGISTERS
from ptxsim.machine.memory import LOCAL_WINDOW, SHARED_WINDOW
from ptxsim.syntax import ast
from ptxsim.types import TYPES, ScalarType


class Resolver:
    """Resolves the operands of one function; makes register slots when they are first asked for."""

    def __init__(
        self, program: Program, names: FunctionNames, symbols: Mapping[str, SymbolPlace],
        frame_offsets: Mapping[str, int],
    ):  # fmt: skip
        self.program, self.names, self.symbols, self.frame_offsets = program, names, symbols, frame_offsets
        self.slots: dict[str, int] = {}
        self._registers: dict[tuple[str, str], Register] = {}  # by name and type: operands are alike in many statements
        self._constants: dict[tuple[int, str], Constant] = {}

    def slot(self, name: str) -> int:
        """The slot of a declared register; made when first asked for."""
        found = self.slots.get(name)
        if found is None:
            found = self.slots[name] = len(self.program.slots)
            type = self.names.register_type(name)
            assert type is not None, f"{name} is not declared"
            self.program.slots.append(TYPES[type])
            self.program.slot_names.append(name)
        return found

    def carry(self) -> Register:
        """The condition code CC.CF: a predicate register without a name of its own."""
        slot = self.slots.get("CC.CF")
        if slot is None:
            slot = self.slots["CC.CF"] = len(self.program.slots)
            self.program.slots.append(TYPES["pred"])
            self.program.slot_names.append("CC.CF")
        return Register(slot, TYPES["pred"], TYPES["pred"])

    def operand(self, kind: Kind, operand: ast.Operand, bound: Bound) -> Operand:
        """An operand of a bound statement by the kind the form gives it."""
        modifiers = bound.modifiers
        if type(kind) is Reg or type(kind) is Value:
            return self._value(operand, resolve_type(kind.type, modifiers))
        match kind:
            case Either():
                kind = next(k for k in kind.kinds if check(k, operand, modifiers, self.names) is None)
                return self.operand(kind, operand, bound)
            case Vec():
                elements = operand.elements if isinstance(operand, ast.Vector) else (operand,)
                if kind.bare and len(elements) == 1:
                    return self.operand(kind.element, elements[0], bound)
                return Vector(tuple(self.operand(kind.of(i), e, bound) for i, e in enumerate(elements)))
            case Addr():
                assert isinstance(operand, ast.Address)
                return self._address(operand, kind, bound)
            case Imm():
                assert isinstance(operand, ast.Integer)
                return Literal(operand.value)
            case Symbol():
                assert isinstance(operand, ast.Name)
                return Literal(operand.name)
            case Pred():
                return self._value(operand, TYPES["pred"])
            case Nowhere():
                return self._value(operand, TYPES["b64"])
        raise AssertionError(kind)

    def _value(self, operand: ast.Operand, t: ScalarType) -> Operand:
        if type(operand) is ast.Name:
            return self._registers.get((operand.name, t.name)) or self._named(operand, t)
        match operand:
            case ast.Not(inner):
                found = self._value(inner, t)
                assert isinstance(found, Register)
                return Register(found.slot, found.declared, found.type, negated=True)
            case ast.Sink():
                return Register(-1, t, t, sink=True)
            case ast.Integer(value):
                if t.is_float:
                    return self._constant(float_bits(float(value), t), t)
                if t.kind == "predicate":
                    return self._constant(int(value != 0), t)
                return self._constant(value & ((1 << max(t.bits, 1)) - 1), t)
            case ast.Float(bits, width):
                return self._constant(convert_literal(bits, width, t), t)
            case ast.Offset(base, offset):
                return self._symbol(base, offset, t)
        raise PtxError(Finding("not-modeled", f"operand {operand}", operand.line, operand.column))

    def _constant(self, bits: int, t: ScalarType) -> Constant:
        found = self._constants.get((bits, t.name))
        if found is None:
            found = self._constants[bits, t.name] = Constant(bits, t)
        return found

    def _named(self, operand: ast.Name, t: ScalarType) -> Operand:
        name = operand.name
        declared = self.names.register_type(name)
        if declared is not None:
            found = self._registers[name, t.name] = Register(self.slot(name), TYPES[declared], t)
            return found
        if name in SPECIAL_REGISTERS:
            return Special(name, t)
        return self._symbol(operand, 0, t)

    def _symbol(self, base: ast.Name, offset: int, t: ScalarType) -> StackAddress | Constant:
        name = base.name
        if name in self.frame_offsets:
            return StackAddress((self.frame_offsets[name] + offset) & (2**64 - 1), t)
        if name in self.symbols:
            place, value = self.symbols[name], (self.symbols[name].address + offset) & ((1 << t.bits) - 1)
            return SharedAddress(value, t) if place.space == "shared" else Constant(value, t)
        if name in self.program.function_addresses:
            return Constant(self.program.function_addresses[name], t)
        message = f"{name} is declared .extern, and nothing in this file defines it"
        raise PtxError(Finding("not-modeled", message, base.line, base.column, len(name), help=ONE_FILE))

    def _address(self, operand: ast.Address, kind: Addr, bound: Bound) -> Address:
        extra = tuple(self.operand(k, e, bound) for k, e in zip(kind.extra, operand.extra))
        if operand.base is None:
            return Address(None, operand.offset, extra)
        declared = self.names.register_type(operand.base.name)
        if declared is not None:
            t = TYPES[declared]
            return Address(Register(self.slot(operand.base.name), t, TYPES[f"u{t.bits}"]), operand.offset, extra)
        symbol = self._symbol(operand.base, operand.offset, TYPES["u64"])
        generic = kind.space in bound.modifiers and bound.modifiers[kind.space] is None
        window = window_of(self.names.variable_space(operand.base.name)) if generic else 0
        if isinstance(symbol, StackAddress | SharedAddress):
            return Address(symbol, window, extra)
        return Address(None, symbol.value + window, extra)


def window_of(space: str | None) -> int:
    """Where a variable's state space begins in the generic address space."""
    return {"shared": SHARED_WINDOW, "local": LOCAL_WINDOW}.get(space or "", 0)


def float_bits(value: float, t: ScalarType) -> int:
    import numpy as np

    from ptxsim import lanes

    return int(np.array([value]).astype(lanes.dtype(t)).view(f"u{t.bytes}")[0])


def convert_literal(bits: int, width: int, t: ScalarType) -> int:
    """A floating literal as bits of the operand's type: 1.5 (written as f64) becomes f32 for an f32 operand."""
    import numpy as np

    if width == t.bits or not t.is_float:
        return bits
    value = (
        np.array([bits], np.uint64).view(np.float64)[0]
        if width == 64
        else np.array([bits], np.uint32).view(np.float32)[0]
    )
    return float_bits(float(value), t)
