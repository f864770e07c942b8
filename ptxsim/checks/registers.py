"""Registers that are read although nothing can have written them: data flow over the program, no run needed."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection
from dataclasses import replace

from ptxsim.diagnostic import Finding
from ptxsim.engine.liveness import following, slots_of
from ptxsim.engine.program import Op, Program, fact


def unwritten_reads(program: Program, given: Collection[int] | None = None) -> list[Finding]:
    """A finding for the first read of every register that no path from the start has written.

    given: the slots that a caller has set, for a snippet, where the others hold zero, and an accumulator that its
    instruction replaces may well start so; None where nobody sets any.
    """
    if given is None:
        return [finding for _, finding, _ in _unwritten(program)]
    return [
        replace(
            finding, level="warning", message=f"{finding.message}, nor has the caller set it: it holds zero",
            help=f"give it in registers={{{program.slot_names[slot].lstrip('%')!r}: ...}}, as 0 if that is meant",
        )
        for slot, finding, is_replaced in _unwritten(program) if slot not in given and not is_replaced
    ]  # fmt: skip


@fact
def _unwritten(program: Program) -> list[tuple[int, Finding, bool]]:
    """Slots that are read although nothing has written them, each with a finding at the first read and whether the
    instruction there writes the slot as well."""
    written = _maybe_written(program)
    found = {}
    for index, block in enumerate(program.blocks):
        if written[index] is None:
            continue  # never reached
        known = set(written[index])
        for op in block:
            for slot in reads(op):
                if slot not in known and slot not in found:
                    finding = Finding(
                        "uninitialized-read", f"register {program.slot_names[slot]} is read and nothing has written it",
                        op.line, op.column, len(op.opcode), help="give it a value first (mov)",
                    )  # fmt: skip
                    found[slot] = slot, finding, slot in writes(op)
            known.update(writes(op))
    return list(found.values())


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
