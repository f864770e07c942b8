"""Barriers: threads that leave know what those that arrived knew. Those of a CTA, of a cluster, of lanes of a warp. For bodies."""

from __future__ import annotations

from ptxsim.checks.order.clocks import (
    barrier_row,
    clear,
    fence_row,
    first_row,
    join,
    join_far,
    later,
    lowest,
    meet,
    passing_row,
    row_of,
    see_all,
    sharing,
    stamp,
    take,
    waiting_row,
)
from ptxsim.checks.order.edges.proxies import waited
from ptxsim.checks.order.edges.releases import acquire_row, waiting_for
from ptxsim.checks.order.edges.tensor_memory import hand_fenced
from ptxsim.checks.order.log import drop_known, work_off_apart
from ptxsim.checks.order.sites import VOTES
from ptxsim.checks.order.state import (
    BARRIERS,
    COVERED,
    CTAS,
    FAR,
    INITS,
    NONE,
    NOW,
    PASSES,
    PLAIN,
    TENSOR,
    THREADS,
    UNITS,
    WARPS,
    Order,
)
from ptxsim.jit.body import Array
from ptxsim.jit.rows import fill, raise_to
from ptxsim.lanes import LANES
from ptxsim.machine.event import Scope


def barrier_number(o: Order, rank: int, number: int, phase: int) -> int:
    """Of a barrier of a CTA, or of the cluster, among those of a slot."""
    group = o.n[CTAS] * BARRIERS if number >= BARRIERS else rank * BARRIERS + number
    return int(2 * group + (phase & 1))


def arrive(o: Order, slot: int, warp: int, lanes: int, number: int, phase: int, is_relaxed: bool, waits: bool) -> None:
    row = barrier_row(o, slot, number)
    if o.phase[slot, number] != phase:
        o.phase[slot, number] = phase
        o.come[slot, number] = 0
        clear(o, row)
        o.passing[slot, number] = 0
        for other in range(o.n[CTAS] * o.n[WARPS]):  # warps that have not waited here
            if abs(o.pending[slot, other]) == number + 1:
                o.pending[slot, other] = 0
    if o.n[PASSES]:
        for lane in range(LANES):
            unit = warp * LANES + lane
            if lanes >> lane & 1 and o.need[slot, unit] != NONE:
                there = passing_row(o, slot, number)
                if o.passing[slot, number] == 0:
                    clear(o, there)
                pass_on(o, there, waiting_row(o, slot, unit))
                o.passing[slot, number] = max(o.passing[slot, number], o.need[slot, unit] + 1)
    o.come[slot, number] += lanes.bit_count() if waits else -(1 << 20)
    rest = lanes
    if (
        not is_relaxed
        and lanes == o.live[slot, warp]
        and o.uniform[slot, warp] != NONE
        and not o.n[PASSES] | o.n[PLAIN]
    ):
        put_off(o, slot, warp, row, number)
        rest = 0
    while rest:
        part = sharing(o, slot, warp, rest)
        if is_relaxed:
            release_fences(o, slot, warp, part, row)
        else:
            join(o, row, row_of(o, slot, warp * LANES + lowest(part)))
            stamp(o, slot, row, warp, part)
        rest &= ~part


def come_to_cluster(o: Order, slot: int, warp: int, phase: int) -> None:
    """Lanes of a warp come to the barrier of its cluster with .relaxed."""
    o.relaxed[slot, o.n[CTAS]], o.relaxed[slot, o.n[CTAS] + 1 + warp] = o.n[NOW], phase + 1


def put_off(o: Order, slot: int, warp: int, row: int, number: int) -> None:
    """A warp arrives at a barrier. What it knows is not handed on yet (`settle` does): mostly all threads of the cluster arrive and do nothing
    else until they leave, so that they know all there is."""
    mine = first_row(o, slot, warp) + int(o.uniform[slot, warp])
    for u in range(o.n[CTAS] * o.n[WARPS] * LANES, o.n[UNITS]):
        o.clock[row, u] = max(o.clock[row, u], o.clock[mine, u])
    join_far(o, row, mine)
    stamp(o, slot, row, warp, int(o.live[slot, warp]))
    o.pending[slot, warp] = number + 1


def stray(o: Order, slot: int, warp: int) -> None:
    """A warp that has come to a barrier does something else."""
    number = int(o.pending[slot, warp]) - 1
    if number >= 0:
        hand_on(o, slot, warp, barrier_row(o, slot, number))
    o.pending[slot, warp] = 0


