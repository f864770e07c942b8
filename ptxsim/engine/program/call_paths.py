"""The calls that a thread may be in, as far as the text shows them: every chain of calls from the kernel has a number.

Where no function may call itself, a call has nothing of its own but where it returns to: its registers are the function's. So lanes
that have come to a function by the same chain of calls are in the same call, whenever each has come.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from ptxsim.engine.program.callees import blocks_of
from ptxsim.engine.program.operation import FunctionCode, Op, Program, calls_functions, fact, families
from ptxsim.machine.cta import Frame

MOST = 1024  # chains of calls that are numbered


@dataclass(slots=True)
class CallPaths:
    """The chains of calls of a program, by number; and what each becomes by a call: by its number (0 in the kernel), the site of the
    operation, and the function that is called. `edges` are numbers of sites with their functions."""

    frames: dict[int, Frame] = field(default_factory=dict)
    entered: dict[tuple[int, int, str], int] = field(default_factory=dict)
    edges: dict[tuple[int, str], int] = field(default_factory=dict)


@fact
def call_paths(program: Program) -> CallPaths | None:
    """The chains of calls; None if a function may call itself, memory is allocated as functions run (alloca), a predicate is
    returned, which is no bytes, or there are too many."""
    found = CallPaths()
    if not calls_functions(program):
        return found
    returned = [formal.slot for code in program.functions.values() for formal in code.returns]
    gives_predicates = any(slot is not None and program.slots[slot].kind == "predicate" for slot in returned)
    if program.is_recursive or gives_predicates or "stack" in families(program):
        return None
    rest: deque[tuple[FunctionCode, Frame | None]] = deque([(program.functions[program.name], None)])
    while rest:
        code, caller = rest.popleft()
        for block in blocks_of(program)[code.name]:
            for op in program.blocks[block]:
                for callee in candidates(program, op):
                    number = len(found.frames) + 1
                    if number > MOST:
                        return None
                    frame = Frame(number, block + 1, caller, callee, code, op.call)
                    found.frames[number] = frame
                    found.entered[0 if caller is None else caller.number, op.site, callee.name] = number
                    found.edges.setdefault((op.site, callee.name), len(found.edges))
                    rest.append((callee, frame))
    return found


def candidates(program: Program, op: Op) -> list[FunctionCode]:
    """The functions of the program that an operation may call."""
    if op.call is None:
        return []
    names = program.called_by_address if op.call.name is None else {op.call.name}
    return [program.functions[name] for name in sorted(names) if name in program.functions]


def calls_of(program: Program) -> dict[int, Frame]:
    """The calls that a warp begins with: all that there may be, or none where each is made as it comes."""
    paths = call_paths(program)
    return {} if paths is None else paths.frames
