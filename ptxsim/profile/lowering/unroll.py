"""Loops that the assembler unrolls: one block, counted by a constant step against a bound that does not change."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from ptxsim.engine.analysis.def_use import DefUse
from ptxsim.engine.program.operand import Constant, Register
from ptxsim.engine.program.operation import Op, Program
from ptxsim.isa.facts import Control
from ptxsim.profile.machine_code import Kind, MachineBlock, MachineOp

# Machine instructions a body may have to be unrolled, found with loops of growing size: so many of plain arithmetic, more
# with every load from shared memory, more with any from global memory, fewer with stores; never so many loads in flight.
PLAIN_LIMIT, MOST = 22, 68
SHARED_LOAD, GLOBAL_LOAD = 4, 22
SHARED_STORE, GLOBAL_STORE, CHANGED = 2.7, 1.75, 8.25  # the last one: atomics, of either
MOST_LOADS = 15  # from global memory
# Of loops of so few turns as the text tells: as many copies as the largest power of two that divides them, of bodies up to so many instructions.
# None where that is one (20 products of Triton in tools/data/judged: 8 and 16 turns are copied, 7 and 15 are not).
MOST_KNOWN, COPIES_KNOWN = 128, 16
QUESTIONS = 4  # comparisons and branches around the copies of a loop whose turns the text does not tell (ptxas 13.0)
COMPARED = ("lt", "ne", "lo", "gt")  # of a count that goes on while it is not at its bound


def factors(flow: DefUse, number: int, block: MachineBlock) -> tuple[int, ...]:
    """How many iterations at a time the copies of a loop body do, largest first; () if it stays as it is."""
    if counting(flow, number) is None or any(op.kind == Kind.CHECK for op in block.ops):
        return ()
    size = sum(op.kind != Kind.COPY for op in block.ops)
    turns = known_turns(flow, number)
    if turns % 2:
        return ()
    if 0 < turns <= COPIES_KNOWN:
        return (math.gcd(turns, COPIES_KNOWN),) if size <= MOST_KNOWN else ()
    accesses = Counter(
        "atomic" if flow.program.ops[op.site].family == "atomic" else (op.unit, op.stores)
        for op in block.ops
        if op.kind == Kind.ACCESS
    )
    loads = accesses["global", False]
    limit: float = PLAIN_LIMIT + SHARED_LOAD * accesses["shared", False] + GLOBAL_LOAD * bool(loads)
    limit -= SHARED_STORE * accesses["shared", True] + GLOBAL_STORE * accesses["global", True]
    limit -= CHANGED * accesses["atomic"]
    return (4, 2) if size <= min(limit, MOST) and loads <= MOST_LOADS else ()


def counting(flow: DefUse, number: int) -> tuple[Op, Op, Op] | None:
    """(add, setp, branch) that count a loop of this one block, or None."""
    source = flow.program.blocks[number]
    branch = source[-1] if source else None
    if branch is None or branch.control is not Control.BRANCH or branch.guard is None or branch.targets[0] != number:
        return None
    condition = last_writer(flow, source, branch.guard[0])
    if condition is None or condition.family != "setp" or len(condition.sources) < 2:
        return None
    counted, bound = condition.sources[0], condition.sources[1]
    if not isinstance(counted, Register):
        return None
    step = last_writer(flow, source, counted.slot)
    if step is None or step.family != "add" or step.guard is not None:
        return None
    if counted.slot not in flow.reads[step.site] or not any(isinstance(s, Constant) for s in step.sources):
        return None
    if isinstance(bound, Register) and last_writer(flow, source, bound.slot) is not None:
        return None
    return step, condition, branch


def known_turns(flow: DefUse, number: int) -> int:
    """How often a loop is run that counts from a constant to a constant by one; 0 where that is not known."""
    found = counting(flow, number)
    assert found is not None, "factors() asks of loops that count"
    step, condition, _ = found
    begins = [flow.program.ops[s] for w in flow.writes[step.site] for s in flow.definers[w] if s != step.site]
    by, bound = next(s for s in step.sources if isinstance(s, Constant)), condition.sources[1]
    if len(begins) != 1 or begins[0].family != "mov" or begins[0].guard is not None:
        return 0
    first = begins[0].sources[0]
    numbers = [c.value for c in (first, by, bound) if isinstance(c, Constant) and isinstance(c.value, int)]
    if len(numbers) < 3 or flow.program.ops[condition.site].words.get("cmp") not in COMPARED:
        return 0
    begin, add, end = (value - (1 << 32) * (value >= 1 << 31) if value < 1 << 32 else value for value in numbers)
    turns = -(-(end - begin) // add) if add else 0
    exact = condition.words["cmp"] != "ne" or (end - begin) % add == 0
    return max(0, turns) if exact else 0


def last_writer(flow: DefUse, source: list[Op], slot: int) -> Op | None:
    return next((op for op in reversed(source) if slot in flow.writes[op.site]), None)


def forbidden(program: Program) -> set[int]:
    """Blocks with a line of `.pragma "nounroll"` before their end."""
    found, before = set(), 0
    for number, block in enumerate(program.blocks):
        if block:
            if any(before < line <= block[-1].line for line in program.nounroll):
                found.add(number)
            before = block[-1].line
    return found


def copies(flow: DefUse, number: int, block: MachineBlock, count: int, fresh: Callable[[int], int]) -> MachineBlock:
    """`count` iterations as one block: registers of an iteration are renamed, counting is done once."""
    found = counting(flow, number)
    assert found is not None, "factors() gives none where nothing counts"
    step, condition, branch = found
    once = {step.site, condition.site, branch.site}
    steps = {op.site for op in flow.program.blocks[number] if is_step(flow, op)}
    current: dict[int, int] = {}
    ops: list[MachineOp] = []
    addresses = addresses_alone(block.ops)
    known: dict[tuple[object, ...], tuple[int, ...]] = {}  # place in the body and what is read -> what holds it already
    for k in range(count):
        last = k == count - 1
        names: dict[int, int] = {}
        for place, op in enumerate(block.ops):
            if not last and (op.site in once or op.site in steps):
                continue
            reads = tuple(current.get(r, r) for r in op.reads)
            guards = tuple(current.get(r, r) for r in op.predicates)
            if place in addresses and (place, reads, guards) in known:
                current.update(zip(op.writes, known[place, reads, guards]))
                continue
            writes = op.writes if last else tuple(names.setdefault(w, fresh(w)) for w in op.writes)
            known[place, reads, guards] = writes
            current.update(zip(op.writes, writes))
            ops.append(replace(op, reads=reads, writes=writes, predicates=guards, place=None))
    return MachineBlock(ops, unroll=count)


def addresses_alone(ops: list[MachineOp]) -> set[int]:
    """Places of what computes addresses of accesses and nothing else: one that moves by a constant becomes an offset."""
    found: set[int] = set()
    elsewhere: set[int] = set()
    for place in range(len(ops) - 1, -1, -1):
        op = ops[place]
        if op.kind == Kind.PLAIN and op.writes and not elsewhere & set(op.writes):
            found.add(place)
        elsewhere.update(op.predicates)
        if op.kind not in (Kind.ACCESS, Kind.ASYNC_COPY) and place not in found:
            elsewhere.update(op.reads)
    return found


def is_step(flow: DefUse, op: Op) -> bool:
    """register += constant: addresses of the copies take it as an offset."""
    writes = flow.writes[op.site]
    return (
        op.family == "add"
        and op.guard is None
        and any(isinstance(s, Constant) for s in op.sources)
        and len(writes) == 1
        and writes[0] in flow.reads[op.site]
    )
