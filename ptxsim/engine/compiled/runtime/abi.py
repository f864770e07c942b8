"""The memory that Python and native code share: the context of a thread of execution, and the memory of a warp.

A warp's memory is its record, its special registers and its PTX registers, next to each other.
"""

from __future__ import annotations

from collections.abc import MutableSequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from ptxsim.engine.program.operation import Program
from ptxsim.jit.record import I64, U32, U64, Pointer, Record, record
from ptxsim.lanes import LANES
from ptxsim.machine.records import WarpRecord
from ptxsim.types import ScalarType

ALIGN = 64
UNKNOWN = 1 << 30  # elements of a table whose size is not asked for
Numbers = Annotated[MutableSequence[int], Pointer(np.dtype(np.int64), LANES)]  # of the lanes of a warp


@record
class Context(Record):
    """Of one thread of execution. Fields that end a comment with "address" or "callback" hold one; 0 is none."""

    jump: Annotated[MutableSequence[int], U64, 64]  # what setjmp keeps
    count: I64  # warp instructions of the machine
    steps: I64  # warp turns of the machine
    site: U32  # the instruction that takes the slow path
    mxcsr: U32
    arena: I64  # what to add to a device address of global memory
    starts: I64  # table of allocations: addresses
    sizes: I64
    kinds: I64
    allocations: I64
    caches: I64  # {base, span} of every memory instruction: address
    records: I64  # the event stream: address
    recorded: I64
    capacity: I64
    wanted: I64  # which events are recorded (machine.event.Wanted)
    flush: I64  # callback
    full: I64  # the program's code for whole warps, by block, 0 where there is none yet, i64: address
    masked: I64  # and for parts of warps: address
    compile: I64  # code of a block for whole warps (1) or parts of warps (0) is wanted: callback
    python: I64  # a warp executes an operation in the interpreter, and then goes on (1) or leaves (0): callback
    cta: I64  # the CTA's record: address
    warps: I64  # its warps' memory: address
    warp_count: I64
    stride: I64  # bytes from one warp to the next
    cursor: I64  # turns that have begun in this round
    moved: I64  # whether any warp has moved in this round
    next_due: I64  # the turn at which asynchronous work of Python completes, but for bulk copies
    bulk: I64  # those (machine.copies.bulk_records.BulkCopies): address
    land_due: I64  # bodies of machine.copies.bulk_state, where there are such copies: addresses
    land_all: I64
    land: I64  # that turn has come: callback
    land_copies: I64  # body of machine.copies.lane_copies, where there are copies of cp.async: address
    rounds: I64
    end_count: I64  # warp instructions after which native code returns
    end_rounds: I64  # rounds after which it does
    # Products of warpgroups (engine.compiled.runtime.warpgroups): tiles that are known; callback for others; scratch memory for
    # panels; products in flight.
    tiles: I64
    find_tile: I64
    scratch: I64
    flying: I64
    impatience: I64  # i64 for each block (engine.analysis.forward_progress): address
    lengths: I64  # operations of each block, i64: address
    lines: I64  # of each operation, i64: address
    results: I64  # where a warp's memory has the first register that each operation writes, or 0; i64: address
    asked: I64  # what each operation lets lanes vote on (machine.barriers.cta), i64: address
    strayed: I64  # u8 for each operation (machine.state.Machine.strayed): address
    garbage: I64
    draws: I64  # what a seed other than 0 draws from (machine.draws): address
    order: I64  # with such a seed: the warps in the order of their turns in this round, i64, for CTAs whose turn has come: address
    cta_warps: I64  # of one CTA
    clusters: I64  # those that run in this memory (engine.compiled.runtime.clusters): address
    # All memories in which clusters run, to have slices in turn: addresses as above, i64: address; how many; whose slice is next; how
    # many have been made.
    seats: I64
    seat_count: I64
    seat: I64
    made: I64
    turn: I64  # the warp whose turn it is
    mixes: I64  # whether turns are of different lengths (engine.turns.some_blocks)
    polled: I64  # rounds one after the other in which the cluster has only polled
    # Warp instructions of rounds after which a cluster only polls; `count` when the round that runs began.
    idle: I64
    began: I64
    # Of each block whose first operation lanes may wait at for others: WarpRecord.ahead then, address, 0 where nobody has waited yet; what
    # makes it (callback).
    ways: I64
    find_ways: I64
    polls: I64  # whether each block is in a loop that polls, i64: address, 0 if none is
    calls: I64  # what functions a program calls (engine.compiled.runtime.calls), 0 if none natively: address
    # What takes full batches before `flush` does: how many bodies, their CONSUMER (runtime.events); bits by the numbers of events that others
    # listen to, which need Python for them.
    consumers: I64
    consumer: I64
    others: I64


CONTEXT, WARP = Context.offsets(), WarpRecord.offsets()
HEADER_BYTES = -(-WarpRecord.dtype.itemsize // ALIGN) * ALIGN

# In place of a site: nothing of the block has been executed; the interpreter has finished it; it has, and what the warp waits for
# or the tensor core owns only Python knows.
NOWHERE, FINISHED, WATCHED = range(0xFFFF_FFFF, 0xFFFF_FFFC, -1)

# What the kernel function returns. PLACED: its splits stand where they go on. CONVERGE: lanes wait for others (`taken`: for whom, and themselves).
NEXT, DIVERGE, EXIT, BAIL, BARRIER, ARRIVE, WARPGROUP, WAITS, CALL, RETURN, PLACED, VOTE, CONVERGE = range(13)

# Bits of an allocation's kind.
KINDS = {"global": 1, "const": 2, "param": 4}
READ_ONLY = 8


def register_bytes(t: ScalarType) -> int:
    """Bytes of a register in a warp's memory; a predicate is a word of one bit per lane."""
    return 8 if t.kind == "predicate" else LANES * t.bytes


@dataclass(frozen=True, slots=True)
class WarpLayout:
    """Offsets of a program's registers and of the special registers it reads; `stride` is the size of a warp's memory."""

    registers: tuple[int, ...]
    specials: dict[str, int]
    stride: int

    @classmethod
    def of(cls, program: Program, specials: list[str]) -> WarpLayout:
        at = HEADER_BYTES
        places = {}
        for name in specials:
            places[name] = at
            at += 8 * LANES
        registers = [0] * len(program.slots)
        # The widest first, so that all are aligned.
        for slot in sorted(range(len(program.slots)), key=lambda s: -register_bytes(program.slots[s])):
            registers[slot] = at
            at += register_bytes(program.slots[slot])
        return cls(tuple(registers), places, -(-at // ALIGN) * ALIGN)
