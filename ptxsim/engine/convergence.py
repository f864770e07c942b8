"""Where lanes of a warp must be together: what lets waiting splits go on, what .aligned and member masks ask for, and lanes
that can no longer come.

A lane has gone past an instruction when it is about to work in a block that the lanes which wait there come to later, and
from which no path leads back. It has branched around the instruction, whether it exits later or not. Lanes that exit by a way
of their own, or by a jump to the end, have not: barriers and member masks do not wait for them. Nor have lanes that only compute
before they exit, where it is a barrier of the warp that names them: what nobody notices can come before the barrier or after it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import permutations

import numpy as np

from ptxsim.closure import closure
from ptxsim.engine import splits
from ptxsim.engine.access import read, write
from ptxsim.engine.analysis.control_flow import control_flow
from ptxsim.engine.call_arguments import share_calls
from ptxsim.engine.program.operation import Op, Program, fact
from ptxsim.engine.votes import give_result
from ptxsim.isa.facts import Mechanism, Role, Scope, Synchronisation
from ptxsim.lanes import LANES, lanes_of, mask_word
from ptxsim.machine.barriers.cluster import CLUSTER_BARRIER
from ptxsim.machine.barriers.mbarrier import end_wait
from ptxsim.machine.barriers.mbarrier_state import is_over
from ptxsim.machine.cta import Warp
from ptxsim.machine.event import Event
from ptxsim.machine.fault import Converge, Fault, Wait, first_lane
from ptxsim.machine.records import AT_MBARRIERS, BARRIERS, CLUSTER, CONVERGES, FIRST_BARRIER, IN_PYTHON, RUNS, Split
from ptxsim.machine.state import Machine

TOGETHER = "all lanes of the warp must execute an .aligned instruction together: put it where their ways join"
NAMED = "name only lanes that execute the instruction, or put it where the ways of all that are named join"


def settle(warp: Warp, program: Program, machine: Machine) -> None:
    """Let the splits go on whose wait is over."""
    record, s = warp.record, 0
    if record.splits > 1 and sum(split.wait == CONVERGES for split in warp.splits) > 1:
        _meet_at_several(warp, program, machine)
    while s < record.splits:
        split = record.split[s]
        number = split.wait - FIRST_BARRIER
        if split.wait == CONVERGES:
            s = gather(warp, s)
        elif split.wait == IN_PYTHON:
            _settle_in_python(warp, split)
        elif split.wait == AT_MBARRIERS:
            if is_over(record, split, machine.steps):
                mask = lanes_of(split.lanes)
                passed = end_wait(machine, warp, split)
                write(program.ops[split.site].destinations[0], passed, warp, mask, bool(mask.all()))
        elif split.wait != RUNS and splits.released(warp.cta.record, record, s):
            if number < BARRIERS:
                give_result(program.ops[split.site], warp, split, number)
            if machine.stream is not None and (number < BARRIERS or number == CLUSTER):
                named, lanes = (CLUSTER_BARRIER, split.lanes) if number == CLUSTER else (number, split.mask)
                machine.stream.emit(
                    split.site, record.cta, record.index, Event.LEAVE, mask=lanes, addresses=[named, split.ticket]
                )
        s += 1


def _settle_in_python(warp: Warp, split: Split) -> None:
    """The same for one that waits for something that Python knows."""
    wait = warp.waits[split.ticket]
    if wait.ready():
        if wait.result is not None:
            wait.result()
        del warp.waits[split.ticket]
        split.wait = RUNS


def _meet_at_several(warp: Warp, program: Program, machine: Machine) -> None:
    """Let lanes meet that wait for each other at barriers of the warp in different branches, with the same member masks. PTX ISA,
    "bar.warp.sync": before sm_70 all members had to execute the same one."""
    splits_there = [split for split in warp.splits if _is_at_warp_barrier(warp, split, program)]
    if len({(split.block, split.op, split.call) for split in splits_there}) < 2:
        return
    members, everyone = np.zeros(LANES, np.uint32), 0
    for split in splits_there:
        op, lanes = program.blocks[split.block][split.op], lanes_of(split.mask)
        members = np.where(lanes, np.asarray(read(op.sources[0], warp, machine), np.uint32), members)
        everyone |= split.mask
    live = mask_word(warp.live)
    named = {int(word) for word in members[lanes_of(everyone)]}
    if any(word & live & ~everyone or len({*members[lanes_of(word & live)].tolist()}) > 1 for word in named):
        return
    ways = [_way(warp, split) for split in splits_there]
    if any(_in_turn(program, *pair) for pair in permutations(ways, 2)):
        return
    if machine.stream is not None:
        site = program.blocks[splits_there[0].block][splits_there[0].op].site
        machine.stream.emit(
            site, warp.cta.linear, warp.index, Event.SYNC_WARP, mask=everyone, addresses=members.astype(np.uint64)
        )
    for split in splits_there:
        machine.warp_instructions += 1
        split.wait, split.op = RUNS, split.op + 1


def _is_at_warp_barrier(warp: Warp, split: Split, program: Program) -> bool:
    return isinstance(warp.waits_for(split), Converge) and _only_waits(program.blocks[split.block][split.op])


def _only_waits(op: Op) -> bool:
    """Whether an instruction waits for lanes of the warp and does nothing else."""
    return op.synchronises == Synchronisation(Mechanism.WARP, Role.SYNC) and not op.destinations


def _in_turn(program: Program, one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Whether a thread may come to one place and then to another one; `_way` says where they are."""
    return next((_comes_after(program, a, b) for a, b in zip(reversed(one), reversed(other)) if a != b), True)


