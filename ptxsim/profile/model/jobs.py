"""Jobs that CTAs take from a queue: on the machine the next one goes to the CTA that is done first, in the functional run to the one whose
turn it is."""

from __future__ import annotations

import heapq
from dataclasses import replace

import numpy as np

from ptxsim.engine.analysis.control_flow import control_flow
from ptxsim.engine.analysis.def_use import reads, writes
from ptxsim.engine.program.operation import Op, Program, fact
from ptxsim.isa.facts import AccessKind, Mechanism
from ptxsim.profile.model.entries import ARRIVE, BLOCK, LEAVE, WAIT
from ptxsim.profile.model.spins import spin_loops
from ptxsim.profile.model.trace import Trace

OWN = 16  # numbers of barriers below are of one CTA


@fact
def queue_loops(program: Program) -> tuple[int, ...]:
    """Heads of loops that begin with a job from a queue: an atomic on memory that CTAs share, whose result is used, and a barrier at which the CTA hears of it.
    None where CTAs wait for each other too, so that it matters when each has its job."""
    if spin_loops(program):
        return ()
    graph, found = control_flow(program), set()
    used = {slot for op in program.ops for slot in reads(op)}
    for head, tail in graph.back_edges:
        if head in graph.dominators[tail]:
            ops = [op for number in graph.loop_body(head, tail) for op in program.blocks[number]]
            if any(_draws(op, used) for op in ops) and any(map(_is_barrier, ops)):
                found.add(head)
    return tuple(sorted(found))


def _draws(op: Op, used: set[int]) -> bool:
    """Whether an operation takes a number that is no other CTA's then; used: registers that something reads."""
    shared = any(a.kind is AccessKind.ATOMIC and a.writes and a.space in ("global", None) for a in op.accesses)
    return shared and any(slot in used for slot in writes(op))


def _is_barrier(op: Op) -> bool:
    return op.synchronises is not None and op.synchronises.mechanism is Mechanism.BARRIER


def dealt(trace: Trace, program: Program, at_once: int) -> Trace:
    """The trace with jobs dealt to the CTAs of which so many are there at once, each to the one that has executed least so far. As it was
    where there is no one queue, or where the warps of a CTA have not taken the same number."""
    heads, entries = queue_loops(program), trace.entries
    if len(heads) != 1 or trace.modulus > 1 or not len(entries):
        return trace
    order = np.lexsort((np.arange(len(entries)), entries["warp"], entries["cta"]))
    sorted_entries = entries.take(order)
    new_warp = np.ones(len(order), bool)
    new_warp[1:] = (np.diff(sorted_entries["cta"]) != 0) | (np.diff(sorted_entries["warp"]) != 0)
    begins = (sorted_entries["code"] == BLOCK) & (sorted_entries["site"] == heads[0])
    turns = np.cumsum(begins)
    turns -= (turns - begins)[np.maximum.accumulate(np.where(new_warp, np.arange(len(order)), 0))]
    last = np.append(np.flatnonzero(new_warp)[1:], len(order)) - 1
    ctas = int(entries["cta"].max()) + 1
    owner, most, least = sorted_entries["cta"][last], np.zeros(ctas, np.int64), np.full(ctas, len(order))
    np.maximum.at(most, owner, turns[last])
    np.minimum.at(least, owner, turns[last])
    there = most > 0
    if not there.any() or (most != least)[there].any():
        return trace
    turn = np.zeros(len(entries), np.int64)
    turn[order] = turns
    cta = entries["cta"].astype(np.int64)
    is_job = (turn > 0) & (turn < most[cta])  # the last turn of each finds none
    if not is_job.any():
        return trace
    keys = cta[is_job] << 32 | turn[is_job]
    _, first, job = np.unique(keys, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first, kind="stable")] = np.arange(len(first))
    job = rank[job]  # in the order in which they were drawn
    sizes = np.array([len(block) for block in program.blocks], np.int64)
    weight = np.where(entries["code"] == BLOCK, sizes[np.where(entries["code"] == BLOCK, entries["site"], 0)], 0)
    work = np.bincount(job, weight[is_job])
    loads = [(0.0, number) for number in range(min(at_once, ctas)) if there[number]]
    heapq.heapify(loads)
    goes_to = np.zeros(len(work), np.int64)
    for number, cost in enumerate(work.tolist()):
        load, goes_to[number] = loads[0]
        heapq.heapreplace(loads, (load + cost, int(goes_to[number])))
    entries, total = entries.copy(), trace.work.copy()
    np.subtract.at(total, cta[is_job], weight[is_job])
    entries["cta"][is_job] = goes_to[job]
    np.add.at(total, entries["cta"][is_job], weight[is_job])
    barrier = is_job & np.isin(entries["code"], (ARRIVE, WAIT, LEAVE)) & (entries["object"] < 0)
    which = (-1 - entries["object"]) % 32
    own = barrier & (which < OWN)
    entries["object"][own] = -1 - (entries["cta"][own].astype(np.int64) * 32 + which[own])
    phase = np.where(turn == 0, 0, len(work) + 1)
    phase[is_job] = job + 1
    return replace(trace, entries=entries.take(np.argsort(phase, kind="stable")), work=total)
