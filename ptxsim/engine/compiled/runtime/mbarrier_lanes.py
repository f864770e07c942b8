"""mbarriers in native code: what the lanes of a warp do, one after the other.

Every function does all of an operation, or nothing where it cannot: the slow path does it then. `places` are
addresses in shared memory; what happens to the objects is machine.barriers.mbarrier_state.
"""

from __future__ import annotations

import numpy as np

from ptxsim.engine.compiled.runtime.abi import UNKNOWN, Context, Numbers
from ptxsim.engine.compiled.runtime.draws import gives_up_early
from ptxsim.jit.body import body
from ptxsim.jit.export import view
from ptxsim.jit.record import FLAG, I32, I64, U32
from ptxsim.lanes import LANES
from ptxsim.machine.barriers.mbarrier_state import (
    DONE,
    NOWHERE,
    arrive,
    begin,
    complete_bytes,
    expect_bytes,
    is_intact,
    is_left_over,
    mirror,
    most_arrivals,
    open_lanes,
    place_of,
    polled_too_often,
    token_of,
    wait_for,
    watch_parity,
    watch_token,
)
from ptxsim.machine.memory import RANK_SHIFT
from ptxsim.machine.records import CtaRecord, MBarrierRecord, MBarrierTable, WarpRecord

EXPECTS, ARRIVES, COMPLETES = 1, 2, 4  # what `mbarrier_count` does, to be added up
PARITY, BLOCKS = 1, 2  # of a wait, to be added up
# What `mbarrier_wait` returns besides a word of lanes.
WAITS, LEFT = 1 << 32, -1


def table_at(warp: WarpRecord, place: int) -> int:
    """The address of the table of the CTA whose shared memory an address is in; 0 if it has none, or there is no such CTA."""
    if place < warp.cluster or (place - warp.cluster) >> RANK_SHIFT >= warp.ctas:
        return 0
    address = view(warp.owner, CtaRecord, 1)[0].leader
    for _ in range((place - warp.cluster) >> RANK_SHIFT):
        address = view(address, CtaRecord, 1)[0].next
    found: int = view(address, CtaRecord, 1)[0].mbarriers
    return found


def live_at(table: MBarrierTable, place: int) -> int:
    """The number of the object at an address, or NOWHERE if there is none or it was written over."""
    found = place_of(table, place - table.shared)
    if found == NOWHERE or table.all[found].live == 0 or not is_intact(table.all[found]):
        return NOWHERE
    return found


def named_before(mask: int, places: Numbers, lane: int) -> bool:
    """Whether a lower lane names the same place."""
    found = False
    for other in range(lane):
        if mask >> other & 1 != 0 and places[other] == places[lane]:
            found = True
    return found


@body
def mbarrier_init(
    context: Context, warp: WarpRecord, site: I32, mask: U32, places: Numbers, called: Numbers, counts: Numbers, layout: I32
) -> FLAG:  # fmt: skip
    """New objects, each of its own, where none lives."""
    cta = view(context.cta, CtaRecord, 1)[0]
    if cta.mbarriers == 0:
        return False
    table = view(cta.mbarriers, MBarrierTable, 1)[0]
    line = view(context.lines, np.int64, UNKNOWN)[site]
    for lane in range(LANES):
        if mask >> lane & 1 != 0:
            offset = places[lane] - table.shared
            if (
                offset < 0
                or offset >= warp.shared_start + warp.shared_span
                or counts[lane] < 1
                or counts[lane] > most_arrivals(layout)
            ):
                return False
            found = place_of(table, offset)
            if named_before(mask, places, lane) or (found != NOWHERE and table.all[found].live != 0):
                return False
    for lane in range(LANES):
        if mask >> lane & 1 != 0:
            begin(table, places[lane] - table.shared, called[lane], counts[lane], layout, line)
    return True


@body
def mbarrier_inval(context: Context, mask: U32, places: Numbers) -> FLAG:
    """The objects are no more."""
    cta = view(context.cta, CtaRecord, 1)[0]
    if cta.mbarriers == 0:
        return False
    table = view(cta.mbarriers, MBarrierTable, 1)[0]
    for lane in range(LANES):
        if mask >> lane & 1 != 0:
            place = live_at(table, places[lane])
            if place == NOWHERE or named_before(mask, places, lane):
                return False
            if is_left_over(table.all[place]):
                return False  # in the midst of a phase, which the interpreter reports
    for lane in range(LANES):
        if mask >> lane & 1 != 0:
            table.all[live_at(table, places[lane])].live = 0
    return True


