"""The event-driven model of one SM: four sub-cores, their pipes, the memory path, barriers and asynchronous units.

Instructions are issued in order of time; every resource is a moment from which it is free, so each instruction costs a
constant amount of work however many cycles it waits. Imported only when a kernel is profiled. The compiled form is cached
by the age of this file: touch it after a change in replay_parts, encode or machine_code.
"""

from __future__ import annotations

import numba
import numpy as np

from ptxsim.profile.replay_parts import (  # fmt: skip
    ACCESS,
    ADU,
    BARRIER,
    BRANCH,
    BULK,
    BULK_COMMIT,
    BULK_WAIT,
    CBU,
    CHECK,
    CP,
    CP_COMMIT,
    CP_WAIT,
    FENCE,
    FMA,
    GROUPS,
    HEAVY,
    INF,
    LITE,
    LOOP,
    LSU,
    MB_ARRIVE,
    MB_WAIT,
    NONE,
    P_ATOM,
    P_ATOMCOST,
    P_BARARR,
    P_BRANCH,
    P_BULK,
    P_BULKBW,
    P_BULKST,
    P_BULKSTBW,
    P_BULKT,
    P_CLUSTER,
    P_COLD,
    P_CONST,
    P_CPSH,
    P_CPWAIT,
    P_DRAIN,
    P_DRAM,
    P_DRAMBW,
    P_FALL,
    P_FIRST,
    P_GLOBAL_ISSUE,
    P_L1,
    P_L2,
    P_L2BW,
    P_L2LINE,
    P_L2LINELAT,
    P_L2SEC,
    P_LAUNCH,
    P_MBARR,
    P_MBLAT,
    P_QUEUE,
    P_SETS,
    P_SHARED_ISSUE,
    P_STORE,
    P_STSEC,
    P_WG,
    PLAIN,
    R_BARRIER,
    R_BRANCH,
    R_GMMA,
    R_LG,
    R_LONG,
    R_MATH,
    R_MEMBAR,
    R_MIO,
    R_NOTSEL,
    R_WAIT,
    SHUFFLE,
    SLOTS,
    SUBS,
    T_ARRIVE,
    T_ATOMIC,
    T_BLOCK,
    T_BULK,
    T_CONST,
    T_LOAD,
    T_SHARED,
    T_STORE,
    T_WAIT,
    TENSOR,
    WAYS,
    WG_COMMIT,
    WG_WAIT,
    WGMMA,
    advance,
    allocate,
    bits,
    lookup,
)


