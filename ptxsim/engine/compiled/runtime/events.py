"""Records of the event stream, written where the events happen."""

from __future__ import annotations

import numpy as np

from ptxsim.engine.compiled.runtime.abi import UNKNOWN, Context
from ptxsim.jit.body import body
from ptxsim.jit.export import indirect, view
from ptxsim.jit.kinds import FIRST_ARGUMENT, RESULT
from ptxsim.jit.record import I32, I64, U32
from ptxsim.machine.event import RECORD, Addresses
from ptxsim.machine.records import WarpRecord

WORD = np.dtype(np.int64)
# A body that takes batches, what it is called with, a number that is not 0 once Python has to look (machine.event.Observer.consumer):
# addresses; how many records at the beginning of the batch it has taken, TAKEN where Python need not look.
TAKEN = -1
CONSUMER = np.dtype([("code", "<i8"), ("block", "<i8"), ("noted", "<i8"), ("taken", "<i8")])


@indirect
def flush(address: I64) -> None:
    """Hand a full batch of records to the observers."""
    raise NotImplementedError


@indirect
def consume(address: I64, block: I64) -> None:
    """Call a body with its block."""
    raise NotImplementedError


@body
def event(
    context: Context, warp: WarpRecord, site: I32, kind: I32, space: I32, width: I32, flags: I32, mask: U32, numbers: Addresses
) -> None:  # fmt: skip
    """Append a record with the numbers of its lanes, if there is a stream that wants it; lanes that do nothing say nothing.

    It is what machine.event.event calls in native code.
    """
    if mask != 0 and context.records != 0 and context.wanted >> kind & 1:
        view(context.records, RECORD, UNKNOWN)[context.recorded]["addresses"] = numbers
        mark(context, warp, site, kind, space, width, flags, mask)


@body
def mark(
    context: Context, warp: WarpRecord, site: I32, kind: I32, space: I32, width: I32, flags: I32, mask: U32
) -> None:
    """Append a record without addresses, if it is wanted."""
    if mask == 0 or not context.wanted >> kind & 1:
        return
    record = view(context.records, RECORD, UNKNOWN)[context.recorded]
    record["site"] = site
    record["cta"] = warp.cta
    record["warp"] = warp.index
    record["event"] = kind
    record["space"] = space
    record["width"] = width
    record["flags"] = flags
    record["mask"] = mask
    context.recorded += 1
    if context.recorded >= context.capacity:
        hand_over(context)


def hand_over(context: Context) -> None:
    """Let the observers have a full batch: Python is called where it has to look."""
    looks = context.consumers == 0
    for k in range(context.consumers):
        one = view(context.consumer, CONSUMER, UNKNOWN)[k]
        words = view(one["block"], WORD, UNKNOWN)
        words[FIRST_ARGUMENT + 1] = context.recorded  # after the address of the records
        consume(one["code"], one["block"])
        one["taken"] = TAKEN
        if words[RESULT] != context.recorded or view(one["noted"], WORD, UNKNOWN)[0] != 0:
            one["taken"], looks = words[RESULT], True
    if looks or has_some(context, context.others):
        flush(context.flush)
    else:
        context.recorded = 0


def has_some(context: Context, events: int) -> bool:
    """Whether a batch has some of these events, as bits by their numbers."""
    found = 0
    for k in range(context.recorded if events != 0 else 0):
        found |= 1 << int(view(context.records, RECORD, UNKNOWN)[k]["event"])
    return found & events != 0
