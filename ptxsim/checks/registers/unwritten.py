"""Registers that are read before anything has written them: data flow over the program, no run needed."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace

from ptxsim.diagnostic import Finding
from ptxsim.engine.analysis.control_flow import control_flow
from ptxsim.engine.analysis.def_use import reads, writes
from ptxsim.engine.program.operation import Op, Program, fact
from ptxsim.isa.facts import Mechanism


def unwritten_reads(program: Program, given: Collection[int]) -> list[Finding]:
    """A warning for the first read of every register of a snippet that no path from the start has written.

    given: the slots that the caller has set. The others hold zero, and an accumulator that its instruction replaces may well start so.
    """
    never = [(slot, finding, replaced) for slot, finding, replaced, ever in _early_reads(program) if not ever]
    return [
        replace(
            finding, level="warning", message=f"{finding.message}, nor has the caller set it: it holds zero",
            help=f"give it in registers={{{program.slot_names[slot].lstrip('%')!r}: ...}}, as 0 if that is meant",
        )
        for slot, finding, replaced in never if slot not in given and not replaced
    ]  # fmt: skip


def doubtful_reads(program: Program) -> dict[int, Finding]:
    """Slots that are read where not every path has written them, such as the sum of a loop that is never set to zero. Whether
    such a path is ever taken, and whether the value shows, only a run can say: compilers read registers that nothing has
    written, and overwrite or drop what comes of it."""
    return {
        slot: replace(
            finding, message=f"{finding.message} by then, and its value shows",
            help="give it a value first, in front of the loop if there is one (mov)",
        )
        if ever else finding
        for slot, finding, _, ever in _early_reads(program)
    }  # fmt: skip


@fact
def doubtful_accumulators(program: Program) -> dict[int, Finding]:
    """Accumulators that not every path to a warpgroup's product has written; it adds to them only where scale-d is true."""
    surely = _flow(program, [_summary(block)[1] for block in program.blocks], lambda known, more: known & more)
    found: dict[int, Finding] = {}
    for block, known in zip(program.blocks, surely):
        if known is None:
            continue
        for op in block:
            if op.completes_by is Mechanism.PRODUCT_GROUP:
                for slot in writes(op):
                    if not known >> slot & 1 and slot not in found:
                        found[slot] = Finding(
                            "uninitialized-read",
                            f"{op.opcode} adds to accumulators that nothing has written, {program.slot_names[slot]} first",
                            op.line, op.column, len(op.opcode),
                            help="set them to zero (mov), or make scale-d false for the first product",
                        )  # fmt: skip
            known |= _bits(writes(op))
    return found


@fact
def _early_reads(program: Program) -> list[tuple[int, Finding, bool, bool]]:
    """Slots that are read though some path has not written them.

    With a finding at the first such read, whether the instruction there writes the slot as well, and whether any path has written it.
    """
    summaries = [_summary(block) for block in program.blocks]
    written = [slots for _, slots in summaries]
    maybe = _flow(program, written, lambda known, more: known | more)
    surely = _flow(program, written, lambda known, more: known & more)
    found: dict[int, tuple[int, Finding, bool, bool]] = {}
    for (exposed, _), ever, always in zip(summaries, maybe, surely, strict=True):
        if ever is None or always is None:
            continue  # never reached
        for slot, op in exposed.items():
            if not always >> slot & 1 and (slot not in found or found[slot][3] > ever >> slot & 1):
                finding = Finding(
                    "uninitialized-read", f"register {program.slot_names[slot]} is read and nothing has written it",
                    op.line, op.column, len(op.opcode), help="give it a value first (mov)",
                )  # fmt: skip
                found[slot] = slot, finding, slot in writes(op), bool(ever >> slot & 1)
    return list(found.values())


def _summary(block: list[Op]) -> tuple[dict[int, Op], int]:
    """The slots a block reads before it writes them, each with the first instruction that does, and those it writes as bits."""
    exposed: dict[int, Op] = {}
    written = 0
    for op in block:
        for slot in reads(op):
            if not written >> slot & 1:
                exposed.setdefault(slot, op)
        written |= _bits(writes(op))
    return exposed, written


def _flow(program: Program, written: Iterable[int], join: Callable[[int, int], int]) -> list[int | None]:
    """For each block, the slots written on the paths to it as bits, joined where they meet; None where no path comes."""
    written = list(written)
    state: list[int | None] = [None] * len(program.blocks)
    queue: deque[int] = deque()
    for function in {f.entry: f for f in program.functions.values()}.values():
        state[function.entry] = _bits(p.slot for p in function.parameters if p.slot is not None)
        queue.append(function.entry)
    while queue:
        index = queue.popleft()
        out = (state[index] or 0) | written[index]
        for successor in control_flow(program).successors[index]:
            known = state[successor]
            joined = out if known is None else join(known, out)
            if joined != known:
                state[successor] = joined
                queue.append(successor)
    return state


def _bits(slots: Iterable[int]) -> int:
    word = 0
    for slot in slots:
        word |= 1 << slot
    return word
