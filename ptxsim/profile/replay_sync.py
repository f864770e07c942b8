"""What warps of the replay wait for: barriers, mbarriers, asynchronous groups, fences."""

from __future__ import annotations

import numba

from ptxsim.profile.encode import BARRIER as R_BARRIER
from ptxsim.profile.encode import GMMA, LONG, MEMBAR
from ptxsim.profile.encode import WAIT as R_WAIT
from ptxsim.profile.replay_state import (
    BARRIER,
    BARRIERS,
    BULK_BYTES,
    BULK_COMMIT,
    BULK_WAIT,
    BULKS,
    COPIES,
    CP_COMMIT,
    CP_WAIT,
    FENCE,
    GROUPS,
    MBARRIERS,
    PRODUCTS,
    SHARED_UNITS,
    SLOTS,
    SUBS,
    TENSOR,
    TMA,
    WG_COMMIT,
    WG_WAIT,
)  # fmt: skip
from ptxsim.profile.replay_units import work
from ptxsim.profile.trace import ARRIVE, BULK, WAIT

ARRIVES_ONLY, OF_CLUSTER = 1, 2  # amounts of a barrier: from OF_CLUSTER on, it is one of the cluster
AFTER_COPIES = 1  # amount of an mbarrier's arrival that comes when the thread's copies are done
WGMMA_DRAIN = 30  # cycles from the end of a product in the tensor core until its registers are there
ASLEEP = 14.0  # the least a wait on an mbarrier takes: one look


@numba.njit
def arrive(store, warps, units, o, moment, need, release):
    """An arrival at object o; warps that now have all they wait for go on at `release`."""
    store.arrived[o] += 1
    store.last_arrival[o] = max(store.last_arrival[o], moment)
    for k in range(SLOTS):
        if warps.active[k] and warps.blocked[k] == o and warps.need[k] <= store.arrived[o]:
            warps.blocked[k] = -1
            warps.ready[k] = max(warps.ready[k], release)
            units.dirty[k % SUBS] = True


@numba.njit
def queue(tally, units, unit, now, cost):
    """A unit shared by the SM takes the next piece of work; returns when it has done it."""
    begin = max(units.free[unit], now)
    units.free[unit] = begin + cost
    work(tally, unit, 0, begin, units.free[unit])
    return units.free[unit]


@numba.njit
def next_entry(code, entries, warps, w, i):
    """The instruction's next recorded arrival or wait, or -1."""
    for q in range(warps.entry[w], warps.next[w]):
        if not entries.used[q] and entries.site[q] == code.site[i] and entries.code[q] in (ARRIVE, WAIT):
            entries.used[q] = True
            return q
    return -1


@numba.njit
def meet(code, entries, warps, store, units, tally, p, w, i, now):
    """Barriers and mbarriers: (when the result is there, when the warp goes on, why it waited)."""
    latency = code.latency[i]
    done, follow, why = now + latency, now + 1, R_WAIT
    q = next_entry(code, entries, warps, w, i)
    if q < 0:
        return done, follow, why
    o, need = entries.object[q], entries.need[q]
    if entries.code[q] == WAIT:
        if store.arrived[o] < need:
            warps.blocked[w], warps.need[w] = o, need
        follow = max(now + ASLEEP, store.last_arrival[o] + p.mbarrier_latency)
        return follow, follow, LONG
    if code.kind[i] != BARRIER:
        moment = queue(tally, units, MBARRIERS, now, p.mbarrier_arrival)
        if code.amount[i] == AFTER_COPIES:
            moment = max(moment, warps.last[COPIES, w])
        arrive(store, warps, units, o, moment, need, max(store.last_arrival[o], moment) + p.mbarrier_latency)
        return done, follow, why
    moment = max(store.last_arrival[o], queue(tally, units, BARRIERS, now, p.barrier_arrival))
    release = moment + (p.cluster_barrier if code.amount[i] >= OF_CLUSTER else latency)
    arrive(store, warps, units, o, moment, need, release)
    if code.amount[i] == 0:  # and waits
        why = R_BARRIER
        if store.arrived[o] >= need:
            follow = release
        else:
            warps.blocked[w], warps.need[w] = o, need
            follow = now + latency
    return done, follow, why


@numba.njit
def bulk(code, entries, warps, store, units, tally, p, w, i, now):
    """Copies of the TMA unit: loads arrive at their mbarrier, stores belong to the warp's next group."""
    size, o = 0.0, -1
    for q in range(warps.entry[w], warps.next[w]):
        if not entries.used[q] and entries.site[q] == code.site[i] and entries.code[q] == BULK:
            entries.used[q] = True
            size += entries.cycles[q]
            if entries.object[q] >= 0:
                o = entries.object[q]
    if size == 0:
        return
    tally.totals[BULK_BYTES] += size
    if o >= 0:
        finish = queue(tally, units, TMA, now, size / min(p.bulk_bandwidth, p.l2_bandwidth))
        finish += p.bulk_tensor_latency if code.amount[i] == 1 else p.bulk_latency
        arrive(store, warps, units, o, finish, 0, finish + p.mbarrier_latency)
    else:
        finish = queue(tally, units, TMA, now, size / p.bulk_store_bandwidth)
        warps.last[BULKS, w] = max(warps.last[BULKS, w], finish + p.bulk_store_latency)


@numba.njit
def product(code, warps, units, tally, s, w, i, now):
    """wgmma: products follow each other in the tensor core."""
    begin = max(now, units.pipe[s, TENSOR])
    units.pipe[s, TENSOR] = begin + code.cost[i]
    work(tally, SHARED_UNITS + TENSOR, s, begin, units.pipe[s, TENSOR])
    warps.last[PRODUCTS, w] = units.pipe[s, TENSOR] + WGMMA_DRAIN


@numba.njit
def commit(warps, what, w):
    """What has been started since becomes a group."""
    warps.groups[what, w, warps.count[what, w] % GROUPS] = warps.last[what, w]
    warps.count[what, w] += 1


@numba.njit
def pending(warps, what, w, kept):
    """When all groups but the newest `kept` are done."""
    count, latest = warps.count[what, w], 0.0
    for k in range(max(0, count - GROUPS), count - kept):
        latest = max(latest, warps.groups[what, w, k % GROUPS])
    return latest


@numba.njit
def groups(code, warps, p, w, i, now):
    """Commits, waits for groups, fences: (when the warp goes on, why it waited)."""
    kind, amount = code.kind[i], code.amount[i]
    if kind == CP_COMMIT:
        commit(warps, COPIES, w)
    elif kind == BULK_COMMIT:
        commit(warps, BULKS, w)
    elif kind == WG_COMMIT:
        commit(warps, PRODUCTS, w)
    elif kind == CP_WAIT:
        latest = pending(warps, COPIES, w, amount)
        if amount == 0:
            latest = max(latest, warps.last[COPIES, w])
        return max(now + p.cp_async_wait, latest), LONG
    elif kind == BULK_WAIT:
        return max(now + 4, pending(warps, BULKS, w, amount)), LONG
    elif kind == WG_WAIT:
        return max(now + p.wgmma_overhead / 2, pending(warps, PRODUCTS, w, amount) + p.wgmma_overhead), GMMA
    elif kind == FENCE:
        return max(now + code.latency[i], warps.store[w]), MEMBAR
    return now + 1, R_WAIT
