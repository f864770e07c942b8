"""Products with a constant, which the assembler computes where they are used, in other blocks too (engine.analysis.ptxas.fma_contraction).

Read from the machine code of ptxas 13.0 for sm_90, in which a factor is a constant if it is a number or a parameter of the kernel, by
itself or through mov. A product leaves the loop that it is in as a value, and is one wherever another may have come instead.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from heapq import heapify, heappop, heappush
from typing import TypeVar

from ptxsim.engine.analysis.control_flow import ControlFlow, control_flow
from ptxsim.engine.analysis.def_use import writes
from ptxsim.engine.program.operand import Constant, Operand, Register
from ptxsim.engine.program.operation import Op, Program

State = TypeVar("State")
Held = dict[int, State]  # by register


def with_constants(program: Program, products: Iterable[Op]) -> list[Op]:
    """Those of the products that have a constant as a factor."""
    products = [op for op in products if op.facts.operators == ("*",)]
    constants = _constants(program) if products else set()
    return [op for op in products if any(_is_constant(factor, constants) for factor in op.sources)]


def _is_constant(operand: Operand | None, constants: set[int]) -> bool:
    return type(operand) is Constant or (isinstance(operand, Register) and operand.slot in constants)


def _constants(program: Program) -> set[int]:
    """Registers that one operation writes, with a number or a parameter."""
    written = Counter(slot for op in program.ops for slot in writes(op))
    found: set[int] = set()
    for op in program.ops:
        into = writes(op)
        if op.guard is not None or op.control is not None or any(written[slot] > 1 for slot in into):
            continue
        if op.facts.formula == "a":
            is_constant = _is_constant(op.sources[0], found)
        else:
            is_constant = op.family == "load" and op.accesses[0].space == "param"
        if is_constant:
            found.update(into)
    return found


def loop_of(graph: ControlFlow, block: int) -> set[int] | None:
    """The blocks of the innermost loop that a block is in, if it is in any."""
    bodies = (graph.loop_body(head, tail) for head, tail in graph.back_edges if head in graph.dominators[tail])
    return min((body for body in bodies if block in body), key=len, default=None)


def on_every_way(
    program: Program,
    last: Mapping[int, int],
    pass_through: Callable[[int, Held[State]], Held[State]],
    may_enter: Callable[[State, int], bool],
) -> dict[int, Held[State]]:
    """What registers hold where a stretch of blocks begins, whichever way led there.

    Stretches go by the block that they begin with; last: the block that each ends with. pass_through: what is held at the end
    of a stretch where this was at its beginning. may_enter: whether something comes into a block at all.
    """
    graph = control_flow(program)
    found: dict[int, Held[State]] = {entry: {} for entry in graph.entries}
    rest = [*found]
    heapify(rest)
    while rest:
        begin = heappop(rest)
        leaving = pass_through(begin, dict(found[begin]))
        for block in graph.successors[last[begin]]:
            coming = {slot: state for slot, state in leaving.items() if may_enter(state, block)}
            known = found.get(block)
            if known is not None:
                coming = {slot: state for slot, state in known.items() if coming.get(slot) == state}
            if known is None or len(coming) < len(known):
                found[block] = coming
                heappush(rest, block)
    return found