@fact
def _comes_after(program: Program, start: int, block: int) -> bool:
    """Whether a way without a jump back leads from one block to another, or they are one: not of branches of which a thread takes one."""
    successors = control_flow(program).successors
    return block in closure([start], lambda number: [each for each in successors[number] if each > start])


def gather(warp: Warp, s: int) -> int:
    """Join a split that waits for lanes with those that have come to the same place. Returns where it is now."""
    split = warp.record.split[s]
    for one in warp.splits:
        if one.call == split.call or (one.block, one.op) != (split.block, split.op):
            continue
        if one.wait in (RUNS, CONVERGES) and _way(warp, one) == _way(warp, split):
            share_calls(warp.calls[split.call], warp.calls[one.call], lanes_of(one.mask))
            one.call = split.call
    return splits.meet(warp.record, s)


def aligned(op: Op, warp: Warp, lanes: np.ndarray, mask: np.ndarray) -> Converge | None:
    """An .aligned operation met by part of a warp: wait for the others, or say that they cannot come.

    Barriers count the lanes that are left; everything else needs all 32.
    """
    others = lanes & ~mask
    if others.any():
        lane = first_lane(others)
        raise Fault(
            "divergent-aligned", f"{op.opcode} is executed under a guard that lane {lane} does not fulfil", lane,
            TOGETHER,
        )  # fmt: skip
    if (warp.live & ~mask).any():
        return Converge(warp.live)
    if op.mechanisms.isdisjoint((Mechanism.BARRIER, Mechanism.CLUSTER_BARRIER)):
        lane = first_lane(~warp.live)
        raise Fault(
            "exited-lane", f"{op.opcode} needs all 32 lanes, lane {lane} has exited or never existed", lane,
            "let the lanes exit after it, and launch whole warps",
        )  # fmt: skip
    return None


def refuse_guarded(op: Op, split: Split, wait: Converge, rest: np.ndarray, program: Program) -> None:
    """Raise Fault where a member mask names lanes that a guard keeps from the instruction of a split, which work on after it, and
    which no loop brings back to it."""
    kept, block = wait.lanes & rest, split.block
    if kept.any() and _works(program.blocks[block][split.op + 1 :], op) and not reached(program, block) >> block & 1:
        lane = first_lane(kept)
        raise Fault(
            _name(op), f"{op.opcode} waits for lane {lane}, which does not fulfil its guard", lane,
            TOGETHER if op.aligned else NAMED,
        )  # fmt: skip


def stuck(warp: Warp, program: Program) -> tuple[Op, Fault] | None:
    """For a warp of which no split can run: the .aligned or member-mask operation that waits for lanes which do not come, though
    nothing else keeps them."""
    held = _held_up(warp, program)
    for s, split in enumerate(warp.splits):
        wait = warp.waits_for(split)
        if isinstance(wait, Converge) and s not in held:
            op = program.blocks[split.block][split.op]
            lane = first_lane(wait.lanes & ~lanes_of(split.mask))
            where = next((other for other in warp.splits if other.mask >> lane & 1), None)
            at = f", which waits at line {line_of(warp, where, program)}" if where is not None else ""
            return op, Fault(
                _name(op),
                f"{op.opcode} waits for lane {lane}{at}: the lanes of the warp have taken different ways",
                lane,
                TOGETHER if op.aligned else NAMED,
            )
    return None


def _held_up(warp: Warp, program: Program) -> set[int]:
    """Splits that go on as soon as other waits of their warp are over: at something else than lanes, or themselves at such ones. All
    lanes that they lack wait so, on a way that leads to where they are."""
    splits = list(warp.splits)
    held = {s for s, split in enumerate(splits) if isinstance(warp.waits_for(split), Wait)}
    more = True
    while more:
        more = False
        for s, split in enumerate(splits):
            wait = warp.waits_for(split)
            if s in held or not isinstance(wait, Converge):
                continue
            missing = mask_word(wait.lanes) & ~split.mask
            for other in held:
                if leads_to(warp, splits[other], warp, split, program):
                    missing &= ~splits[other].mask
            if not missing:
                held.add(s)
                more = True
    return held


