"""Lanes of a warp that wait for others, in native code: when they meet, whether those can still come, and how they begin to wait.

engine.convergence is the same for all that only Python knows.
"""

from __future__ import annotations

import numpy as np

from ptxsim.engine.compiled.runtime.abi import UNKNOWN, Context
from ptxsim.engine.splits import NONE, meet
from ptxsim.jit.export import indirect, view
from ptxsim.jit.record import I32, I64
from ptxsim.machine.records import CONVERGES, RUNS, WarpRecord


@indirect
def find_ways(address: I64, block: I32) -> None:
    raise NotImplementedError


def lets_meet(warp: WarpRecord) -> bool:
    """Let lanes that wait for others meet them; whether some still wait."""
    waiting, s = 0, 0
    while s < warp.splits:
        if warp.split[s].wait == CONVERGES:
            s = meet(warp, s)
            waiting += 1 if warp.split[s].wait == CONVERGES else 0
        s += 1
    if waiting == 0:
        warp.ahead = 0
    return waiting != 0


def may_come(warp: WarpRecord) -> bool:
    """Whether all splits that run stand where their lanes may still come to those that wait for them, and do not end."""
    blocks = view(warp.ahead, np.int64, UNKNOWN)
    strays = 0
    for s in range(warp.splits):
        if warp.split[s].wait == RUNS and blocks[warp.split[s].block] == 0:
            strays += 1
    return strays == 0


def spins_alone(warp: WarpRecord) -> int:
    """The only split that runs while all others wait for its lanes; NONE if there is none."""
    found = NONE
    for s in range(warp.splits):
        if warp.split[s].wait == RUNS and found == NONE:
            found = s
        elif warp.split[s].wait != CONVERGES:
            return NONE
    return found


def wait_for_lanes(context: Context, warp: WarpRecord, s: int) -> bool:
    """Let a split wait for lanes at the start of a block, if all that it waits for may come; others are Python's."""
    ways = view(context.ways, np.int64, UNKNOWN)
    if ways[warp.block] == 0:
        find_ways(context.find_ways, warp.block)
    blocks = view(ways[warp.block], np.int64, UNKNOWN)
    others = 0
    for other in range(warp.splits):
        split = warp.split[other]
        if split.call != 0 or (other != s and (split.wait == CONVERGES or blocks[split.block] == 0)):
            others += 1
    if others != 0:
        return False
    split = warp.split[s]
    split.block = warp.block
    split.lanes = warp.taken
    split.wait = CONVERGES
    warp.ahead = ways[warp.block]
    warp.left -= 1
    return True
