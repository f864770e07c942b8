"""Copies of registers that stay instructions: both values are needed at one time, so that no renaming makes one register of them.

What a loop hands on to its next turn while the old value is still read, what a branch leaves of two values that live on. Read from ptxas 13.0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set

from ptxsim.profile.lowering.fusion import Fusion
from ptxsim.profile.machine_code import Kind, MachineBlock, MachineOp


def keep_moves(
    fusion: Fusion, blocks: Sequence[MachineBlock], after: Sequence[Set[int]], words: Callable[[int], int]
) -> None:
    """Make instructions of those copies. after: registers live after each block; words: 32-bit registers of a value."""
    for number, block in enumerate(blocks):
        made: list[MachineOp] = []
        for place, op in enumerate(block.ops):
            made += _moves(op, words) if _stays(fusion, blocks, after, number, place) else [op]
        block.ops = made


def _stays(fusion: Fusion, blocks: Sequence[MachineBlock], after: Sequence[Set[int]], number: int, place: int) -> bool:
    ops = blocks[number].ops
    op = ops[place]
    if op.kind != Kind.COPY or len(op.reads) != 1 or len(op.writes) != 1 or fusion.program.ops[op.site].family != "mov":
        return False
    old, new = op.reads[0], op.writes[0]
    if len(fusion.flow.definers.get(new, ())) < 2 or old == new:
        return False
    made = next((k for k in range(place - 1, -1, -1) if old in ops[k].writes), None)
    if made is not None and any(new in between.reads for between in ops[made + 1 : place]):
        return True
    if op.predicates and (made is None or ops[made].predicates != op.predicates):
        return True
    again = next((k for k in range(place + 1, len(ops)) if old in ops[k].writes), None)
    if again is not None:
        return new in after[number] or any(new in later.reads for later in ops[again + 1 :])
    others = {fusion.flow.block_of[site] for site in fusion.flow.definers[new]} - {number}
    return old in after[number] and any(old in after[block] for block in others if blocks[block].ops)


def _moves(op: MachineOp, words: Callable[[int], int]) -> list[MachineOp]:
    count = words(op.writes[0])
    if not count:
        return [op]
    first = MachineOp("alu", op.writes, op.reads, op.site, predicates=op.predicates, kept=op.kept)
    return [first, *(MachineOp("alu", (), op.reads, op.site, predicates=op.predicates) for _ in range(count - 1))]