def leads_to(one: Warp, other: Split, warp: Warp, split: Split, program: Program) -> bool:
    """Whether a way leads from where a split of a warp is to the place of another one. Of other warps only what the kernel itself does is seen."""
    call = split.call if one is warp else 0
    places = list(_places(one, other))
    calls, place = [each for each, _ in places], dict(_places(warp, split)).get(call)
    if call not in calls or place is None:
        return False
    (_, block), *outer = places[calls.index(call) :]
    ahead = block == place and (other.call != call or other.op <= split.op)
    return ahead or bool(reached(program, block) >> place & 1) or _repeats(outer, program)


def passed(warp: Warp, program: Program) -> tuple[Op, Fault] | None:
    """An operation at which lanes wait for others that have gone past it, with what to say."""
    for split in warp.splits:
        wait = warp.waits_for(split)
        if not isinstance(wait, Converge):
            continue
        for other in warp.splits:
            late = other.mask & mask_word(wait.lanes) & ~split.mask
            if late and _is_past(warp, other, split, program):
                op, lane = program.blocks[split.block][split.op], first_lane(lanes_of(late))
                what = f"{op.opcode} waits for lane {lane}, which has gone past it, to line {line_of(warp, other, program)}"
                return op, Fault(_name(op), what, lane, TOGETHER if op.aligned else NAMED)
    return None


def _is_past(warp: Warp, other: Split, split: Split, program: Program) -> bool:
    """Whether a split is about to work after the place of another one, and does not come back there."""
    here, places = dict(_places(warp, split)), list(_places(warp, other))
    call, block = next(place for place in places if place[0] in here)  # both are in the kernel
    at = here[call]
    if _repeats(places[places.index((call, block)) + 1 :], program):
        return False
    if block == at:
        return call == other.call == split.call and other.op > split.op and not reached(program, at) >> at & 1
    works = call != other.call or _works(program.blocks[block], program.blocks[split.block][split.op])
    return works and bool(reached(program, at) >> block & 1) and not reached(program, block) >> at & 1


def ahead(warp: Warp, program: Program) -> np.ndarray | None:
    """Of a warp in which lanes wait for others, by block, whether those may be there and still come, so that nothing changes for who waits;
    None where they are elsewhere or have all come, or that cannot be said by block."""
    if any(split.call or split.wait == IN_PYTHON for split in warp.splits):
        return None
    places = frozenset(split.block for split in warp.splits if split.wait == CONVERGES)
    others = [split for split in warp.splits if split.wait != CONVERGES]
    found = ways_to(program, places)
    return found if others and all(found[split.block] for split in others) else None


@fact
def ways_to(program: Program, places: frozenset[int]) -> np.ndarray:
    """The blocks that lead to all of some others, are none of them, and end no lanes, int64."""
    leads = [
        all(block not in places and reached(program, block) >> at & 1 for at in places)
        for block in range(len(program.blocks))
    ]
    ends = [any(op.control is not None and op.control.leaves for op in ops) for ops in program.blocks]
    found: np.ndarray = np.array(leads, np.int64) & ~np.array(ends, bool)
    return found


def _repeats(outer: Iterable[tuple[int, int]], program: Program) -> bool:
    """Whether a thread may come again to the function that it is in, by a loop around one of the calls that have led there."""
    return any(reached(program, block) >> block & 1 for _, block in outer)


def _works(ops: Iterable[Op], missed: Op) -> bool:
    """Whether operations do more than lead elsewhere; after a barrier of the warp, more than compute, which nobody notices."""
    if not _only_waits(missed):
        return not all(op.leads_away for op in ops)
    return any(op.accesses or op.call is not None or op.facts.scope is not Scope.LANE for op in ops)


def _places(warp: Warp, split: Split) -> Iterator[tuple[int, int]]:
    """The calls that a split is in, the innermost first, 0 for the kernel, each with the block there."""
    frame = warp.calls.get(split.call)
    yield split.call, split.block
    while frame is not None:
        block, caller = frame.return_block - 1, frame.caller
        yield 0 if caller is None else caller.number, block
        frame = caller


def _way(warp: Warp, split: Split) -> tuple[int, ...]:
    """The block where a split is, and those of the calls that have led there, the innermost first."""
    return tuple(block for _, block in _places(warp, split))


@fact
def reached(program: Program, start: int) -> int:
    """The blocks that paths of one or more steps lead to from a block of the same function, as bits."""
    successors = control_flow(program).successors
    return sum(1 << block for block in closure(successors[start], successors.__getitem__))


def _name(op: Op) -> str:
    return "divergent-aligned" if op.aligned else "member-mask"


def line_of(warp: Warp, split: Split, program: Program) -> int:
    """Line of the operation a split waits at (the one before its next)."""
    block = program.blocks[split.block]
    index = split.op - (1 if isinstance(warp.waits_for(split), Wait) else 0)
    return block[max(0, min(index, len(block) - 1))].line if block else 0
