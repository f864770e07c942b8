"""What the lanes of one instruction have begun, which completes later on mbarriers: the stores of st.async, the reductions of red.async, the
arrivals of cp.async.mbarrier.arrive. Bodies, for both engines.

It is kept among the bulk copies of a machine (machine.copies.bulk_state), as one copy with a record of its lanes. PTX ISA, "Data Movement and
Conversion Instructions: st.async"; "red.async"; "cp.async.mbarrier.arrive".
"""

from __future__ import annotations

from collections.abc import MutableSequence
from typing import Annotated

import numpy as np

from ptxsim.jit.export import address_of, view
from ptxsim.jit.record import I64, Record, record
from ptxsim.jit.vectors import different
from ptxsim.lanes import LANES
from ptxsim.machine.barriers.mbarrier_state import DONE, arrive, complete_bytes, is_intact
from ptxsim.machine.copies.bulk_bytes import LONGS, WORDS, call_refuse
from ptxsim.machine.copies.bulk_records import BulkCopies, BulkCopy
from ptxsim.machine.copies.lane_copies import wait_for_copies
from ptxsim.machine.event import (
    FLAG_ASYNC_PROXY,
    FLAG_EACH,
    FLAG_ISSUED,
    FLAG_LANDED,
    FLAG_STRONG,
    ODD_PHASE,
    Event,
    Space,
    Stream,
    event,
)
from ptxsim.machine.records import MBarrierRecord, WarpRecord
from ptxsim.types import ScalarType

# What becomes of the word there: a store, or a reduction with or without a sign; or an arrival once copies have landed.
STORE, ADD, MIN, MAX, MIN_SIGNED, MAX_SIGNED, INC, DEC, AND, OR, XOR, ARRIVE = range(12)
REDUCTIONS = {
    "add": ADD, "min": MIN, "max": MAX, "inc": INC, "dec": DEC, "and": AND, "or": OR, "xor": XOR,
}  # fmt: skip
SIGNED = {"min": MIN_SIGNED, "max": MAX_SIGNED}
SIGN, WORD_BITS = 1 << 31, (1 << 32) - 1
MBARRIER = 8  # bytes of an object
Longs = Annotated[MutableSequence[int], I64, LANES]


@record
class LaneWork(Record):
    """What the lanes of an instruction do when it lands. Of arrivals `names` are of mbarriers, with the parity of their phases."""

    free: I64  # the next one that is not in use: address, 0 after the last
    lanes: I64  # a mask
    width: I64  # bytes of each store, or of an mbarrier
    operation: I64
    before: I64  # of arrivals: the number of the copy from which on they wait for none
    line: I64  # of the instruction
    targets: Longs  # addresses in this process
    names: Longs  # the same as events have them
    barriers: Longs  # addresses of the mbarriers' records
    barrier_names: Longs
    low: Longs  # the data: 8 bytes of it, and 8 more
    high: Longs


BYTES = LaneWork.dtype.itemsize


def begin_work(stream: Stream, copies: BulkCopies, copy: BulkCopy) -> None:
    """Take the record that is free into use, which a copy has got."""
    work = view(copy.work, LaneWork, 1)[0]
    copies.free_work = work.free
    if work.operation == ARRIVE:
        work.width = MBARRIER
        for lane in range(LANES):
            if work.lanes >> lane & 1 != 0:
                phase = view(work.barriers[lane], MBarrierRecord, 1)[0].phase
                work.names[lane] = work.barrier_names[lane] | (phase & 1) << ODD_PHASE
    if copies.events == 0:
        return
    if work.operation == ARRIVE:
        tell(stream, copy, work, Event.MBARRIER_ARRIVE, FLAG_ISSUED, work.lanes)
        return
    tell_issue(stream, copy, work)
    tell_arrivals(stream, copy, work, FLAG_ISSUED)


def land_work(stream: Stream, copies: BulkCopies, copy: BulkCopy) -> None:
    """All of it is there; the record is free again."""
    work, warp = view(copy.work, LaneWork, 1)[0], view(copy.warp, WarpRecord, 1)[0]
    if work.operation == ARRIVE:
        wait_for_copies(stream, warp, work.lanes, work.before)
    if copies.events != 0:
        tell_landed(stream, copy, work)
    for lane in range(LANES):
        if work.lanes >> lane & 1 != 0 and work.operation != ARRIVE:
            put(work, lane)
    for lane in range(LANES):
        if work.lanes >> lane & 1 != 0 and not complete(work, warp, lane):
            copy.barrier = work.barriers[lane]
            copy.lane = lane
            call_refuse(copies.refuse, address_of(copy))
    work.free = copies.free_work
    copies.free_work = address_of(work)


