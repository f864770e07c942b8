"""What the replay of an SM keeps: code and recorded entries, warps, moments from which units are free, caches, counts.

All of it is arrays, most of rows with named fields, in one tuple. Moments are cycles from the launch on.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np

from ptxsim.jit.body import record
from ptxsim.profile.machine_code import Pipe
from ptxsim.profile.model.encode import Code

INF = 1e18
SUBS = 4  # sub-cores
SLOTS = 64  # warps
GROUPS = 64  # asynchronous groups remembered per warp
WAYS = 4  # of L1
OPEN_LINES = 30  # that an SM puts stores together in
CONSTANT_LINES = 42  # of 64 bytes that an SM has of indexed constants
CONSTANT_BLOCKS = 256  # of 256 bytes: as many as a bank of constants has
MOST_SPANS = 200_000  # of a timeline
NOBODY = -1  # who ended a wait: a warp slot, SLOTS + an engine, or this
LITE = len(Pipe)  # the other half of the FMA pipe
# What comes in asynchronous groups: cp.async, bulk copies, products of a warpgroup; what the SM's tensor core does for the warp, moves
# between registers and tensor memory.
Async = IntEnum("Async", "COPIES BULKS PRODUCTS TENSOR MOVES", start=0)
FROM_DRAM = 16  # of a line, beside a bit for each sector
# Units that the sub-cores share, and the engines of a timeline: those, then the pipes of the sub-cores.
Unit = IntEnum(
    "Unit",
    "DATA TMA L2 WRITES WRITTEN DRAM ATOMICS BARRIERS MBARRIERS FETCH COPYING CONSTANTS CONSTANT_LINES REMOTE TENSOR MATCHES SLICES LINES",
    start=0,
)
SHARED_UNITS = len(Unit)
ENGINES = [
    "shared memory and L1", "TMA", "L2 port", "L2 port, writing", "writes at L2", "DRAM share", "atomics", "barriers", "mbarriers", "code fetch",
    "cp.async under way", "constants", "lines of constants", "cluster's shared memory", "tensor core", "match", "slices of L2", "lines of L1",
]  # fmt: skip
Count = IntEnum("Count", "SPANS WORK ISSUED USED_SLOTS CODED LOST WAITS", start=0)
# Cycles of the shared-memory path, sectors, atomic operations, bytes, waits whose arrivals no trace holds.
Total = IntEnum(
    "Total", "SHARED_WAVEFRONTS L1_SECTORS L1_HIT_SECTORS L2_READ_SECTORS DRAM_SECTORS DRAM_WRITTEN L2_WRITE_SECTORS ATOMICS "
    "BULK_BYTES UNMATCHED_WAITS", start=0,
)  # fmt: skip

STATE = record(
    ("coming", "i8"), ("resident", "i8"),  # the next CTA to start; how many are there
    ("finished", "f8"), ("active", "f8"), ("since", "f8"), ("now", "f8"),
    ("replacing", "f8"), ("replaced", "f8"),  # from when on CTAs come in the place of others; until when those that have come take the GPU
    ("launched", "f8"),  # when the first constants are there that come with the launch
    ("atomics", "i8"),  # on global memory: whether there have been any
    ("waits", "?"),  # a warp does, for a flag
    ("stores", "i8"), ("stored", "f8"),  # to global memory so far, and when the last was
    ("sending", "f8"), ("place", "i8"),  # until when stores are being sent to L2; where the next line is opened
    ("together", "i8"),  # stores that have found their line open, where L2 was behind
    ("storer", "i4"),  # the warp that has changed memory outside the CTA last
    ("fencing", "f8"), ("fenced", "f8"),  # when the last round of fences of the GPU began; when one more could go after those that have come
    ("stayed", "f8"), ("far", "f8"),  # when the code after the first exit that no lane has taken is there; that after the first lines
)  # fmt: skip
PLACE = record(("free", "f8"), ("taken", "?"))  # for a CTA
CTA = record(
        ("first_warp", "i4"), ("warps", "i4"),  # among the starts
        ("start", "f8"),  # not before
        ("left", "i4"),  # warps that still run
        ("stored", "f8"),  # when its last store has left the SM
        ("loaded", "f8"),  # when the last constant is there that its warps have asked for
        ("place", "i4"),  # where it is resident
    )  # fmt: skip
START = record(("begin", "i8"), ("end", "i8"))  # a warp's entries
WARP = record(
        ("active", "?"),
        ("blocked", "i8"), ("need", "i8"), ("awaits", "i4"),  # the object waited for, or -1, how many arrivals it has to have, the reason
        # A barrier that it has come to and that has not held it yet, or -1; from when on it does; when it lets go, INF while warps are missing.
        ("held", "i8"), ("held_from", "f8"), ("released", "f8"),
        ("ready", "f8"), ("why", "i4"),  # when it can issue, and the reason why not earlier
        ("issued", "f8"),  # when it did last
        ("by", "i4"),  # who ended its wait
        ("op", "i4"), ("op_end", "i4"), ("block", "i4"), ("segment", "i4"), ("cta", "i4"), ("number", "i4"),
        ("entry", "i8"), ("next", "i8"), ("end", "i8"),  # entries of the running block and of those after it
        ("branch", "i4"),  # where the assembler's branch ends that was issued last, if nothing has been since; else 0, NOBODY after a look at an mbarrier
        ("began", "i8"),  # the entry with which the running segment began
        ("since", "f8"),  # when the running block began
        ("access", "f8"),  # its next access goes to memory no earlier
        ("store", "f8"),  # when the last store is on its way
        ("stores", "i4"),  # to global memory so far
        ("stored", "f8"),  # when the last one to shared memory has been done
        ("sent", "f8"),  # when the last one to shared memory of the cluster has left the SM
        ("written", "f8"),  # when the last one to global memory, or atomic, was
        ("read", "f8"),  # when the last load from global memory was
        ("loaded", "f8"),  # when the last load is there
        ("changed", "f8"),  # when the last atomic has been done
        ("line", "i8"), ("changes", "i8"),  # the line of the last atomic; how many times it was another than before
        ("fenced", "f8"),  # when the last fence began
    )  # fmt: skip
VALUE = record(("ready", "f8"), ("pipe", "i4"), ("why", "i4"))  # a register of a warp
GROUP = record(("last", "f8"), ("count", "i8"))  # end of what no group has yet; groups so far
SUB_CORE = record(
        ("issue", "f8"),  # free from then on
        ("dirty", "?"),  # it has to choose again
        ("warp", "i4"), ("time", "f8"),  # chosen, and when it issues
        ("last", "i4"), ("stored", "i4"),  # issued last; stored to global memory last
        ("lines", "i4"),  # of code that it has run
        ("even", "f8"), ("odd", "f8"),  # until when each bank of registers is being read
    )  # fmt: skip
# Of L1. Of its sectors, those that stores have written in part, and that hold nothing else.
LINE = record(("tag", "i8"), ("sectors", "i8"), ("parts", "i8"), ("used", "f8"), ("arrival", "f8"))
# A line that stores are put together in: its sectors and how many of their bytes, and the last of those stores.
OPEN_LINE = record(("line", "i8"), ("sectors", "i8"), ("bytes", "f8"), ("store", "i8"))
FETCHED = record(
    ("present", "?"), ("reached", "?"), ("subs", "i4"), ("ready", "f8")
)  # a line of code; subs: a bit for each sub-core that has run it
# A barrier or mbarrier: arrivals so far, the last's moment, and whose.
OBJECT = record(("arrived", "i8"), ("last", "f8"), ("by", "i4"))


class Machine(NamedTuple):
    """An SM, the code it runs and what it has counted."""

    ops: np.ndarray
    registers: np.ndarray
    segments: np.ndarray
    parts: np.ndarray  # of the segments' patterns
    followers: np.ndarray
    blocks: np.ndarray
    candidates: np.ndarray  # segments that blocks may begin
    entries: np.ndarray  # recorded, warp by warp
    lines: np.ndarray  # of the entries' accesses
    used: np.ndarray  # of each entry: an instruction has taken it
    state: np.ndarray  # of the replay, one row
    places: np.ndarray
    flags: np.ndarray  # when each write can be seen that a spin loop waits for; INF if not yet. All SMs have the same
    flag_lines: np.ndarray  # the line of memory that each is in, by number
    written: np.ndarray  # of each of those lines: until when L2 is busy with the last write. All SMs have the same
    ctas: np.ndarray
    starts: np.ndarray  # of all warps
    warps: np.ndarray  # by slot
    values: np.ndarray  # (slot, register)
    groups: np.ndarray  # (Async, slot)
    group_ends: np.ndarray  # (Async, slot, number)
    subs: np.ndarray
    pipes: np.ndarray  # (sub-core, Pipe): free from then on
    free: np.ndarray  # Unit: free from then on
    cache: np.ndarray
    open_lines: np.ndarray
    seen: np.ndarray  # of lines, where L2 does not hold all: FROM_DRAM, and which sectors have been written
    fetched: np.ndarray
    constants: np.ndarray  # of each line of the kernel's constants: when it is there, 0 for never read
    constant_cache: np.ndarray  # lines of indexed constants
    constant_far: np.ndarray  # of each 256 bytes of them: they have been read
    objects: np.ndarray
    stalls: np.ndarray  # (site, reason); reason 0: issued
    busy: np.ndarray  # cycles by pipe
    totals: np.ndarray
    spans: np.ndarray  # of warps: slot, CTA, block, begin, end; of these three lists there is what `counts` says
    work: np.ndarray  # of engines: engine, sub-core, begin, end
    waits: np.ndarray  # of warps: slot, CTA, site, reason, begin, end, who ended it
    # SPANS, WORK, ISSUED, slots that ever had a warp, issued of the assembler's code, executions without code, WAITS
    counts: np.ndarray
    open: np.ndarray  # (engine, sub-core): its last span of work


def new_machine(
    code: Code, slots: int, entries: np.ndarray, lines: np.ndarray, ctas: np.ndarray, starts: np.ndarray, objects: int,
    p: np.ndarray, sites: int, flags: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> Machine:  # fmt: skip
    """An SM before its first CTA. `slots`: registers of a warp; `objects`: barriers; `flags`: of Machine, with their lines; `sites`: instructions of PTX."""
    warps, subs = np.zeros(SLOTS, WARP), np.zeros(SUBS, SUB_CORE)
    warps["blocked"] = warps["held"] = warps["cta"] = subs["warp"] = subs["last"] = -1
    subs["dirty"], subs["time"] = True, INF
    cache = np.zeros(int(p["l1_sets"][0]) * WAYS, LINE)
    cache["tag"] = -1
    open_lines = np.zeros(OPEN_LINES, OPEN_LINE)
    open_lines["line"] = -1
    constant_cache = np.zeros(CONSTANT_LINES, LINE)
    constant_cache["tag"] = -1
    last = int(code.ops["address"].max(initial=0))
    fetched = np.zeros(last // 128 + 2, FETCHED)
    fetched["present"] = last < p["code_held"][0]
    return Machine(
        *code, entries, lines, np.zeros(len(entries), np.bool_), np.zeros(1, STATE), np.zeros(SLOTS, PLACE), *flags, ctas, starts, warps, np.zeros((SLOTS, slots), VALUE),
        np.zeros((len(Async), SLOTS), GROUP), np.zeros((len(Async), SLOTS, GROUPS)), subs, np.zeros((SUBS, 16)), np.zeros(SHARED_UNITS), cache, open_lines,
        np.zeros(1 << 20 if p["cold"][0] else 1, np.uint8), fetched,
        np.zeros(128), constant_cache, np.zeros(CONSTANT_BLOCKS, np.bool_), np.zeros(objects + 1, OBJECT), np.zeros((sites + 1, 16)), np.zeros(16),
        np.zeros(len(Total)), np.empty((MOST_SPANS, 5)), np.empty((MOST_SPANS, 4)), np.empty((MOST_SPANS, 7)), np.zeros(len(Count), np.int64),
        np.full((SHARED_UNITS + 16, SUBS), -1, np.int64),
    )  # fmt: skip
