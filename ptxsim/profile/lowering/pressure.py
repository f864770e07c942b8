"""How many registers a thread needs: live values at the fullest point, in 32-bit registers."""

from __future__ import annotations

from collections.abc import Mapping

from ptxsim.engine.analysis.control_flow import flow_back
from ptxsim.profile.lowering.fusion import Fusion
from ptxsim.profile.lowering.machine_code import Kind, MachineBlock, MachineOp

FIXED = 6  # stack pointer, addresses in the making, alignment of pairs
LEAST, MOST = 16, 255


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

    def most(self) -> int:
        """Registers in use at the fullest point, in the order the blocks have now."""
        most = 0
        for number, block in enumerate(self.blocks):
            live = self.after[number]
            for op in reversed(block.ops):
                if op.kind != Kind.COPY:
                    most = max(most, sum(self.words(s) for s in live | set(op.writes)))
                live = _before(op, live)
        return most


def _before(op: MachineOp, live: set[int]) -> set[int]:
    """What is live before an operation, of what is after it."""
    return (live - set(op.writes)) | set(op.reads) | set(op.predicates)


def registers(most: int) -> int:
    """Registers a thread is given for that many live ones: an estimate, a multiple of 2."""
    return min(MOST, max(LEAST, -(-(most + FIXED) // 2) * 2))
