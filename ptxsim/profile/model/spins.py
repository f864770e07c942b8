"""Spin loops in traces: how often a warp has looked is the scheduler's doing, when it sees what it waits for is the machine's.

Of the turns of such a loop the last is kept, and for what it read the write that it waited for is looked up, so that the replay
lets the warp go on when that has been made.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np

from ptxsim.engine.analysis.control_flow import control_flow
from ptxsim.engine.analysis.def_use import reads, writes
from ptxsim.engine.analysis.forward_progress import STRONG, impatience
from ptxsim.engine.program.operation import Op, Program, fact
from ptxsim.isa.facts import AccessKind, Mechanism, Role
from ptxsim.profile.model.entries import ATOMIC, BLOCK, LOAD, STORE

Loops: TypeAlias = tuple[tuple[int, frozenset[int]], ...]


@fact
def spin_loops(program: Program) -> Loops:
    """Loops that only look: (head, blocks). A turn changes nothing that decides about the next one, but what others write does."""
    graph, weights = control_flow(program), impatience(program)
    found: dict[int, set[int]] = {}
    for head, tail in graph.back_edges:
        body = graph.loop_body(head, tail) if head in graph.dominators[tail] else set()
        ops = [op for number in body for op in program.blocks[number]]
        if any(weights[number] == STRONG for number in body) and all(map(_only_looks, ops)):
            if not _carried(program, head, body):
                found.setdefault(head, set()).update(body)
    return tuple((head, frozenset(body)) for head, body in found.items())


def _only_looks(op: Op) -> bool:
    """Whether an operation leaves all as it is, but for an atomic that fails."""
    if op.call is not None or op.completes_by is not None:
        return False
    if op.synchronises is not None:
        waits = op.synchronises.mechanism is Mechanism.MBARRIER and op.synchronises.role is Role.WAIT
        return waits or op.synchronises.mechanism is Mechanism.WARP
    return all(not access.writes or (access.kind is AccessKind.ATOMIC and op.destinations) for access in op.accesses)


def _carried(program: Program, head: int, body: set[int]) -> set[int]:
    """Registers that a turn of a loop takes over from the one before, for its branches or for what it reads."""
    ops = [op for number in body for op in program.blocks[number]]
    needed = {slot for op in ops if op.control is not None or op.accesses or op.synchronises for slot in reads(op)}
    size = -1
    while size != len(needed):
        size = len(needed)
        needed |= {slot for op in ops if needed & set(writes(op)) for slot in reads(op)}
    exposed: dict[int, set[int]] = {number: set() for number in body}
    changed = True
    while changed:
        changed = False
        for number in body:
            live = {
                slot
                for next in control_flow(program).successors[number]
                if next in body and next != head
                for slot in exposed[next]
            }
            for op in reversed(program.blocks[number]):
                live = (live - set(writes(op) if op.guard is None else ())) | set(reads(op))
            changed |= live != exposed[number]
            exposed[number] = live
    return exposed[head] & needed & {slot for op in ops for slot in writes(op)}


def last_turns(entries: np.ndarray, loops: Loops) -> np.ndarray:
    """Which entries stay, of all warps one after the other: all but those of turns of a spin loop that another one follows."""
    kept = np.ones(len(entries), bool)
    if not len(entries) or not loops:
        return kept
    is_block = entries["code"] == BLOCK
    at = np.maximum.accumulate(np.where(is_block, np.arange(len(entries)), -1))
    block = np.where(at >= 0, entries["site"][at], -1)
    new_warp = np.ones(len(entries), bool)
    new_warp[1:] = (np.diff(entries["cta"]) != 0) | (np.diff(entries["warp"]) != 0)
    for head, body in loops:
        inside = np.isin(block, list(body))
        begins = inside & (new_warp | ~np.concatenate([[False], inside[:-1]]))
        stay = np.cumsum(begins)  # which stay in the loop each entry is of
        heads = np.flatnonzero(inside & is_block & (entries["site"] == head))
        if len(heads):
            last = np.full(stay[-1] + 1, -1)
            last[stay[heads]] = heads  # the last one of each stay: they come in order
            kept &= ~inside | (np.arange(len(entries)) >= last[stay])
    return kept


def look_sites(program: Program) -> list[int]:
    """Accesses in spin loops."""
    return [
        op.site for _, body in spin_loops(program) for number in body for op in program.blocks[number] if op.accesses
    ]


class Looks(NamedTuple):
    """Looks of lanes at different words: the entry of each, and the words of its lanes."""

    rows: np.ndarray
    words: np.ndarray


def awaited(
    entries: np.ndarray, order: np.ndarray, kept: np.ndarray, program: Program, several: Looks
) -> tuple[np.ndarray, np.ndarray]:
    """For entries in the order of the run: (which flag each waits for, which flag each sets), from 1 on, 0 for none.

    order: the entries warp by warp; kept: of those, which stay. The last look at a word waits for the last write to it by another
    warp, before it and before another warp's look saw that write, if the warp has looked in vain before.
    """
    waits, sets = np.zeros(len(entries), np.int32), np.zeros(len(entries), np.int32)
    in_memory = np.isin(entries["code"], (LOAD, STORE, ATOMIC)) & (entries["count"] > 0)
    looks = np.isin(entries["site"], look_sites(program)) & in_memory
    words = np.unique(np.concatenate([entries["object"][looks], several.words.ravel()]))
    stays = np.zeros(len(entries), bool)
    stays[order[kept]] = True
    warps = entries["cta"].astype(np.int64) << 8 | entries["warp"]
    rows = np.flatnonzero(in_memory & np.isin(entries["object"], words) & (looks | (entries["code"] != LOAD)))
    objects = entries["object"].copy()
    _latest(objects, rows, looks, stays, warps, entries["site"], several)
    flags = 0
    events: dict[int, list[int]] = {}
    for i in rows.tolist():
        events.setdefault(int(objects[i]), []).append(i)
    for there in events.values():
        writes: list[int] = []
        looked: dict[int, int] = {}  # by warp: writes before its last look
        failed: dict[int, int] = {}  # by warp: looks that had succeeded when it last looked in vain
        successes: list[int] = []  # of each that succeeded, the writes before it
        for i in there:
            warp = int(warps[i])
            if not looks[i]:
                writes.append(i)
                continue
            least, looked[warp] = looked.get(warp, 0), len(writes)
            if not stays[i]:
                failed[warp] = len(successes)
                continue
            since = failed.pop(warp, len(successes))
            place = (successes[since] if since < len(successes) else len(writes)) - 1
            successes.append(len(writes))
            while place >= 0 and warps[writes[place]] == warp:
                place -= 1
            # Of several that one warp has stored, the first may do: what it says next is how far it has come since.
            while (
                place > least
                and entries["code"][writes[place]] == STORE
                and warps[writes[place - 1]] == warps[writes[place]]
            ):
                place -= 1
            if place >= 0:
                if not sets[writes[place]]:
                    flags += 1
                    sets[writes[place]] = flags
                waits[i] = sets[writes[place]]
    return waits, sets


def _latest(
    objects: np.ndarray,
    rows: np.ndarray,
    looks: np.ndarray,
    stays: np.ndarray,
    warps: np.ndarray,
    sites: np.ndarray,
    several: Looks,
) -> None:
    """Have a warp whose lanes look at different words wait for the one that comes last: that whose writer has waited for most others,
    one after the other, before. In the run lanes may have seen theirs in any order."""
    if not len(several.rows):
        return
    words_of = dict(zip(several.rows.tolist(), several.words.tolist()))
    written: dict[
        int, tuple[int, int]
    ] = {}  # by word: how many waits there were one after the other before its last write, and which that is
    waits: dict[int, int] = {}  # by warp
    seen: dict[tuple[int, int], set[int]] = {}  # by warp and instruction: words of turns of a loop before the last one
    for i in rows.tolist():
        warp = int(warps[i])
        if not looks[i]:
            written[int(objects[i])] = waits.get(warp, 0) + 1, i
            continue
        there = seen.setdefault((warp, int(sites[i])), set())
        there.update(words_of.get(i, (int(objects[i]),)))
        if not stays[i]:
            continue
        if len(there) > 1:
            objects[i] = max(there, key=lambda word: written.get(word, (0, 0)))
        waits[warp] = max(waits.get(warp, 0), written.get(int(objects[i]), (0, 0))[0])
        there.clear()
