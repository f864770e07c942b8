"""Strong accesses to global memory that others may see in another order than the program's, and the programs in which that shows.

A store may be seen after a load, or another store, that follows it, and a load may take its value before one that precedes it, where the two are of different
places and neither an order of their own (acquire, release) nor a fence stands between: of a store and a load that takes fence.sc. PTX ISA, "Memory Consistency Model".
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ptxsim.engine.analysis.control_flow import control_flow
from ptxsim.engine.analysis.def_use import reads, writes
from ptxsim.engine.program.operand import Address
from ptxsim.engine.program.operation import Op, Program, fact
from ptxsim.isa.facts import Access, AccessKind, Control

_OWN = ("local", "param", "const")
_ACQUIRES, _RELEASES = ("acquire", "acq_rel", "sc"), ("release", "acq_rel", "sc")
_RELAXED = ("relaxed", "volatile")


@dataclass(frozen=True, slots=True)
class Exchange:
    """Two accesses of which the later one may come first: their sites, the blocks of the way from one to the other, and their numbers in the first
    and in the last of these. of_cta: a fence of the CTA's scope lies between, so that threads of one CTA see them in order."""

    sites: tuple[int, int]
    way: tuple[int, ...]
    first: int
    later: int
    of_cta: bool


@fact
def exchanges(program: Program) -> tuple[Exchange, ...]:
    """All such pairs, where one way leads from the first to the later one, past no other access to memory that threads share."""
    if len(program.functions) > 1:
        return ()
    found = (
        _exchange(program, number, place)
        for number, block in enumerate(program.blocks)
        for place, op in enumerate(block)
        if _strong(op) is not None
    )
    return tuple(each for each in found if each is not None)


@fact
def exchanged(program: Program, of: Exchange) -> tuple[Program, int]:
    """The program in which the first of two accesses comes after the other one, and the number of the block that begins with it."""
    number, last = of.way[0], program.blocks[of.way[-1]]
    steps = _steps(program, of.way, of.first, of.later)
    start, end = (
        [*program.blocks[number][: of.first], *steps, last[of.later]],
        [program.blocks[number][of.first], *last[of.later + 1 :]],
    )
    inserted = [start, end]
    goes_on = len(of.way) > 1 and not (end[-1].guard is None and end[-1].leads_away)
    shift = 1 + goes_on
    ops = [_renumbered(op, number, shift) for op in program.ops]
    blocks = [
        [ops[op.site] for op in block] for block in (*program.blocks[:number], *inserted, *program.blocks[number + 1 :])
    ]
    if goes_on:
        following = of.way[-1] + 1
        jump = next(op for op in program.ops if op.control is Control.BRANCH)
        ops.append(replace(jump, site=len(ops), guard=None, targets=(following + shift * (following > number),)))
        blocks.insert(number + 2, [ops[-1]])
    return replace(program, blocks=blocks, ops=ops, facts={}), number + 1


def _renumbered(op: Op, number: int, shift: int) -> Op:
    if not any(target > number for target in op.targets):
        return op
    return replace(op, targets=tuple(target + shift * (target > number) for target in op.targets))


def _steps(program: Program, way: tuple[int, ...], first: int, later: int) -> list[Op]:
    """What stands between the two on their way."""
    found = list[Op]()
    for number in way:
        block = program.blocks[number]
        start, stop = first + 1 if number == way[0] else 0, later if number == way[-1] else len(block)
        found += [op for op in block[start:stop] if op.control is None]
    return found


def _exchange(program: Program, number: int, place: int) -> Exchange | None:
    successors, block = control_flow(program).successors, program.blocks[number]
    first, way, of_cta, fenced = block[place], [number], False, False
    at = place + 1
    while True:
        for n, op in enumerate(program.blocks[way[-1]][at:], at):
            if _strong(op) is not None:
                pair = Exchange((first.site, op.site), tuple(way), place, n, of_cta)
                return pair if _may_change(first, op, fenced) and _are_apart(program, pair, op) else None
            if op.fence is not None and op.fence.is_thread_fence:
                if op.fence.scope == "cta":
                    of_cta = True
                elif op.fence.order in (None, "sc"):
                    return None
                else:
                    fenced = True
            elif (
                op.synchronises is not None
                or op.call is not None
                or any(access.space not in _OWN for access in op.accesses)
            ) or (op.control is not None and (op.guard is not None or op.control is not Control.BRANCH)):
                return None
        following = successors[way[-1]]
        if len(following) != 1 or following[0] in way:
            return None
        way.append(following[0])
        at = 0


def _strong(op: Op) -> Access | None:
    """The access of a strong load, store or update of global memory."""
    found = op.accesses
    if len(found) != 1 or found[0].order == "weak" or found[0].space not in (None, "global") or found[0].remote:
        return None
    return found[0]


def _may_change(first: Op, later: Op, fenced: bool) -> bool:
    """Whether the memory model lets others see two strong accesses, to different places, the other way round. fenced: by a fence, which is not fence.sc."""
    one, two = _strong(first), _strong(later)
    assert one is not None and two is not None
    if (
        one.kind is AccessKind.ATOMIC
        or (one.reads and one.order in _ACQUIRES)
        or (two.writes and two.order in _RELEASES)
    ):
        return False
    if one.writes and not two.writes:
        return True
    return not fenced and (one.writes or not two.writes)


def _are_apart(program: Program, pair: Exchange, later: Op) -> bool:
    """Whether the first access can wait until after the later one: no register that it uses changes, nobody asks what it brings, and the text
    does not say that both are of one place."""
    first = program.ops[pair.sites[0]]
    between = [*_steps(program, pair.way, pair.first, pair.later), later]
    used, made = {*reads(first), *writes(first)}, set(writes(first))
    if any(used & set(writes(op)) or made & set(reads(op)) for op in between):
        return False
    places = [next((source for source in op.sources if isinstance(source, Address)), None) for op in (first, later)]
    return places[0] != places[1]
