"""The sub-cores' pipes in the replay: from when they are free, what an instruction takes of them, whose turn it is."""

from __future__ import annotations

from typing import Any

from ptxsim.profile.machine_code import Kind, Pipe
from ptxsim.profile.model.encode import LG, LONG, MATH, MIO, NOT_SELECTED
from ptxsim.profile.replay.state import INF, LITE, NOBODY, SHARED_UNITS, SLOTS, SUBS, Count, Machine

LONG_WAIT = 8  # cycles from which a wait is in the timeline
SAME_SPAN = 4  # cycles of rest that do not end a span of work in a timeline
DOUBLE_WIDTH = 4.0  # cycles of the pipe from which on a multiplication is one of double width


def work(m: Machine, engine: int, s: int, begin: float, end: float) -> None:
    """Note in the timeline that an engine works; with hardly a rest since its last span, that one goes on."""
    last = m.open[engine, s]
    if last >= 0 and begin <= m.work[last, 3] + SAME_SPAN:
        m.work[last, 3] = max(m.work[last, 3], end)
    elif m.counts[Count.WORK] < len(m.work):
        last = m.counts[Count.WORK]
        m.counts[Count.WORK] += 1
        m.open[engine, s] = last
        m.work[last, 0], m.work[last, 1], m.work[last, 2], m.work[last, 3] = engine, s, begin, end


def free_from(m: Machine, p: Any, s: int, pipe: int) -> float:
    """When a pipe takes its next instruction."""
    if pipe == Pipe.FMA:
        return float(min(m.pipes[s, Pipe.FMA_HEAVY], m.pipes[s, LITE]))
    if pipe == Pipe.LSU:
        return float(m.pipes[s, Pipe.LSU] - p.pipe_queue)
    if pipe == Pipe.NONE or pipe == Pipe.CBU:
        return 0.0
    return float(m.pipes[s, pipe])


def stores_on(m: Machine, p: Any, s: int, w: int) -> bool:
    """Whether a warp goes on with a store that has waited for its port, if it stored last: with one of its first few, and later if the assembler has
    put anything between the two. Else warps take turns (tools/data/accesses.tsv, tools/data/bursts)."""
    i = m.warps[w].op
    if not m.ops[i].stores or w != m.subs[s].stored:
        return False
    at_once = m.warps[w].access >= m.warps[w].issued + p.global_warp
    return bool(m.warps[w].stores <= p.store_burst or (m.ops[i].stall > 0 and not at_once))


def choose(m: Machine, p: Any, s: int) -> None:
    """Which warp of a sub-core issues next, and when."""
    found, time, last, last_goes_on, least = -1, INF, m.subs[s].last, False, INF
    for w in range(s, m.counts[Count.USED_SLOTS], SUBS):
        if not m.warps[w].active or m.warps[w].blocked >= 0:
            continue
        t = max(m.subs[s].issue, m.warps[w].ready)
        if t > time:  # whatever its pipe says
            continue
        pipe = m.ops[m.warps[w].op].pipe
        t = max(t, free_from(m, p, s, pipe))
        if pipe == Pipe.LSU:
            t = max(t, m.warps[w].access)
        # The warp that issued last goes on where nothing holds it up, and with accesses; otherwise the one that has waited longest, a later warp
        # being a little ahead (tools/data/scheduler).
        goes_on = w == last and (t <= m.subs[s].issue or pipe == Pipe.LSU)
        if pipe == Pipe.LSU and t == free_from(m, p, s, pipe) and m.ops[m.warps[w].op].reason == LONG:
            goes_on = (goes_on and not m.ops[m.warps[w].op].stores) or stores_on(m, p, s, w)
        wait = m.warps[w].ready - p.later_warp * w / SUBS
        if t < time or (t == time and not last_goes_on and (goes_on or wait < least)):
            least = wait
            found, time, last_goes_on = w, t, goes_on
    m.subs[s].warp = found
    m.subs[s].time = time


def note(m: Machine, w: int, site: int, reason: int, begin: float, length: float, who: int) -> None:
    """Put a warp's wait into the timeline, if it is long."""
    k = m.counts[Count.WAITS]
    if length >= LONG_WAIT and k < len(m.waits):
        m.counts[Count.WAITS] += 1
        m.waits[k, 0], m.waits[k, 1], m.waits[k, 2], m.waits[k, 3] = w, m.warps[w].cta, site, reason
        m.waits[k, 4], m.waits[k, 5], m.waits[k, 6] = begin, begin + length, who


