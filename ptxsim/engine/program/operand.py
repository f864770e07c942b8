"""Operands as the engines see them: register slots, constants and addresses with their types resolved."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ptxsim import lanes
from ptxsim.types import ScalarType


@dataclass(frozen=True, slots=True)
class Register:
    """A register slot, read or written as `type`; `declared` is the register's own type (at least as wide)."""

    slot: int
    declared: ScalarType
    type: ScalarType
    negated: bool = False
    sink: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Constant:
    """The same value in every lane; `value` is the raw bit pattern (an unsigned integer) of `type`."""

    value: int
    type: ScalarType
    _lanes: list[Any] = field(default_factory=list, init=False, repr=False)

    @property
    def lanes(self) -> Any:
        """The lane value, made when first asked for."""
        if not self._lanes:
            self._lanes.append(broadcast(self.value, self.type))
        return self._lanes[0]


@dataclass(frozen=True, slots=True)
class Special:
    """A special register, by name."""

    name: str
    type: ScalarType


@dataclass(frozen=True, slots=True)
class StackAddress:
    """An offset into the lane's current local frame, as a value; `window` added makes it generic."""

    offset: int
    type: ScalarType


@dataclass(frozen=True, slots=True, eq=False)
class SharedAddress(Constant):
    """The address of a shared variable in the executing CTA; `value` is that in the CTA of rank 0 of its cluster."""


@dataclass(frozen=True, slots=True)
class Address:
    """`[base + offset]`: base is a Register, a StackAddress, a SharedAddress or None. `extra` holds further bracket operands."""

    base: Register | StackAddress | SharedAddress | None
    offset: int
    extra: tuple[Operand, ...] = ()


@dataclass(frozen=True, slots=True)
class Vector:
    elements: tuple[Operand | None, ...]


@dataclass(frozen=True, slots=True)
class Literal:
    """A Python value handed to the effect as it is: integer literals of Imm operands, names of Symbol operands."""

    value: int | str


Operand = Register | Constant | Special | StackAddress | SharedAddress | Address | Vector | Literal


def broadcast(value: int, t: ScalarType) -> Any:
    """A read-only lane value with this bit pattern in all lanes (a list [lo, hi] for 128 bits)."""
    if t.bits == 128:
        return [np.full(lanes.LANES, value & (2**64 - 1), np.uint64), np.full(lanes.LANES, value >> 64, np.uint64)]
    if t.kind == "predicate":
        return np.full(lanes.LANES, bool(value))
    dtype = lanes.dtype(t)
    word = np.dtype(f"u{dtype.itemsize}")
    array = np.full(lanes.LANES, value & ((1 << (8 * dtype.itemsize)) - 1), word).view(dtype)
    array.flags.writeable = False
    return array
