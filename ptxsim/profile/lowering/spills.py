"""What does not fit into the registers that a thread may have: stored in local memory where it is made, loaded again where it is read.

The assembler chooses better; the traffic comes out in the right order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from ptxsim.profile.lowering.pressure import MOST, Pressure
from ptxsim.profile.machine_code import Kind, MachineBlock, MachineOp
from ptxsim.syntax import ast

FILE = 65536  # registers of an SM
UNIT = 8  # a thread's number of them is a multiple of
LOOP = 8  # how much more an instruction counts for each loop around it
KEPT = 8  # instructions for which a register that has been loaded again stays
AHEAD = 12  # instructions by which a load comes before its reader


def most_registers(directives: Iterable[ast.Directive]) -> int:
    """How many registers a thread may have: what .maxnreg says, or what .maxntid and .minnctapersm leave."""
    numbers = {d.name: [int(a) for a in d.arguments if str(a).isdigit()] for d in directives}
    most = min(MOST, *numbers.get("maxnreg", []) or [MOST])
    threads = 1
    for number in numbers.get("reqntid") or numbers.get("maxntid") or []:
        threads *= number
    if threads > 1:
        ctas = (numbers.get("minnctapersm") or [1])[0]
        most = min(most, FILE // max(1, ctas * -(-threads // 32) * 32) // UNIT * UNIT)
    return max(most, 2 * UNIT)


def registers_at_entry(directives: Sequence[ast.Directive]) -> int | None:
    """The same where the assembler takes it for the number that a thread begins with (up to the largest count of setmaxnreg); None where
    directives do not say it, and setmaxnreg is ignored: read from what ptxas 13.0 says with -v."""
    names = {directive.name for directive in directives}
    is_known = "maxnreg" in names or ("minnctapersm" in names and names & {"maxntid", "reqntid"})
    return most_registers(directives) if is_known else None


def spill(pressure: Pressure, blocks: list[MachineBlock], live_out: list[frozenset[int]], limit: int) -> int:
    """Add the loads and stores of registers beyond `limit` to the blocks; returns their bytes, in the text of the code. live_out: of each block."""
    slots = _chosen(pressure, limit)
    places = {slot: 1 + k for k, slot in enumerate(sorted(slots))}
    total = 0
    for block, live in zip(blocks, live_out):
        before = len(block.ops)
        if slots:
            block.ops = _with_spills(block.ops, pressure, places, live)
        total += sum(4 * int(op.cost or 1) for op in block.ops if op.space == "spill") if len(block.ops) > before else 0
    return total


def _chosen(pressure: Pressure, limit: int) -> set[int]:
    """The registers that are kept in memory: wherever too many are live, those that are named least often."""
    uses: Counter[int] = Counter()
    for number, block in enumerate(pressure.blocks):
        for op in block.ops:
            for slot in {*op.reads, *op.writes}:
                uses[slot] += LOOP ** min(3, pressure.graph.loop_depth[number])
    found: set[int] = set()
    for number, block in enumerate(pressure.blocks):
        live = set(pressure.after[number])
        for op in reversed(block.ops):
            own = {*op.reads, *op.writes}
            if op.kind != Kind.COPY:
                here = live | own
                total = sum(pressure.words(slot) for slot in here if slot not in found or slot in own)
                for slot in sorted(here - own - found, key=lambda slot: (uses[slot], slot)):
                    if total <= limit:
                        break
                    if words := pressure.words(slot):
                        found.add(slot)
                        total -= words
            live = (live - set(op.writes)) | set(op.reads) | set(op.predicates)
    return found


def _with_spills(
    ops: list[MachineOp], pressure: Pressure, places: dict[int, int], live_out: frozenset[int]
) -> list[MachineOp]:
    """A block's instructions with the loads and stores of those registers. A load comes as early as their last one allows.

    What has been loaded is a value of its own for the assembler, which stores it again if it is to be loaded once more.
    """
    before: list[list[MachineOp]] = [[] for _ in ops]
    after: list[list[MachineOp]] = [[] for _ in ops]
    there: dict[int, int] = {}  # since which instruction a register has had its value
    loaded: dict[int, tuple[int, int]] = {}  # the instruction that it was loaded again for, and the register
    for i, op in enumerate(ops):
        for slot in dict.fromkeys(op.reads):
            home = pressure.like.get(slot, slot)
            if home in places and (home not in there or i - there[home] > KEPT):
                before[max(there.get(home, -1) + 1, i - AHEAD, 0)].append(
                    _access(op, slot, home, pressure, places, False)
                )
                if home in loaded:
                    reader, copy = loaded[home]
                    after[reader].append(_access(ops[reader], copy, home, pressure, places, True))
                there[home], loaded[home] = i, (i, slot)
        for slot in op.writes:
            home = pressure.like.get(slot, slot)
            if home in places and op.kind != Kind.COPY:
                after[i].append(_access(op, slot, home, pressure, places, True))
                there[home] = i
                loaded.pop(home, None)
    for slot in live_out:
        if (home := pressure.like.get(slot, slot)) in loaded:
            reader, copy = loaded.pop(home)
            after[reader].append(_access(ops[reader], copy, home, pressure, places, True))
    return [made for early, op, late in zip(before, ops, after) for made in (*early, op, *late)]


def _access(op: MachineOp, slot: int, home: int, pressure: Pressure, places: dict[int, int], stores: bool) -> MachineOp:
    writes, reads = ((), (slot,)) if stores else ((slot,), ())
    return MachineOp(
        "global", writes, reads, op.site, Kind.ACCESS, cost=pressure.words(home), amount=places[home], space="spill", stores=stores
    )  # fmt: skip