@body
def mbarrier_count(
    context: Context, warp: WarpRecord, site: I32, mask: U32, places: Numbers, counts: Numbers, what: I32, kind: I32, tokens: Numbers
) -> FLAG:  # fmt: skip
    """Bytes are announced, arrivals come, bytes have been transferred; `tokens` gets the states before."""
    own = view(warp.owner, CtaRecord, 1)[0].mbarriers
    if own == 0:
        return False
    before = view(own, MBarrierTable, 1)[0].before
    line = view(context.lines, np.int64, UNKNOWN)[site]
    place, address, found = NOWHERE, 0, NOWHERE
    for lane in range(LANES):
        if mask >> lane & 1 != 0:
            if places[lane] != place:
                place = places[lane]
                address = table_at(warp, place)
                found = live_at(view(address, MBarrierTable, 1)[0], place) if address != 0 else NOWHERE
            status = LEFT
            if found != NOWHERE:
                barrier = view(address, MBarrierTable, 1)[0].all[found]
                before[lane] = barrier
                tokens[lane] = token_of(barrier)
                status = count_one(barrier, what, counts[lane], kind, warp, line)
            if status != DONE:
                go_back(warp, mask, places, lane if found == NOWHERE else lane + 1)
                return False
        else:
            tokens[lane] = 0
    return True


def count_one(barrier: MBarrierRecord, what: int, count: int, kind: int, warp: WarpRecord, line: int) -> int:
    """What one lane does to an object."""
    status = DONE
    if what & EXPECTS != 0:
        status = expect_bytes(barrier, count)
        count = 1
    if status == DONE and what & ARRIVES != 0:
        status = arrive(barrier, count, kind, warp.cta, warp.index, line)
    if status == DONE and what & COMPLETES != 0:
        status = complete_bytes(barrier, count)
    return status


def go_back(warp: WarpRecord, mask: int, places: Numbers, end: int) -> None:
    """The objects of the lanes before `end` are what they were."""
    before = view(view(warp.owner, CtaRecord, 1)[0].mbarriers, MBarrierTable, 1)[0].before
    for back in range(end):
        lane = end - 1 - back
        if mask >> lane & 1 != 0:
            table = view(table_at(warp, places[lane]), MBarrierTable, 1)[0]
            barrier = table.all[place_of(table, places[lane] - table.shared)]
            table.all[place_of(table, places[lane] - table.shared)] = before[lane]
            mirror(barrier)


@body
def mbarrier_wait(
    context: Context, warp: WarpRecord, site: I32, mask: U32, places: Numbers, wanted: Numbers, kind: I32
) -> I64:  # fmt: skip
    """The lanes whose phases are complete; WAITS if the split waits for all of them; LEFT for the slow path."""
    cta = view(context.cta, CtaRecord, 1)[0]
    if cta.mbarriers == 0:
        return LEFT
    table = view(cta.mbarriers, MBarrierTable, 1)[0]
    found = NOWHERE
    for lane in range(LANES):
        if mask >> lane & 1 != 0:
            if found == NOWHERE or table.all[found].word != places[lane]:
                found = live_at(table, places[lane])
                if found == NOWHERE:
                    return LEFT
            if kind & PARITY != 0:
                status = watch_parity(warp, lane, table.all[found], wanted[lane])
            else:
                status = watch_token(warp, lane, table.all[found], wanted[lane])
            if status != DONE:
                return LEFT
    missing = open_lanes(warp, mask)
    if missing != 0:
        if kind & BLOCKS != 0 and gives_up_early(context):
            return mask & ~missing
        if kind & BLOCKS != 0 or polled_too_often(warp, missing):
            wait_for(warp, warp.split[warp.chosen], mask, site, context.steps)
            return WAITS
    return mask & ~missing


EXPORTS = mbarrier_init, mbarrier_inval, mbarrier_count, mbarrier_wait
