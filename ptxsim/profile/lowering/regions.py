"""Basic blocks as the assembler sees them. A program for execution also ends blocks where a warp may be suspended."""

from __future__ import annotations

from dataclasses import fields

from ptxsim.engine.analysis.control_flow import control_flow
from ptxsim.engine.program.operation import Op, Program


def merged(program: Program) -> Program:
    """The same program with blocks that only follow each other put together; the later ones stay, empty."""
    entered = control_flow(program).joins
    blocks: list[list[Op]] = [list(block) for block in program.blocks]
    head = 0
    for number in range(1, len(blocks)):
        before = blocks[head]
        if number not in entered and blocks[number] and before and before[-1].control is None:
            before += blocks[number]
            blocks[number] = []
        elif blocks[number] or number in entered:
            head = number
    parts = {f.name: getattr(program, f.name) for f in fields(Program) if f.init}
    return Program(**parts | {"blocks": blocks, "facts": {}})
