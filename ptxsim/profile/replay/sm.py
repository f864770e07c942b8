"""The event-driven model of one SM: four sub-cores, their pipes, the memory path, barriers and asynchronous units.

Instructions are issued in order of time; every resource is a moment from which it is free, so each instruction costs a
constant amount of work however many cycles it waits. Imported only when a kernel is profiled.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ptxsim.jit.body import Array, body
from ptxsim.profile.machine_code import ASYNC_STORE, BANK_LINES, Kind, Pipe
from ptxsim.profile.model.encode import BRANCH, IMC, NO_INSTRUCTION, WAIT
from ptxsim.profile.replay.flow import advance, launch
from ptxsim.profile.replay.l1 import forget
from ptxsim.profile.replay.memory import access, detours, shuffle
from ptxsim.profile.replay.state import INF, NOBODY, SUBS, Async, Count, Machine, Total, Unit
from ptxsim.profile.replay.sync import async_store, bulk, groups, meet, product, tensor_commit, tensor_work
from ptxsim.profile.replay.units import block_read, charge, choose, first_read, occupy, read_registers, work

SLICE = 20_000.0  # cycles of an SM that is alone, at first
LAUNCHED = 9  # lines of 64 bytes of constants that come with the launch: what the driver says, the first parameters
AT_ONCE = 3  # CTAs that come in the place of others one right after the other, where none has for a while
QUANTUM = 400.0  # cycles that SMs run ahead of each other: no write is seen elsewhere sooner (figures.flag_relaxed)


def replay(m: Machine, p: np.ndarray, residency: int) -> float:
    """Run the CTAs of one SM, `residency` at a time. Returns the cycles in which it held any."""
    until, goes_on = SLICE, 0.0
    while goes_on < INF:  # better code may come in between
        goes_on = run.compiled(m, p, residency, until)
        until = max(2 * until, goes_on)
    run.compiled(m, p, residency, INF)
    return float(m.state[0]["active"])


def replay_together(machines: list[Machine], p: np.ndarray, residency: int) -> list[float]:
    """The same of SMs whose warps wait for each other's writes."""
    flags, until, written = machines[0].flags, 0.0, 0
    comes = [0.0 for _ in machines]
    while True:
        before, written = written, int(np.count_nonzero(flags < INF))
        for k, m in enumerate(machines):
            if comes[k] <= until or (before != written and m.state[0]["waits"]):
                comes[k] = run.compiled(m, p, residency, until)
        soonest = min(comes)
        if soonest < INF:
            until = max(until, soonest) + QUANTUM
        elif not any(m.state[0]["waits"] for m in machines):
            return [float(m.state[0]["active"]) for m in machines]
        elif written == np.count_nonzero(flags < INF):  # all that is left waits for what no warp writes
            flags[flags == INF] = until


