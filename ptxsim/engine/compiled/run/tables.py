"""What native code is told of a program: where the memory of a warp has its registers, and tables by block and by operation."""

from __future__ import annotations

import numpy as np

from ptxsim.engine.analysis.clocks import of_clocks
from ptxsim.engine.analysis.forward_progress import impatience, polls
from ptxsim.engine.compiled.library import specials_of
from ptxsim.engine.compiled.runtime.abi import HEADER_BYTES, WarpLayout, register_bytes
from ptxsim.engine.program.operand import Register
from ptxsim.engine.program.operation import Program, fact, lengths_of
from ptxsim.engine.votes import asked


@fact
def layout_of(program: Program) -> WarpLayout:
    """Where a warp of a program keeps its registers."""
    return WarpLayout.of(program, specials_of(program))


@fact
def lasting(program: Program) -> tuple[slice, ...]:
    """Where a warp's memory has what may come back to what it was: its registers, but those that clocks decide."""
    layout, slots = layout_of(program), program.slots
    found, begin = [], HEADER_BYTES
    for at, slot in sorted((layout.registers[slot], slot) for slot in of_clocks(program) or ()):
        found.append(slice(begin, at))
        begin = at + register_bytes(slots[slot])
    return (*found, slice(begin, layout.stride))


@fact
def tables_of(program: Program) -> tuple[np.ndarray, ...]:
    """What native code asks about blocks and operations: impatience, lengths, lines, where results are, votes, polls."""
    places = layout_of(program).registers
    results = [0 if slot is None else places[slot] for slot in results_of(program)]
    votes = [asked(op) for op in program.ops]
    rows = impatience(program), lengths_of(program), lines_of(program), results, votes, polls(program)
    return tuple(np.array(row, np.int64) for row in rows)


@fact
def lines_of(program: Program) -> tuple[int, ...]:
    """The line of each operation."""
    return tuple(op.line for op in program.ops)


@fact
def results_of(program: Program) -> tuple[int | None, ...]:
    """The slot of each operation's first destination."""
    firsts = (next(iter(op.destinations), None) for op in program.ops)
    return tuple(first.slot if isinstance(first, Register) and not first.sink else None for first in firsts)
