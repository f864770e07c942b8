"""The event-driven model of one SM: four sub-cores, their pipes, the memory path, barriers and asynchronous units.

Instructions are issued in order of time; every resource is a moment from which it is free, so each instruction costs a
constant amount of work however many cycles it waits. Imported only when a kernel is profiled. The compiled form is cached
by the age of this file: touch it after a change in the others of the replay, encode or machine_code.
"""

from __future__ import annotations

import numba
import numpy as np

from ptxsim.profile.encode import BRANCH as R_BRANCH
from ptxsim.profile.encode import WAIT, Code, Parameters
from ptxsim.profile.replay_flow import advance, launch
from ptxsim.profile.replay_memory import access, shuffle
from ptxsim.profile.replay_state import (
    ACCESS,
    BARRIER,
    BRANCH,
    BULK,
    CHECK,
    COPIES,
    CP,
    INF,
    ISSUED,
    LOOP,
    MB_ARRIVE,
    MB_WAIT,
    PLAIN,
    SHUFFLE,
    SLOTS,
    SUBS,
    UNMATCHED,
    WGMMA,
    Ctas,
    Entries,
    Tally,
    new_store,
    new_tally,
    new_units,
    new_warps,
)  # fmt: skip
from ptxsim.profile.replay_sync import bulk, groups, meet, product
from ptxsim.profile.replay_units import charge, choose, occupy


def replay(
    code: Code, slots: int, entries: Entries, ctas: Ctas, residency: int, objects: int, p: Parameters, sites: int
) -> tuple[float, Tally]:
    """Run the CTAs of one SM, `residency` at a time. Returns the cycles in which it held any, and what was counted."""
    tally = new_tally(sites)
    store = new_store(p, len(code.kind), objects, bool(p.cold))
    return run(code, entries, ctas, new_warps(slots), new_units(), store, tally, p, residency), tally


@numba.njit
def execute(code, entries, warps, store, units, tally, p, s, w, i, now):
    """Issue an instruction: (when the warp goes on, why not earlier)."""
    kind = code.kind[i]
    done = occupy(code, store, units, tally, p, s, i, now)
    follow, why = now + 1, WAIT
    if kind == PLAIN:
        pass
    elif kind == ACCESS or kind == CP:
        done = access(code, entries, warps, store, units, tally, p, s, w, i, now)
        if kind == CP:
            warps.last[COPIES, w] = max(warps.last[COPIES, w], done + p.cp_async_shared)
    elif kind == SHUFFLE:
        done = shuffle(code, units, tally, p, s, i, now)
    elif kind == BARRIER or kind == MB_ARRIVE or kind == MB_WAIT:
        done, follow, why = meet(code, entries, warps, store, units, tally, p, w, i, now)
    elif kind == BULK:
        bulk(code, entries, warps, store, units, tally, p, w, i, now)
    elif kind == WGMMA:
        product(code, warps, units, tally, s, w, i, now)
    elif kind == CHECK:
        follow, why = now + p.fall_through, R_BRANCH
    elif kind == BRANCH or kind == LOOP:
        next = warps.next[w]
        taken = kind == LOOP or (next < warps.end[w] and entries.site[next] != warps.block[w] + 1)
        follow, why = now + (p.branch_latency if taken else p.fall_through), R_BRANCH
    else:
        follow, why = groups(code, warps, p, w, i, now)
    for k in range(code.writes[i], code.guards[i]):
        r = code.registers[k]
        warps.register_ready[w, r] = done
        warps.register_pipe[w, r] = code.pipe[i]
        warps.register_why[w, r] = code.reason[i]
    return follow, why


@numba.njit
def release_all(warps, units, tally, p, now):
    """Nobody can run: waits whose arrivals the traces do not hold (other SMs) end here. False if nobody waits."""
    found = False
    for k in range(SLOTS):
        if warps.active[k] and warps.blocked[k] >= 0:
            found = True
            warps.blocked[k] = -1
            warps.ready[k] = max(warps.ready[k], now + p.mbarrier_latency)
            units.dirty[k % SUBS] = True
    tally.totals[UNMATCHED] += found
    return found


@numba.njit(cache=True)
def run(code, entries, ctas, warps, units, store, tally, p, residency):
    """The replay itself; returns the cycles in which the SM held a CTA."""
    coming = resident = 0  # the next CTA to start; how many are there
    finished = active = since = now = 0.0
    free_at, taken = np.zeros(residency), np.zeros(residency, np.bool_)  # places for CTAs
    while True:
        best = -1
        for s in range(SUBS):
            if units.dirty[s]:
                units.dirty[s] = False
                choose(code, warps, units, p, s)
            if units.warp[s] >= 0 and (best < 0 or units.time[s] < units.time[best]):
                best = s
        place, start = -1, INF
        if coming < len(ctas.start) and resident < residency:
            for k in range(residency):
                t = max(ctas.start[coming], free_at[k])
                if not taken[k] and t < start:
                    place, start = k, t
        if place >= 0 and (best < 0 or start <= units.time[best]):
            c, coming = coming, coming + 1
            if resident == 0:
                since = max(start, finished)
            end = launch(ctas, entries, code, warps, store, units, tally, p, c, start)
            if end < 0:
                taken[place], ctas.place[c] = True, place
                resident += 1
            else:
                free_at[place], finished = end, max(finished, end)
                if resident == 0:
                    active += finished - since
            continue
        if best < 0:
            if release_all(warps, units, tally, p, now):
                continue
            break
        s, w, now = best, units.warp[best], units.time[best]
        i = warps.op[w]
        charge(code, warps, units, tally, p, s, w, i, now)
        tally.counts[ISSUED] += 1
        units.issue[s], units.last[s], units.dirty[s] = now + 1, w, True
        warps.issued[w] = now
        follow, why = execute(code, entries, warps, store, units, tally, p, s, w, i, now)
        warps.op[w] += 1
        if advance(code, entries, warps, store, units, tally, p, w, follow):
            if warps.why[w] == WAIT and warps.ready[w] <= follow:
                warps.why[w] = why
            continue
        warps.active[w] = False
        c = warps.cta[w]
        ctas.left[c] -= 1
        if ctas.left[c] == 0:
            end = max(max(now, follow), warps.atomic[w]) + p.drain
            free_at[ctas.place[c]], taken[ctas.place[c]] = end, False
            resident -= 1
            finished = max(finished, end)
            if resident == 0:
                active += finished - since
    return active