def execute(m: Machine, p: Any, s: int, w: int, i: int, now: float) -> tuple[float, int]:
    """Issue an instruction: (when the warp goes on, why not earlier)."""
    kind = m.ops[i].kind
    done = occupy(m, p, s, i, now)
    follow, why = now + 1, WAIT
    if kind == Kind.PLAIN:
        pass
    elif kind == Kind.ACCESS and m.ops[i].remote and m.ops[i].amount == ASYNC_STORE:
        done = async_store(m, p, s, w, i, now)
    elif kind == Kind.ACCESS or kind == Kind.ASYNC_COPY:
        done = access(m, p, s, w, i, now)
        if m.ops[i].pipe == Pipe.UNIFORM:  # an indexed constant: nothing but the warp waits for it
            follow, why = max(follow, done - m.ops[i].latency), IMC
        if kind == Kind.ASYNC_COPY:
            copied = max(done, now + p.l1_latency + p.cp_async_shared)
            m.groups[Async.COPIES, w].last = max(m.groups[Async.COPIES, w].last, copied)
            work(m, Unit.COPYING, 0, now, copied)
    elif kind == Kind.SHUFFLE:
        done = shuffle(m, p, s, w, i, now)
    elif kind == Kind.BARRIER or kind == Kind.MBARRIER_ARRIVE or kind == Kind.MBARRIER_WAIT:
        done, follow, why = meet(m, p, w, i, now)
        if kind == Kind.MBARRIER_WAIT:
            m.warps[w].branch = NOBODY
    elif kind == Kind.BULK:
        bulk(m, p, w, i, now)
    elif kind == Kind.PRODUCT:
        product(m, s, w, i, now)
    elif kind == Kind.TENSOR_WORK:
        tensor_work(m, w, i, now)
    elif kind == Kind.TENSOR_COMMIT:
        tensor_commit(m, p, w, i, now)
    elif kind == Kind.TENSOR_MOVE:
        m.groups[Async.MOVES, w].last = max(m.groups[Async.MOVES, w].last, done)
    elif kind == Kind.INVALIDATE:
        forget(m)
    elif kind == Kind.CHECK:
        follow, why = now + p.fall_through, BRANCH
    elif kind == Kind.BRANCH or kind == Kind.LOOP_BRANCH or kind == Kind.RETURN:
        why = BRANCH
        if kind == Kind.RETURN:
            follow = now + p.returned
        elif m.ops[i].stall == 0:
            follow = now + p.fall_through
        # The one over another look at an mbarrier is in the figure of the wait, which was measured with it.
        m.warps[w].branch = 0 if m.warps[w].branch == NOBODY else m.ops[i].address + 16
    elif kind == Kind.EXIT:
        next, began = m.warps[w].next, m.warps[w].began
        stays = next < m.warps[w].end and began >= 0 and m.entries[next].object == m.entries[began].object
        if stays:  # no lane has left
            if m.state[0].stayed == 0:
                m.state[0].stayed = now + p.code_stay
            follow, why = max(follow, m.state[0].stayed), NO_INSTRUCTION
    else:
        follow, why = groups(m, p, w, i, now)
    if m.ops[i].detour > 0:
        way = detours(m, w, i)
        if way > 0:
            follow, why = max(follow, now + (m.ops[i].detour if way > 1 else m.ops[i].detour_early)), BRANCH
    if m.ops[i].constant > 0:
        own = m.ops[i].pipe == Pipe.ADU  # LDC has a cache of its own
        if own and m.ops[i].constant == 1:  # where the stack is, which every kernel reads first
            there = m.state[0].launched - m.ops[i].latency
        elif own and m.ops[i].constant <= LAUNCHED:
            there = max(now, m.state[0].launched) + p.constant_near_loaded
        elif m.ops[i].constant <= LAUNCHED:
            there = max(now + p.constant_near_now, m.state[0].launched + p.first_uniform)
        elif m.ops[i].constant > BANK_LINES and not block_read(m, m.ops[i].constant):
            there = max(now, m.state[0].launched) + p.constant_far
        else:
            there = max(now, m.state[0].launched) + p.constant_miss
        missing = first_read(m, (m.ops[i].constant & 63) + 64 * own, now, there)
        done += missing
        if own and missing > 0:  # no warp ends before
            c = m.warps[w].cta
            m.ctas[c].loaded = max(m.ctas[c].loaded, done)
        if missing > 0 and m.ops[i].write_barrier < 0 and m.ops[i].pipe != Pipe.ADU:
            follow, why = follow + missing, IMC
    if m.ops[i].stall > 0:
        follow = max(follow, now + m.ops[i].stall)
        m.counts[Count.CODED] += 1
        r = m.ops[i].write_barrier
        if r >= 0 and done >= m.values[w, r].ready:
            m.values[w, r].ready, m.values[w, r].why = done, m.ops[i].reason
        r = m.ops[i].read_barrier
        if r >= 0:
            taken_in = now + p.operands_read
            if m.ops[i].pipe == Pipe.LSU:
                taken_in = max(taken_in, m.pipes[s, Pipe.LSU])
            if taken_in > m.values[w, r].ready:
                m.values[w, r].ready, m.values[w, r].why = taken_in, m.ops[i].reason
    for k in range(m.ops[i].writes, m.ops[i].guards):
        r = m.registers[k]
        m.values[w, r].ready = done
        m.values[w, r].pipe = m.ops[i].pipe
        m.values[w, r].why = m.ops[i].reason
    return follow, why


def see_flags(m: Machine) -> bool:
    """Warps whose flags have been written go on; whether others still wait for theirs."""
    others = False
    for k in range(m.counts[Count.USED_SLOTS]):
        f = m.warps[k].blocked - len(m.objects)
        if not m.warps[k].active or f < 0:
            continue
        if m.flags[f] == INF:
            others = True
        else:
            m.warps[k].blocked = -1
            m.warps[k].ready = max(m.warps[k].ready, m.flags[f])
            m.subs[k % SUBS].dirty = True
    return others