def complete(work: LaneWork, warp: WarpRecord, lane: int) -> bool:
    """Tell a lane's mbarrier; False, with nothing changed, if it is none any more, or takes no more."""
    barrier = view(work.barriers[lane], MBarrierRecord, 1)[0]
    if work.operation == ARRIVE:
        return arrive(barrier, 1, 0, warp.cta, warp.index, work.line) == DONE
    return barrier.live != 0 and is_intact(barrier) and complete_bytes(barrier, work.width) == DONE


def put(work: LaneWork, lane: int) -> None:
    """What one lane does to memory."""
    at, low = work.targets[lane], work.low[lane]
    words = view(at, WORDS, 2)
    if work.width == 4:
        words[0] = combined(work.operation, int(words[0]), low & WORD_BITS) & WORD_BITS
    elif work.operation == ADD:  # of 64 bits, a word at a time
        first = int(words[0]) + (low & WORD_BITS)
        words[1] = int(words[1]) + (low >> 32 & WORD_BITS) + (first >> 32) & WORD_BITS
        words[0] = first & WORD_BITS
    else:
        longs = view(at, LONGS, 2)
        longs[0] = low
        if work.width == 16:
            longs[1] = work.high[lane]


def combined(operation: int, old: int, new: int) -> int:
    """What is there afterwards; of 32 bits as they are, without a sign. The same as the updates of instructions.atomic_update, which are of lane values."""
    found = new
    if operation == ADD:
        found = old + new
    elif operation == MIN:
        found = min(old, new)
    elif operation == MAX:
        found = max(old, new)
    elif operation == MIN_SIGNED:
        found = min((old ^ SIGN) - SIGN, (new ^ SIGN) - SIGN)
    elif operation == MAX_SIGNED:
        found = max((old ^ SIGN) - SIGN, (new ^ SIGN) - SIGN)
    elif operation == INC:
        found = 0 if old >= new else old + 1
    elif operation == DEC:
        found = new if old == 0 or old > new else old - 1
    elif operation == AND:
        found = old & new
    elif operation == OR:
        found = old | new
    elif operation == XOR:
        found = old ^ new
    return found


def number_of(op: str, t: ScalarType) -> int:
    """The number of a reduction."""
    return SIGNED[op] if op in SIGNED and t.is_signed else REDUCTIONS[op]


# ---- what observers and checks hear of ------------------------------------------------------------------------------------


def tell_issue(stream: Stream, copy: BulkCopy, work: LaneWork) -> None:
    """Record that lanes will write: where stores share a place, one after the other, since one is not in order with the next."""
    names, flags = np.zeros(LANES, np.uint64), FLAG_ASYNC_PROXY | FLAG_EACH
    for lane in range(LANES):
        names[lane] = work.names[lane]
    if work.operation != STORE or different(names, work.lanes, 0) == work.lanes.bit_count():
        tell(stream, copy, work, Event.ASYNC_ISSUE, flags, work.lanes)
        return
    for lane in range(LANES):
        if work.lanes >> lane & 1 != 0:
            tell(stream, copy, work, Event.ASYNC_ISSUE, flags, 1 << lane)


def tell_landed(stream: Stream, copy: BulkCopy, work: LaneWork) -> None:
    """Record what has landed: before a store completes, it has come to its mbarrier."""
    if work.operation == ARRIVE:
        tell(stream, copy, work, Event.MBARRIER_ARRIVE, FLAG_LANDED, work.lanes)
        return
    tell_arrivals(stream, copy, work, 0)
    if work.operation == STORE:
        tell(stream, copy, work, Event.ASYNC_WRITE, 0, work.lanes)
    tell(stream, copy, work, Event.ASYNC_WAIT, FLAG_ASYNC_PROXY, work.lanes)
    if work.operation != STORE:
        tell(stream, copy, work, Event.REDUCE, FLAG_STRONG, work.lanes)


def tell(stream: Stream, copy: BulkCopy, work: LaneWork, kind: int, flags: int, mask: int) -> None:
    """Record what lanes do to their places."""
    names = np.zeros(LANES, np.uint64)
    for lane in range(LANES):
        names[lane] = work.names[lane]
    event(stream, view(copy.warp, WarpRecord, 1)[0], copy.site, kind, Space.SHARED, work.width, flags, mask, names)


def tell_arrivals(stream: Stream, copy: BulkCopy, work: LaneWork, flag: int) -> None:
    """Record which mbarriers bytes complete on, before what is written; flag: FLAG_ISSUED where they will."""
    names = np.zeros(LANES, np.uint64)
    for lane in range(LANES):
        if work.lanes >> lane & 1 != 0:
            phase = view(work.barriers[lane], MBarrierRecord, 1)[0].phase
            names[lane] = work.barrier_names[lane] | (phase & 1) << ODD_PHASE
    event(
        stream, view(copy.warp, WarpRecord, 1)[0], copy.site, Event.MBARRIER_ARRIVE, Space.SHARED, MBARRIER, FLAG_ASYNC_PROXY | flag,
        work.lanes, names,
    )  # fmt: skip
