"""Pieces of the replay: what the numbers in its arrays mean, the L1 cache, and a warp's step to its next instruction."""

from __future__ import annotations

import numba

from ptxsim.profile import encode, trace
from ptxsim.profile.encode import PARAMETERS
from ptxsim.profile.machine_code import Kind, Pipe

INF = 1e18
SUBS = 4
SLOTS = 64  # warps
GROUPS = 64  # asynchronous groups remembered per warp
WAYS = 4  # of L1
# fmt: off
(NONE, ALU, FMA, HEAVY, FP64, XU, TENSOR, LSU, UNIFORM, ADU, CBU) = (int(p) for p in Pipe)
LITE = len(Pipe)  # the other half of the FMA pipe
(PLAIN, COPY, ACCESS, BARRIER, MB_ARRIVE, MB_WAIT, CP, CP_COMMIT, CP_WAIT, BULK, BULK_COMMIT, BULK_WAIT, WGMMA, WG_COMMIT,
 WG_WAIT, BRANCH, EXIT, FENCE, SHUFFLE, CHECK, LOOP) = (int(k) for k in Kind)
T_BLOCK, T_SHARED, T_LOAD, T_STORE, T_ATOMIC, T_CONST, T_ARRIVE, T_WAIT, T_BULK, T_LEAVE = range(10)
(R_WAIT, R_SHORT, R_LONG, R_MATH, R_LG, R_MIO, R_BARRIER, R_MEMBAR, R_BRANCH, R_NOINST, R_NOTSEL, R_GMMA, R_IMC,
 R_DRAIN) = range(1, 15)
assert trace.LEAVE == T_LEAVE and encode.DRAIN == R_DRAIN
P_CROSS, P_BRANCH, P_GUARD, P_QUEUE = (PARAMETERS.index(k) for k in ("cross_pipe", "branch_latency", "guard_latency", "pipe_queue"))
P_L1, P_L2, P_DRAM, P_L2BW = (PARAMETERS.index(k) for k in ("l1_latency", "l2_latency", "dram_latency", "l2_bandwidth"))
P_DRAMBW, P_COLD, P_SETS, P_STORE = (PARAMETERS.index(k) for k in ("dram_share", "cold", "l1_sets", "store_line_now"))
P_ATOM, P_ATOMCOST, P_BARARR, P_MBARR = (PARAMETERS.index(k) for k in ("atomic_latency", "atomic_cost", "barrier_arrival", "mbarrier_arrival"))
P_MBLAT, P_CPSH, P_CPWAIT, P_BULK = (PARAMETERS.index(k) for k in ("mbarrier_latency", "cp_async_shared", "cp_async_wait", "bulk_latency"))
P_BULKT, P_BULKBW, P_BULKST, P_BULKSTBW = (PARAMETERS.index(k) for k in ("bulk_tensor_latency", "bulk_bandwidth", "bulk_store_latency", "bulk_store_bandwidth"))
P_WG, P_CLUSTER, P_LAUNCH, P_DRAIN = (PARAMETERS.index(k) for k in ("wgmma_overhead", "cluster_barrier", "launch", "drain"))
P_CONST, P_CODE, P_FALL, P_SHARED_ISSUE = (PARAMETERS.index(k) for k in ("first_constant", "code_line", "fall_through", "shared_issue"))
P_GLOBAL_ISSUE, P_L2LINE, P_STSEC, P_FIRST = (PARAMETERS.index(k) for k in ("global_issue", "l2_line", "store_sector_now", "first_launch"))
P_FAR, P_CACHE = (PARAMETERS.index(k) for k in ("code_line_far", "code_cache",))
P_L2SEC, P_L2LINELAT = (PARAMETERS.index(k) for k in ("l2_sector_latency", "l2_line_latency"))
# fmt: on


@numba.njit(cache=True)
def lookup(tags, used, fill, line, sectors, sets, now):
    """Way of a line in L1, or -1; `fill[index]`: when its sectors are there."""
    s = (line ^ (line >> 9)) % sets
    for way in range(WAYS):
        i = s * WAYS + way
        if tags[i, 0] == line:
            used[i] = now
            return i
    return -1


