"""The turns of warps in native code: a CTA's rounds, one warp's turn, one block of a split.

Bodies on the records of the context, the CTA and its warps; the splits and barriers are those of the interpreter
(engine.splits, machine.barriers.cta). What only Python can do ends them with LEFT, the records as they are.
"""

from __future__ import annotations

import numpy as np

from ptxsim.engine.compiled.runtime import abi, calls
from ptxsim.engine.compiled.runtime.abi import UNKNOWN, Context
from ptxsim.engine.compiled.runtime.events import event
from ptxsim.engine.compiled.runtime.lane_waits import lets_meet, may_come, spins_alone, wait_for_lanes
from ptxsim.engine.compiled.runtime.warpgroups import complete_due, next_product
from ptxsim.engine.splits import NONE, choose, diverge, leave, move, released, wait_at
from ptxsim.engine.turns import ENOUGH, TURN, Outcome, some_blocks
from ptxsim.jit.body import body
from ptxsim.jit.export import address_of, indirect, view
from ptxsim.jit.record import I32, I64
from ptxsim.lanes import EVERY, LANES
from ptxsim.machine.barriers.cluster import CLUSTER_BARRIER
from ptxsim.machine.barriers.cta import COUNT, COUNTED, NO_VOTE, arrive, result_of_vote, vote
from ptxsim.machine.barriers.mbarrier_state import NEVER, end_wait, is_over
from ptxsim.machine.copies.bulk_records import BulkCopies
from ptxsim.machine.draws import Draws, shuffle
from ptxsim.machine.event import ODD_PHASE, Event, Space
from ptxsim.machine.records import (
    AT_MBARRIERS,
    BARRIERS,
    CLUSTER,
    FIRST_BARRIER,
    RUNS,
    CtaRecord,
    MBarrierRecord,
    Split,
    WarpRecord,
)

# What `turn` and `stay` return, or LEFT: nothing could run, something did, or the split that ran has come elsewhere.
RESTED, MOVED, ELSEWHERE = range(3)
LEFT = abi.BAIL  # Python has to go on


@indirect
def kernel(address: I64, context: Context, warp: WarpRecord) -> I32:
    raise NotImplementedError


@indirect
def compile_code(address: I64, whole_warps: I32, block: I32) -> None:
    raise NotImplementedError


@indirect
def land(address: I64) -> None:
    raise NotImplementedError


@indirect
def land_due(address: I64, context: Context, copies: BulkCopies, now: I64) -> None:
    raise NotImplementedError


@indirect
def land_all(address: I64, context: Context, copies: BulkCopies, warp: WarpRecord) -> None:
    raise NotImplementedError


@indirect
def land_copies(address: I64, context: Context, warp: WarpRecord, now: I64) -> None:
    raise NotImplementedError


@body
def rounds(context: Context) -> I32:
    """Rounds of turns, from warp `cursor` on, until the cluster's slice is over or it is time to look at the limits: how
    (engine.turns.Outcome), or LEFT."""
    while True:
        context.began = context.count
        while context.cursor < context.warp_count:
            context.turn = next_turn(context)
            warp = view(context.warps + context.turn * context.stride, WarpRecord, 1)[0]
            if warp.splits != 0:
                context.steps += 1
                complete_work(context)
                if warp.copies.next_due > 0 and warp.copies.next_due <= context.steps:
                    land_copies(context.land_copies, context, warp, context.steps)
                context.cta = warp.owner
                warp.left = TURN if context.mixes == 0 else some_blocks(view(context.draws, Draws, 1)[0])
                moved = turn(context, warp)
                if moved == LEFT:
                    return LEFT
                context.moved |= moved
            context.cursor += 1
        moved = context.moved
        context.moved = 0
        context.cursor = 0
        context.rounds += 1
        if has_ended(context):
            return Outcome.ENDED
        if moved == 0 and not let_time_pass(context):
            return Outcome.STUCK
        if context.polls != 0:
            if only_polls(context):
                context.polled += 1
                context.idle += context.count - context.began
            else:
                context.polled = 0
            if context.polled >= ENOUGH:
                return Outcome.POLLS
        if context.count > context.end_count or context.rounds >= context.end_rounds:
            return Outcome.PAUSED


def next_turn(context: Context) -> int:
    """The warp whose turn it is. A seed other than 0 draws the order within each CTA, as engine.turns does."""
    if context.draws == 0 or context.cta_warps == 1:
        return context.cursor
    order = view(context.order, np.int64, UNKNOWN)
    if context.cursor % context.cta_warps == 0:
        shuffle(view(context.draws, Draws, 1)[0], order, context.cursor, context.cta_warps)
    return int(order[context.cursor])