@numba.njit(cache=True)
def replay(
    code,
    slots,
    blocks_of_entries,
    e_code,
    e_site,
    e_cycles,
    e_width,
    e_first,
    e_count,
    e_object,
    e_need,
    lines,
    warp_begin,
    warp_end,
    cta_first_warp,
    cta_warps,
    cta_start,
    residency,
    objects,
    p,
    seen_lines,
    segments,
    sites,
):
    """Runs the CTAs of one SM. Returns (cycles, active cycles, issued, stalls by site and reason, busy by pipe, totals, segments used)."""
    (pipe_of, latency_of, cost_of, kind_of, site_of, amount_of, reason_of, last_of, bypass_of, registers, reads, writes, guards,
     block_begin, block_end, absorber, address_of, variant, iterations) = code  # fmt: skip
    stalls = np.zeros((sites + 1, 16))
    busy = np.zeros(16)
    totals = np.zeros(16)
    used_entry = np.zeros(len(e_code), np.bool_)
    reg_ready = np.zeros((SLOTS, slots))
    reg_pipe = np.zeros((SLOTS, slots), np.int8)
    reg_why = np.zeros((SLOTS, slots), np.int8)
    active = np.zeros(SLOTS, np.bool_)
    blocked = np.full(SLOTS, -1, np.int64)
    blocked_need = np.zeros(SLOTS, np.int64)
    ready = np.zeros(SLOTS)
    why = np.zeros(SLOTS, np.int64)
    issued_at = np.zeros(SLOTS)
    op = np.zeros(SLOTS, np.int64)
    op_end = np.zeros(SLOTS, np.int64)
    block = np.zeros(SLOTS, np.int64)
    entry = np.zeros(SLOTS, np.int64)  # begin of the running block's entries
    next_block = np.zeros(SLOTS, np.int64)
    trace_end = np.zeros(SLOTS, np.int64)
    segment_start = np.zeros(SLOTS)
    cta_of = np.full(SLOTS, -1, np.int64)
    left = np.zeros(len(cta_first_warp) + 1, np.int64)
    cp_last = np.zeros(SLOTS)
    cp_groups = np.zeros((SLOTS, GROUPS))
    cp_count = np.zeros(SLOTS, np.int64)
    bulk_last = np.zeros(SLOTS)
    bulk_groups = np.zeros((SLOTS, GROUPS))
    bulk_count = np.zeros(SLOTS, np.int64)
    wg_last = np.zeros(SLOTS)
    wg_groups = np.zeros((SLOTS, GROUPS))
    wg_count = np.zeros(SLOTS, np.int64)
    last_store = np.zeros(SLOTS)
    last_atomic = np.zeros(SLOTS)
    issue_free = np.zeros(SUBS)
    pipe_free = np.zeros((SUBS, 16))
    lsu_free = tma_free = l2_free = dram_free = barrier_free = mbarrier_free = atomic_free = 0.0
    fetch_free = 0.0
    sets = int(p[P_SETS])
    tags = np.full((sets * WAYS, 2), -1, np.int64)
    used = np.zeros(sets * WAYS)
    fill = np.zeros(sets * WAYS)
    arrived = np.zeros(objects + 1, np.int64)
    last_arrival = np.zeros(objects + 1)
    code_lines = np.zeros(len(kind_of) * 16 // 128 + 2, np.bool_)
    code_ready = np.zeros(len(kind_of) * 16 // 128 + 2)
    constants_seen = np.zeros(64, np.bool_)
    next_time = np.full(SUBS, INF)
    next_warp = np.full(SUBS, -1, np.int64)
    dirty = np.ones(SUBS, np.bool_)
    last_warp = np.full(SUBS, -1, np.int64)
    segment_count = 0
    issued = 0
    coming = 0  # next CTA to start
    resident = 0
    finished_at = 0.0
    active_cycles = 0.0
    active_since = 0.0
    now = 0.0
    slot_free_at = np.zeros(residency)  # moments at which places for CTAs become free
    place_of = np.zeros(len(cta_first_warp) + 1, np.int64)
    place_taken = np.zeros(residency, np.bool_)
    while True:
        # ---- CTAs that can start before anything else happens
        best = -1
        for s in range(SUBS):
            if dirty[s]:
                dirty[s] = False
                found, time = -1, INF
                for w in range(s, SLOTS, SUBS):
                    if not active[w] or blocked[w] >= 0:
                        continue
                    t = ready[w]
                    i = op[w]
                    unit = pipe_of[i]
                    if unit == FMA:
                        f = min(pipe_free[s, HEAVY], pipe_free[s, LITE])
                    elif unit == LSU:
                        f = pipe_free[s, LSU] - p[P_QUEUE]
                    elif unit == NONE or unit == CBU:
                        f = 0.0
                    else:
                        f = pipe_free[s, unit]
                    if f > t:
                        t = f
                    # The warp that issued last goes on if it can; otherwise the one that has waited longest.
                    if t < time or (
                        t == time and found != last_warp[s] and (w == last_warp[s] or ready[w] < ready[found])
                    ):
                        found, time = w, t
                next_warp[s] = found
                next_time[s] = max(time, issue_free[s]) if found >= 0 else INF
            if next_warp[s] >= 0 and (best < 0 or next_time[s] < next_time[best]):
                best = s
        place, start = -1, INF
        if coming < len(cta_first_warp):
            for k in range(residency):
                if not place_taken[k]:
                    t = max(cta_start[coming], slot_free_at[k])
                    if t < start:
                        place, start = k, t
        if place >= 0 and (best < 0 or start <= next_time[best]):
            # ---- start a CTA
            c = coming
            coming += 1
            place_taken[place], place_of[c] = True, place
            if resident == 0:
                active_since = max(start, finished_at)
            resident += 1
            left[c] = cta_warps[c]
            begin_at = start + p[P_LAUNCH] + (p[P_FIRST] if c == 0 else 0.0)
            w = 0
            for k in range(cta_warps[c]):
                while active[w] or w % SUBS != k % SUBS:
                    w += 1
                j = cta_first_warp[c] + k
                active[w], blocked[w], cta_of[w] = True, -1, c
                entry[w] = next_block[w] = warp_begin[j]
                trace_end[w] = warp_end[j]
                op[w] = op_end[w] = 0
                block[w] = -1
                issued_at[w] = begin_at + 2 * k
                ready[w] = begin_at + 2 * k
                reg_ready[w, :] = 0.0
                cp_count[w] = bulk_count[w] = wg_count[w] = 0
                cp_last[w] = bulk_last[w] = wg_last[w] = last_store[w] = last_atomic[w] = 0.0
                cp_groups[w, :] = 0.0
                bulk_groups[w, :] = 0.0
                wg_groups[w, :] = 0.0
                advance_time = ready[w]
                # first instruction
                state = advance(
                    w,
                    advance_time,
                    op,
                    op_end,
                    block,
                    entry,
                    next_block,
                    trace_end,
                    e_code,
                    e_site,
                    block_begin,
                    block_end,
                    absorber,
                    variant,
                    iterations,
                    kind_of,
                    registers,
                    reads,
                    writes,
                    guards,
                    reg_ready,
                    reg_pipe,
                    reg_why,
                    pipe_of,
                    p,
                    ready,
                    why,
                    code_lines,
                    code_ready,
                    address_of,
                    segments,
                    segment_count,
                    segment_start,
                    cta_of,
                    fetch_free,
                )
                segment_count, fetch_free = state[1], state[2]
                if state[0] < 0:
                    active[w] = False
                    left[c] -= 1
                dirty[w % SUBS] = True
                w = 0
            if left[c] == 0:
                place_taken[place] = False
                end_at = begin_at + p[P_DRAIN]
                slot_free_at[place] = end_at
                resident -= 1
                finished_at = max(finished_at, end_at)
                if resident == 0:
                    active_cycles += finished_at - active_since
            continue
        if best < 0:
            # Nobody can run: waits whose arrivals the traces do not hold (other SMs) end here.
            w, any_blocked = -1, False
            for k in range(SLOTS):
                if active[k] and blocked[k] >= 0:
                    any_blocked = True
                    blocked[k] = -1
                    ready[k] = max(ready[k], now + p[P_MBLAT])
                    dirty[k % SUBS] = True
            if any_blocked:
                totals[15] += 1
                continue
            break
        # ---- issue one instruction
        s, w = best, next_warp[best]
        now = next_time[best]
        i = op[w]
        t = now
        unit, kind, site = pipe_of[i], kind_of[i], site_of[i]
        stall = t - issued_at[w] - 1
        stalls[site, 0] += 1
        if stall > 0:
            waited = max(0.0, min(stall, ready[w] - issued_at[w] - 1))
            stalls[site, why[w]] += waited
            rest = stall - waited
            if rest > 0:
                free = 0.0
                if unit == FMA:
                    free = min(pipe_free[s, HEAVY], pipe_free[s, LITE])
                elif unit == LSU:
                    free = pipe_free[s, LSU] - p[P_QUEUE]
                elif unit != NONE and unit != CBU:
                    free = pipe_free[s, unit]
                piped = max(0.0, min(rest, free - max(ready[w], issued_at[w] + 1)))
                if unit == LSU:
                    stalls[site, R_LG if reason_of[i] == R_LONG else R_MIO] += piped
                else:
                    stalls[site, R_MATH] += piped
                stalls[site, R_NOTSEL] += rest - piped
        issued += 1
        issue_free[s] = t + 1
        last_warp[s] = w
        issued_at[w] = t
        cost, done = cost_of[i], t + latency_of[i]
        taken_unit = unit
        follow = t + 1  # when the warp may issue again
        follow_why = R_WAIT
        if unit == FMA:
            half = HEAVY if pipe_free[s, HEAVY] <= pipe_free[s, LITE] else LITE
            pipe_free[s, half] = max(pipe_free[s, half], t) + cost
            busy[FMA] += cost / 2
        elif unit == LSU:
            if kind == PLAIN:
                pipe_free[s, LSU] = max(pipe_free[s, LSU], t) + cost
        elif unit == TENSOR:
            if kind == PLAIN:
                pipe_free[s, TENSOR] = max(pipe_free[s, TENSOR], t) + cost
            busy[TENSOR] += cost
        elif unit != NONE and unit != CBU:
            pipe_free[s, unit] = max(pipe_free[s, unit], t) + cost
            busy[unit] += cost
            if unit == ADU and latency_of[i] == 28 and not constants_seen[amount_of[i] & 63]:
                done += p[P_CONST]
                constants_seen[amount_of[i] & 63] = True
        if kind == PLAIN:
            pass
        elif kind == ACCESS or kind == CP:
            # ---- the memory path
            q = entry[w]
            stop = next_block[w]
            any_found = False
            while q < stop:
                if used_entry[q] or e_site[q] != site or e_code[q] == T_BLOCK:
                    q += 1
                    continue
                used_entry[q] = True
                any_found = True
                what, cycles = e_code[q], e_cycles[q]
                if what == T_CONST:
                    done = t + latency_of[i] + 4 * (cycles - 1)
                else:
                    if what == T_ATOMIC:
                        cycles = max(1.0, float(e_count[q]))
                    begin = max(t + 2.0, max(lsu_free, pipe_free[s, LSU]))
                    lsu_free = begin + cycles
                    least = p[P_SHARED_ISSUE] if what == T_SHARED else p[P_GLOBAL_ISSUE]
                    pipe_free[s, LSU] = begin + max(least, 2 * cycles)
                    busy[LSU] += cycles
                    if what == T_SHARED:
                        totals[0] += cycles
                        extra = 3.0 if e_width[q] == 16 and kind != CP else 1.0 if e_width[q] == 8 else 0.0
                        done = max(done, begin - 2 + latency_of[i] + 2 * (cycles - 1) + extra)
                    else:
                        n, at = e_count[q], e_first[q]
                        worst = begin - 2 + p[P_L1] + 2 * (cycles - 1)
                        for k in range(n):
                            line = lines[at + k] >> 4
                            sectors = lines[at + k] & 15
                            if what == T_LOAD:
                                index = -1
                                if not bypass_of[i]:
                                    index = lookup(tags, used, fill, line, sectors, sets, t)
                                have = tags[index, 1] if index >= 0 else 0
                                missing = sectors & ~have
                                totals[1] += bits(sectors)
                                if missing == 0:
                                    totals[2] += bits(sectors)
                                    worst = max(worst, fill[index])
                                else:
                                    size = 32.0 * bits(missing)
                                    from_l2 = max(begin, l2_free)
                                    l2_free = from_l2 + max(p[P_L2LINE], size / p[P_L2BW])
                                    totals[3] += bits(missing)
                                    arrive = (
                                        from_l2 - 2 + p[P_L2] + p[P_L2SEC] * (bits(missing) - 1) + p[P_L2LINELAT] * k
                                    )
                                    if p[P_COLD] > 0 and not seen_lines[line % len(seen_lines)]:
                                        seen_lines[line % len(seen_lines)] = True
                                        from_dram = max(from_l2, dram_free)
                                        dram_free = from_dram + 128.0 / p[P_DRAMBW]
                                        arrive = max(arrive, from_dram + p[P_DRAM])
                                        totals[4] += 4
                                    worst = max(worst, arrive)
                                    if not bypass_of[i]:
                                        if index < 0:
                                            index = allocate(tags, used, fill, line, sets, t)
                                        tags[index, 1] |= sectors
                                        fill[index] = max(fill[index], arrive)
                            elif what == T_STORE:
                                size = 32.0 * bits(sectors)
                                from_l2 = max(begin, l2_free)
                                l2_free = from_l2 + p[P_STORE] + p[P_STSEC] * bits(sectors)
                                totals[5] += bits(sectors)
                                last_store[w] = max(last_store[w], from_l2)
                        if what == T_ATOMIC:
                            # Lanes that do not merge follow each other at the L2, with those of the other SMs.
                            from_l2 = max(begin, atomic_free)
                            atomic_free = from_l2 + e_cycles[q] * p[P_ATOMCOST]
                            worst = max(worst, atomic_free + p[P_ATOM])
                            last_atomic[w] = atomic_free
                            totals[6] += e_cycles[q]
                        done = max(done, worst)
                if not last_of[i]:
                    break
                q += 1
            if kind == CP:
                cp_last[w] = max(cp_last[w], done + p[P_CPSH])
            if not any_found:
                done = t + 4
        elif kind == SHUFFLE:
            begin = max(t, max(lsu_free, pipe_free[s, LSU]))
            lsu_free = begin + cost / 2
            pipe_free[s, LSU] = begin + max(p[P_SHARED_ISSUE], cost)
            busy[LSU] += cost / 2
            done = begin + latency_of[i]
        elif kind == BARRIER or kind == MB_ARRIVE or kind == MB_WAIT:
            q = entry[w]
            stop = next_block[w]
            while q < stop and (used_entry[q] or e_site[q] != site or (e_code[q] != T_ARRIVE and e_code[q] != T_WAIT)):
                q += 1
            if q < stop:
                used_entry[q] = True
                o = e_object[q]
                if e_code[q] == T_ARRIVE:
                    if kind == BARRIER:
                        barrier_free = max(barrier_free, t) + p[P_BARARR]
                        at_time = barrier_free
                    else:
                        mbarrier_free = max(mbarrier_free, t) + p[P_MBARR]
                        at_time = mbarrier_free
                        if amount_of[i] == 1:
                            at_time = max(at_time, cp_last[w])
                    arrived[o] += 1
                    last_arrival[o] = max(last_arrival[o], at_time)
                    release = last_arrival[o] + (latency_of[i] if kind == BARRIER else p[P_MBLAT])
                    if kind == BARRIER and amount_of[i] >= 2:
                        release = last_arrival[o] + p[P_CLUSTER]
                    for k in range(SLOTS):
                        if active[k] and blocked[k] == o and blocked_need[k] <= arrived[o]:
                            blocked[k] = -1
                            ready[k] = max(ready[k], release)
                            dirty[k % SUBS] = True
                    if kind == BARRIER and amount_of[i] == 0:
                        follow_why = R_BARRIER
                        if arrived[o] >= e_need[q]:
                            follow = release
                        else:
                            blocked[w], blocked_need[w] = o, e_need[q]
                            follow = t + latency_of[i]
                    else:
                        done = t + latency_of[i]
                else:
                    follow_why = R_LONG
                    follow = max(t + 14.0, last_arrival[o] + p[P_MBLAT])
                    if arrived[o] < e_need[q]:
                        blocked[w], blocked_need[w] = o, e_need[q]
                    done = follow
        elif kind == CP_COMMIT:
            cp_groups[w, cp_count[w] % GROUPS] = cp_last[w]
            cp_count[w] += 1
        elif kind == CP_WAIT:
            pending = 0.0
            for k in range(max(0, cp_count[w] - GROUPS), cp_count[w] - amount_of[i]):
                pending = max(pending, cp_groups[w, k % GROUPS])
            if amount_of[i] == 0:
                pending = max(pending, cp_last[w])
            follow, follow_why = max(t + p[P_CPWAIT], pending), R_LONG
        elif kind == BULK:
            q = entry[w]
            stop = next_block[w]
            size, o = 0.0, -1
            while q < stop:
                if not used_entry[q] and e_site[q] == site and e_code[q] == T_BULK:
                    used_entry[q] = True
                    size += e_cycles[q]
                    if e_object[q] >= 0:
                        o = e_object[q]
                q += 1
            if size > 0:
                begin = max(t, tma_free)
                if o >= 0:
                    tma_free = begin + size / min(p[P_BULKBW], p[P_L2BW])
                    finish = tma_free + (p[P_BULKT] if amount_of[i] == 1 else p[P_BULK])
                    arrived[o] += 1
                    last_arrival[o] = max(last_arrival[o], finish)
                    for k in range(SLOTS):
                        if active[k] and blocked[k] == o and blocked_need[k] <= arrived[o]:
                            blocked[k] = -1
                            ready[k] = max(ready[k], finish + p[P_MBLAT])
                            dirty[k % SUBS] = True
                else:
                    tma_free = begin + size / p[P_BULKSTBW]
                    bulk_last[w] = max(bulk_last[w], tma_free + p[P_BULKST])
                totals[7] += size
        elif kind == BULK_COMMIT:
            bulk_groups[w, bulk_count[w] % GROUPS] = bulk_last[w]
            bulk_count[w] += 1
        elif kind == BULK_WAIT:
            pending = 0.0
            for k in range(max(0, bulk_count[w] - GROUPS), bulk_count[w] - amount_of[i]):
                pending = max(pending, bulk_groups[w, k % GROUPS])
            follow, follow_why = max(t + 4, pending), R_LONG
        elif kind == WGMMA:
            pipe_free[s, TENSOR] = max(t, pipe_free[s, TENSOR]) + cost
            busy[TENSOR] += cost
            wg_last[w] = pipe_free[s, TENSOR] + 30
        elif kind == WG_COMMIT:
            wg_groups[w, wg_count[w] % GROUPS] = wg_last[w]
            wg_count[w] += 1
        elif kind == WG_WAIT:
            pending = 0.0
            for k in range(max(0, wg_count[w] - GROUPS), wg_count[w] - amount_of[i]):
                pending = max(pending, wg_groups[w, k % GROUPS])
            follow, follow_why = max(t + p[P_WG] / 2, pending + p[P_WG]), R_GMMA
        elif kind == FENCE:
            follow, follow_why = max(t + latency_of[i], last_store[w]), R_MEMBAR
        elif kind == CHECK:
            follow, follow_why = t + p[P_FALL], R_BRANCH
        elif kind == BRANCH or kind == LOOP:
            taken = next_block[w] < trace_end[w] and e_site[next_block[w]] != block[w] + 1
            follow, follow_why = t + (p[P_BRANCH] if taken or kind == LOOP else p[P_FALL]), R_BRANCH
        for k in range(writes[i], guards[i]):
            r = registers[k]
            reg_ready[w, r] = done
            reg_pipe[w, r] = taken_unit
            reg_why[w, r] = reason_of[i]
        op[w] += 1
        state = advance(
            w,
            follow,
            op,
            op_end,
            block,
            entry,
            next_block,
            trace_end,
            e_code,
            e_site,
            block_begin,
            block_end,
            absorber,
            variant,
            iterations,
            kind_of,
            registers,
            reads,
            writes,
            guards,
            reg_ready,
            reg_pipe,
            reg_why,
            pipe_of,
            p,
            ready,
            why,
            code_lines,
            code_ready,
            address_of,
            segments,
            segment_count,
            segment_start,
            cta_of,
            fetch_free,
        )
        segment_count, fetch_free = state[1], state[2]
        if state[0] >= 0 and why[w] == R_WAIT and follow_why != R_WAIT and ready[w] <= follow:
            why[w] = follow_why
        if state[0] < 0:
            active[w] = False
            c = cta_of[w]
            left[c] -= 1
            if left[c] == 0:
                k = place_of[c]
                place_taken[k] = False
                end_at = max(max(t, follow), last_atomic[w]) + p[P_DRAIN]
                slot_free_at[k] = end_at
                resident -= 1
                finished_at = max(finished_at, end_at)
                if resident == 0:
                    active_cycles += finished_at - active_since
        for k in range(SUBS):  # a unit shared by the SM has moved, or a warp has
            if k == s:
                dirty[k] = True
    return finished_at, active_cycles, issued, stalls, busy, totals, segment_count
