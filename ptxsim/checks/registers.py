"""Registers that are read although nothing can have written them: data flow over the program, no run needed."""

from __future__ import annotations

from collections import deque

from ptxsim.diagnostic import Finding
from ptxsim.engine.liveness import following, slots_of
from ptxsim.engine.program import Op, Program, fact


@fact
def unwritten_reads(program: Program) -> list[Finding]:
    """A finding for the first read of every register that no path from the start has written."""
    written = _maybe_written(program)
    findings = {}
    for index, block in enumerate(program.blocks):
        if written[index] is None:
            continue  # never reached
        known = set(written[index])
        for op in block:
            for slot in reads(op):
                if slot not in known and slot not in findings:
                    findings[slot] = Finding(
                        "uninitialized-read", f"register {program.slot_names[slot]} is read and nothing has written it",
                        op.line, op.column, len(op.opcode), help="give it a value first (mov)",
                    )  # fmt: skip
            known.update(writes(op))
    return list(findings.values())


def reads(op: Op) -> list[int]:
    """Slots an operation reads, its guard first. Accumulators that an effect takes as sources are among them."""
    found = [op.guard[0]] if op.guard else []
    found.extend(slots_of(op.sources))
    if op.call is not None:
        found.extend(passed.slot for passed in op.call.arguments if passed.slot is not None)
        found.extend(slots_of([op.call.address]))
    return found


def writes(op: Op) -> list[int]:
    found = slots_of(op.destinations)
    if op.call is not None:
        found.extend(passed.slot for passed in op.call.returns if passed.slot is not None)
    return found


def _maybe_written(program: Program) -> list[set[int] | None]:
    """For each block, the slots that some path to it may have written; None for blocks no path reaches."""
    state: list[set[int] | None] = [None] * len(program.blocks)
    queue = deque()
    for function in {f.entry: f for f in program.functions.values()}.values():
        formals = {p.slot for p in function.parameters if p.slot is not None}
        state[function.entry] = formals
        queue.append(function.entry)
    while queue:
        index = queue.popleft()
        out = set(state[index] or ())
        for op in program.blocks[index]:
            out.update(writes(op))
        for successor in following(program, index):
            known = state[successor]
            if known is None:
                state[successor] = set(out)
            elif out <= known:
                continue
            else:
                known |= out
            queue.append(successor)
    return state
