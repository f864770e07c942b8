"""What the replay of an SM keeps: recorded entries, warps, moments from which units are free, caches, counts.

All of it is arrays in named tuples, which compiled code takes apart for nothing; moments are cycles from the launch on.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ptxsim.profile.encode import Parameters
from ptxsim.profile.machine_code import Kind, Pipe

INF = 1e18
SUBS = 4  # sub-cores
SLOTS = 64  # warps
GROUPS = 64  # asynchronous groups remembered per warp
WAYS = 4  # of L1
MOST_SPANS = 200_000  # of a timeline
(NONE, ALU, FMA, HEAVY, FP64, XU, TENSOR, LSU, UNIFORM, ADU, CBU) = (int(p) for p in Pipe)
LITE = len(Pipe)  # the other half of the FMA pipe
(PLAIN, COPY, ACCESS, BARRIER, MB_ARRIVE, MB_WAIT, CP, CP_COMMIT, CP_WAIT, BULK, BULK_COMMIT, BULK_WAIT, WGMMA, WG_COMMIT,
 WG_WAIT, BRANCH, EXIT, FENCE, SHUFFLE, CHECK, LOOP) = (int(k) for k in Kind)  # fmt: skip
COPIES, BULKS, PRODUCTS = range(3)  # what comes in asynchronous groups: cp.async, bulk copies, wgmma
# Units that the sub-cores share, and the engines of a timeline: those, then the pipes of the sub-cores.
DATA, TMA, L2, DRAM, ATOMICS, BARRIERS, MBARRIERS, FETCH, SHARED_UNITS = range(9)
ENGINES = ("shared memory and L1", "TMA", "L2 port", "DRAM share", "atomics", "barriers", "mbarriers", "code fetch")


class Entries(NamedTuple):
    """Recorded entries, warp by warp; `used`: an instruction has taken it."""

    code: np.ndarray
    site: np.ndarray
    cycles: np.ndarray
    width: np.ndarray
    first: np.ndarray
    count: np.ndarray
    object: np.ndarray
    need: np.ndarray
    lines: np.ndarray
    used: np.ndarray


class Ctas(NamedTuple):
    """CTAs of the SM in the order they start: their warps' entries, and when they may start."""

    warp_begin: np.ndarray  # by warp: its entries
    warp_end: np.ndarray
    first_warp: np.ndarray  # by CTA
    warps: np.ndarray
    start: np.ndarray
    left: np.ndarray  # warps that still run
    place: np.ndarray  # where it is resident


class Warps(NamedTuple):
    """By slot. `blocked`: the barrier waited for, or -1; `need`: its arrivals; `entry`, `next`, `end`: entries of the running
    block, of the one behind it, and the end; `why`: reason of the wait until `ready`."""

    active: np.ndarray
    blocked: np.ndarray
    need: np.ndarray
    ready: np.ndarray
    why: np.ndarray
    issued: np.ndarray
    op: np.ndarray
    op_end: np.ndarray
    block: np.ndarray
    entry: np.ndarray
    next: np.ndarray
    end: np.ndarray
    cta: np.ndarray
    since: np.ndarray  # begin of the running block
    store: np.ndarray  # the last store is on its way, the last atomic done
    atomic: np.ndarray
    register_ready: np.ndarray  # (slot, register)
    register_pipe: np.ndarray
    register_why: np.ndarray
    last: np.ndarray  # (COPIES.., slot): end of what no group has yet
    groups: np.ndarray  # (COPIES.., slot, group)
    count: np.ndarray  # (COPIES.., slot)


class Units(NamedTuple):
    """Moments from which units are free. `dirty`: a sub-core has to choose its next warp again."""

    issue: np.ndarray
    pipe: np.ndarray  # (sub-core, Pipe)
    free: np.ndarray  # DATA, TMA, ...
    dirty: np.ndarray
    warp: np.ndarray  # chosen, and when it issues
    time: np.ndarray
    last: np.ndarray  # issued last


class Store(NamedTuple):
    """L1 (tag and sectors, last use, arrival), what came from DRAM, code and constants seen, barriers."""

    tags: np.ndarray
    used: np.ndarray
    fill: np.ndarray
    seen: np.ndarray
    code: np.ndarray
    code_ready: np.ndarray
    constants: np.ndarray
    arrived: np.ndarray
    last_arrival: np.ndarray


class Tally(NamedTuple):
    """Counts: stalls by site and reason (0: issued), cycles by pipe, totals of memory, spans of warps and engines."""

    stalls: np.ndarray
    busy: np.ndarray
    totals: np.ndarray
    spans: np.ndarray  # slot, CTA, block, begin, end
    work: np.ndarray  # engine, sub-core, begin, end
    counts: np.ndarray  # spans, work, issued
    open: np.ndarray  # (engine, sub-core): its last span of work


SPANS, WORK, ISSUED = range(3)
# Of totals: cycles of the shared-memory path, sectors, atomic operations, bytes, waits whose arrivals no trace holds.
(SHARED_WAVES, L1_SECTORS, L1_HITS, L2_READ, DRAM_SECTORS, L2_WRITTEN, ATOMIC_COUNT, BULK_BYTES, UNMATCHED, TOTALS) = (
    range(10)
)


def new_warps(slots: int) -> Warps:
    """No warp runs; registers of a thread: `slots`."""
    whole, number = lambda: np.zeros(SLOTS, np.int64), lambda: np.zeros(SLOTS)
    return Warps(
        np.zeros(SLOTS, np.bool_), np.full(SLOTS, -1, np.int64), whole(), number(), whole(), number(), whole(), whole(),
        whole(), whole(), whole(), whole(), np.full(SLOTS, -1, np.int64), number(), number(), number(),
        np.zeros((SLOTS, slots)), np.zeros((SLOTS, slots), np.int8), np.zeros((SLOTS, slots), np.int8),
        np.zeros((3, SLOTS)), np.zeros((3, SLOTS, GROUPS)), np.zeros((3, SLOTS), np.int64),
    )  # fmt: skip


def new_units() -> Units:
    return Units(
        np.zeros(SUBS), np.zeros((SUBS, 16)), np.zeros(SHARED_UNITS), np.ones(SUBS, np.bool_),
        np.full(SUBS, -1, np.int64), np.full(SUBS, INF), np.full(SUBS, -1, np.int64),
    )  # fmt: skip


def new_store(p: Parameters, instructions: int, objects: int, cold: bool) -> Store:
    lines = int(p.l1_sets) * WAYS
    code = instructions * 16 // 128 + 2
    return Store(
        np.full((lines, 2), -1, np.int64), np.zeros(lines), np.zeros(lines), np.zeros(1 << 20 if cold else 1, np.bool_),
        np.zeros(code, np.bool_), np.zeros(code), np.zeros(64, np.bool_), np.zeros(objects + 1, np.int64), np.zeros(objects + 1),
    )  # fmt: skip


def new_tally(sites: int) -> Tally:
    return Tally(
        np.zeros((sites + 1, 16)), np.zeros(16), np.zeros(TOTALS), np.zeros((MOST_SPANS, 5)), np.zeros((MOST_SPANS, 4)),
        np.zeros(3, np.int64), np.full((SHARED_UNITS + 16, SUBS), -1, np.int64),
    )  # fmt: skip
