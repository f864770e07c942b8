"""What barrier.red gives the lanes that come out of a barrier. PTX ISA, "Parallel Synchronization and Communication Instructions: bar"."""

from __future__ import annotations

import numpy as np

from ptxsim.engine.access import write
from ptxsim.engine.program.operation import Op
from ptxsim.lanes import LANES, lanes_of
from ptxsim.machine.barriers.cta import COUNT, NO_VOTE, result_of_vote
from ptxsim.machine.cta import Warp
from ptxsim.machine.records import Split


def asked(op: Op) -> int:
    """What an operation lets lanes vote on; NO_VOTE if it does not."""
    find = op.facts.votes
    return NO_VOTE if find is None else find(op.words)


def give_result(op: Op, warp: Warp, split: Split, number: int) -> None:
    """Write what lanes have voted in a phase of a barrier that they come out of."""
    if (what := asked(op)) != NO_VOTE:
        found = result_of_vote(warp.cta.record, number, split.ticket, what)
        values = np.full(LANES, found, np.uint32 if what == COUNT else bool)
        lanes = lanes_of(split.lanes)
        write(op.destinations[0], values, warp, lanes, bool(lanes.all()))
