"""Which registers are still wanted, before every operation and at the end of every block."""

from __future__ import annotations

from collections.abc import Iterable

from ptxsim.engine.program.operand import Address, Operand, Register, Vector
from ptxsim.engine.program.operation import Op, Program, fact
from ptxsim.isa.facts import Mechanism


def slots_of(operands: Iterable[Operand | None]) -> list[int]:
    """Register slots that operands mention, addresses and vectors included."""
    found = []
    for operand in operands:
        kind = type(operand)
        if kind is Register:
            if not operand.sink:
                found.append(operand.slot)
        elif kind is Vector:
            found += slots_of(operand.elements)
        elif kind is Address:
            found += slots_of((operand.base, *operand.extra))
    return found


def reads(op: Op) -> list[int]:
    guard = [op.guard[0]] if op.guard is not None else []
    # Asynchronous products write their destinations later, and read what they were.
    asynchronous = slots_of(op.destinations) if op.completes_by is not None else []
    return slots_of(op.sources) + guard + asynchronous


def kills(op: Op) -> list[int]:
    """Slots that an operation writes in all executing lanes."""
    partial = op.guard is not None or op.control is not None or op.completes_by is not None
    return [] if partial else slots_of(op.destinations)


@fact
def product_slots(program: Program) -> frozenset[int]:
    """Registers that asynchronous products use."""
    products = (op for op in program.ops if op.completes_by is Mechanism.WGMMA_GROUP)
    return frozenset(slot for op in products for slot in slots_of((*op.destinations, *op.sources)))


def seen_by_others(program: Program) -> set[int]:
    """Registers that a lane may read of another one, also of one that went another way or has exited."""
    return {slot for op in program.ops if op.facts.reads_lanes for slot in slots_of(op.sources)}


def following(program: Program, number: int) -> list[int]:
    """Blocks that may come after a block; a call's callee is not among them."""
    block = program.blocks[number]
    last = block[-1] if block else None
    targets = list(last.targets) if last is not None and last.control else []
    ends = last is not None and last.guard is None and last.control in ("bra", "exit", "ret", "brx.idx")
    if not ends and number + 1 < len(program.blocks):
        targets.append(number + 1)
    return targets


def live_out(program: Program) -> list[set[int]] | None:
    """Registers live at the end of each block; None where calls make everything count."""
    if any(op.control == "call" for op in program.ops):
        return None
    always = seen_by_others(program)
    blocks = program.blocks
    followers, use, define = [], [], []
    for number, block in enumerate(blocks):
        followers.append(following(program, number))
        used: set[int] = set()
        killed: set[int] = set()
        for op in block:
            used.update(slot for slot in reads(op) if slot not in killed)
            killed.update(kills(op))
        use.append(used)
        define.append(killed)
    before = [set(u) for u in use]
    after: list[set[int]] = [set(always) for _ in blocks]
    changed = True
    while changed:
        changed = False
        for number in range(len(blocks) - 1, -1, -1):
            out = set(always)
            for follower in followers[number]:
                out |= before[follower]
            if out != after[number]:
                after[number] = out
                new = use[number] | (out - define[number])
                if new != before[number]:
                    before[number] = new
                    changed = True
    return after


def live_before(block: list[Op], out: set[int], always: set[int]) -> list[set[int]]:
    """Registers live before each operation of a block, its own sources and those that `always` are included."""
    result: list[set[int]] = [set()] * len(block)
    live = set(out)
    for index in range(len(block) - 1, -1, -1):
        op = block[index]
        live = (live - set(kills(op))) | set(reads(op)) | always
        result[index] = live
    return result
