"""What warps of the replay wait for: barriers, mbarriers, asynchronous groups, fences."""

from __future__ import annotations

from typing import Any

from ptxsim.profile.machine_code import Kind, Pipe
from ptxsim.profile.model.encode import BARRIER, GMMA, LONG, MEMBAR
from ptxsim.profile.model.encode import WAIT as R_WAIT
from ptxsim.profile.model.entries import ARRIVE, BULK, COMMIT, REMOTE, SEND, TENSOR, WAIT
from ptxsim.profile.replay.memory import first_entry, passes
from ptxsim.profile.replay.state import GROUPS, INF, SHARED_UNITS, SLOTS, SUBS, Async, Count, Machine, Total, Unit
from ptxsim.profile.replay.units import work
from ptxsim.profile.replay.writes import ask_l2, room, to_dram, use_dram

FENCES = 8  # of the GPU that an SM has under way
OF_CLUSTER = 2  # amounts of a barrier: from here on, it is one of the cluster
AFTER_COPIES = 1  # amount of an mbarrier's arrival that comes when the thread's copies are done
PRODUCT_DRAIN = 30  # cycles from the end of a product in the tensor core until its registers are there
ASLEEP = 14.0  # the least a wait on an mbarrier takes: one look


def arrive(m: Machine, o: int, moment: float, release: float, who: int) -> None:
    """An arrival of `who` at object o; warps that now have all they wait for go on at `release`."""
    m.objects[o].arrived += 1
    if moment >= m.objects[o].last:
        m.objects[o].last, m.objects[o].by = moment, who
    for k in range(m.counts[Count.USED_SLOTS]):
        if not m.warps[k].active or m.warps[k].need > m.objects[o].arrived:
            continue
        if m.warps[k].held == o and m.warps[k].released == INF:
            m.warps[k].released = release
        if m.warps[k].blocked == o:
            m.warps[k].blocked = -1
            if release >= m.warps[k].ready:
                m.warps[k].ready, m.warps[k].why, m.warps[k].by = release, m.warps[k].awaits, m.objects[o].by
            m.subs[k % SUBS].dirty = True


def queue(m: Machine, unit: int, now: float, cost: float) -> float:
    """A unit shared by the SM takes the next piece of work; returns when it has done it."""
    begin = max(m.free[unit], now)
    m.free[unit] = begin + cost
    work(m, unit, 0, begin, m.free[unit])
    return float(m.free[unit])


def next_entry(m: Machine, w: int, i: int) -> int:
    """The instruction's next recorded arrival or wait, or -1."""
    for q in range(first_entry(m, w), m.warps[w].next):
        if not m.used[q] and m.entries[q].site == m.ops[i].site and m.entries[q].code in (ARRIVE, WAIT):
            m.used[q] = True
            return q
    return -1


def meet(m: Machine, p: Any, w: int, i: int, now: float) -> tuple[float, float, int]:
    """Barriers and mbarriers: (when the result is there, when the warp goes on, why it waited)."""
    latency = m.ops[i].latency
    done, follow, why = now + latency, now + 1, R_WAIT
    q = next_entry(m, w, i)
    if q < 0:
        return done, follow, why
    o, need = m.entries[q].object, m.entries[q].need
    if m.entries[q].code == WAIT:
        if m.objects[o].arrived < need:
            m.warps[w].blocked, m.warps[w].need, m.warps[w].awaits = o, need, LONG
        m.warps[w].by = m.objects[o].by
        there = p.cluster_barrier if m.ops[i].kind == Kind.BARRIER else p.mbarrier_latency
        follow = max(now + ASLEEP, m.objects[o].last + there)
        return follow, follow, LONG
    if m.ops[i].kind != Kind.BARRIER:
        moment, who = queue(m, Unit.MBARRIERS, now, p.mbarrier_arrival), w
        if m.entries[q].width == REMOTE:
            moment += p.remote_arrival
        if m.ops[i].amount == AFTER_COPIES and m.groups[Async.COPIES, w].last > moment:
            moment, who = m.groups[Async.COPIES, w].last, SLOTS + Unit.COPYING
        arrive(m, o, moment, max(m.objects[o].last, moment) + p.mbarrier_latency, who)
        return done, follow, why
    moment = max(m.objects[o].last, queue(m, Unit.BARRIERS, now, p.barrier_arrival))
    release = moment + (p.cluster_barrier if m.ops[i].amount >= OF_CLUSTER else latency)
    arrive(m, o, moment, release, w)
    if m.ops[i].amount == 0:  # and waits
        why = BARRIER
        m.warps[w].held, m.warps[w].held_from, m.warps[w].need = o, now + p.barrier_defers, need
        m.warps[w].released = release if m.objects[o].arrived >= need else INF
    return done, follow, why