def charge(m: Machine, p: Any, s: int, w: int, i: int, now: float) -> None:
    """Say what the warp waited for since its last instruction: its registers, then the pipe, then its turn."""
    site, pipe = m.ops[i].site, m.ops[i].pipe
    m.stalls[site, 0] += 1
    stall, who = now - m.warps[w].issued - 1, m.warps[w].by
    m.warps[w].by = NOBODY
    if stall <= 0:
        return
    waited = max(0.0, min(stall, m.warps[w].ready - m.warps[w].issued - 1))
    m.stalls[site, m.warps[w].why] += waited
    note(m, w, site, m.warps[w].why, now - stall, waited, who)
    rest = stall - waited
    if rest > 0:
        free = free_from(m, p, s, pipe)
        piped = max(0.0, min(rest, free - max(m.warps[w].ready, m.warps[w].issued + 1)))
        reason = MATH if pipe != Pipe.LSU else LG if m.ops[i].reason == LONG else MIO
        m.stalls[site, reason] += piped
        note(m, w, site, reason, now - rest, piped, SLOTS + SHARED_UNITS + pipe)
        m.stalls[site, NOT_SELECTED] += rest - piped


def read_registers(m: Machine, p: Any, s: int, w: int, i: int, now: float) -> float:
    """An instruction reads its registers, of each bank one a cycle; returns when the sub-core issues again.

    What the warp's instruction before has kept for reuse is gone once another warp has issued.
    """
    same = m.subs[s].last == w
    m.subs[s].even = max(now, m.subs[s].even) + (m.ops[i].even if same else m.ops[i].all_even)
    m.subs[s].odd = max(now, m.subs[s].odd) + (m.ops[i].odd if same else m.ops[i].all_odd)
    return float(max(now + 1, max(m.subs[s].even, m.subs[s].odd) - p.read_queue))


def first_read(m: Machine, line: int, now: float, there: float) -> float:
    """How much longer a constant takes that no warp, or one a moment ago, has read before; `there`: when it comes if none has."""
    if m.constants[line] == 0:
        m.constants[line] = max(now, there)
    return max(0.0, float(m.constants[line]) - now)


def block_read(m: Machine, line: int) -> bool:
    """Whether a warp of the SM has read a line of the 256 bytes of constants that a line is of."""
    first = (line - 1) // 4 * 4 + 1
    found = 0.0
    for k in range(first, first + 4):
        found = max(found, m.constants[k & 63])
    return found > 0


def occupy(m: Machine, p: Any, s: int, i: int, now: float) -> float:
    """The instruction takes its pipe; returns when its result is there, as far as the pipe is concerned."""
    pipe, cost, done = m.ops[i].pipe, m.ops[i].cost, now + m.ops[i].latency
    if pipe == Pipe.NONE or pipe == Pipe.CBU:
        return float(done)
    if pipe == Pipe.LSU or pipe == Pipe.TENSOR:  # all but plain ones find their place later
        if m.ops[i].kind == Kind.PLAIN:
            begin = max(m.pipes[s, pipe], now)
            m.pipes[s, pipe] = begin + cost
            work(m, SHARED_UNITS + pipe, s, begin, begin + cost)
        if pipe == Pipe.TENSOR:
            m.busy[Pipe.TENSOR] += cost
        return float(done)
    half = pipe
    if pipe == Pipe.FMA:
        half = Pipe.FMA_HEAVY if m.pipes[s, Pipe.FMA_HEAVY] <= m.pipes[s, LITE] else LITE
    begin = max(m.pipes[s, half], now)
    m.pipes[s, half] = begin + cost
    if pipe == Pipe.FMA_HEAVY and cost >= DOUBLE_WIDTH:
        m.pipes[s, Pipe.ALU] = max(m.pipes[s, Pipe.ALU], now) + p.double_width_alu
        m.pipes[s, LITE] = max(m.pipes[s, LITE], now) + cost / 2
    if pipe == Pipe.XU and m.ops[i].kind != Kind.CHECK:
        m.pipes[s, LITE] = max(m.pipes[s, LITE], now) + p.special_lite
    work(m, SHARED_UNITS + pipe, s, begin, begin + cost)
    m.busy[pipe] += cost / 2 if pipe == Pipe.FMA else cost
    return float(done)
