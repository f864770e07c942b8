"""Plain loads that only spare an atomic: `if (v > *p) atomicMax(p, v)`, and loops of compare-and-swap that only ever raise a place, or lower it.

By the memory model they race with the atomics of others. But the place goes one way: a thread that finds an old value there executes an
atomic that changes nothing, and a thread that finds no need for one would find none later.
"""

from __future__ import annotations

from ptxsim.checks.order.dataflow.unused import at_one_place, is_arithmetic, is_ordinary, same_values
from ptxsim.closure import closure
from ptxsim.engine.analysis.control_flow import block_of, control_flow
from ptxsim.engine.analysis.def_use import reads, slots_of, writes
from ptxsim.engine.analysis.liveness import live_before, live_out
from ptxsim.engine.program.operand import Address, Operand, Register
from ptxsim.engine.program.operation import Op, Program
from ptxsim.isa.facts import AccessKind, Control

_ABOVE = {f"{word}{unordered}" for word in ("gt", "ge") for unordered in ("", "u")} | {"hi", "hs"}
_BELOW = {f"{word}{unordered}" for word in ("lt", "le") for unordered in ("", "u")} | {"lo", "ls"}
_RISES = {"max": True, "min": False}


def only_decides_need(program: Program, load: Op, update: Op) -> bool:
    """Whether what an ordinary load brings is only compared with what an atomic of its place would put there, and the atomic left out where it would
    change nothing. All tests of the program that go to such atomics are looked at: they must go the same way, in numbers of one type."""
    if not is_ordinary(load, AccessKind.READ) or not _goes_one_way(update) or not at_one_place(program, load, update):
        return False
    updates = [op for op in program.ops if _goes_one_way(op) and at_one_place(program, load, op)]
    if any(op.accesses[0].compares and not _comes_again(program, op) for op in updates):
        return False  # where another one comes first, it puts nothing there
    looks = [op for op in program.ops if is_ordinary(op, AccessKind.READ) and at_one_place(program, load, op)]
    found = found_at(program, [*looks, *updates])
    rises = {(_RISES[op.words["op"]], op.words["type"]) for op in updates if op.words["op"] in _RISES}
    tests = [op for op in program.ops if op.family == "setp" and not found.isdisjoint(reads(op))]
    for op in program.ops:
        if found.isdisjoint(reads(op)) or op.family == "mov":
            continue
        if op in updates:
            if not found.isdisjoint(slots_of((address_of(op), put_there(op)))) or op.guard is not None:
                return False
        elif op not in tests:
            return False
    for test in tests:
        if test.words["boolop"] is not None or test.guard is not None:
            return False
        if set(slots_of(test.sources)) <= found:  # whether a compare-and-swap has found what it compared with
            continue
        way = _way(program, test, found, looks, updates)
        if way is None:
            return False
        rises.add((way, test.words["type"]))
    return len(rises) == 1 and any(not set(slots_of(test.sources)) <= found for test in tests)


def _goes_one_way(op: Op) -> bool:
    """Whether an operation is an atomic that raises a place or lowers it, or may be part of a loop that does."""
    return len(op.accesses) == 1 and op.accesses[0].kind is AccessKind.ATOMIC and op.words.get("op") in (*_RISES, "cas")


def address_of(op: Op) -> Address:
    return next(source for source in op.sources if isinstance(source, Address))


def put_there(op: Op) -> Operand | None:
    """What an atomic puts into its place."""
    at = op.sources.index(address_of(op))
    return op.sources[at + (2 if op.accesses[0].compares else 1)]


def found_at(program: Program, asking: list[Op]) -> set[int]:
    """Registers that may hold what has been found at the place, by looks and atomics."""
    found, grows = {slot for op in asking for slot in writes(op)}, True
    while grows:
        before = len(found)
        found.update(
            slot for op in program.ops if op.family == "mov" and not found.isdisjoint(reads(op)) for slot in writes(op)
        )
        grows = len(found) > before
    return found


def _way(program: Program, test: Op, found: set[int], looks: list[Op], updates: list[Op]) -> bool | None:
    """Whether the atomics are executed where what they put there is above what has been found, or below; None where the test says something else, or
    decides more than that."""
    one, other = test.sources[0], test.sources[1]
    is_turned = not set(slots_of([one])).isdisjoint(found)
    value, seen = (other, one) if is_turned else (one, other)
    word = test.words["cmp"]
    if not isinstance(seen, Register) or not found.isdisjoint(slots_of([value])) or word not in _ABOVE | _BELOW:
        return None
    if not all(same_values(program, value, put_there(op)) for op in updates):
        return None
    goes = goes_on(program, test, [*looks, *updates])
    is_above = (word in _ABOVE) != is_turned
    return None if goes is None else is_above == goes


def goes_on(program: Program, test: Op, asking: list[Op]) -> bool | None:
    """Whether the atomics are executed where the test holds, or where it does not; None where more than they depends on it."""
    number = block_of(program)[test.site]
    block, out, predicates = program.blocks[number], live_out(program), set(writes(test))
    after = block[block.index(test) + 1 :]
    ways, branch = control_flow(program).successors[number], block[-1]
    needed = [live_before(program.blocks[each], out[each], set())[0] for each in ways]
    is_used = any(not predicates.isdisjoint(slots) for slots in (*needed, *(reads(op) for op in after[:-1])))
    if is_used or branch.guard is None or [branch.guard[0]] != writes(test) or len(ways) != 2:
        return None
    for (go, skip), known in ((ways, needed[1]), (ways[::-1], needed[0])):
        inside = _between(program, go, skip)
        ops = [op for each in inside for op in program.blocks[each]]
        if not any(op in asking and any(access.writes for access in op.accesses) for op in ops):
            continue
        plain = all(op in asking or op.control is Control.BRANCH or is_arithmetic(op) for op in ops)
        left = {slot for op in ops for slot in writes(op)}
        if not plain or not left.isdisjoint(known):
            return None
        return (go in branch.targets) != branch.guard[1]
    return None


def _comes_again(program: Program, op: Op) -> bool:
    """Whether an operation lies in a loop."""
    number, successors = block_of(program)[op.site], control_flow(program).successors
    return number in closure(successors[number], successors.__getitem__)


def _between(program: Program, first: int, end: int) -> set[int]:
    """Blocks that are reached from one before another."""
    successors = control_flow(program).successors
    return closure({first} - {end}, lambda number: set(successors[number]) - {end})