def only_polls(context: Context) -> bool:
    """Whether all that does not wait polls (engine.analysis.forward_progress.polls), and something does, if only at a barrier on
    its way around."""
    polls, runs, found = view(context.polls, np.int64, UNKNOWN), False, False
    for number in range(context.warp_count):
        warp = view(context.warps + number * context.stride, WarpRecord, 1)[0]
        for s in range(warp.splits):
            split = warp.split[s]
            if split.wait == RUNS:
                if polls[split.block] == 0:
                    return False
                runs = True
            elif split.wait >= FIRST_BARRIER and polls[split.block] != 0:
                found = True
    return runs or found


def has_ended(context: Context) -> bool:
    """Whether all warps have; what they have in flight completes then."""
    for number in range(context.warp_count):
        if view(context.warps + number * context.stride, WarpRecord, 1)[0].splits != 0:
            return False
    if context.bulk != 0:
        for number in range(context.warp_count):
            warp = view(context.warps + number * context.stride, WarpRecord, 1)[0]
            land_all(context.land_all, context, view(context.bulk, BulkCopies, 1)[0], warp)
    return True


def complete_work(context: Context) -> None:
    """Asynchronous work that is due completes."""
    if context.bulk != 0:
        copies = view(context.bulk, BulkCopies, 1)[0]
        if context.steps >= copies.next_due:
            land_due(context.land_due, context, copies, context.steps)
    if context.steps >= context.next_due:
        land(context.land)
    if context.flying != 0:
        complete_due(context)


def let_time_pass(context: Context) -> bool:
    """No warp can go on: it becomes the turn at which the earliest work completes or a wait times out; false if there is neither."""
    due = min(context.next_due, next_product(context))
    if context.bulk != 0:
        due = min(due, view(context.bulk, BulkCopies, 1)[0].next_due)
    for number in range(context.warp_count):
        warp = view(context.warps + number * context.stride, WarpRecord, 1)[0]
        for s in range(warp.splits):
            if warp.split[s].wait == AT_MBARRIERS:
                due = min(due, warp.split[s].due)
    if due == NEVER:
        return False
    if due > context.steps:
        context.steps = due
        complete_work(context)
    return True


@body
def turn(context: Context, warp: WarpRecord) -> I32:
    """Up to warp.left blocks of a warp: MOVED if anything was executed, or RESTED, or LEFT."""
    cta = view(context.cta, CtaRecord, 1)[0]
    all_turns = warp.left
    alone = spins_alone(warp) if warp.splits > 1 and warp.ahead == 0 else NONE
    if alone != NONE:
        warp.chosen = alone
        status = stay(context, warp)
        if status != ELSEWHERE:
            return status
        context.site = abi.WATCHED
        return LEFT
    while warp.left > 0:
        for s in range(warp.splits):
            split = warp.split[s]
            if split.wait == AT_MBARRIERS and is_over(warp, split, context.steps):
                end_wait_at_mbarriers(context, warp, split)
            number, phase = split.wait - FIRST_BARRIER, split.ticket
            if released(cta, warp, s):
                if number < BARRIERS:
                    give_result(context, warp, split, number, phase)
                    at_barrier(context, warp, split.site, Event.LEAVE, split.mask, number, phase)
                elif number == CLUSTER:
                    at_barrier(context, warp, split.site, Event.LEAVE, split.lanes, CLUSTER_BARRIER, phase)
        if warp.ahead != 0 and lets_meet(warp) and not may_come(warp):
            context.site = abi.WATCHED
            return LEFT
        s = choose(warp, view(context.impatience, np.int64, UNKNOWN))
        if s == NONE:
            return MOVED if warp.left < all_turns else RESTED
        warp.chosen = s
        if execute(context, warp) == LEFT:
            return LEFT
    return MOVED


@body
def stay(context: Context, warp: WarpRecord) -> I32:
    """Let the chosen split run, up to warp.left blocks, until it stands ELSEWHERE or is another one; LEFT if Python has to go on.

    Lanes that wait for those of the split, which spins, cannot go on before; nor can any have gone past them."""
    at, splits = warp.split[warp.chosen], warp.splits
    block, mask, call = at.block, at.mask, at.call
    warp.stop_before = 0
    while warp.left > 0:
        if execute(context, warp) == LEFT:
            return LEFT
        if warp.splits != splits:
            return ELSEWHERE
        now = warp.split[warp.chosen]
        if now.wait != RUNS or now.block != block or now.op != 0 or now.mask != mask or now.call != call:
            return ELSEWHERE
    return MOVED


