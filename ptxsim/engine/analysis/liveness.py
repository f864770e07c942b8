"""Which registers are still wanted, before every operation and at the end of every block."""

from __future__ import annotations

from collections.abc import Collection, Set

from ptxsim.engine.analysis.control_flow import control_flow, flow_back
from ptxsim.engine.analysis.def_use import reads, slots_of
from ptxsim.engine.program.callees import blocks_of
from ptxsim.engine.program.operation import Op, Program, fact
from ptxsim.isa.facts import Control, Mechanism


def uses(op: Op) -> list[int]:
    """Slots whose values an operation needs. Asynchronous products write their destinations later, and read what they were."""
    return reads(op) + (slots_of(op.destinations) if op.completes_by is not None else [])


def kills(op: Op) -> list[int]:
    """Slots that an operation writes in all executing lanes."""
    partial = op.guard is not None or op.control is not None or op.completes_by is not None
    return [] if partial else slots_of(op.destinations)


@fact
def product_slots(program: Program) -> frozenset[int]:
    """Registers that asynchronous products use."""
    products = (op for op in program.ops if op.completes_by is Mechanism.PRODUCT_GROUP)
    return frozenset(slot for op in products for slot in slots_of((*op.destinations, *op.sources)))


@fact
def seen_by_others(program: Program) -> frozenset[int]:
    """Registers that a lane may read of another one, also of one that went another way or has exited."""
    return frozenset(slot for op in program.ops if op.facts.reads_lanes for slot in slots_of(op.sources))


def live_out(program: Program, dead: Collection[int] = (), of_others: bool = True) -> list[set[int]]:
    """Registers live at the end of each block. dead: sites whose operands do not count; of_others: whether other lanes count, which may
    read a register of one that is past its own use of it."""
    always = seen_by_others(program) if of_others else frozenset[int]()
    returned = _returned(program)
    use, define = [], []
    for block in program.blocks:
        used: set[int] = set()
        killed: set[int] = set()
        for op in block:
            if op.site in dead:
                continue
            used.update(slot for slot in uses(op) if slot not in killed)
            killed.update(kills(op))
        use.append(used | (always - killed))
        define.append(killed)
    after = flow_back(
        control_flow(program).successors,
        lambda number, out: use[number] | ((out | returned.get(number, set())) - define[number]),
    )
    return [out | always | returned.get(number, set()) for number, out in enumerate(after)]


def _returned(program: Program) -> dict[int, set[int]]:
    """The registers that hold what a function returns, by the blocks that end with a way back."""
    found: dict[int, set[int]] = {}
    codes = {code.name: code for code in program.functions.values()}
    for name, blocks in blocks_of(program).items():
        slots = {formal.slot for formal in codes[name].returns if formal.slot is not None}
        for number in blocks:
            if slots and program.blocks[number] and program.blocks[number][-1].control is Control.RETURN:
                found[number] = slots
    return found


def live_before(block: list[Op], out: set[int], always: Set[int]) -> list[set[int]]:
    """Registers live before each operation of a block, its own sources and those that `always` are included."""
    result: list[set[int]] = [set()] * len(block)
    live = set(out)
    for index in range(len(block) - 1, -1, -1):
        op = block[index]
        live = (live - set(kills(op))) | set(uses(op)) | always
        result[index] = live
    return result
