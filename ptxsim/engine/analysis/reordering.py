"""Strong accesses to global memory that other threads may see in another order than the program's, and programs in which that shows.

A store may be seen after a load, or another store, that follows it, and a load may take its value before one that precedes it, where the
two are of different places and nothing between them orders them: neither acquire or release of their own nor a fence (for a store and
then a load that has to be fence.sc). PTX ISA, "Memory Consistency Model".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ptxsim.engine.analysis.control_flow import control_flow
from ptxsim.engine.analysis.def_use import reads, writes
from ptxsim.engine.program.operand import Address, Register
from ptxsim.engine.program.operation import Op, Program, fact
from ptxsim.isa.facts import Access, AccessKind, Control, Mechanism

_OWN = ("local", "param", "const")
_ACQUIRES, _RELEASES = ("acquire", "acq_rel", "sc"), ("release", "acq_rel", "sc")
_PASSED = 2  # writes that a look comes before, besides the first of the two


@dataclass(frozen=True, slots=True)
class Exchange:
    """Two accesses of which the later one may come first: their sites, the blocks on the way between, and their numbers in the first and in the
    last of these.

    of_cta: a fence of the CTA's scope lies between, so that threads of one CTA see them in order. acquires: the first one acquires what it
    reads, so that the later one does not read anything older.
    """

    sites: tuple[int, int]
    way: tuple[int, ...]
    first: int
    later: int
    of_cta: bool
    acquires: bool


@fact
def exchanges(program: Program) -> tuple[Exchange, ...]:
    """All such pairs, where one way leads from the first to the later one, past no other access to memory that threads share, or past some writes."""
    if len(program.functions) > 1:
        return ()
    found = (
        pair
        for number, block in enumerate(program.blocks)
        for place, op in enumerate(block)
        if _strong(op) is not None
        for pair in _pairs(program, number, place)
    )
    are_apart = not any(joins_ctas(op) for op in program.ops)
    return tuple(each for each in found if are_apart or not each.acquires)


@fact
def exchanged(program: Program, of: Exchange) -> tuple[Program, int]:
    """The program in which the first of two accesses comes after the other one, and the number of the block that begins with it."""
    number, last = of.way[0], program.blocks[of.way[-1]]
    first = _unread(program.ops[of.sites[0]], last[of.later])
    before, after = _parted(first, _steps(program, of.way, of.first, of.later))
    start, end = (
        [*program.blocks[number][: of.first], *before, last[of.later]],
        [program.blocks[number][of.first], *after, *last[of.later + 1 :]],
    )
    inserted = [start, end]
    goes_on = len(of.way) > 1 and not (end[-1].guard is None and end[-1].leads_away)
    shift = 1 + goes_on
    ops = [_renumbered(op, number, shift) for op in program.ops]
    ops[of.sites[0]] = _unread(ops[of.sites[0]], last[of.later])
    blocks = [
        [ops[op.site] for op in block] for block in (*program.blocks[:number], *inserted, *program.blocks[number + 1 :])
    ]
    if goes_on:
        following = of.way[-1] + 1
        jump = next(op for op in program.ops if op.control is Control.BRANCH)
        ops.append(replace(jump, site=len(ops), guard=None, targets=(following + shift * (following > number),)))
        blocks.insert(number + 2, [ops[-1]])
    return program.with_operations(blocks, ops), number + 1


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


def _unread(first: Op, later: Op) -> Op:
    """An access, without a place for what it brings if a later one takes that place: who asks before that, asks for more than order."""
    if not first.destinations or later.guard is not None or not set(writes(first)) <= set(writes(later)):
        return first
    nowhere = tuple(replace(each, slot=-1, sink=True) for each in first.destinations if isinstance(each, Register))
    return replace(first, destinations=nowhere) if len(nowhere) == len(first.destinations) else first


def _parted(first: Op, steps: list[Op]) -> tuple[list[Op], list[Op]]:
    """Those of some steps that need nothing of what an access before them brings, and the others, accesses among them."""
    before, after, made = list[Op](), list[Op](), set(writes(first))
    for op in steps:
        if made & set(reads(op)) or _strong(op) is not None:
            made |= set(writes(op))
            after.append(op)
        else:
            before.append(op)
    return before, after


def _pairs(program: Program, number: int, place: int) -> Iterator[Exchange]:
    """Of an access, the pairs with the next one, and with the next look that follows it past some other writes."""
    successors, block = control_flow(program).successors, program.blocks[number]
    first, way, of_cta, fenced = block[place], [number], False, False
    passed, at = list[Op](), place + 1
    while True:
        for n, op in enumerate(program.blocks[way[-1]][at:], at):
            if _strong(op) is not None:
                pair = Exchange((first.site, op.site), tuple(way), place, n, of_cta, _acquires(first, fenced))
                may_change = all(_may_change(one, op, fenced) for one in (first, *passed))
                if may_change and _are_apart(program, pair, op):
                    yield pair
                if len(passed) == _PASSED or not _is_mere_write(op):
                    return
                passed.append(op)
            elif op.fence is not None and op.fence.is_thread_fence:
                if op.fence.scope == "cta":
                    of_cta = True
                elif op.fence.order in (None, "sc") or any(one.accesses[0].reads for one in passed):
                    return
                else:
                    fenced = True
            elif (
                op.synchronises is not None
                or op.call is not None
                or any(access.space not in _OWN for access in op.accesses)
            ) or (op.control is not None and (op.guard is not None or op.control is not Control.BRANCH)):
                return
        following = successors[way[-1]]
        if len(following) != 1 or following[0] in way:
            return
        way.append(following[0])
        at = 0


def _is_mere_write(op: Op) -> bool:
    """Whether an access is one that a later look may pass, and that acquires nothing."""
    access = _strong(op)
    return access is not None and access.writes and not (access.reads and access.order in _ACQUIRES)


def joins_ctas(op: Op) -> bool:
    """Whether threads of a cluster may know of each other by more than global memory."""
    meeting = op.synchronises
    is_of_cluster = meeting is not None and meeting.mechanism is Mechanism.CLUSTER_BARRIER
    return is_of_cluster or any(access.remote for access in op.accesses)


def _strong(op: Op) -> Access | None:
    """The access of a strong load, store or update of global memory."""
    found = op.accesses
    if len(found) != 1 or found[0].order == "weak" or found[0].space not in (None, "global") or found[0].remote:
        return None
    return found[0]


def _acquires(first: Op, fenced: bool) -> bool:
    """Whether what comes after an access, and after the fence that follows it, if one does, knows what was done before what it reads."""
    one = _strong(first)
    assert one is not None
    return one.reads and (fenced or one.order in _ACQUIRES)


def _may_change(first: Op, later: Op, fenced: bool) -> bool:
    """Whether the memory model lets others see two strong accesses, to different places, the other way round; where the first acquires, a load alone, as
    far as it is not older than that (other_order.Apart). fenced: by a fence, which is not fence.sc."""
    one, two = _strong(first), _strong(later)
    assert one is not None and two is not None
    if not two.writes:
        return True
    return not fenced and two.order not in _RELEASES and one.kind is not AccessKind.ATOMIC and one.writes


def _are_apart(program: Program, pair: Exchange, later: Op) -> bool:
    """Whether the later access can come before the first one: nothing that it needs depends on the first one, no register changes hands, and
    the text does not say that both are of one place."""
    steps, written = _steps(program, pair.way, pair.first, pair.later), set(writes(program.ops[pair.sites[0]]))
    first = _unread(program.ops[pair.sites[0]], later)
    if not writes(first) and any(written & {*reads(op), *writes(op)} for op in steps):
        return False
    before, after = _parted(first, steps)
    for op in (*before, later):
        others = (first, *after)
        if any(
            set(writes(op)) & {*reads(other), *writes(other)} or set(reads(op)) & set(writes(other)) for other in others
        ):
            return False
    return _place(later) not in [_place(op) for op in (first, *after) if _strong(op) is not None]


def _place(op: Op) -> Address | None:
    return next((source for source in op.sources if isinstance(source, Address)), None)