def bulk(m: Machine, p: Any, w: int, i: int, now: float) -> None:
    """Copies of the TMA unit: loads arrive at their mbarrier, stores belong to the warp's next group."""
    size, o, reduces = 0.0, -1, False
    for q in range(first_entry(m, w), m.warps[w].next):
        if not m.used[q] and m.entries[q].site == m.ops[i].site and m.entries[q].code == BULK:
            m.used[q] = True
            size += float(m.entries[q].cycles)
            reduces = m.entries[q].need > 0
            if m.entries[q].object >= 0:
                o = m.entries[q].object
    if size == 0:
        send(m, p, w, i, now, p.send_copy_latency)
        return
    m.totals[Total.BULK_BYTES] += size
    if o >= 0:
        ask_l2(m, p, now, size / p.copy_bandwidth)
        finish = max(queue(m, Unit.TMA, now, size / min(p.bulk_bandwidth, p.l2_bandwidth)), m.free[Unit.L2])
        if p.cold > 0:
            read = size * p.cold * p.dram_bulk
            finish = max(finish, use_dram(m, now, read) + read)
            m.totals[Total.DRAM_SECTORS] += read / p.dram_read / 32
        finish += p.bulk_tensor_latency if m.ops[i].amount == 1 else p.bulk_latency
        arrive(m, o, finish, finish + p.mbarrier_latency, SLOTS + Unit.TMA)
    else:
        # All SMs together write less than each of them could, as with stores; L2 takes in some before they notice.
        cost = size / p.bulk_store_bandwidth * (p.bulk_reduction if reduces else 1.0)
        finish = queue(m, Unit.TMA, room(m, p, now), cost)
        written = size / (p.bulk_reductions if reduces else p.bulk_stores)
        m.free[Unit.WRITTEN] = max(now, m.free[Unit.WRITTEN]) + written
        if p.cold > 0:
            to_dram(m, p, now, size * p.cold)
        latency = p.bulk_reduction_latency if reduces else p.bulk_store_latency
        m.groups[Async.BULKS, w].last = max(m.groups[Async.BULKS, w].last, finish + latency)


def send(m: Machine, p: Any, w: int, i: int, now: float, latency: float) -> float:
    """What an instruction sends to shared memory of the cluster passes the SM's port to the others, and arrives at an mbarrier; returns its bytes."""
    size, o, finish = 0.0, -1, now
    for q in range(first_entry(m, w), m.warps[w].next):
        if not m.used[q] and m.entries[q].site == m.ops[i].site and m.entries[q].code == SEND:
            if m.entries[q].object >= 0:  # else the rest of a copy
                heard(m, p, o, finish)
                o = m.entries[q].object
            m.used[q] = True
            size += float(m.entries[q].width)
            finish = queue(m, Unit.REMOTE, now, float(m.entries[q].cycles)) + latency
            if m.ops[i].kind == Kind.ACCESS:
                break
    heard(m, p, o, finish)
    return size


def heard(m: Machine, p: Any, o: int, moment: float) -> None:
    """What has been sent arrives at an mbarrier, -1: at none."""
    if o >= 0:
        arrive(m, o, moment, moment + p.mbarrier_latency, SLOTS + Unit.REMOTE)


def async_store(m: Machine, p: Any, s: int, w: int, i: int, now: float) -> float:
    """A store or reduction that tells an mbarrier goes through the sub-core's port and the SM's data path like another one, then to its CTA."""
    begin = passes(m, s, now, p.store_least)
    m.pipes[s, Pipe.LSU] = begin + p.shared_issue
    m.warps[w].access = now + p.shared_issue
    size = send(m, p, w, i, begin, p.send_latency)
    m.busy[Pipe.LSU] += max(1.0, size / 128)
    return float(begin - 2 + p.shared_latency)


def product(m: Machine, s: int, w: int, i: int, now: float) -> None:
    """Products of a warpgroup follow each other in the tensor core."""
    begin = max(now, m.pipes[s, Pipe.TENSOR])
    m.pipes[s, Pipe.TENSOR] = begin + m.ops[i].cost
    m.busy[Pipe.TENSOR] += m.ops[i].cost
    work(m, SHARED_UNITS + Pipe.TENSOR, s, begin, m.pipes[s, Pipe.TENSOR])
    m.groups[Async.PRODUCTS, w].last = m.pipes[s, Pipe.TENSOR] + PRODUCT_DRAIN


def tensor_work(m: Machine, w: int, i: int, now: float) -> None:
    """Products and copies that the SM's tensor core does one after the other."""
    for q in range(first_entry(m, w), m.warps[w].next):
        if not m.used[q] and m.entries[q].site == m.ops[i].site and m.entries[q].code == TENSOR:
            m.used[q] = True
            cycles = float(m.entries[q].cycles)
            finish = queue(m, Unit.TENSOR, now, cycles) + m.entries[q].width
            m.busy[Pipe.TENSOR] += SUBS * cycles
            m.groups[Async.TENSOR, w].last = max(m.groups[Async.TENSOR, w].last, finish)


