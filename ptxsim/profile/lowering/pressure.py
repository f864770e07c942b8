"""How many registers a thread needs: live values at the fullest point, in 32-bit registers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

from ptxsim.engine.analysis.control_flow import flow_back
from ptxsim.profile.lowering.fusion import Fusion
from ptxsim.profile.lowering.machine_code import Kind, MachineBlock, MachineOp

# Fitted to half of the corpus' files by `ptxas -v`; the other half says what they are worth (tools/conformance registers).
FIXED = 7  # stack pointer, addresses in the making, alignment of pairs
LEAST, MOST = 8, 255
CALLING = 24  # registers at least of a kernel that calls: those that the calling convention names
FULL_OCCUPANCY = 32  # registers a thread may have for 64 warps on an SM
HELD = 8  # instructions after a store before the registers that it reads late are taken again, while the SM stays full of warps


class Pressure:
    """Live registers of a program by block."""

    def __init__(self, facts: Fusion, blocks: list[MachineBlock], like: Mapping[int, int]):
        """`like`: registers of unrolled copies -> those they stand for."""
        self.types, self.divergent, self.graph = facts.flow.types, facts.divergent, facts.graph
        self.blocks, self.like = blocks[: len(self.graph.successors)], like
        self.after = flow_back(self.graph.successors, self._before)

    def words(self, slot: int) -> int:
        """32-bit registers a value takes; predicates and what is the same for the warp take none."""
        slot = self.like.get(slot, slot)
        if slot >= len(self.types):
            return 1
        is_kept = self.types[slot].kind != "predicate" and slot in self.divergent
        return max(1, self.types[slot].bits // 32) if is_kept else 0

    def _before(self, number: int, live: set[int]) -> set[int]:
        for op in reversed(self.blocks[number].ops):
            live = _before(op, live)
        return live

    def most(self, orders: Sequence[Sequence[MachineOp]] | None = None) -> int:
        """Registers in use at the fullest point, in the order the blocks have now, or in others."""
        return max((self.within(*found) for found in zip(self._orders(orders), self.after)), default=0)

    def spread(self, orders: Sequence[Sequence[MachineOp]] | None = None) -> int:
        """The same, with the registers of stores held, where that costs no warps."""
        held = max((self._held(*found) for found in zip(self._orders(orders), self.after)), default=0)
        return max(self.most(orders), min(held, FULL_OCCUPANCY - FIXED))

    def _orders(self, orders: Sequence[Sequence[MachineOp]] | None) -> Sequence[Sequence[MachineOp]]:
        return [block.ops for block in self.blocks] if orders is None else orders

    def _held(self, ops: Sequence[MachineOp], live: Set[int]) -> int:
        after: list[Set[int]] = []
        for op in reversed(ops):
            after.append(live)
            live = _before(op, set(live))
        most, until, number = 0, dict[int, int](), 0
        for op, live in zip(ops, reversed(after)):
            if op.kind == Kind.COPY:
                continue
            until = {slot: end for slot, end in until.items() if end > number and slot not in live}
            most = max(most, sum(map(self.words, {*live, *op.writes, *until})))
            number += 1
            if op.stores and op.kind == Kind.ACCESS:
                until |= {slot: number + HELD - 1 for slot in op.reads if slot not in live}
        return most

    def within(self, ops: Sequence[MachineOp], live: Set[int]) -> int:
        """The same of one block's instructions; `live`: after them."""
        most, now = 0, set(live)
        for op in reversed(ops):
            if op.kind != Kind.COPY:
                most = max(most, sum(map(self.words, now.union(op.writes))))
            now = _before(op, now)
        return most


def _before(op: MachineOp, live: set[int]) -> set[int]:
    """What is live before an operation, of what is after it."""
    return (live - set(op.writes)) | set(op.reads) | set(op.predicates)


def registers(most: int, calls: bool = False) -> int:
    """Registers a thread is given for that many live ones: an estimate, a multiple of 2."""
    return min(MOST, max(CALLING if calls else LEAST, -(-(most + FIXED) // 2) * 2))
