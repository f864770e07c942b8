"""st.async and red.async on their way: what the lanes of one instruction do to the shared memory of their cluster, and on which mbarriers
that completes. Bodies, for both engines.

They are kept among the bulk copies of a machine (machine.bulk_state), as one copy with a record of its lanes. PTX ISA, "Data Movement and
Conversion Instructions: st.async"; "red.async".
"""

from __future__ import annotations

from collections.abc import MutableSequence
from typing import Annotated

import numpy as np

from ptxsim.jit.export import address_of, view
from ptxsim.jit.record import I64, Record, record
from ptxsim.lanes import LANES
from ptxsim.machine.bulk_bytes import LONGS, WORDS, call_refuse
from ptxsim.machine.bulk_records import BulkCopies, BulkCopy
from ptxsim.machine.event import (
    FLAG_ASYNC_PROXY,
    FLAG_ISSUED,
    FLAG_STRONG,
    LANE_SHIFT,
    ODD_PHASE,
    Event,
    Space,
    Stream,
    event,
)
from ptxsim.machine.mbarrier_state import DONE, complete_bytes, is_intact
from ptxsim.machine.records import MBarrierRecord, WarpRecord
from ptxsim.types import ScalarType

# What becomes of the word there: a store, or a reduction of so many bits with or without a sign.
STORE, ADD, MIN, MAX, MIN_SIGNED, MAX_SIGNED, INC, DEC, AND, OR, XOR = range(11)
REDUCTIONS = {
    "add": ADD, "min": MIN, "max": MAX, "inc": INC, "dec": DEC, "and": AND, "or": OR, "xor": XOR,
}  # fmt: skip
SIGNED = {"min": MIN_SIGNED, "max": MAX_SIGNED}
SIGN, WORD_BITS = 1 << 31, (1 << 32) - 1
Longs = Annotated[MutableSequence[int], I64, LANES]


@record
class LaneStores(Record):
    """What the lanes of an instruction do when it lands."""

    free: I64  # the next one that is not in use: address, 0 after the last
    lanes: I64  # a mask
    width: I64  # bytes of each
    operation: I64
    targets: Longs  # addresses in this process
    names: Longs  # the same as events have them
    barriers: Longs  # addresses of the mbarriers' records
    barrier_names: Longs
    low: Longs  # the data: 8 bytes of it, and 8 more
    high: Longs


BYTES = LaneStores.dtype.itemsize


def begin_stores(stream: Stream, copies: BulkCopies, copy: BulkCopy) -> None:
    """Take the record that is free into use, which a copy has got."""
    stores = view(copy.stores, LaneStores, 1)[0]
    copies.free_stores = stores.free
    if copies.events != 0:
        for lane in range(LANES):
            if stores.lanes >> lane & 1 != 0:
                flags = FLAG_ASYNC_PROXY | lane << LANE_SHIFT
                tell(stream, copy, stores, Event.ASYNC_ISSUE, flags, 1 << lane)
        tell_arrivals(stream, copy, stores, FLAG_ISSUED)


def land_stores(stream: Stream, copies: BulkCopies, copy: BulkCopy) -> None:
    """All of it is there; the record is free again."""
    stores = view(copy.stores, LaneStores, 1)[0]
    if copies.events != 0:
        tell_arrivals(stream, copy, stores, 0)
        if stores.operation == STORE:
            tell(stream, copy, stores, Event.ASYNC_WRITE, 0, stores.lanes)
        tell(stream, copy, stores, Event.ASYNC_WAIT, FLAG_ASYNC_PROXY, stores.lanes)
        if stores.operation != STORE:
            tell(stream, copy, stores, Event.REDUCE, FLAG_STRONG, stores.lanes)
    for lane in range(LANES):
        if stores.lanes >> lane & 1 != 0:
            put(stores, lane)
    for lane in range(LANES):
        if stores.lanes >> lane & 1 != 0:
            barrier = view(stores.barriers[lane], MBarrierRecord, 1)[0]
            is_there = barrier.live != 0 and is_intact(barrier)
            if not is_there or complete_bytes(barrier, stores.width) != DONE:
                copy.barrier = stores.barriers[lane]
                copy.lane = lane
                call_refuse(copies.refuse, address_of(copy))
    stores.free = copies.free_stores
    copies.free_stores = address_of(stores)


def put(stores: LaneStores, lane: int) -> None:
    """What one lane does to memory."""
    at, low = stores.targets[lane], stores.low[lane]
    words = view(at, WORDS, 2)
    if stores.width == 4:
        words[0] = combined(stores.operation, int(words[0]), low & WORD_BITS) & WORD_BITS
    elif stores.operation == ADD:  # of 64 bits, a word at a time
        first = int(words[0]) + (low & WORD_BITS)
        words[1] = int(words[1]) + (low >> 32 & WORD_BITS) + (first >> 32) & WORD_BITS
        words[0] = first & WORD_BITS
    else:
        longs = view(at, LONGS, 2)
        longs[0] = low
        if stores.width == 16:
            longs[1] = stores.high[lane]


def combined(operation: int, old: int, new: int) -> int:
    """What is there afterwards; of 32 bits as they are, without a sign."""
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


def tell(stream: Stream, copy: BulkCopy, stores: LaneStores, kind: int, flags: int, mask: int) -> None:
    """Record what lanes do to their places."""
    names = np.zeros(LANES, np.uint64)
    for lane in range(LANES):
        names[lane] = stores.names[lane]
    event(stream, view(copy.warp, WarpRecord, 1)[0], copy.site, kind, Space.SHARED, stores.width, flags, mask, names)


def tell_arrivals(stream: Stream, copy: BulkCopy, stores: LaneStores, flag: int) -> None:
    """Record which mbarriers bytes complete on, before what is written; flag: FLAG_ISSUED where they will."""
    names = np.zeros(LANES, np.uint64)
    for lane in range(LANES):
        if stores.lanes >> lane & 1 != 0:
            phase = view(stores.barriers[lane], MBarrierRecord, 1)[0].phase
            names[lane] = stores.barrier_names[lane] | (phase & 1) << ODD_PHASE
    event(
        stream, view(copy.warp, WarpRecord, 1)[0], copy.site, Event.MBARRIER_ARRIVE, Space.SHARED, 8, FLAG_ASYNC_PROXY | flag,
        stores.lanes, names,
    )  # fmt: skip