def tensor_commit(m: Machine, p: Any, w: int, i: int, now: float) -> None:
    """The mbarriers of a commit hear when the tensor core has done all that the warp has begun before."""
    moment = max(now, m.groups[Async.TENSOR, w].last)
    for q in range(first_entry(m, w), m.warps[w].next):
        if not m.used[q] and m.entries[q].site == m.ops[i].site and m.entries[q].code == COMMIT:
            m.used[q] = True
            if m.entries[q].object >= 0:
                arrive(m, m.entries[q].object, moment, moment + p.mbarrier_latency, SLOTS + Unit.TENSOR)


def commit(m: Machine, what: int, w: int) -> None:
    """What has been started since becomes a group."""
    m.group_ends[what, w, m.groups[what, w].count % GROUPS] = m.groups[what, w].last
    m.groups[what, w].count += 1


def pending(m: Machine, what: int, w: int, kept: int) -> float:
    """When all groups but the newest `kept` are done."""
    count, latest = m.groups[what, w].count, 0.0
    for k in range(max(0, count - GROUPS), count - kept):
        latest = max(latest, m.group_ends[what, w, k % GROUPS])
    return latest


def fence(m: Machine, p: Any, w: int, now: float, latency: float) -> float:
    """When a warp goes on from a fence. The SM does those of the GPU in rounds: one that comes a moment after the first of a round, through the
    path that accesses take, is in it; the others wait for the next one. It takes longer where the warp has accessed global memory since its last
    one, though all is there (tools/data/fences)."""
    s, of_cta = w % SUBS, latency <= p.cta_fence
    begin, least, last = max(now, m.pipes[s, Pipe.ADU]), 0.0, max(m.warps[w].store, m.warps[w].changed)
    if of_cta:
        begin = max(begin, m.warps[w].stored)
        m.pipes[s, Pipe.ADU] = begin + p.fence_port
    else:
        begin = passes(m, s, now, p.fence_path)
        m.pipes[s, Pipe.LSU] = begin + p.fence_path
        together, answer = p.fence_join, p.store_answer
        if m.warps[w].written > m.warps[w].fenced:
            together = p.fence_join_stored
            if m.state[0].storer != w:
                answer = p.store_answer_others
        elif max(last, m.warps[w].stored) > m.warps[w].fenced:
            together = p.fence_join_shared
        if m.state[0].fencing == 0 or begin > m.state[0].fencing + together:
            m.state[0].fencing = max(begin, m.state[0].fencing + p.fence_round)
        # Of those that come together a few are taken at once, the others one after the other.
        begin = max(max(now, m.state[0].fencing), m.state[0].fenced - FENCES * p.fence_each)
        m.state[0].fenced = max(begin, m.state[0].fenced) + p.fence_each
        least = begin + p.fence_least
        if max(m.warps[w].written, m.warps[w].read) > m.warps[w].fenced:
            least += p.fence_accessed
        if last > m.warps[w].fenced:
            begin += max(0.0, last + answer - now)
        if m.warps[w].sent > m.warps[w].fenced:
            begin = max(begin, m.warps[w].sent + p.remote_answer)
        begin = max(begin, m.warps[w].loaded)
    m.warps[w].fenced = begin
    return float(max(max(begin + latency, least), m.warps[w].store))


def groups(m: Machine, p: Any, w: int, i: int, now: float) -> tuple[float, int]:
    """Commits, waits for groups, fences: (when the warp goes on, why it waited)."""
    kind, amount = m.ops[i].kind, m.ops[i].amount
    if kind == Kind.ASYNC_COMMIT:
        commit(m, Async.COPIES, w)
    elif kind == Kind.BULK_COMMIT:
        commit(m, Async.BULKS, w)
    elif kind == Kind.PRODUCT_COMMIT:
        commit(m, Async.PRODUCTS, w)
    elif kind == Kind.ASYNC_WAIT:
        latest = pending(m, Async.COPIES, w, amount)
        if amount == 0:
            latest = max(latest, m.groups[Async.COPIES, w].last)
        m.warps[w].by = SLOTS + Unit.COPYING
        return max(now + p.cp_async_wait, latest), LONG
    elif kind == Kind.BULK_WAIT:
        m.warps[w].by = SLOTS + Unit.TMA
        return max(now + 4, pending(m, Async.BULKS, w, amount)), LONG
    elif kind == Kind.PRODUCT_WAIT:
        m.warps[w].by = SLOTS + SHARED_UNITS + Pipe.TENSOR
        return max(now + p.product_overhead / 2, pending(m, Async.PRODUCTS, w, amount) + p.product_overhead), GMMA
    elif kind == Kind.TENSOR_WAIT:
        return max(now + 1, m.groups[Async.MOVES, w].last), LONG
    elif kind == Kind.FENCE:
        return fence(m, p, w, now, m.ops[i].latency), MEMBAR
    return now + 1, R_WAIT
