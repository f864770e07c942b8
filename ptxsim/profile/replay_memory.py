"""The memory path of the replay: shared memory, L1, the ports to L2 and DRAM, atomics."""

from __future__ import annotations

import numba

from ptxsim.profile.replay_state import (
    ATOMIC_COUNT,
    ATOMICS,
    CP,
    DATA,
    DRAM,
    DRAM_SECTORS,
    L1_HITS,
    L1_SECTORS,
    L2,
    L2_READ,
    L2_WRITTEN,
    LSU,
    SHARED_WAVES,
    WAYS,
)  # fmt: skip
from ptxsim.profile.replay_units import work
from ptxsim.profile.trace import ATOMIC, BLOCK, CONST, LOAD, SHARED, STORE


@numba.njit(forceinline=True)
def bits(value):
    return (value & 1) + (value >> 1 & 1) + (value >> 2 & 1) + (value >> 3 & 1)


@numba.njit
def find_line(store, line, sets, now):
    """Where a line is in L1, or -1."""
    first = ((line ^ (line >> 9)) % sets) * WAYS
    for i in range(first, first + WAYS):
        if store.tags[i, 0] == line:
            store.used[i] = now
            return i
    return -1


@numba.njit
def allocate(store, line, sets, now):
    """A place for a line, empty or used longest ago."""
    first = ((line ^ (line >> 9)) % sets) * WAYS
    best = first
    for i in range(first, first + WAYS):
        if store.tags[i, 0] == -1:
            best = i
            break
        if store.used[i] < store.used[best]:
            best = i
    store.tags[best, 0], store.tags[best, 1] = line, 0
    store.used[best], store.fill[best] = now, 0.0
    return best


@numba.njit
def load_line(store, units, tally, p, line, sectors, begin, now, place, bypass):
    """When the sectors of a line are there. `place`: how many lines of the instruction came before."""
    sets = int(p.l1_sets)
    index = -1 if bypass else find_line(store, line, sets, now)
    missing = sectors & ~store.tags[index, 1] if index >= 0 else sectors
    tally.totals[L1_SECTORS] += bits(sectors)
    if missing == 0:
        tally.totals[L1_HITS] += bits(sectors)
        return store.fill[index]
    count = bits(missing)
    from_l2 = max(begin, units.free[L2])
    units.free[L2] = from_l2 + max(p.l2_line, 32.0 * count / p.l2_bandwidth)
    work(tally, L2, 0, from_l2, units.free[L2])
    tally.totals[L2_READ] += count
    arrive = from_l2 - 2 + p.l2_latency + p.l2_sector_latency * (count - 1) + p.l2_line_latency * place
    if p.cold > 0 and not store.seen[line % len(store.seen)]:
        store.seen[line % len(store.seen)] = True
        from_dram = max(from_l2, units.free[DRAM])
        units.free[DRAM] = from_dram + 128.0 / p.dram_share
        work(tally, DRAM, 0, from_dram, units.free[DRAM])
        arrive = max(arrive, from_dram + p.dram_latency)
        tally.totals[DRAM_SECTORS] += 4
    if not bypass:
        if index < 0:
            index = allocate(store, line, sets, now)
        store.tags[index, 1] |= sectors
        store.fill[index] = max(store.fill[index], arrive)
    return arrive


@numba.njit
def access_global(code, entries, warps, store, units, tally, p, w, i, q, begin, cycles, now):
    """A recorded access to global memory that has the data path from `begin` on; returns when its last line is there."""
    what, first = entries.code[q], entries.first[q]
    worst = begin - 2 + p.l1_latency + 2 * (cycles - 1)
    for k in range(entries.count[q]):
        line, sectors = entries.lines[first + k] >> 4, entries.lines[first + k] & 15
        if what == LOAD:
            worst = max(worst, load_line(store, units, tally, p, line, sectors, begin, now, k, code.bypass[i]))
        elif what == STORE:
            from_l2 = max(begin, units.free[L2])
            units.free[L2] = from_l2 + p.store_line_now + p.store_sector_now * bits(sectors)
            work(tally, L2, 0, from_l2, units.free[L2])
            tally.totals[L2_WRITTEN] += bits(sectors)
            warps.store[w] = max(warps.store[w], from_l2)
    if what == ATOMIC:
        # Lanes that do not merge follow each other at the L2, with those of the other SMs.
        from_l2 = max(begin, units.free[ATOMICS])
        units.free[ATOMICS] = from_l2 + entries.cycles[q] * p.atomic_cost
        work(tally, ATOMICS, 0, from_l2, units.free[ATOMICS])
        warps.atomic[w] = units.free[ATOMICS]
        worst = max(worst, units.free[ATOMICS] + p.atomic_latency)
        tally.totals[ATOMIC_COUNT] += entries.cycles[q]
    return worst


@numba.njit
def access(code, entries, warps, store, units, tally, p, s, w, i, now):
    """The recorded accesses of a memory instruction; returns when its result is there."""
    site, kind = code.site[i], code.kind[i]
    done = now + code.latency[i]
    found = False
    for q in range(warps.entry[w], warps.next[w]):
        if entries.used[q] or entries.site[q] != site or entries.code[q] == BLOCK:
            continue
        entries.used[q] = found = True
        what, cycles = entries.code[q], entries.cycles[q]
        if what == CONST:
            done = now + code.latency[i] + 4 * (cycles - 1)
        else:
            if what == ATOMIC:
                cycles = max(1.0, float(entries.count[q]))
            begin = max(now + 2.0, max(units.free[DATA], units.pipe[s, LSU]))
            units.free[DATA] = begin + cycles
            units.pipe[s, LSU] = begin + max(p.shared_issue if what == SHARED else p.global_issue, 2 * cycles)
            work(tally, DATA, 0, begin, units.free[DATA])
            tally.busy[LSU] += cycles
            if what == SHARED:
                tally.totals[SHARED_WAVES] += cycles
                extra = 3.0 if entries.width[q] == 16 and kind != CP else 1.0 if entries.width[q] == 8 else 0.0
                done = max(done, begin - 2 + code.latency[i] + 2 * (cycles - 1) + extra)
            else:
                done = max(
                    done, access_global(code, entries, warps, store, units, tally, p, w, i, q, begin, cycles, now)
                )
        if not code.last_of_site[i]:
            break
    return done if found else now + 4  # none recorded: predicated off


@numba.njit
def shuffle(code, units, tally, p, s, i, now):
    """An instruction that goes through the shared-memory pipe without an access; returns when its result is there."""
    begin = max(now, max(units.free[DATA], units.pipe[s, LSU]))
    cost = code.cost[i]
    units.free[DATA] = begin + cost / 2
    units.pipe[s, LSU] = begin + max(p.shared_issue, cost)
    work(tally, DATA, 0, begin, units.free[DATA])
    tally.busy[LSU] += cost / 2
    return begin + code.latency[i]
