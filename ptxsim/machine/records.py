"""The state of warps, their splits and their CTA as records: what the scheduler of both engines works on."""

from __future__ import annotations

from collections.abc import MutableSequence
from typing import Annotated

import numpy as np

from ptxsim.jit.record import I32, I64, U32, U64, Record, record
from ptxsim.lanes import LANES

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