def hand_on(o: Order, slot: int, warp: int, row: int) -> None:
    raise_to(o.clock[row], o.clock[first_row(o, slot, warp) + int(o.uniform[slot, warp])])


def settle(o: Order, slot: int, number: int) -> None:
    """The first warp leaves a barrier: what has been put off is handed on, unless all threads have come and done nothing since: then all
    that they have done is known. Who still has done nothing when it leaves has nothing to add to what it learns: its number is
    negative from now on."""
    row, missing = barrier_row(o, slot, number), 0
    for warp in range(o.n[CTAS] * o.n[WARPS]):
        missing += o.pending[slot, warp] != number + 1
    for rank in range(o.n[CTAS]):
        missing += o.threads[slot, rank] != o.n[THREADS]
    for warp in range(o.n[CTAS] * o.n[WARPS]):
        if o.pending[slot, warp] == number + 1:
            if missing:
                hand_on(o, slot, warp, row)
            o.pending[slot, warp] = -(number + 1)
    if missing:
        work_off_apart(o)
    else:
        fill(o.clock[row], 0, int(o.n[CTAS] * o.n[WARPS]) * LANES, int(o.n[NOW]))
        drop_known(o, slot)


def pass_on(o: Order, row: int, source: int) -> None:
    """A row has what a thread may learn by a fence that stands in one order with others, of what another one has read.

    That one has read a flag before they met. So its writer's fence, if it comes before the flag, comes before the fence of who was
    met: the other way round, the flag would be written after it was read. What the writer's fence covers is known then.
    """
    covered, copies = int(o.n[COVERED]), int(o.n[UNITS]) - 1
    for u in range(covered):
        time = max(o.clock[row, u], o.clock[source, covered + u])
        o.clock[row, u], o.clock[row, covered + u] = time, max(o.clock[row, covered + u], time)
    o.clock[row, copies] = max(o.clock[row, copies], o.clock[source, copies])  # of which it is known that they are done
    for k in range(o.n[FAR]):
        if o.far[source, k] != 0:
            there, found = int(o.far[source, k]), take(o)
            for u in range(covered):
                o.kept[found, u], o.kept[found, covered + u] = o.kept[there, covered + u], o.kept[there, covered + u]
            o.kept[found, copies] = o.kept[there, copies]
            o.far[row, k] = later(o, int(o.far[row, k]), found)


def take_passed(o: Order, slot: int, unit: int, row: int, scope: int) -> None:
    """A thread has met others that have read what a row says, and learns it by a fence of a scope."""
    join(o, waiting_for(o, slot, unit), row)
    o.need[slot, unit] = max(o.need[slot, unit], scope)


def has_not_met(o: Order, slot: int, warp: int, lanes: int, number: int, phase: int) -> int:
    """A warp that came to a barrier in the phase before, and of which these lanes, which come now, do not know: it might have come in their place.

    NONE if there is none, and where all threads of the CTA meet.
    """
    before = number ^ 1
    if (
        number >= 2 * o.n[CTAS] * BARRIERS
        or o.phase[slot, before] != phase - 1
        or o.come[slot, before] in (0, o.n[THREADS])
    ):
        return NONE
    row, there, rank = (
        row_of(o, slot, warp * LANES + lowest(lanes)),
        barrier_row(o, slot, before),
        warp // int(o.n[WARPS]),
    )
    for other in range(rank * int(o.n[WARPS]), (rank + 1) * int(o.n[WARPS])):
        for unit in range(other * LANES, (other + 1) * LANES if other != warp else 0):
            if o.clock[there, unit] > o.clock[row, unit] and o.clock[there, unit] > o.start[slot]:
                return other
    return NONE


def came_unlike(o: Order, slot: int, number: int, phase: int, site: int) -> int:
    """The site at which others came to a barrier in this phase if they vote there and this warp does not, or the other way round; else NONE."""
    other = int(o.came[slot, number])
    has_come = o.phase[slot, number] == phase and o.come[slot, number] != 0
    o.came[slot, number] = site
    return other if has_come and (o.sites[other] ^ o.sites[site]) & VOTES else NONE


