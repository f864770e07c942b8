"""The assembler's names: copies of a product's results between its commit and the wait that covers it are made after the wait.

PTX calls any access to registers of a wgmma.mma_async before the wait undefined. ptxas 13.0 for sm_90a makes no instruction of mov,
unpacking and packing there: what uses the copies reads the accumulators themselves, after the wait. Triton's products that accumulate
in halves are written so. An operation that computes with them before the wait is a `register-in-flight` all the same.
"""

from __future__ import annotations

from ptxsim.engine.analysis.def_use import reads, slots_of, writes
from ptxsim.engine.analysis.product_hazards import value_of
from ptxsim.engine.program.operation import Op
from ptxsim.isa.facts import Mechanism, Role


class LateCopies:
    """Follows the operations of a function in the order of its text."""

    def __init__(self) -> None:
        self.ages: dict[int, int] = {}  # groups committed since, by register that a product under way writes

    def take(self, block: list[Op], op: Op) -> list[Op]:
        """The copies of a block that are made after `op`, which ends it; they are in the block no more."""
        if Mechanism.PRODUCT_GROUP not in op.mechanisms:
            return []
        match op.synchronises and op.synchronises.role:
            case None:
                self.ages |= dict.fromkeys(slots_of(op.destinations), 0)
            case Role.COMMIT:
                self.ages = {slot: age + 1 for slot, age in self.ages.items()}
            case Role.WAIT:
                pending = value_of(op.sources[0])
                over = {slot for slot, age in self.ages.items() if pending is not None and age > pending}
                self.ages = {slot: age for slot, age in self.ages.items() if slot not in over}
                return _copies(block, over) if op.guard is None else []
        return []


def _copies(block: list[Op], owned: set[int]) -> list[Op]:
    """Take the copies of registers out of a block; none if anything else there touches those, or the copies."""
    names, late = set(owned), []
    for op in block:
        sources, results = set(reads(op)), set(writes(op))
        is_copy = op.facts.copies and not op.definition.uses_machine and op.guard is None
        if is_copy and sources and sources <= names and names.isdisjoint(results):
            late.append(op)
            names |= results
        elif not names.isdisjoint(sources | results):
            return []
    block[:] = [op for op in block if op not in late]
    return late
