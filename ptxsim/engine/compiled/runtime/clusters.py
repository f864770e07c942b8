"""Clusters one after the other in native code: how each begins, and whether the next one may follow at once."""

from __future__ import annotations

from collections.abc import MutableSequence
from typing import Annotated

import numpy as np

from ptxsim.engine.compiled.runtime.abi import UNKNOWN, Context
from ptxsim.engine.compiled.runtime.scheduler import LEFT, rounds
from ptxsim.engine.turns import Outcome, Standing
from ptxsim.jit.body import body
from ptxsim.jit.export import address_of, fill_bytes, move_bytes, view
from ptxsim.jit.record import I32, I64, Record, record
from ptxsim.lanes import LANES
from ptxsim.machine.barriers.mbarrier_state import is_left_over
from ptxsim.machine.places import coordinates
from ptxsim.machine.records import CtaRecord, MBarrierRecord, MBarrierTable, WarpRecord
from ptxsim.machine.warpgroup import WARPS, WarpgroupRecord

PLACES = ("ctaid.x", "ctaid.y", "ctaid.z", "clusterid.x", "clusterid.y", "clusterid.z", "smid")
ASKED = 64  # mbarriers that are told apart without Python
FORGOTTEN = WarpgroupRecord.offsets()["warps"]  # bytes of it that hold products


@record
class Clusters(Record):
    """Clusters that run in the same memory, one after the other, and of what each is made. Fields that end with "address" hold one."""

    standing: Standing  # of the one that is here
    flying: I64  # products of warpgroups, when it runs again
    is_left: I32  # whether Python gives its turns
    status: I32  # how its slice has ended, if Python has to go on with that
    warps: I64  # their memory: address
    warp_count: I64
    cta_warps: I64  # of one CTA
    numbers: I64  # of the clusters, in the order in which they run, i64: address
    at: I64  # which of them is here
    end: I64  # the one from which on none follows without Python
    has_begun: I32  # whether the one that is here has had its first round
    looks: I32  # whether mbarriers are looked over where a cluster ends
    asked: Annotated[MutableSequence[int], I32, ASKED]  # offsets of mbarriers that a CTA has asked, as Python knows
    asked_count: I32
    grid: Annotated[MutableSequence[int], I64, 3]  # CTAs
    cluster: Annotated[MutableSequence[int], I64, 3]
    multiprocessors: I64
    template: I64  # the memory of the warps of one that begins: address
    ctas: I64  # their records, side by side: address
    cta_bytes: I64  # of all of them
    fresh: I64  # what they hold at first: address
    shared_bytes: I64  # of a CTA
    fill: I32  # what they all hold at first
    local: I64  # local memory of all warps: address
    local_bytes: I64  # of all of them
    places: Annotated[MutableSequence[int], I64, len(PLACES)]  # where a warp's memory has these special registers, or 0


@body
def clusters(context: Context) -> I32:
    """As `rounds`, and if a cluster ends those that follow it, up to the slice's end: how the last one left."""
    series = view(context.clusters, Clusters, 1)[0]
    if series.has_begun == 0:
        begin(context, series)
    while True:
        status = rounds(context)
        if status != Outcome.ENDED or series.at + 1 >= series.end or context.count > context.end_count:
            return status
        if series.looks != 0 and is_to_be_looked_over(series):
            return status
        series.at += 1
        begin(context, series)


@body
def slices(context: Context) -> I32:
    """A slice of one round for each of the clusters that may go on, as engine.grid gives them.

    PAUSED if all have had theirs or it is time to look at the limits, LEFT if Python has to go on with the one whose slice is next.
    """
    seats = view(context.seats, np.int64, UNKNOWN)
    while context.seat < context.seat_count:
        series = view(seats[context.seat], Clusters, 1)[0]
        if series.standing.may_go_on != 0:
            if series.is_left != 0:
                return LEFT
            status = one_round(context, series)
            if status != LEFT:
                context.made += 1
            if status == LEFT or status == Outcome.ENDED:
                series.status = status
                return LEFT
            if status == Outcome.PAUSED:
                for other in range(context.seat_count):
                    view(seats[other], Clusters, 1)[0].standing.may_go_on = 1
            else:
                series.standing.may_go_on = 0
            series.standing.is_stuck = status == Outcome.STUCK
            if context.count > context.end_count:
                context.seat += 1
                return Outcome.PAUSED
        context.seat += 1
    return Outcome.PAUSED