@body
def execute(context: Context, warp: WarpRecord) -> I32:
    """Let the chosen split run; LEFT if Python has to go on."""
    cta = view(context.cta, CtaRecord, 1)[0]
    s = warp.chosen
    split = warp.split[s]
    context.site = abi.NOWHERE
    if split.op != 0:
        if split.op != view(context.lengths, np.int64, UNKNOWN)[split.block]:
            return LEFT
        warp.left -= 1  # it has waited at the end of its block
        move(warp, s, split.block + 1)
        return MOVED
    warp.block = split.block
    warp.mask = split.mask
    address = code_for(context, warp.mask, warp.block)
    if address == 0:
        compile_code(context.compile, warp.mask == EVERY, warp.block)
        address = code_for(context, warp.mask, warp.block)
    status = abi.BAIL if address == 0 else kernel(address, context, warp)
    if status == abi.NEXT:
        move(warp, s, warp.block)
    elif status == abi.DIVERGE:
        diverge(warp, s, warp.taken, warp.target, warp.block + 1)
    elif status == abi.EXIT:
        leave(cta, warp, s, warp.taken, warp.block + 1)
        at_barrier(context, warp, context.site, Event.EXIT, warp.taken, 0, 0)
    elif status == abi.CALL:
        calls.enter(context, warp, s, warp.taken, warp.target, warp.block + 1)
    elif status == abi.RETURN:
        calls.give_back(context, warp, s, warp.taken, warp.block + 1)
    elif status == abi.PLACED:
        pass
    elif status == abi.CONVERGE:
        return MOVED if wait_for_lanes(context, warp, s) else LEFT
    elif status == abi.WARPGROUP:
        group = BARRIERS + (warp.index >> 2)
        end_block(context, warp, split)
        wait_at(split, group, cta.barriers[group].phase, warp.own_site)
    elif status == abi.WAITS:
        end_block(context, warp, split)  # the split waits already
    elif status in (abi.BARRIER, abi.ARRIVE, abi.VOTE) and warp.mask == warp.live:
        number = warp.target
        phase = cta.barriers[number].phase
        if arrive(cta, warp, number, warp.mask, warp.taken) != COUNTED:
            return LEFT
        at_barrier(context, warp, warp.own_site, Event.ARRIVE, warp.mask, number, phase)
        end_block(context, warp, split)
        if status == abi.ARRIVE:
            move(warp, s, warp.block + 1)
        else:
            wait_at(split, number, phase, warp.own_site)
        if status == abi.VOTE:
            vote(cta, number, phase, warp.mask, warp.votes)
            split.lanes = warp.mask
    elif status == abi.BAIL and context.site == abi.FINISHED:
        warp.left -= 1
    else:
        return LEFT
    return MOVED


def code_for(context: Context, mask: int, block: int) -> int:
    """The address of the code of a block for a split, or 0."""
    return int(view(context.full if mask == EVERY else context.masked, np.int64, UNKNOWN)[block])


def end_block(context: Context, warp: WarpRecord, split: Split) -> None:
    """The split that runs has come to the end of its block."""
    split.block = warp.block
    split.op = warp.op
    context.count += warp.op
    warp.left -= 1


def end_wait_at_mbarriers(context: Context, warp: WarpRecord, split: Split) -> None:
    """Let a split go on whose wait is over: the predicate of its lanes, and an event of those whose phases are complete."""
    passed = end_wait(warp, split, context.steps)
    place = view(context.results, np.int64, UNKNOWN)[split.site]
    if place != 0:
        predicate = view(address_of(warp) + place, np.uint32, 1)
        predicate[0] = (predicate[0] & ~split.lanes) | passed
    if context.records != 0 and passed != 0:
        names = [0] * LANES
        for lane in range(LANES):
            if passed >> lane & 1 != 0:
                place = view(warp.watched[lane], MBarrierRecord, 1)[0].word - warp.cluster
                names[lane] = place | (warp.watched_in[lane] & 1) << ODD_PHASE
        event(context, warp, split.site, Event.MBARRIER_WAIT, Space.SHARED, 8, 0, passed, names)


def give_result(context: Context, warp: WarpRecord, split: Split, number: int, phase: int) -> None:
    """Write what the lanes of a split have voted in a phase of a barrier that they come out of, as engine.votes does."""
    what, place = (
        view(context.asked, np.int64, UNKNOWN)[split.site],
        view(context.results, np.int64, UNKNOWN)[split.site],
    )
    if what == NO_VOTE or place == 0:
        return
    found = result_of_vote(view(warp.owner, CtaRecord, 1)[0], number, phase, what)
    register = view(address_of(warp) + place, np.uint32, LANES)
    if what != COUNT:
        register[0] = register[0] & ~split.lanes | (split.lanes if found != 0 else 0)
        return
    for lane in range(LANES):
        if split.lanes >> lane & 1 != 0:
            register[lane] = found


def at_barrier(context: Context, warp: WarpRecord, site: int, kind: int, mask: int, number: int, phase: int) -> None:
    """Record an event with two numbers, if there is a stream."""
    if context.records != 0:
        numbers = [0] * LANES
        numbers[0] = number
        numbers[1] = phase
        event(context, warp, site, kind, 0, 0, 0, mask, numbers)
