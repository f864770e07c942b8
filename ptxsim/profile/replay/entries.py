"""What the replay takes: a trace's entries warp by warp, where every wait knows the arrivals it waits for."""

from __future__ import annotations

import numpy as np

from ptxsim.profile.model.contention import tried_again
from ptxsim.profile.model.entries import ARRIVE, BULK, COMMIT, LATE, LEAVE, MOST_WARPS, SEND, WAIT
from ptxsim.profile.model.spins import Loops, last_turns
from ptxsim.profile.model.trace import Trace


def for_replay(
    trace: Trace, ctas: np.ndarray, loops: Loops = (), again: tuple[int, ...] = ()
) -> tuple[np.ndarray, np.ndarray, int]:
    """Entries of these CTAs warp by warp in program order, where each warp begins, and how many objects there are.

    Of spin loops, `loops`, the last turn is there; of those around `again`, which compare and swap, as many as other SMs make it.

    Objects become numbers, and every wait knows how many arrivals it waits for: those recorded before it (mbarriers), or
    those of its phase and the ones before (barriers).
    """
    rows = np.flatnonzero(np.isin(trace.entries["cta"], ctas))
    rows = rows[in_order(warps_of(trace.entries, rows))]
    entries = trace.entries.take(rows)  # ten times as fast as an index for rows of this size
    code = trace.codes.take(rows)
    sync = np.flatnonzero(np.isin(code, (ARRIVE, WAIT, LEAVE)))
    sync = sync[np.argsort(rows[sync])]  # in the order of the run
    objects, which = np.unique(entries["object"][sync], return_inverse=True)
    entries["object"][sync] = which
    _count_arrivals(entries, sync, objects < 0)
    of_cluster = (objects < 0) & ((-1 - objects) % 32 == 16)
    leaves = sync[code[sync] == LEAVE]
    waits = leaves[of_cluster[entries["object"][leaves]]]
    entries["code"][waits] = code[waits] = WAIT
    kept = (code != LEAVE) & ~_settle_late(entries, code)
    if not kept.all():
        entries = entries.take(np.flatnonzero(kept))
    if loops:
        entries = entries.take(np.flatnonzero(last_turns(entries, loops)))
    entries = tried_again(entries, again)
    if not len(entries):
        return entries, np.zeros(0, np.int64), 0
    return entries, np.concatenate([[0], np.flatnonzero(np.diff(warps_of(entries))) + 1]), len(objects)


def warps_of(entries: np.ndarray, rows: np.ndarray | slice = slice(None)) -> np.ndarray:
    """A number for the warp of each entry of these, in the order of CTAs and their warps."""
    found: np.ndarray = entries["cta"][rows].astype(np.int64) * MOST_WARPS + entries["warp"][rows]
    return found


def in_order(numbers: np.ndarray) -> np.ndarray:
    """Where the least number is, the next one, ...; equal ones as they come. Those of 16 bits take numpy a quarter of the time: it counts them."""
    close = numbers - numbers.min() if len(numbers) else numbers
    found: np.ndarray = np.argsort(close.astype(np.uint16) if close.max(initial=0) < 1 << 16 else close, kind="stable")
    return found


def _count_arrivals(entries: np.ndarray, sync: np.ndarray, is_barrier: np.ndarray) -> None:
    """Write into `need` how many arrivals each wait waits for.

    Of an mbarrier, `need` is the parity of the phase until then: a wait is for the arrivals of its phase and those before it. A barrier's phase is over when the first warp leaves it; a CTA barrier waits in its arrival (`need` of the ARRIVE), a
    cluster barrier in the LEAVE, which becomes a WAIT.
    """
    arrived = np.zeros(len(is_barrier), np.int64)
    open_phase: dict[int, list[int]] = {}  # of a barrier: arrivals of the running phase, by entry
    later: dict[int, tuple[int, int]] = {}  # of an mbarrier: arrivals before the running phase, and its parity
    came: dict[tuple[int, int, int], int] = {}  # (barrier, CTA, warp) -> entry of its last arrival
    for i in sync.tolist():
        entry = entries[i]
        o, code = int(entry["object"]), int(entry["code"])
        if code == WAIT:
            before, parity = later.get(o, (0, int(entry["need"])))
            entries["need"][i] = arrived[o] if parity == entry["need"] else before
            continue
        who = (o, int(entry["cta"]), int(entry["warp"]))
        if code == ARRIVE:
            if not is_barrier[o] and later.get(o, (0, -1))[1] != entry["need"]:
                later[o] = int(arrived[o]), int(entry["need"])
            arrived[o] += 1
            if is_barrier[o]:
                open_phase.setdefault(o, []).append(i)
                came[who] = i
            continue
        mine = came.get(who)
        if mine in open_phase.get(o, ()):
            entries["need"][open_phase.pop(o)] = arrived[o]
        entries["need"][i] = entries["need"][mine] if mine is not None else 0
    for o, left in open_phase.items():
        entries["need"][left] = arrived[o]


def _settle_late(entries: np.ndarray, code: np.ndarray) -> np.ndarray:
    """The arrival that ends a bulk copy, an asynchronous store or work of the tensor core, belongs to the issue of the copy, store or commit: the k-th of an instruction
    to its k-th. Writes that there; which entries are such arrivals. code: that of each."""
    late: np.ndarray = code == ARRIVE
    late[late] = entries["width"][late] == LATE
    issues = np.flatnonzero(np.isin(code, (BULK, COMMIT, SEND)))
    entries["object"][issues] = -1
    if not late.any():
        return late
    ends: dict[tuple[int, int, int], list[int]] = {}
    for entry in entries[late]:
        ends.setdefault((int(entry["cta"]), int(entry["warp"]), int(entry["site"])), []).append(int(entry["object"]))
    begun: dict[tuple[int, int, int], list[int]] = {}
    for i in issues.tolist():
        entry = entries[i]
        begun.setdefault((int(entry["cta"]), int(entry["warp"]), int(entry["site"])), []).append(i)
    for key, places in begun.items():
        objects = ends.get(key, [])
        pieces = max(1, len(places) // max(1, len(objects)))
        for k, place in enumerate(places):
            if k % pieces == 0 and k // pieces < len(objects):
                entries["object"][place] = objects[k // pieces]
    return late
