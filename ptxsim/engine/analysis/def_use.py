"""Which registers an operation reads and writes, and across a program: definitions with their uses, dead code."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from ptxsim.closure import closure
from ptxsim.engine.program.operand import Address, Operand, Register, Vector
from ptxsim.engine.program.operation import Op, Program
from ptxsim.isa.facts import Mechanism
from ptxsim.types import ScalarType


def slots_of(operands: Iterable[Operand | None]) -> list[int]:
    """Register slots that operands mention, addresses and vectors included."""
    found: list[int] = []
    for operand in operands:
        if isinstance(operand, Register):
            if not operand.sink:
                found.append(operand.slot)
        elif isinstance(operand, Vector):
            found += slots_of(operand.elements)
        elif isinstance(operand, Address):
            found += slots_of((operand.base, *operand.extra))
    return found


def reads(op: Op) -> list[int]:
    """Slots an operation reads: sources, guard, arguments of a call. Accumulators that an effect takes are among them."""
    found = slots_of(op.sources)
    if op.guard is not None:
        found.append(op.guard[0])
    if op.call is not None:
        found += [passed.slot for passed in op.call.arguments if passed.slot is not None]
        found += slots_of([op.call.address])
    return found


def writes(op: Op) -> list[int]:
    """Slots an operation writes: destinations, returns of a call."""
    found = slots_of(op.destinations)
    if op.call is not None:
        found += [passed.slot for passed in op.call.returns if passed.slot is not None]
    return found


def changing(loop: Sequence[Op]) -> set[int]:
    """Sites of operations of a block that is a loop by itself which read what depends on the turn before."""
    handed_on, written = set[int](), set[int]()
    for op in loop:
        handed_on.update({*reads(op)} - written)
        written.update(writes(op))
    slots, found = handed_on & written, set[int]()
    for op in loop:
        if slots.isdisjoint(reads(op)):
            slots.difference_update(writes(op))
        else:
            slots.update(writes(op))
            found.add(op.site)
    return found


@dataclass(slots=True)
class DefUse:
    """Definitions and uses by operation site, block number and register slot.

    Every value of a register but its last one in a block has a slot of its own, after those of the program: reuse of a name
    is no dependence. `live`: operations whose result or effect is needed.
    """

    program: Program
    reads: dict[int, list[int]] = field(default_factory=dict)
    writes: dict[int, list[int]] = field(default_factory=dict)
    readers: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    definers: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    block_of: dict[int, int] = field(default_factory=dict)
    live: set[int] = field(default_factory=set)
    types: list[ScalarType] = field(default_factory=list)

    def value(self, op: Op, index: int) -> int:
        """The slot that holds what the source of that index, a register or an address with one, has here."""
        return self.reads[op.site][len(slots_of(op.sources[:index]))]

    def made_of(self, slots: Iterable[int], by: Callable[[Op], bool]) -> set[int]:
        """Some slots, and those that operations of a kind write from them, one after the other."""
        ops = self.program.ops
        return closure(
            slots, lambda slot: [w for site in self.readers[slot] if by(ops[site]) for w in self.writes[site]]
        )


def def_use(program: Program) -> DefUse:
    """Definitions and uses of a program. The caller may change them."""
    found = DefUse(program, types=list(program.slots))
    for number, block in enumerate(program.blocks):
        for op in block:
            found.block_of[op.site] = number
            found.reads[op.site], found.writes[op.site] = reads(op), writes(op)
        _rename(found, block)
        for op in block:
            for slot in set(found.reads[op.site]):
                found.readers[slot].append(op.site)
            for slot in set(found.writes[op.site]):
                found.definers[slot].append(op.site)
    _find_live(found)
    return found


def _rename(found: DefUse, block: list[Op]) -> None:
    """Give every value of a register but the block's last one a slot of its own."""
    left = Counter(slot for op in block for slot in set(found.writes[op.site]))
    names: dict[int, int] = {}
    for op in block:
        reads, writes = found.reads[op.site], found.writes[op.site]
        now = [names.get(slot, slot) for slot in reads]
        if op.guard is not None:  # lanes that are off keep the old value
            now += [names.get(slot, slot) for slot in writes if slot not in reads]
        for slot in set(writes):
            left[slot] -= 1
            if left[slot]:
                names[slot] = len(found.types)
                found.types.append(found.types[slot])
            else:
                names.pop(slot, None)
        found.reads[op.site] = now
        found.writes[op.site] = [names.get(slot, slot) for slot in writes]


def has_effect(op: Op) -> bool:
    """Whether an operation matters beyond its destinations; what lanes of a warp exchange does not, for the assembler."""
    return (
        op.control is not None
        or not op.destinations
        or (op.synchronises is not None and op.synchronises.mechanism is not Mechanism.WARP)
        or op.completes_by is not None
        or any(access.writes or access.order == "volatile" for access in op.accesses)
    )


def _find_live(found: DefUse) -> None:
    wanted = [op.site for op in found.program.ops if op.site in found.block_of and has_effect(op)]
    found.live = closure(wanted, lambda site: [each for slot in found.reads[site] for each in found.definers[slot]])
