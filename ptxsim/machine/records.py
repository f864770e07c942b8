"""The state of warps, their splits and their CTA as records: what the scheduler of both engines works on."""

from __future__ import annotations

from collections.abc import MutableSequence
from typing import Annotated

import numpy as np

from ptxsim.jit.record import I32, I64, U32, U64, Record, record
from ptxsim.lanes import LANES
from ptxsim.machine.groups import OWN, Groups

BARRIERS = 16  # the named barriers of a CTA
MOST_GROUPS = 8  # warpgroups of a CTA: each has a barrier of its own after the named ones, at which its warps meet

# What a split waits for: nothing, something that a Python object knows, or a barrier (its number + FIRST_BARRIER).
RUNS, IN_PYTHON, FIRST_BARRIER = range(3)


@record
class Split(Record):
    """Lanes of a warp that are at the same place."""

    block: I32
    op: I32  # index of the next operation in the block
    mask: U32
    call: I32  # the call they are in (machine.cta.Warp.calls), 0 in the kernel
    depth: I32  # of calls
    wait: I32
    ticket: I32  # the phase of the barrier, or which of the warp's waits in Python
    site: I32  # of the operation that waits at a barrier
    steps: I64  # the warp's turn at which it ran last, while there were several splits


@record
class LaneCopy(Record):
    """One cp.async of a warp: 4, 8 or 16 bytes a lane."""

    number: I64  # among the copies of the warp
    shared: I64  # address of the shared memory that it writes
    site: I32
    size: I32
    open: U32  # lanes that no wait has covered yet
    landed: U32  # lanes whose data is there
    together: I64  # the groups that the lanes had committed before (machine.groups)
    own: OWN
    count: Annotated[MutableSequence[int], I32, LANES]  # bytes that each lane reads; the rest of `size` becomes zero
    to: Annotated[MutableSequence[int], U64, LANES]  # where each lane writes: shared memory as events name it
    source: Annotated[MutableSequence[int], U64, LANES]  # where it reads: global memory


@record
class LaneCopies(Record):
    """The copies of a warp, in the order of issue, until waits have covered them; and the groups of its lanes.

    They are kept in a ring: `first` is the place of the oldest, `end` the one after the newest.
    """

    groups: Groups
    copies: I64  # address of the ring
    capacity: I64  # a power of two
    first: I64
    end: I64
    open: I64  # how many of them waits have yet to cover
    issued: I64  # copies in all
    arena: I64  # address of global memory, where device addresses begin at ARENA


@record
class WarpRecord(Record):
    """A warp. The first fields say what native code runs, and how it left."""

    block: I32
    mask: U32
    live: U32  # lanes that have not exited
    left: I32  # blocks left of the warp's turn
    taken: U32
    target: I32
    op: I32
    own_site: I32
    shared: I64
    shared_start: I64
    shared_span: I64
    local: I64
    local_bytes: I64
    cta: I32
    index: I32
    splits: I32
    chosen: I32  # the split that runs
    stop_before: I32  # the first block at which another split may be chosen
    turns: I64  # of splits, while there were several
    spent: I64  # of the patience at joins (engine.analysis.forward_progress), until all lanes are together
    lost: I64  # of it, for good
    split: Annotated[MutableSequence[Split], Split, LANES]
    came: Annotated[MutableSequence[int], U32, BARRIERS]  # lanes that have come to each barrier ...
    came_in: Annotated[MutableSequence[int], I32, BARRIERS]  # ... in this phase
    stack: Annotated[MutableSequence[int], U64, LANES]  # base of the current local frame, by lane
    copies: LaneCopies


@record
class Barrier(Record):
    """A barrier of a CTA in its current phase."""

    phase: I32
    arrived: I32  # threads that have come; a warp whose live lanes have all come counts as 32
    expected: I32
    here: I32  # live lanes that have come


@record
class CtaRecord(Record):
    """A CTA."""

    threads: I32
    live: I32  # threads that have not exited
    barriers: Annotated[MutableSequence[Barrier], Barrier, BARRIERS + MOST_GROUPS]


def aligned(*shape: int) -> np.ndarray:
    """Zeroed bytes that begin at a multiple of 64."""
    size = int(np.prod(shape))
    raw = np.zeros(size + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + size].reshape(shape)