@numba.njit(cache=True)
def allocate(tags, used, fill, line, sets, now):
    s = (line ^ (line >> 9)) % sets
    best = s * WAYS
    for way in range(WAYS):
        i = s * WAYS + way
        if tags[i, 0] == -1:
            best = i
            break
        if used[i] < used[best]:
            best = i
    tags[best, 0], tags[best, 1] = line, 0
    used[best] = now
    fill[best] = 0.0
    return best


@numba.njit(cache=True)
def bits(value):
    return (value & 1) + (value >> 1 & 1) + (value >> 2 & 1) + (value >> 3 & 1)


@numba.njit(cache=True)
def end_of_block(q, b, count, end, e_code, e_site, absorber):
    """Where the entries of `count` executions in a row of block b end, which begin at q; -1 if there are fewer."""
    for _ in range(count):
        if q >= end or e_site[q] != b:
            return -1
        q += 1
        while q < end and (e_code[q] != T_BLOCK or absorber[e_site[q]] == b):
            q += 1
    return q


@numba.njit(cache=True)
def advance(
    w,
    at,
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
):
    """Move a warp to its next instruction and say when it can issue; (-1, ...) if there is none."""
    while True:
        while op[w] >= op_end[w]:
            q = next_block[w]
            if block[w] >= 0 and segment_count < len(segments):
                segments[segment_count, 0] = w
                segments[segment_count, 1] = cta_of[w]
                segments[segment_count, 2] = block[w]
                segments[segment_count, 3] = segment_start[w]
                segments[segment_count, 4] = at
                segment_count += 1
            if q >= trace_end[w]:
                return -1, segment_count, fetch_free
            b = e_site[q]
            block[w] = b
            entry[w] = q + 1
            segment_start[w] = at
            q = end_of_block(q, b, 1, trace_end[w], e_code, e_site, absorber)
            chosen = b
            for k in range(2):  # whole unrolled bodies as long as the iterations last
                v = variant[b, k]
                if v >= 0:
                    stop = end_of_block(entry[w] - 1, b, iterations[v], trace_end[w], e_code, e_site, absorber)
                    if stop >= 0:
                        q, chosen = stop, v
                        break
            next_block[w] = q
            op[w], op_end[w] = block_begin[chosen], block_end[chosen]
        i = op[w]
        t = at
        reason = R_WAIT
        unit = pipe_of[i]
        for k in range(reads[i], writes[i]):
            r = registers[k]
            u = reg_ready[w, r]
            made = reg_pipe[w, r]
            if (
                u > t - 2
                and made != unit
                and (made == ALU or made == FMA or made == HEAVY)
                and (unit == ALU or unit == FMA or unit == HEAVY)
            ):
                if made == ALU or unit == ALU:
                    u += p[P_CROSS]
            if u > t:
                t, reason = u, reg_why[w, r]
        for k in range(writes[i], guards[i]):  # written again: not before the first is there
            r = registers[k]
            if reg_ready[w, r] > t:
                t, reason = reg_ready[w, r], reg_why[w, r]
        for k in range(guards[i], reads[i + 1]):
            r = registers[k]
            u = reg_ready[w, r]
            if reg_pipe[w, r] == ALU and u > 0:
                u += p[P_GUARD] - 4
            if u > t:
                t, reason = u, reg_why[w, r]
        if kind_of[i] == COPY:
            for k in range(writes[i], guards[i]):
                r = registers[k]
                latest, source = 0.0, -1
                for j in range(reads[i], writes[i]):
                    if reg_ready[w, registers[j]] >= latest:
                        latest, source = reg_ready[w, registers[j]], registers[j]
                reg_ready[w, r] = latest
                if source >= 0:
                    reg_pipe[w, r], reg_why[w, r] = reg_pipe[w, source], reg_why[w, source]
            op[w] += 1
            continue
        line = address_of[i] >> 7
        if not code_lines[line]:
            code_lines[line] = True
            fetch_free = max(at, fetch_free) + (p[P_CODE] if address_of[i] < p[P_CACHE] else p[P_FAR])
            code_ready[line] = fetch_free
        if code_ready[line] > t:
            t, reason = code_ready[line], R_NOINST
        ready[w], why[w] = t, reason
        return 0, segment_count, fetch_free
