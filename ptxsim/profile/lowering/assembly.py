"""What the lowerings of instructions share: the program with its fusions, new registers, and the machine code in the making.

Scalar instructions cost a row that their definition declares (`lowering.scalar`); families that do more have a function here, which
`lowers` registers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ptxsim.engine.program.operand import Address, Register, SharedAddress
from ptxsim.engine.program.operation import Op, Program
from ptxsim.isa.facts import Mechanism
from ptxsim.profile.figures import UNITS
from ptxsim.profile.lowering.emulated import CHECKED, DETOURS, HELD, INVERSES, SEQUENCES
from ptxsim.profile.lowering.fusion import Fusion, maps_shared
from ptxsim.profile.machine_code import Kind, MachineOp, Pipe


def crossing(made_by: Pipe, used_by: Pipe) -> int:
    """Extra latency between the ALU and the FMA pipe."""
    fma = (Pipe.FMA, Pipe.FMA_HEAVY)
    return int((made_by == Pipe.ALU and used_by in fma) or (made_by in fma and used_by == Pipe.ALU))


class Assembly(Fusion):
    """Makes the machine code of one program."""

    def __init__(self, program: Program, target: str):
        super().__init__(program, target)
        self.maps_shared = maps_shared(program)
        self.slots = len(self.flow.types)
        self.shared_base = self.new_slot()
        self.like: dict[int, int] = {}  # copies of registers -> those
        self.absent: set[int] = set()  # registers of PTX that no register of the machine stands for
        self.narrow: set[int] = set()  # values of 64 bits that take one register
        self.unknown: set[int] = set()  # sites of operations whose cost is not known
        # Registers of four floats of eight bits -> block that makes halves of them, and registers of those.
        self.unpacked: dict[int, tuple[int, int, int]] = {}
        self.inverses: list[
            tuple[int, int, str, int]
        ] = []  # of divisors: block that makes it, divisor, division, register

    def new_slot(self, like: int | None = None) -> int:
        """A register that PTX has not; `like` one that it has."""
        self.slots += 1
        if like is not None:
            self.like[self.slots - 1] = self.like.get(like, like)
        return self.slots - 1

    def machine(self, op: Op, unit: str, kind: Kind = Kind.PLAIN, **more: Any) -> MachineOp:
        """One machine instruction with all the operands of `op`; `more` are fields of MachineOp."""
        made = MachineOp(unit, self.writes(op), self.reads(op), op.site, kind, **more)
        if names_shared(op):
            made.reads = (*made.reads, self.shared_base)
        return made

    def sequence(self, op: Op, name: str) -> list[MachineOp]:
        """The instructions that stand for `op`."""
        if name not in INVERSES:
            return self._chain(op, name, self.reads(op), self.writes(op))
        divisor = op.sources[1]
        by = self.flow.value(op, 1) if isinstance(divisor, Register) else None
        return (
            self._division(op, name, by) if by is not None else self._chain(op, name, self.reads(op), self.writes(op))
        )

    def _division(self, op: Op, name: str, divisor: int) -> list[MachineOp]:
        """A division by a register, whose inverse is made by the first one that it has on its way."""
        here = self.flow.block_of[op.site]
        before = self.graph.dominators[here] if len(self.flow.definers[divisor]) == 1 else {here}
        made: list[MachineOp] = []
        slot = next((slot for block, *what, slot in self.inverses if block in before and what == [divisor, name]), None)
        if slot is None:
            slot = self.new_slot()
            self.inverses.append((here, divisor, name, slot))
            made = self._chain(op, INVERSES[name], (divisor,), (slot,))
        return [*made, *self._chain(op, name, (*self.reads(op), slot), self.writes(op))]

    def _chain(self, op: Op, name: str, reads: tuple[int, ...], writes: tuple[int, ...]) -> list[MachineOp]:
        """The instructions of a row of SEQUENCES: a chain, as far as its latency allows; the rest runs beside it."""
        units, latency = SEQUENCES[name]
        made: list[MachineOp] = []
        elapsed, before, pipe = 0.0, reads, UNITS[units[-1]].pipe
        for unit in units[:-1]:
            step = UNITS[unit].latency + crossing(pipe, UNITS[unit].pipe)
            end = UNITS[units[-1]].latency + crossing(UNITS[unit].pipe, UNITS[units[-1]].pipe)
            chained = elapsed + step + end <= latency
            made.append(MachineOp(unit, (self.new_slot(),) if chained else (), before, op.site))
            if chained:
                elapsed, before, pipe = elapsed + step, made[-1].writes, UNITS[unit].pipe
        elapsed += crossing(pipe, UNITS[units[-1]].pipe)
        made.append(MachineOp(units[-1], writes, before, op.site, latency=max(1.0, latency - elapsed)))
        held = tuple(self.new_slot() for _ in range(HELD.get(name, 0)))
        made[0].writes += held
        made[-1].reads += held
        if name not in CHECKED:
            return made
        begin, end_ = MachineOp("branch", (), (), op.site), MachineOp("branch", (), (), op.site)
        check = MachineOp("branch", (), made[0].writes, op.site, Kind.CHECK)
        if op.facts.detour is not None:
            check.detour, check.detour_early = DETOURS[name]
        return [begin, *made, check, end_]


def names_shared(op: Op) -> bool:
    """Whether an operation names a variable in shared memory as an address."""
    if not any(isinstance(source, Address) and isinstance(source.base, SharedAddress) for source in op.sources):
        return False
    return Mechanism.MBARRIER in op.mechanisms or any(access.space == "shared" for access in op.accesses)


Lower = Callable[[Assembly, Op], list[MachineOp]]
LOWERINGS: dict[str, Lower] = {}


def lowers(*families: str) -> Callable[[Lower], Lower]:
    """Register the lowering of families of instructions."""

    def register(lower: Lower) -> Lower:
        LOWERINGS.update(dict.fromkeys(families, lower))
        return lower

    return register
