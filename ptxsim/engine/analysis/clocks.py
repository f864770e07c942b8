"""What a program learns from clocks: registers that never come back to what they were, though the program may do nothing else for it."""

from __future__ import annotations

from ptxsim.engine.analysis.control_flow import block_of, control_flow
from ptxsim.engine.analysis.def_use import reads, writes
from ptxsim.engine.program.operand import Special
from ptxsim.engine.program.operation import Op, Program, fact
from ptxsim.isa.special_registers import CLOCKS


def reads_clock(op: Op) -> bool:
    """Whether an operation reads a special register that counts."""
    return any(isinstance(source, Special) and source.name in CLOCKS for source in op.sources)


@fact
def of_clocks(program: Program) -> frozenset[int] | None:
    """Slots of registers that clocks decide: directly, by arithmetic, or because lanes write them where a clock has sent them. None if clocks
    may decide more of a loop: what it accesses, for whom it waits, when it ends.

    What they decide else is how long a thread sleeps between two looks, as in the waits of libcu++.
    """
    if not any(map(reads_clock, program.ops)):
        return frozenset()
    graph, bodies = control_flow(program), _loops(program)
    slots, blocks = set[int](), set[int]()
    before = -1
    while before != len(slots) + len(blocks):
        before = len(slots) + len(blocks)
        for op in program.ops:
            number = block_of(program)[op.site]
            if not (reads_clock(op) or number in blocks or slots.intersection(reads(op))):
                continue
            around = [body for body in bodies if number in body]
            if around and (op.accesses or op.synchronises is not None or op.call is not None or op.leaves_function):
                return None
            slots.update(writes(op))
            if op.control is not None and slots.intersection(reads(op)):
                if any(not body.issuperset(graph.successors[number]) for body in around):
                    return None
                blocks |= graph.between(number)
    return frozenset(slots)


def _loops(program: Program) -> list[set[int]]:
    """The blocks of each loop; those of functions count as one, as they may be called in any."""
    called = [function.entry for function in program.functions.values() if function.entry]
    functions = set(range(min(called), len(program.blocks))) if called else set()
    return [*control_flow(program).loops.values(), functions]
