"""The splits of a warp: which runs next, how they diverge, meet again and end. Bodies on the warp's record, for both engines.

Splits are known by their place among those of the warp: where one is removed, later ones move up.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import numpy as np

from ptxsim.engine.analysis.forward_progress import LESS, PATIENCE, RENEWED
from ptxsim.jit.body import body
from ptxsim.jit.record import FLAG, I32, U32, Pointer
from ptxsim.lanes import LANES
from ptxsim.machine.barriers.cta import lanes_exit
from ptxsim.machine.records import CONVERGES, FIRST_BARRIER, RUNS, CtaRecord, Split, WarpRecord

Weights = Annotated[Sequence[int], Pointer(np.dtype(np.int64))]
Targets = Annotated[Sequence[int], Pointer(np.dtype(np.int32))]
Numbers = Annotated[Sequence[int], Pointer(np.dtype(np.int32), LANES)]  # of the lanes of a warp

NONE = -1  # no split can run
NOWHERE = -1  # in place of a block
UNTIL_IT_LEAVES = 2**31 - 1  # stop_before of a split that is the only one


def runnable(warp: WarpRecord) -> int:
    """How many splits wait for nothing."""
    found = 0
    for s in range(warp.splits):
        if warp.split[s].wait == RUNS:
            found += 1
    return found


@body
def choose(warp: WarpRecord, weights: Weights) -> I32:
    """The split to run next: of the deepest call, at the smallest block, so that lanes meet where the program joins.

    When the others have lost patience (engine.analysis.forward_progress), the one that has not run for the longest time. It runs
    until it comes to where another one stands or to a block that takes patience; for one block where something waits or none
    is left. NONE if all wait.
    """
    count = runnable(warp)
    if warp.splits == 1:
        warp.spent = 0
        warp.stop_before = UNTIL_IT_LEAVES
        return count - 1
    most = PATIENCE - warp.lost
    oldest = warp.spent >= most and count > 1
    best = NONE
    for s in range(warp.splits):
        if warp.split[s].wait == RUNS and (best == NONE or comes_before(warp, s, best, oldest)):
            best = s
    warp.stop_before = 0
    if count < 2:
        return best
    split = warp.split[best]
    if oldest:
        most = max(most - most // LESS, RENEWED)
        warp.spent = most - RENEWED
        warp.lost = PATIENCE - most
    else:
        warp.spent += weights[split.block]
        if warp.spent < most and count == warp.splits:
            warp.stop_before = nearest(warp, best)
    warp.turns += 1
    split.steps = warp.turns
    return best


def comes_before(warp: WarpRecord, s: int, other: int, oldest: bool) -> bool:
    """Whether split s runs before another one."""
    one, two = warp.split[s], warp.split[other]
    if oldest:
        return one.steps < two.steps
    if one.depth != two.depth:
        return one.depth > two.depth
    return one.block < two.block or (one.block == two.block and one.op < two.op)


def nearest(warp: WarpRecord, s: int) -> int:
    """The first block at which split s may meet another one, or has to let it run."""
    found = UNTIL_IT_LEAVES
    for other in range(warp.splits):
        if warp.split[other].call != warp.split[s].call or warp.split[other].op != 0:
            return 0
        if other != s:
            found = min(found, warp.split[other].block)
    return found


@body
def released(cta: CtaRecord, warp: WarpRecord, s: I32) -> FLAG:
    """Let a split go on whose barrier has opened; whether it did."""
    split = warp.split[s]
    if split.wait < FIRST_BARRIER or cta.barriers[split.wait - FIRST_BARRIER].phase == split.ticket:
        return False
    split.wait = RUNS
    return True


def wait_at(split: Split, barrier: int, phase: int, site: int) -> None:
    """Let a split wait until a phase of a barrier is over; it stands after the operation that waits already."""
    split.wait = barrier + FIRST_BARRIER
    split.ticket = phase
    split.site = site


def holding(warp: WarpRecord, lanes: int) -> int:
    """The first split that has one of these lanes."""
    s = 0
    while warp.split[s].mask & lanes == 0:
        s += 1
    return s


def add(warp: WarpRecord, s: int, mask: int) -> int:
    """A further split: these lanes of split s, where it stands."""
    new = warp.splits
    warp.splits += 1
    warp.split[new] = warp.split[s]
    warp.split[new].mask = mask
    warp.split[s].mask = warp.split[s].mask & ~mask
    return new


def remove(warp: WarpRecord, s: int) -> None:
    warp.splits -= 1
    for other in range(s, warp.splits):
        warp.split[other] = warp.split[other + 1]


def merge(warp: WarpRecord, s: int) -> None:
    """Join split s with another one at the same place of the same call, which is removed."""
    if warp.splits == 1:
        return
    split = warp.split[s]
    for other in range(warp.splits):
        one = warp.split[other]
        together = one.block == split.block and one.op == split.op and one.call == split.call
        if together and other != s and one.wait == RUNS and split.wait == RUNS:
            split.mask = split.mask | one.mask
            split.steps = min(split.steps, one.steps)
            remove(warp, other)
            return


@body
def meet(warp: WarpRecord, s: I32) -> I32:
    """Join split s, which waits for lanes, with those that have come to the same place of the same call; it goes on when none is missing that
    has not exited. Returns where it is now.

    Where one has exited it goes on, too: the instruction, executed again, says so."""
    other = 0
    while other < warp.splits:
        split, one = warp.split[s], warp.split[other]
        together = one.block == split.block and one.op == split.op and one.call == split.call
        if other != s and together and (one.wait == RUNS or one.wait == CONVERGES):
            split.mask = split.mask | one.mask
            remove(warp, other)
            s -= 1 if other < s else 0
        else:
            other += 1
    split = warp.split[s]
    if split.lanes & ~split.mask & warp.live == 0 or split.lanes & ~warp.live != 0:
        split.wait = RUNS
    return s


@body
def move(warp: WarpRecord, s: I32, block: I32) -> None:
    """Split s goes to the start of a block, and joins what stands there."""
    warp.split[s].block = block
    warp.split[s].op = 0
    merge(warp, s)


@body
def diverge(warp: WarpRecord, s: I32, taken: U32, target: I32, otherwise: I32) -> None:
    """Lanes of split s go to block `target`, the rest of it to block `otherwise`."""
    change_call(warp, s, taken, warp.split[s].call, warp.split[s].depth, target, otherwise)


@body
def change_call(warp: WarpRecord, s: I32, taken: U32, call: I32, depth: I32, target: I32, otherwise: I32) -> None:
    """The same, where the lanes that go to `target` are in another call there, at a depth of calls."""
    mask = warp.split[s].mask
    if mask & taken != 0:
        new = s
        if mask & ~taken != 0:
            new = add(warp, s, mask & taken)
            warp.split[s].block = NOWHERE  # while the others join
        warp.split[new].call = call
        warp.split[new].depth = depth
        move(warp, new, target)
    if mask & ~taken != 0:
        move(warp, holding(warp, mask & ~taken), otherwise)


@body
def scatter(warp: WarpRecord, s: I32, taken: U32, index: Numbers, targets: Targets, otherwise: I32) -> None:
    """Lanes of split s go each to the target of its index, the rest of it to block `otherwise`."""
    rest = warp.split[s].mask
    for lane in range(LANES):
        if taken >> lane & 1 != 0:
            together = 0
            for other in range(lane, LANES):
                if taken >> other & 1 != 0 and targets[index[other]] == targets[index[lane]]:
                    together |= 1 << other
            diverge(warp, holding(warp, rest), together, targets[index[lane]], NOWHERE)
            taken &= ~together
            rest &= ~together
    if rest != 0:
        move(warp, holding(warp, rest), otherwise)


@body
def leave(cta: CtaRecord, warp: WarpRecord, s: I32, mask: U32, otherwise: I32) -> None:
    """Lanes of split s exit; the rest of it goes to block `otherwise`."""
    lanes_exit(cta, warp, mask)
    rest = warp.split[s].mask & ~mask
    if rest == 0:
        remove(warp, s)
    else:
        warp.split[s].mask = rest
        move(warp, s, otherwise)


EXPORTS = (scatter,)
