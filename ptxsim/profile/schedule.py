"""The order of instructions within a block: loads early, their users late, as far as dependences and memory order allow."""

from __future__ import annotations

import heapq

from ptxsim.profile.figures import UNITS
from ptxsim.profile.machine_code import Kind, MachineOp

# What the assembler plans with for what it cannot know.
PLANNED = {"global": 300.0, "shared": 30.0}
WALLS = (Kind.BARRIER, Kind.FENCE, Kind.WGMMA_WAIT, Kind.MBARRIER_WAIT, Kind.ASYNC_WAIT, Kind.BULK_WAIT)
ENDS = (Kind.BRANCH, Kind.LOOP_BRANCH, Kind.EXIT)
WINDOW = 192  # instructions the assembler looks ahead


def schedule(ops: list[MachineOp]) -> list[MachineOp]:
    """List scheduling by the longest way to the end of the block. Walls and branches stay where they are."""
    ordered: list[MachineOp] = []
    part: list[MachineOp] = []
    for op in ops:
        part.append(op)
        if op.kind in WALLS or op.kind in ENDS or len(part) >= WINDOW:
            ordered += _schedule(part)
            part = []
    return ordered + _schedule(part)


def planned_latency(op: MachineOp) -> float:
    if op.kind == Kind.COPY:
        return 0
    if op.latency is not None:
        return op.latency
    return PLANNED.get(op.unit, UNITS[op.unit].latency)


def _schedule(ops: list[MachineOp]) -> list[MachineOp]:
    if len(ops) < 3:
        return ops
    after, waiting = dependences(ops)
    height = [0.0] * len(ops)
    for i in range(len(ops) - 1, -1, -1):
        height[i] = planned_latency(ops[i]) + max((height[j] for j in after[i]), default=0.0)
    ready = [(-height[i], i) for i in range(len(ops)) if not waiting[i]]
    heapq.heapify(ready)
    order = []
    while ready:
        _, i = heapq.heappop(ready)
        order.append(ops[i])
        for j in after[i]:
            waiting[j] -= 1
            if not waiting[j]:
                heapq.heappush(ready, (-height[j], j))
    return order


def dependences(ops: list[MachineOp]) -> tuple[list[set[int]], list[int]]:
    """Who must come after whom: registers, memory of one space, and the block's last instruction after all others."""
    after: list[set[int]] = [set() for _ in ops]
    written: dict[int, int] = {}
    read: dict[int, list[int]] = {}
    stores: dict[str, int] = {}
    loads: dict[str, list[int]] = {}
    for i, op in enumerate(ops):
        before = [written[r] for r in (*op.reads, *op.predicates) if r in written]
        for slot in op.writes:
            before += read.get(slot, [])
            if slot in written:
                before.append(written[slot])
        if op.space:
            if op.space in stores:
                before.append(stores[op.space])
            if op.stores:
                before += loads.get(op.space, [])
        elif op.stores and op.kind not in ENDS:  # ordered against everything that is
            for space in list(stores):
                before.append(stores[space])
            for found in loads.values():
                before += found
        for j in before:
            if j != i:
                after[j].add(i)
        for slot in (*op.reads, *op.predicates):
            read.setdefault(slot, []).append(i)
        for slot in op.writes:
            written[slot], read[slot] = i, []
        if op.space:
            if op.stores:
                stores[op.space], loads[op.space] = i, []
            else:
                loads.setdefault(op.space, []).append(i)
        elif op.stores:
            for space in ("global", "shared", "local", "async", "nc", "const"):
                stores[space], loads[space] = i, []
    last = len(ops) - 1
    if ops[last].kind in ENDS or ops[last].kind in WALLS:
        for i in range(last):
            after[i].add(last)
    waiting = [0] * len(ops)
    for follows in after:
        for j in follows:
            waiting[j] += 1
    return after, waiting
