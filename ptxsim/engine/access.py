"""Reading and writing operands of a warp: register slots to typed lane values and back. Used by both engines."""

from __future__ import annotations

from typing import Any

import numpy as np

from ptxsim import lanes
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
    broadcast,
)
from ptxsim.machine import cta
from ptxsim.machine.cta import Warp
from ptxsim.machine.memory import RANK_SHIFT
from ptxsim.machine.special import value as special_value
from ptxsim.machine.state import Machine
from ptxsim.types import ScalarType

_U64 = np.uint64


def zero(t: ScalarType) -> cta.Register:
    """What a fresh register of a type holds."""
    if t.bits == 128:
        return [np.zeros(lanes.LANES, _U64), np.zeros(lanes.LANES, _U64)]
    return np.zeros(lanes.LANES, bool if t.kind == "predicate" else f"u{t.bytes}")


def read(operand: Operand | None, warp: Warp, machine: Machine) -> Any:
    """The lane value (or list, or Python value) an effect gets for an operand."""
    match operand:
        case Register():
            return read_register(operand, warp)
        case SharedAddress() if warp.cta.rank:
            return broadcast(shared_address(operand, warp), operand.type)
        case Constant():
            return operand.lanes
        case Address():
            address = read_address(operand, warp)
            return [address, *(read(part, warp, machine) for part in operand.extra)] if operand.extra else address
        case None:
            return None
        case Vector():
            return [read(element, warp, machine) for element in operand.elements]
        case Special():
            found = special_value(operand.name, warp, machine)
            word = lanes.dtype(operand.type)
            return found if found.dtype == word else found.astype(word)
        case StackAddress():
            return (warp.stack + _U64(operand.offset)).astype(lanes.dtype(operand.type))
        case Literal():
            return operand.value
    raise AssertionError(operand)


def read_register(operand: Register, warp: Warp) -> cta.Register:
    """A register as its operand type."""
    return typed(warp.registers[operand.slot], operand)


def typed(raw: cta.Register, operand: Register) -> cta.Register:
    """What a register holds as the type of an operand: wider registers give their low bits."""
    t = operand.type
    if isinstance(raw, list):
        if t.bits == 128:
            return raw
        raw = raw[0]
    dtype = lanes.dtype(t)
    if raw.dtype.itemsize != dtype.itemsize:
        raw = raw.astype(f"u{dtype.itemsize}")
    if dtype != raw.dtype:
        raw = raw.view(dtype)
    found: np.ndarray = ~raw if operand.negated else raw
    return found


def read_address(operand: Address, warp: Warp) -> np.ndarray:
    """The effective address, as uint64 lanes; 32-bit registers are zero-extended before the offset is added."""
    base = operand.base
    if base is None:
        return np.full(lanes.LANES, operand.offset & (2**64 - 1), _U64)
    if isinstance(base, StackAddress):
        address = np.add(warp.stack, _U64(base.offset))
    elif isinstance(base, SharedAddress):
        address = np.full(lanes.LANES, shared_address(base, warp), _U64)
    else:
        address = np.asarray(warp.registers[base.slot])
        if address.dtype != _U64:
            offset = np.uint32(operand.offset & 0xFFFFFFFF)
            return (address + offset).astype(_U64) if operand.offset else address.astype(_U64)
    return address + _U64(operand.offset & (2**64 - 1)) if operand.offset else address


def shared_address(operand: SharedAddress, warp: Warp) -> int:
    """The address of a shared variable in the CTA of a warp."""
    return operand.value + (warp.cta.rank << RANK_SHIFT)


def write(operand: Operand | None, value: Any, warp: Warp, mask: np.ndarray, full: bool) -> None:
    """Put an effect's result into the destination for the lanes of `mask`; wider registers are extended."""
    if operand is None:
        return
    if isinstance(operand, Vector):
        for element, part in zip(operand.elements, value):
            write(element, part, warp, mask, full)
        return
    assert isinstance(operand, Register)
    if operand.sink:
        return
    slot, declared = operand.slot, operand.declared
    if declared.bits == 128:
        words = value if isinstance(value, list) else _words(value)
        warp.registers[slot] = [np.where(mask, new, was) for new, was in zip(words, warp.registers[slot])]
        return
    if declared.kind != "predicate":
        value = extended(value, declared)
    warp.registers[slot] = value if full else np.where(mask, value, warp.registers[slot])


def extended(value: np.ndarray, declared: ScalarType) -> np.ndarray:
    """A value as the unsigned word of a register's type: signed ones extend their sign, all others zeros."""
    size = declared.bytes
    if value.dtype.itemsize != size:
        value = value.astype(f"i{size}") if value.dtype.kind == "i" else value.view(f"u{value.dtype.itemsize}")
    return value.astype(f"u{size}") if value.dtype.itemsize != size else value.view(f"u{size}")


def _words(value: np.ndarray) -> list[np.ndarray]:
    """A value extended to 128 bits: signed ones by their sign, all others by zeros."""
    if value.dtype.kind == "i":
        wide = value.astype(np.int64)
        return [wide.view(_U64), (wide >> 63).view(_U64)]
    return [value.view(f"u{value.dtype.itemsize}").astype(_U64), np.zeros(lanes.LANES, _U64)]
