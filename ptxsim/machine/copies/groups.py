"""Groups in which threads commit asynchronous copies and wait for them, counted by lane. For cp.async and for bulk copies.

A thread's groups are numbered as it commits them. A copy belongs to the group that its thread commits next: the number that
`committed` gave when it was issued, so that the copy is in no group yet while that is still what `committed` gives.
"""

from __future__ import annotations

from collections.abc import MutableSequence
from typing import Annotated

from ptxsim.jit.body import body
from ptxsim.jit.record import I32, I64, U32, Record, record
from ptxsim.lanes import LANES

OWN = Annotated[MutableSequence[int], I32, LANES]


@record
class Groups(Record):
    """How many groups each lane of a warp has committed: those that all live lanes have, and its own."""

    together: I64
    apart: I32  # whether some lanes have groups of their own
    own: OWN


@body
def commit_group(groups: Groups, live: U32, lanes: U32) -> None:
    """What these of the live lanes have issued since their last commit is a group of each."""
    if lanes == live:
        groups.together += 1
    elif lanes != 0:
        groups.apart = 1
        for lane in range(LANES):
            groups.own[lane] += lanes >> lane & 1


def committed(groups: Groups, lane: int) -> int:
    """How many groups a lane has committed."""
    return groups.together + groups.own[lane]


def is_older(groups: Groups, lane: int, group: int, newest: int) -> bool:
    """Whether a lane has committed a group of its own, and it is not one of the lane's `newest` latest."""
    return group < committed(groups, lane) - newest