def release_fences(o: Order, slot: int, warp: int, lanes: int, row: int) -> None:
    """Lanes hand on what came before their last fence, and mbarriers that they know to be initialised."""
    inits = int(o.n[INITS])
    for lane in range(LANES):
        unit = warp * LANES + lane
        if lanes >> lane & 1:
            for column in range(inits, inits + int(o.n[CTAS])):
                o.clock[row, column] = max(o.clock[row, column], o.clock[row_of(o, slot, unit), column])
            if o.n[TENSOR]:
                hand_fenced(o, row, row_of(o, slot, unit))
        if lanes >> lane & 1 and o.fence_row[slot, unit] != NONE and o.fence_scope[slot, unit] >= Scope.CLUSTER:
            join(o, row, fence_row(o, slot, warp) + o.fence_row[slot, unit])
            o.clock[row, unit] = max(o.clock[row, unit], o.fence_time[slot, unit])


def leave(o: Order, slot: int, warp: int, lanes: int, number: int, is_whole: bool) -> None:
    """is_whole: all threads of the CTA have met here and done nothing since they came; no thread waits for what exited ones have done."""
    row = barrier_row(o, slot, number)
    if abs(o.pending[slot, warp]) != number + 1:
        stray(o, slot, warp)
    waited(o, slot, warp, lanes)
    if is_whole:
        o.come[slot, number] = 0
        first = warp // o.n[WARPS] * o.n[WARPS] * LANES
        fill(o.clock[row], int(first), int(first + o.n[WARPS] * LANES), int(o.n[NOW]))
        if o.n[CTAS] == 1:
            o.floor[row] = o.n[NOW]
            drop_known(o, slot)
    is_cluster = number >= 2 * o.n[CTAS] * BARRIERS
    if o.own[row] == 0:
        settle(o, slot, number)
        o.own[row] = o.n[NOW]
        if is_cluster:
            see_all(o, row)
    is_met = lanes & o.live[slot, warp] == o.live[slot, warp]
    if is_cluster and o.relaxed[slot, o.n[CTAS] + 1 + warp] == o.phase[slot, number] + 1:
        is_met = False  # lanes know no more of each other than of other warps
    if is_met and o.uniform[slot, warp] == NONE:
        meet(o, slot, warp, lanes)
    if o.pending[slot, warp] == -(number + 1) and lanes == o.live[slot, warp] and o.uniform[slot, warp] != NONE:
        mine = first_row(o, slot, warp) + int(o.uniform[slot, warp])
        o.clock[mine] = o.clock[row]
        join_far(o, mine, row)
    else:
        work_off_apart(o)
        acquire_row(o, slot, warp, lanes, row)
    o.pending[slot, warp] = 0
    if o.passing[slot, number] != 0:
        for lane in range(LANES):
            if lanes >> lane & 1:
                take_passed(
                    o, slot, warp * LANES + lane, passing_row(o, slot, number), int(o.passing[slot, number]) - 1
                )
    if is_met:
        if not is_whole and not is_cluster and o.floor[row] < o.own[row]:  # else all have met, and its floor is known
            see_all(o, first_row(o, slot, warp) + int(o.uniform[slot, warp]))
        o.own[first_row(o, slot, warp) + int(o.uniform[slot, warp])] = o.n[NOW]


def sync_warp(o: Order, slot: int, warp: int, lanes: int, members: Array) -> None:
    """bar.warp.sync: the lanes of each member mask meet."""
    waited(o, slot, warp, lanes)
    rest = lanes
    while rest:
        word = int(members[lowest(rest)])
        part = 0
        for lane in range(LANES):
            if rest >> lane & 1 and int(members[lane]) == word:
                part |= 1 << lane
        meet(o, slot, warp, part)
        if o.n[PASSES]:
            pass_in_warp(o, slot, warp, part)
        rest &= ~part


def pass_in_warp(o: Order, slot: int, warp: int, lanes: int) -> None:
    """Lanes meet: what some have read counts for fences of all."""
    there, scope = passing_row(o, slot, int(o.come.shape[1])), NONE
    for lane in range(LANES):
        unit = warp * LANES + lane
        if lanes >> lane & 1 and o.need[slot, unit] != NONE:
            if scope == NONE:
                clear(o, there)
            pass_on(o, there, waiting_row(o, slot, unit))
            scope = max(scope, int(o.need[slot, unit]))
    for lane in range(LANES):
        if lanes >> lane & 1 and scope != NONE:
            take_passed(o, slot, warp * LANES + lane, there, scope)
