"""Which bytes of which loads make up a register, through whatever only moves bytes: packs, shifts, prmt, or of halves, conversions to a wider type.

Whether an operation only moves bytes is asked of its effect: it is executed on operands of random bytes, with zeros where they hold zeros. Each
byte of the result that is equal to one of theirs in all 32 lanes is that byte.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ptxsim.engine.access import extended, typed
from ptxsim.engine.analysis.copied_loads import ORDINARY
from ptxsim.engine.analysis.def_use import DefUse, slots_of
from ptxsim.engine.program.operand import Constant, Literal, Operand, Register, Vector
from ptxsim.engine.program.operation import Op
from ptxsim.lanes import LANES
from ptxsim.types import ScalarType

DEEPEST = 10  # operations between a load and what takes its bytes
SMALL = 8  # lanes in which operands are small numbers
WIDEST = 64  # bits of a register that is followed


@dataclass(frozen=True, slots=True)
class Byte:
    """One that a load has brought: its site, and which of the bytes it is that the load puts into its registers."""

    site: int
    number: int


ZERO = Byte(-1, 0)
Bytes = tuple[Byte | None, ...]  # of a register, the lowest first; None: not known


@dataclass(slots=True)
class LoadedBytes:
    """Asks for the registers of a program, by the slots of its definitions and uses."""

    found: DefUse
    _known: dict[int, frozenset[Bytes]] = field(default_factory=dict)

    def of(self, slot: int, deep: int = 0) -> frozenset[Bytes]:
        """What definitions of a slot put there, of those in which there are loaded bytes."""
        if slot in self._known:
            return self._known[slot]
        filled, seen, queue = set[Bytes](), {slot}, [slot]
        self._known[slot] = frozenset()  # a register that is made of itself
        while queue:
            value = queue.pop()
            for site in self.found.definers[value]:
                op = self.found.program.ops[site]
                if _loads(op):
                    filled.add(self._of_load(op, value))
                elif self._is_copy(op):
                    more = [each for each in self.found.reads[site][:1] if each not in seen]
                    queue += more
                    seen.update(more)
                elif deep < DEEPEST and _may_move(op):
                    filled.add(self._of_move(op, value, deep))
        known = frozenset(each for each in filled if any(byte not in (None, ZERO) for byte in each))
        self._known[slot] = known
        return known

    def _is_copy(self, op: Op) -> bool:
        """Whether it copies one whole register."""
        if not op.facts.copies or any(isinstance(each, Vector) for each in (*op.sources, *op.destinations)):
            return False
        types = {self.found.types[each].bits for each in slots_of([*op.sources, *op.destinations])}
        return bool(slots_of(op.sources)) and len(types) == 1

    def _of_load(self, op: Op, slot: int) -> Bytes:
        """What a load puts into one of its registers."""
        number, register = self.found.writes[op.site].index(slot), self.found.types[slot]
        type: ScalarType | None = op.words.get("type") if op.family == "load" else None
        size = register.bytes if type is None else type.bytes
        rest = (None if type is not None and type.kind == "signed" else ZERO,) * (register.bytes - size)
        return (*(Byte(op.site, number * size + each) for each in range(size)), *rest)

    def _of_move(self, op: Op, slot: int, deep: int) -> Bytes:
        """What an operation puts into one of its registers, of the bytes of its operands."""
        unknown: Bytes = (None,) * self.found.types[slot].bytes
        slots = slots_of(op.sources)
        held: dict[int, Bytes] = {}
        for value in self.found.reads[op.site][: len(slots)]:
            ways = self.of(value, deep + 1) or {(None,) * self.found.types[value].bytes}
            if len(ways) > 1 or self.found.types[value].bits > WIDEST:
                return unknown
            held[value] = next(iter(ways))
        drawn = np.random.default_rng(op.site)
        bytes_of = {value: _draw(drawn, len(each)) for value, each in held.items()}
        for value, each in held.items():
            bytes_of[value][:, [byte == ZERO for byte in each]] = 0
        registers = iter(self.found.reads[op.site])
        effect = op.definition.effect
        assert effect is not None  # says _may_move
        with np.errstate(all="ignore"):
            result = effect(*(_value(each, registers, bytes_of) for each in op.sources), **op.wants)
        made = _result(op, result, self.found.writes[op.site].index(slot))
        sources = [(byte, bytes_of[value][:, n]) for value, each in held.items() for n, byte in enumerate(each)]
        return tuple(_same(column, sources) for column in made.T)


def _draw(drawn: np.random.Generator, size: int) -> np.ndarray:
    """Bytes of a register, uint8 (lanes, size): small numbers in some lanes, which may be how far to shift, anything in the others."""
    found = drawn.integers(0, 256, (LANES, size), np.uint8)
    found[:SMALL, 1:] = 0
    found[:SMALL, 0] %= LANES
    return found


def _loads(op: Op) -> bool:
    """Whether it is an ldmatrix, or a load of what threads share or a grid is given."""
    if op.family == "ldmatrix":
        return True
    return op.family == "load" and all(access.space in ORDINARY for access in op.accesses)


def _may_move(op: Op) -> bool:
    """Whether an operation may be one that only moves bytes: arithmetic on floats is none, nor is what needs the machine."""
    if op.definition.effect is None or op.definition.uses_machine or op.control is not None or op.call is not None:
        return False
    operands = slots_of(op.sources)
    is_plain = all(_is_plain(each) for each in op.sources) and bool(operands)
    return is_plain and (op.facts.copies or not any(_is_float(word) for word in op.words.values()))


def _is_float(word: object) -> bool:
    return isinstance(word, ScalarType) and (word.is_float or word.kind == "predicate" or word.lanes > 1)


def _is_plain(operand: Operand | None) -> bool:
    if isinstance(operand, Vector):
        return all(_is_plain(each) for each in operand.elements)
    if isinstance(operand, Register):
        return operand.declared.kind != "predicate" and operand.declared.bits <= WIDEST
    return operand is None or isinstance(operand, (Constant, Literal))


def _value(operand: Operand | None, registers: Any, bytes_of: dict[int, np.ndarray]) -> Any:
    """What an effect gets for an operand; registers: the slots that are read, in order."""
    if isinstance(operand, Vector):
        return [_value(each, registers, bytes_of) for each in operand.elements]
    if isinstance(operand, Register):
        raw = bytes_of[next(registers)]
        return typed(np.ascontiguousarray(raw).view(f"u{raw.shape[1]}")[:, 0], operand)
    if isinstance(operand, Constant):
        return operand.lanes
    return operand.value if isinstance(operand, Literal) else None


def _result(op: Op, result: Any, number: int) -> np.ndarray:
    """The bytes of one of an operation's registers, uint8 (lanes, bytes)."""
    places: list[tuple[Operand | None, Any]] = []
    for destination, value in zip(op.destinations, [result] if len(op.destinations) == 1 else result):
        if isinstance(destination, Vector):
            places += zip(destination.elements, value)
        else:
            places.append((destination, value))
    kept = [(place, value) for place, value in places if isinstance(place, Register) and not place.sink]
    register, value = kept[number]
    assert isinstance(register, Register)
    word = np.broadcast_to(extended(np.asarray(value), register.declared), LANES)
    return np.ascontiguousarray(word).view(np.uint8).reshape(LANES, -1)


def _same(column: np.ndarray, sources: list[tuple[Byte | None, np.ndarray]]) -> Byte | None:
    """The byte that a result is equal to in all lanes."""
    if not column.any():
        return ZERO
    return next((byte for byte, held in sources if (held == column).all()), None)
