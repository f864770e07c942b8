"""The state of warps, their splits and their CTA as records: what the scheduler of both engines works on."""

from __future__ import annotations

import math
from collections.abc import MutableSequence, Sequence
from typing import Annotated

import numpy as np

from ptxsim.jit.record import I32, I64, U32, U64, Record, record
from ptxsim.lanes import LANES
from ptxsim.machine.copies.groups import OWN, Groups

BARRIERS = 16  # the named barriers of a CTA
VOTES = 4  # phases of a barrier whose votes are kept: a warp goes on before others have come through so many more
MOST_MBARRIERS = 1 << 15  # in 256 KiB of shared memory
LINES = 5  # whose arrivals at an mbarrier are told apart
MOST_GROUPS = 8  # warpgroups of a CTA: each has a barrier of its own after the named ones, at which its warps meet

CLUSTER = BARRIERS + MOST_GROUPS  # a CTA's view of the barrier of its cluster comes after those

# What a split waits for: nothing, something that a Python object knows, mbarriers (those that its lanes watch), other lanes of the warp
# that an instruction needs beside its own, or a barrier of the CTA (its number + FIRST_BARRIER).
RUNS, IN_PYTHON, AT_MBARRIERS, CONVERGES, FIRST_BARRIER = range(5)


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
    site: I32  # of the operation that waits at a barrier or at mbarriers
    lanes: U32  # that wait at mbarriers or at the cluster's barrier; where it converges, those that have to be together
    due: I64  # the warp turn of the machine at which that wait times out
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
    due: I64  # the warp's turn from which on its data is there without a wait; 0: none
    together: I64  # the groups that the lanes had committed before (machine.copies.groups)
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
    room: I64  # how many copies there may be at that address
    capacity: I64  # how many the ring holds, which grows to that; both are powers of two
    first: I64
    end: I64
    open: I64  # how many of them waits have yet to cover
    issued: I64  # copies in all
    next_due: I64  # the first turn at which one is due; 0: none
    arena: I64  # address of global memory, and the device address that it begins with (no constant: it differs between processes)
    begins: I64


@record
class BulkGroups(Record):
    """The groups of a warp's bulk copies (machine.copies.bulk_state)."""

    groups: Groups
    copies: I64  # that waits have yet to cover


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
    votes: U32  # of lanes at a barrier
    shared: I64  # address of the CTA's shared memory; what of it may be accessed
    shared_start: I64
    shared_span: I64
    named: I64  # what names of shared memory add to an offset: the CTA's rank in its cluster << RANK_SHIFT
    cluster: I64  # address of the first CTA's shared memory; the others' follow at distances of 1 << RANK_SHIFT
    ctas: I64  # of the cluster
    owner: I64  # the CTA: address of its record
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
    # Lanes that have come to each barrier, last to the cluster's ...
    came: Annotated[MutableSequence[int], U32, BARRIERS + 1]
    came_in: Annotated[MutableSequence[int], I32, BARRIERS + 1]  # ... in this phase
    arrived: U32  # lanes that have arrived at the cluster's barrier and have yet to wait there
    stack: Annotated[MutableSequence[int], U64, LANES]  # base of the current local frame, by lane
    copies: LaneCopies
    bulk: BulkGroups
    # The mbarrier that each lane waits for (address of its record), and its phase.
    watched: Annotated[MutableSequence[int], I64, LANES]
    watched_in: Annotated[MutableSequence[int], I32, LANES]
    # Where lanes wait for others: by block, whether these may still come when they are there (address). 0: Python looks.
    ahead: I64


@record
class Barrier(Record):
    """A barrier of a CTA in its current phase."""

    phase: I32
    arrived: I32  # threads that have come; a warp whose live lanes have all come counts as 32
    expected: I32
    here: I32  # live lanes that have come
    named: I32  # whether one of them has named a count
    # Votes of barrier.red in the last phases, by the phase's last bits: which one (counted from 1), lanes that voted, and that voted true.
    votes_in: Annotated[MutableSequence[int], I32, VOTES]
    voted: Annotated[MutableSequence[int], I32, VOTES]
    agreed: Annotated[MutableSequence[int], I32, VOTES]


@record
class CtaRecord(Record):
    """A CTA."""

    threads: I32
    live: I32  # threads that have not exited
    barriers: Annotated[MutableSequence[Barrier], Barrier, CLUSTER + 1]
    leader: I64  # the first CTA of the cluster, which counts for its barrier: address
    next: I64  # the next CTA of the cluster: address, 0 after the last
    mbarriers: I64  # address of an MBarrierTable, 0 while there is none
    warpgroups: I64  # address of its WarpgroupRecords in native code, 0 where Python holds the CTA


def cta_record(threads: int, before: Sequence[CtaRecord] = (), made: CtaRecord | None = None) -> CtaRecord:
    """The record of a CTA that begins, or `made` as it; `before` are those of the CTAs before it in its cluster."""
    made = CtaRecord() if made is None else made
    made.threads = made.live = threads
    leader = before[0] if before else made
    made.leader = leader.address
    leader.barriers[CLUSTER].expected += threads
    if before:
        before[-1].next = made.address
    return made


@record
class MBarrierRecord(Record):
    """An mbarrier object in its current phase, at an offset of shared memory. One that has been invalidated is not live."""

    live: I32
    offset: I32
    word: I64  # where its 64 bits are mirrored: address
    called: U64  # its address, as the program writes it
    expected: I32  # arrivals of a phase
    pending: I32  # arrivals that are missing
    bytes: I32  # announced and not yet transferred; below zero if data came first
    phase: I32
    layout: I32  # 0 or 1, as in .layout::v0
    init_line: I32  # of the mbarrier.init that made it
    announced: I64  # bytes announced in this phase
    last_cta: I32  # who arrived last: CTA, warp, line (0: none)
    last_warp: I32
    last_line: I32
    asked: I32  # whether any thread has asked whether a phase is over
    polled: I32  # whether any of the following is not zero
    # Failed polls and time-outs in this phase, by the index of the warp.
    polls: Annotated[MutableSequence[int], I32, LANES]
    # The lines that have arrived in this phase and in the one before, and how often; the last one stands for all that are left.
    lines: Annotated[MutableSequence[int], I32, LINES]
    arrivals: Annotated[MutableSequence[int], I32, LINES]
    lines_before: Annotated[MutableSequence[int], I32, LINES]
    arrivals_before: Annotated[MutableSequence[int], I32, LINES]


@record
class MBarrierTable(Record):
    """The mbarriers of a CTA, one for every offset at which there has been one."""

    used: I32
    shared: I64  # the CTA's shared memory: address
    # What native code goes back to, lane by lane, where an operation of the CTA turns out to be wrong.
    before: Annotated[MutableSequence[MBarrierRecord], MBarrierRecord, LANES]
    all: Annotated[MutableSequence[MBarrierRecord], MBarrierRecord, MOST_MBARRIERS]


def mbarrier_table(shared: np.ndarray) -> np.ndarray:
    """Memory of the table of a CTA with this shared memory, of which only what is used is touched."""
    objects = len(shared) // 8 * MBarrierRecord.dtype.itemsize
    memory = np.empty(MBarrierTable.offsets()["all"] + objects, np.uint8)
    table = MBarrierTable.from_address(memory.ctypes.data)
    table.used, table.shared = 0, shared.ctypes.data
    return memory


def aligned(*shape: int) -> np.ndarray:
    """Zeroed bytes that begin at a multiple of 64."""
    size = math.prod(shape)
    raw = np.zeros(size + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + size].reshape(shape)