def release_all(m: Machine, p: Any, now: float) -> bool:
    """No warp can run: waits whose arrivals the traces do not hold (other SMs) end here. False if none waits."""
    found = False
    for k in range(m.counts[Count.USED_SLOTS]):
        if m.warps[k].active and m.warps[k].blocked >= 0:
            found = True
            m.warps[k].blocked = -1
            m.warps[k].ready = max(m.warps[k].ready, now + p.mbarrier_latency)
            m.subs[k % SUBS].dirty = True
    m.totals[Total.UNMATCHED_WAITS] += found
    return found


def pace(m: Machine, p: Any) -> float:
    """Cycles from one CTA that comes in the place of another to the next."""
    return float(p.replacement_written if m.state[0].stores > 0 else p.replacement_interval)


@body
def run(m: Machine, parameters: Array, residency: int, until: float) -> float:
    """The replay itself, up to a moment; returns when it goes on, INF if it is over or waits for other SMs."""
    p = parameters[0]
    before = m.state[0]
    coming, resident, replaced = before.coming, before.resident, before.replaced
    finished, active, since, now = before.finished, before.active, before.since, before.now
    comes = INF
    awaits_flags = see_flags(m)
    while True:
        best = -1
        for s in range(SUBS):
            if m.subs[s].dirty:
                m.subs[s].dirty = False
                choose(m, p, s)
            if m.subs[s].warp >= 0 and (best < 0 or m.subs[s].time < m.subs[best].time):
                best = s
        place, start = -1, INF
        if coming < len(m.ctas) and resident < residency:
            for k in range(residency):
                t = max(m.ctas[coming].start, m.places[k].free)
                if 0 < before.replacing <= t:
                    t = max(t, replaced - (AT_ONCE - 1) * pace(m, p))
                if not m.places[k].taken and t < start:
                    place, start = k, t
        comes = start if best < 0 else min(start, m.subs[best].time)
        if comes > until or (comes == INF and awaits_flags):
            break
        if place >= 0 and (best < 0 or start <= m.subs[best].time):
            c, coming = coming, coming + 1
            if 0 < before.replacing <= start:
                replaced = max(start, replaced) + pace(m, p)
            if resident == 0:
                since = max(start, finished)
            end = launch(m, p, c, start)
            if end < 0:
                m.places[place].taken, m.ctas[c].place = True, place
                resident += 1
            else:
                m.places[place].free, finished = end + p.replacement, max(finished, end)
                before.replacing = end + p.turnover if before.replacing == 0 else before.replacing
                if resident == 0:
                    active += finished - since
            continue
        if best < 0:
            if release_all(m, p, now):
                continue
            break
        s, w, now = best, m.subs[best].warp, m.subs[best].time
        i = m.warps[w].op
        charge(m, p, s, w, i, now)
        m.counts[Count.ISSUED] += 1
        m.subs[s].issue, m.subs[s].last, m.subs[s].dirty = read_registers(m, p, s, w, i, now), w, True
        m.warps[w].issued = now
        follow, why = execute(m, p, s, w, i, now)
        if m.warps[w].blocked >= len(m.objects):
            awaits_flags = True
        m.warps[w].op += 1
        if advance(m, p, w, follow):
            late = m.warps[w].ready - follow  # what it reads, or its code, comes later
            if late > 0 and (why == WAIT or why == BRANCH or late >= follow - now):
                m.warps[w].by = NOBODY
            elif late > 0 or m.warps[w].why == WAIT:
                m.warps[w].why = why
            continue
        m.warps[w].active = False
        c = m.warps[w].cta
        m.ctas[c].left -= 1
        m.ctas[c].stored = max(m.ctas[c].stored, m.warps[w].store)
        if m.ctas[c].left == 0:
            end = max(max(now, follow), max(m.ctas[c].stored, m.ctas[c].loaded)) + p.drain
            free = end + (p.replacement_stored if m.ctas[c].stored > 0 else p.replacement)
            m.places[m.ctas[c].place].free, m.places[m.ctas[c].place].taken = free, False
            if before.replacing == 0:
                before.replacing = end + p.turnover
            resident -= 1
            finished = max(finished, end)
            if resident == 0:
                active += finished - since
    m.state[0].coming, m.state[0].resident, m.state[0].replaced = coming, resident, replaced
    m.state[0].finished, m.state[0].active, m.state[0].since, m.state[0].now = finished, active, since, now
    m.state[0].waits = awaits_flags
    return comes
