"""Programs whose blocks are cut wherever another thread may come in between two accesses that it can tell apart.

A warp executes a block in one turn, so that no other warp ever runs between two accesses of one block: between a look at a flag and the
look at the data after it, or at a version and the count of those who read it. On a GPU any may.
"""

from __future__ import annotations

from dataclasses import replace

from ptxsim.engine.program.operation import Op, Program, fact
from ptxsim.isa.facts import AccessKind

_OWN = ("local", "param", "const")


@fact
def parted(program: Program) -> Program:
    """The same program, in which a block begins with each atomic or strong access that another access comes before; itself, where there is no such place."""
    if len(program.functions) > 1:
        return program
    pieces = [_pieces(block) for block in program.blocks]
    if all(len(each) < 2 for each in pieces):
        return program
    number_of, count = list[int](), 0
    for each in pieces:
        number_of.append(count)
        count += len(each)
    ops = [
        replace(op, targets=tuple(number_of[target] for target in op.targets)) if op.targets else op
        for op in program.ops
    ]
    blocks = [[ops[op.site] for op in piece] for each in pieces for piece in each]
    return program.with_operations(blocks, ops)


@fact
def new_blocks(program: Program) -> frozenset[int]:
    """The numbers of the blocks that begin within one of the program's own."""
    number, found = 0, set[int]()
    for block in program.blocks if parted(program) is not program else ():
        pieces = len(_pieces(block))
        found.update(range(number + 1, number + pieces))
        number += pieces
    return frozenset(found)


def _pieces(block: list[Op]) -> list[list[Op]]:
    pieces: list[list[Op]] = [[]]
    is_met = False
    for op in block:
        if is_met and _tells(op):
            pieces.append([])
        pieces[-1].append(op)
        is_met = is_met or any(access.space not in _OWN for access in op.accesses)
    return pieces


def _tells(op: Op) -> bool:
    return any(
        access.space not in _OWN and (access.kind is AccessKind.ATOMIC or access.order != "weak")
        for access in op.accesses
    )
