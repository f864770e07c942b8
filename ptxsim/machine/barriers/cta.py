"""The sixteen named barriers of a CTA. PTX ISA, "Parallel Synchronization and Communication Instructions: bar, barrier".

A phase ends when the expected number of threads has come; a warp whose live lanes have all come counts as 32. Where no count is
given, all of the CTA is expected, and it is enough that every lane that has not exited has come. Warps that have exited do
not count for a barrier with a count, be it that of the CTA (seen on an H100: it waits for ever).
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ptxsim.jit.body import body
from ptxsim.jit.record import I32, U32
from ptxsim.lanes import LANES, mask_word
from ptxsim.machine.barriers.cluster import exit_from_cluster
from ptxsim.machine.fault import Fault
from ptxsim.machine.records import BARRIERS, VOTES, CtaRecord, WarpRecord

# What `arrive` returns.
COUNTED, NOT_WHOLE_WARPS, MORE_THAN_THE_CTA, OTHER_COUNT, TOO_MANY = range(5)
NO_VOTE, COUNT, ALL, ANY = range(4)  # what barrier.red asks


class NamedBarriers:
    """The barriers of a CTA, whose record holds their state."""

    def __init__(self, record: CtaRecord):
        self.record = record

    def phase(self, number: int) -> int:
        return self.record.barriers[number].phase

    def arrive(self, warp: WarpRecord, mask: np.ndarray, expected: int | None, number: int) -> None:
        """Lanes of a warp come; `expected` threads end the phase, None all of the CTA. Raises Fault barrier-count."""
        cta, barrier = self.record, self.record.barriers[number]
        count = whole(cta.threads) if expected is None else expected
        problem = arrive(cta, warp, number, mask_word(mask), expected or 0)
        if problem == NOT_WHOLE_WARPS:
            message = f"barrier {number} names {count} threads, which is no multiple of the warp size 32"
            raise Fault("barrier-count", message, help="a barrier counts whole warps")
        if problem == MORE_THAN_THE_CTA:
            message = f"barrier {number} waits for {count} threads, the CTA has {cta.threads}"
            raise Fault("barrier-count", message, help="the barrier would wait forever")
        if problem == OTHER_COUNT:
            message = f"barrier {number} is used with {count} threads while others wait for {barrier.expected}"
            raise Fault(
                "barrier-count", message, help="all bar instructions of one phase must name the same thread count"
            )
        if problem == TOO_MANY:
            came = barrier.arrived + counted(warp, number, barrier.phase, mask_word(mask))
            raise Fault("barrier-count", f"barrier {number}: {came} threads came, {count} were expected")

    def describe(self, number: int, warps: Iterable[WarpRecord]) -> str:
        """Who has come and who is missing, for a deadlock report."""
        barrier, come, missing, gone = self.record.barriers[number], [], [], []
        for warp in warps:
            lanes = come_to(warp, number, barrier.phase)
            if lanes:
                come.append(str(warp.index))
            if warp.live & ~lanes:
                missing.append(str(warp.index))
            if not warp.live:
                gone.append(str(warp.index))
        text = f"barrier {number}: {barrier.arrived} of {barrier.expected} threads have come (warps {', '.join(come)})"
        if missing and barrier.expected == whole(self.record.threads):
            text += f", warps {', '.join(missing)} have not"
        if gone and barrier.named:
            text += f"; warps {', '.join(gone)} have exited, and do not count where a count is given"
        return text


@body
def arrive(cta: CtaRecord, warp: WarpRecord, number: I32, mask: U32, given: I32) -> I32:
    """Lanes of a warp come to a barrier that `given` threads end, or the CTA's where that is 0; COUNTED, or what is wrong, with
    nothing changed."""
    barrier = cta.barriers[number]
    expected = given if given != 0 else whole(cta.threads)
    if expected % LANES != 0:
        return NOT_WHOLE_WARPS
    if expected > whole(cta.threads):
        return MORE_THAN_THE_CTA
    if barrier.arrived != 0 and expected != barrier.expected:
        return OTHER_COUNT
    more = counted(warp, number, barrier.phase, mask)
    if barrier.arrived + more > expected:
        return TOO_MANY
    before = come_to(warp, number, barrier.phase)
    warp.came[number] = before | mask
    warp.came_in[number] = barrier.phase
    barrier.expected = expected
    barrier.named = 1 if given != 0 or (barrier.named != 0 and barrier.arrived != 0) else 0
    barrier.arrived += more
    barrier.here += (mask & ~before).bit_count()
    end_phase(cta, number)
    return COUNTED


@body
def vote(cta: CtaRecord, number: I32, phase: I32, lanes: U32, votes: U32) -> None:
    """Lanes vote in a phase of a barrier."""
    barrier, at = cta.barriers[number], phase % VOTES
    if barrier.votes_in[at] != phase + 1:
        barrier.votes_in[at] = phase + 1
        barrier.voted[at] = 0
        barrier.agreed[at] = 0
    barrier.voted[at] += lanes.bit_count()
    barrier.agreed[at] += (lanes & votes).bit_count()


@body
def result_of_vote(cta: CtaRecord, number: I32, phase: I32, what: I32) -> I32:
    """What a vote in a phase that is over has come to: how many lanes voted true; or whether all, whether any did."""
    barrier, at = cta.barriers[number], phase % VOTES
    if what == COUNT:
        return barrier.agreed[at]
    return barrier.agreed[at] == barrier.voted[at] if what == ALL else barrier.agreed[at] > 0


@body
def lanes_exit(cta: CtaRecord, warp: WarpRecord, mask: U32) -> None:
    """Lanes leave the kernel; their warp no longer waits for them at barriers, nor do barriers of the whole CTA."""
    before = warp.live
    warp.live = before & ~mask
    cta.live -= mask.bit_count()
    for number in range(BARRIERS):
        barrier = cta.barriers[number]
        if barrier.arrived != 0:
            come = come_to(warp, number, barrier.phase)
            barrier.here -= (come & mask).bit_count()
            if come != 0 and before & ~come != 0 and warp.live & ~come == 0:
                barrier.arrived += LANES - come.bit_count()
            end_phase(cta, number)
    exit_from_cluster(cta, warp, mask)


def end_phase(cta: CtaRecord, number: int) -> None:
    """End the phase of a barrier to which some have come if nothing is missing."""
    barrier = cta.barriers[number]
    everyone = barrier.named == 0 and barrier.here == cta.live
    if everyone or barrier.arrived == barrier.expected:
        barrier.phase += 1
        barrier.arrived = 0
        barrier.here = 0


def counted(warp: WarpRecord, number: int, phase: int, mask: int) -> int:
    """For how many threads the arrival of lanes counts."""
    before = come_to(warp, number, phase)
    if warp.live & ~(before | mask) != 0:
        return mask.bit_count()
    return mask.bit_count() + LANES - (warp.live | before).bit_count()


def come_to(warp: WarpRecord, number: int, phase: int) -> int:
    """The lanes that have come to a barrier in a phase."""
    return warp.came[number] if warp.came_in[number] == phase else 0


def whole(threads: int) -> int:
    """The threads of a CTA, counted in whole warps."""
    return (threads + LANES - 1) // LANES * LANES