def one_round(context: Context, series: Clusters) -> int:
    """Of a cluster that has begun: how it has ended."""
    point_at(context, series)
    context.end_rounds = context.rounds + 1
    status = rounds(context)
    series.standing.rounds, series.standing.polled, series.flying = context.rounds, context.polled, context.flying
    return status


def point_at(context: Context, series: Clusters) -> None:
    """The context is that of a cluster."""
    context.warps, context.warp_count, context.cta_warps = series.warps, series.warp_count, series.cta_warps
    context.cursor, context.moved, context.rounds = 0, 0, series.standing.rounds
    context.polled, context.flying = series.standing.polled, series.flying
    context.clusters = address_of(series)


def begin(context: Context, series: Clusters) -> None:
    """The state before the first instruction."""
    series.has_begun = 1
    context.cursor, context.moved, context.rounds, context.polled, context.flying = 0, 0, 0, 0, 0
    move_bytes(series.ctas, series.fresh, series.cta_bytes)
    move_bytes(context.warps, series.template, context.warp_count * context.stride)
    if series.local_bytes != 0:
        fill_bytes(series.local, 0, series.local_bytes)
    number, size = view(series.numbers, np.int64, UNKNOWN)[series.at], context.warp_count // context.cta_warps
    wide, high, deep = coordinates(number, series.grid[0] // series.cluster[0], series.grid[1] // series.cluster[1])
    place = [0] * len(PLACES)
    place[3], place[4], place[5] = wide, high, deep
    for rank in range(size):
        x, y, z = coordinates(rank, series.cluster[0], series.cluster[1])
        place[0], place[1], place[2] = (
            wide * series.cluster[0] + x,
            high * series.cluster[1] + y,
            deep * series.cluster[2] + z,
        )
        linear = place[0] + series.grid[0] * (place[1] + series.grid[1] * place[2])
        place[6] = linear % series.multiprocessors
        first = context.warps + rank * context.cta_warps * context.stride
        warps = view(first, WarpRecord, context.cta_warps, context.stride)
        fill_bytes(warps[0].shared, series.fill, series.shared_bytes)
        begin_objects(view(warps[0].owner, CtaRecord, 1)[0], context.cta_warps)
        for warp in range(context.cta_warps):
            warps[warp].cta = linear
            for special in range(len(PLACES)):
                if series.places[special] != 0:
                    lanes = view(address_of(warps[warp]) + series.places[special], np.uint32, LANES)
                    for lane in range(LANES):
                        lanes[lane] = place[special]


def begin_objects(cta: CtaRecord, warps: int) -> None:
    """There is no mbarrier, and no product of a warpgroup."""
    if cta.mbarriers != 0:
        view(cta.mbarriers, MBarrierTable, 1)[0].used = 0
    if cta.warpgroups != 0:
        groups = view(cta.warpgroups, WarpgroupRecord, (warps + WARPS - 1) // WARPS)
        for group in range((warps + WARPS - 1) // WARPS):
            fill_bytes(address_of(groups[group]), 0, FORGOTTEN)


def is_to_be_looked_over(series: Clusters) -> bool:
    """Whether the cluster leaves phases of mbarriers that have begun and are not over, or has asked mbarriers that none has asked before: Python says which."""
    cta = view(series.ctas, CtaRecord, 1)[0]
    while True:
        if cta.mbarriers != 0:
            table = view(cta.mbarriers, MBarrierTable, 1)[0]
            for number in range(table.used):
                if is_left_over(table.all[number]) or is_news(series, table.all[number]):
                    return True
        if cta.next == 0:
            return False
        cta = view(cta.next, CtaRecord, 1)[0]


def is_news(series: Clusters, barrier: MBarrierRecord) -> bool:
    """Whether an mbarrier has been asked, which Python does not know of those at its place."""
    is_known = barrier.asked == 0
    for number in range(series.asked_count):
        if series.asked[number] == barrier.offset:
            is_known = True
    return not is_known
