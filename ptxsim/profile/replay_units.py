"""The sub-cores' pipes in the replay: from when they are free, what an instruction takes of them, whose turn it is."""

from __future__ import annotations

import numba

from ptxsim.profile.encode import LG, LONG, MATH, MIO, NOT_SELECTED
from ptxsim.profile.replay_state import (
    ADU,
    CBU,
    FMA,
    HEAVY,
    INF,
    LITE,
    LSU,
    NONE,
    PLAIN,
    SHARED_UNITS,
    SLOTS,
    SUBS,
    TENSOR,
    WORK,
)  # fmt: skip

SAME_SPAN = 4  # cycles of rest that do not end a span of work in a timeline


@numba.njit(forceinline=True)
def work(tally, engine, s, begin, end):
    """Note in the timeline that an engine works; with hardly a rest since its last span, that one goes on."""
    last = tally.open[engine, s]
    if last >= 0 and begin <= tally.work[last, 3] + SAME_SPAN:
        tally.work[last, 3] = max(tally.work[last, 3], end)
    elif tally.counts[WORK] < len(tally.work):
        last = tally.counts[WORK]
        tally.counts[WORK] += 1
        tally.open[engine, s] = last
        tally.work[last, 0], tally.work[last, 1], tally.work[last, 2], tally.work[last, 3] = engine, s, begin, end


@numba.njit(forceinline=True)
def free_from(units, p, s, pipe):
    """When a pipe takes its next instruction."""
    if pipe == FMA:
        return min(units.pipe[s, HEAVY], units.pipe[s, LITE])
    if pipe == LSU:
        return units.pipe[s, LSU] - p.pipe_queue
    if pipe == NONE or pipe == CBU:
        return 0.0
    return units.pipe[s, pipe]


@numba.njit
def choose(code, warps, units, p, s):
    """Which warp of a sub-core issues next, and when."""
    found, time, last = -1, INF, units.last[s]
    for w in range(s, SLOTS, SUBS):
        if not warps.active[w] or warps.blocked[w] >= 0:
            continue
        t = max(warps.ready[w], free_from(units, p, s, code.pipe[warps.op[w]]))
        # The warp that issued last goes on if it can; otherwise the one that has waited longest.
        if t < time or (t == time and found != last and (w == last or warps.ready[w] < warps.ready[found])):
            found, time = w, t
    units.warp[s] = found
    units.time[s] = max(time, units.issue[s]) if found >= 0 else INF


@numba.njit
def charge(code, warps, units, tally, p, s, w, i, now):
    """Say what the warp waited for since its last instruction: its registers, then the pipe, then its turn."""
    site, pipe = code.site[i], code.pipe[i]
    tally.stalls[site, 0] += 1
    stall = now - warps.issued[w] - 1
    if stall <= 0:
        return
    waited = max(0.0, min(stall, warps.ready[w] - warps.issued[w] - 1))
    tally.stalls[site, warps.why[w]] += waited
    rest = stall - waited
    if rest > 0:
        free = free_from(units, p, s, pipe)
        piped = max(0.0, min(rest, free - max(warps.ready[w], warps.issued[w] + 1)))
        reason = MATH if pipe != LSU else LG if code.reason[i] == LONG else MIO
        tally.stalls[site, reason] += piped
        tally.stalls[site, NOT_SELECTED] += rest - piped


@numba.njit
def occupy(code, store, units, tally, p, s, i, now):
    """The instruction takes its pipe; returns when its result is there, as far as the pipe is concerned."""
    pipe, cost, done = code.pipe[i], code.cost[i], now + code.latency[i]
    if pipe == NONE or pipe == CBU:
        return done
    if pipe == LSU or pipe == TENSOR:  # all but plain ones find their place later
        if code.kind[i] == PLAIN:
            begin = max(units.pipe[s, pipe], now)
            units.pipe[s, pipe] = begin + cost
            work(tally, SHARED_UNITS + pipe, s, begin, begin + cost)
        if pipe == TENSOR:
            tally.busy[TENSOR] += cost
        return done
    half = pipe
    if pipe == FMA:
        half = HEAVY if units.pipe[s, HEAVY] <= units.pipe[s, LITE] else LITE
    begin = max(units.pipe[s, half], now)
    units.pipe[s, half] = begin + cost
    work(tally, SHARED_UNITS + pipe, s, begin, begin + cost)
    tally.busy[pipe] += cost / 2 if pipe == FMA else cost
    if pipe == ADU and code.is_constant[i] and not store.constants[code.amount[i] & 63]:
        store.constants[code.amount[i] & 63] = True
        done += p.first_constant
    return done
