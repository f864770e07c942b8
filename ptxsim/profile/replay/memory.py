"""The memory path of the replay: the data path of shared memory and L1, constants, atomics, flags."""

from __future__ import annotations

from typing import Any

from ptxsim.profile.machine_code import Kind, Pipe
from ptxsim.profile.model.encode import LONG
from ptxsim.profile.model.entries import ATOMIC, BLOCK, CONST, DETOUR, LOAD, LOCAL_LINES, MATCH, SHARED, STORE
from ptxsim.profile.model.sharing import SCATTERED
from ptxsim.profile.replay.l1 import LOCAL_WORDS, drop, keep, load_line
from ptxsim.profile.replay.state import (
    CONSTANT_BLOCKS,
    CONSTANT_LINES,
    INF,
    OPEN_LINES,
    SUBS,
    Count,
    Machine,
    Total,
    Unit,
)
from ptxsim.profile.replay.units import work
from ptxsim.profile.replay.writes import arrives, bits, send, write, write_cost

FAR = 64  # entries of later blocks among which an access is looked for that the assembler has moved up


def constant_lines(m: Machine, p: Any, q: int, now: float) -> float:
    """Indexed constants: different addresses follow each other, and so do the lines that the SM does not have."""
    addresses = float(m.entries[q].cycles)
    begin = max(now, m.free[Unit.CONSTANTS])
    m.free[Unit.CONSTANTS] = begin + p.constant_port * (addresses - 1)
    work(m, Unit.CONSTANTS, 0, begin, m.free[Unit.CONSTANTS])
    at = begin + p.constant_address * (addresses - 1)
    for k in range(m.entries[q].first, m.entries[q].first + m.entries[q].count):
        for half in range(2):
            if not m.lines[k] >> (2 * half) & 3:
                continue
            line = (m.lines[k] >> 4) * 2 + half
            way, block, oldest = -1, (line >> 2) % CONSTANT_BLOCKS, 0
            for j in range(CONSTANT_LINES):
                if m.constant_cache[j].tag == line:
                    way = j
                if m.constant_cache[j].used < m.constant_cache[oldest].used:
                    oldest = j
            if way < 0:
                way = oldest
                m.constant_cache[way].tag = line
                sent = max(now, m.free[Unit.CONSTANT_LINES])
                m.free[Unit.CONSTANT_LINES] = sent + p.constant_line_port
                work(m, Unit.CONSTANT_LINES, 0, sent, m.free[Unit.CONSTANT_LINES])
                at = max(at, sent) + (p.constant_line if m.constant_far[block] else p.constant_far)
                m.constant_far[block] = True
                m.constant_cache[way].arrival = at
            at = max(at, m.constant_cache[way].arrival)
            m.constant_cache[way].used = now
    return float(at)


def local_words(m: Machine, i: int, q: int) -> int:
    """How many words of local memory a lane accesses at once, each of which is a line; 1 of other memory."""
    if m.entries[q].count == 0 or m.lines[m.entries[q].first] >> 4 < LOCAL_LINES:
        return 1
    return max(1, int(max(m.entries[q].width, m.ops[i].bytes)) // 4)


def sectors_of(m: Machine, q: int) -> int:
    """How many sectors of its lines an access is about."""
    count = 0
    for k in range(m.entries[q].first, m.entries[q].first + m.entries[q].count):
        count += bits(m.lines[k] & 15)
    return count


def access_global(m: Machine, p: Any, w: int, i: int, q: int, begin: float, cycles: float, now: float) -> float:
    """A recorded access to global memory that has the data path from `begin` on; returns when its last line is there."""
    what, first, words = m.entries[q].code, m.entries[q].first, local_words(m, i, q)
    worst = begin - 2 + p.l1_latency + 2 * (cycles - 1)
    count = sectors_of(m, q)
    part = m.entries[q].need / max(1, count)  # bytes of a sector
    partly = part < 32
    burst = m.entries[q].count * SUBS > OPEN_LINES / 2 and m.warps[w].stores <= p.store_burst
    scattered = p.l2_line_scattered if m.entries[q].count > SCATTERED else 0.0
    passing = m.entries[q].count - 1.0
    if what == STORE:
        arrives(m, p, begin, count, burst)
    if what != LOAD:
        m.state[0].storer, m.warps[w].written = w, begin
    else:
        m.warps[w].read = begin
    for k in range(m.entries[q].count * words):
        line, sectors = m.lines[first + k // words] >> 4, m.lines[first + k // words] & 15
        line += k % words - line % words  # all of the words that lie together; 0 of other memory
        if what == LOAD:
            bandwidth = p.copy_bandwidth if m.ops[i].kind == Kind.ASYNC_COPY else p.l2_bandwidth
            arrival = load_line(
                m, p, line, sectors, partly, begin, now, k, m.ops[i].bypass, bandwidth, scattered, passing
            )
            worst = max(worst, arrival)
            if m.ops[i].bypass and m.ops[i].kind == Kind.ACCESS:
                drop(m, p, line)
        elif what == STORE and line >= LOCAL_LINES:
            m.warps[w].store = send(m, p, begin, line, bits(sectors), partly)
            keep(m, p, line, sectors, partly, begin)
        elif what == STORE:
            m.warps[w].store = write(m, p, begin, line, sectors, part * bits(sectors), m.entries[q].count == 1, burst)
            keep(m, p, line, sectors, partly, begin)
        elif what == ATOMIC:
            drop(m, p, line)
    if what == ATOMIC:
        if m.state[0].atomics == 0:
            m.state[0].atomics = 1
            hold_loads(m, p, begin)
        # Lanes that do not merge follow each other at the L2, with those of the other SMs.
        from_l2 = max(begin, m.free[Unit.ATOMICS])
        m.free[Unit.ATOMICS] = from_l2 + max(
            float(m.entries[q].cycles) * p.atomic_cost, float(m.entries[q].need) * p.atomic_byte
        )
        work(m, Unit.ATOMICS, 0, from_l2, m.free[Unit.ATOMICS])
        worst = max(worst, m.free[Unit.ATOMICS] + p.atomic_latency + far_half(m, p, w, q))
        m.warps[w].changed = m.free[Unit.ATOMICS]
        m.totals[Total.ATOMICS] += float(m.entries[q].cycles)
    return float(worst)


def hold_loads(m: Machine, p: Any, begin: float) -> None:
    """Loads that are still on their way to L2 when the first atomics of other SMs come there wait for what the SMs send of them: of many lines one is
    where those queue (tools/data/shares)."""
    if m.counts[Count.USED_SLOTS] <= p.atomic_before:
        return
    cycles = 0.0
    for k in range(m.counts[Count.USED_SLOTS]):
        if m.warps[k].active:
            for q in range(m.warps[k].entry, m.warps[k].end):
                cycles += float(m.entries[q].cycles) if m.entries[q].code == ATOMIC else 0.0
    until = begin + p.atomic_ahead * min(cycles, p.atomic_queue) * p.atomic_cost
    for k in range(m.counts[Count.USED_SLOTS]):
        if m.warps[k].active and m.warps[k].loaded > begin + p.l2_latency - p.atomic_early:
            for r in range(m.values.shape[1]):
                if m.values[k, r].ready > begin and m.values[k, r].why == LONG:
                    m.values[k, r].ready = max(until, m.values[k, r].ready)
            if m.warps[k].ready > begin and m.warps[k].why == LONG:
                m.warps[k].ready = max(until, m.warps[k].ready)
                m.subs[k % SUBS].dirty = True


def far_half(m: Machine, p: Any, w: int, q: int) -> float:
    """Cycles more for an atomic on memory of the other half of L2. Of the SM that takes longest the first line of a warp is there, and of the next ones each other;
    of several lines at once it is the mean."""
    if m.entries[q].count != 1:
        return float(p.atomic_far)
    line = m.lines[m.entries[q].first] >> 4
    if m.warps[w].changes == 0 or line != m.warps[w].line:
        m.warps[w].changes += 1
    m.warps[w].line = line
    return float(2 * p.atomic_far if m.warps[w].changes % 2 == 1 else 0.0)


def flag(m: Machine, p: Any, w: int, q: int, done: float) -> float:
    """The last look of a spin loop has its result when the write it waits for can be seen; a write notes when that is."""
    f = m.entries[q].sets - 1
    if f >= 0 and m.entries[q].code == STORE:
        # What CTAs write next to each other is seen one after the other.
        line = m.flag_lines[f]
        m.written[line] = max(m.written[line], m.warps[w].store) + p.flag_line
        m.flags[f] = m.written[line] - p.flag_line + (p.flag_fenced if m.warps[w].fenced > 0 else p.flag_relaxed)
    elif f >= 0:
        m.flags[f] = m.warps[w].changed + p.atomic_latency / 2 + p.flag_atomic
    f = m.entries[q].awaits - 1
    if f >= 0 and m.flags[f] < INF:
        done = max(done, m.flags[f])
    elif f >= 0:
        m.warps[w].blocked, m.warps[w].need, m.warps[w].awaits = len(m.objects) + f, 0, LONG
    return float(done)


def remote(m: Machine, p: Any, q: int, begin: float, latency: float, is_atomic: bool) -> float:
    """An access to shared memory of the cluster passes the SM's port to the others; returns when its result is there."""
    cycles = (p.remote_atomic if is_atomic else 1.0) * m.entries[q].count
    if cycles == 0.0:  # all of it is the CTA's own
        return begin + latency
    begin = max(begin, m.free[Unit.REMOTE])
    m.free[Unit.REMOTE] = begin + cycles
    work(m, Unit.REMOTE, 0, begin, m.free[Unit.REMOTE])
    return float(m.free[Unit.REMOTE] + latency) if is_atomic else begin + latency


def first_entry(m: Machine, w: int) -> int:
    """The running block's first entry that no instruction has taken; a block within it is no entry of one."""
    q = int(m.warps[w].entry)
    while q < m.warps[w].next and (m.used[q] or m.entries[q].code == BLOCK):
        q += 1
    m.warps[w].entry = q
    return q


def taken_last(m: Machine, w: int, site: int, stop: int) -> int:
    """The entry of a site that the running segment's last access has taken; `stop` for none."""
    for q in range(stop - 1, m.warps[w].began - 1, -1):
        if m.used[q] and m.entries[q].site == site and m.entries[q].code != BLOCK:
            return q
    return stop


def passes(m: Machine, s: int, now: float, cycles: float) -> float:
    """An access takes the SM's data path for so long; returns when it has it and its sub-core's port.

    What waits for its port holds no other sub-core's access back, so the path is taken from now on.
    """
    there = max(now + 2.0, m.free[Unit.DATA])
    m.free[Unit.DATA] = there + cycles
    begin = max(there, m.pipes[s, Pipe.LSU])
    work(m, Unit.DATA, 0, there, m.free[Unit.DATA])
    return float(begin)


def least(m: Machine, p: Any, i: int, what: int, width: int) -> float:
    """Cycles of the SM's data path that an access takes at least, however few wavefronts it has (shared/timing, bank_conflicts.npz)."""
    if what == STORE:
        return float(p.store_least)
    if what != SHARED or m.ops[i].kind == Kind.ASYNC_COPY:
        return 0.0
    return float(p.store_least) if m.ops[i].stores else width / 8


def access(m: Machine, p: Any, s: int, w: int, i: int, now: float) -> float:
    """The recorded accesses of a memory instruction; returns when its result is there."""
    site, kind = m.ops[i].site, m.ops[i].kind
    done = now + m.ops[i].latency
    found = False
    stop = int(m.warps[w].next)
    if m.ops[i].moved:
        stop = min(int(m.warps[w].end), stop + FAR)
    again = m.ops[i].again
    for q in range(taken_last(m, w, site, stop) if again else first_entry(m, w), stop):
        if m.used[q] != again or m.entries[q].site != site or m.entries[q].code == BLOCK:
            continue
        m.used[q] = found = True
        what, cycles = m.entries[q].code, float(m.entries[q].cycles)
        if what == CONST:
            done = constant_lines(m, p, q, now) + m.ops[i].latency
        else:
            words, width, taken = 1, int(max(m.entries[q].width, m.ops[i].bytes)), 0.0
            if what == ATOMIC:
                cycles = max(1.0, float(m.entries[q].count))
            elif what != SHARED:
                words = local_words(m, i, q)
                cycles *= words
            taken = max(cycles, least(m, p, i, what, width))
            begin = passes(m, s, now, taken)
            if what == LOAD:  # which take turns with what comes into L1
                begin = max(begin, m.free[Unit.LINES])
                m.free[Unit.LINES] = begin + taken
            if kind == Kind.ASYNC_COPY and m.ops[i].bypass:
                cycles = 1.0  # only addresses pass through the sub-core's port: the rest is what comes from L2
            if what == ATOMIC:
                begin = max(begin, m.free[Unit.ATOMICS] - p.atomic_queue * p.atomic_cost)
            elif what == STORE:
                own, partly = 0.0, m.entries[q].need < 32 * sectors_of(m, q)
                for k in range(m.entries[q].first, m.entries[q].first + m.entries[q].count):
                    own += words * write_cost(p, bits(m.lines[k] & 15), partly)
                m.subs[s].stored = w
                m.warps[w].stores += 1
                begin = max(begin, m.free[Unit.WRITES] - p.store_queue * own / max(1, m.entries[q].count * words))
            m.pipes[s, Pipe.LSU] = begin + max(p.shared_issue if what == SHARED else p.global_issue, 2 * cycles)
            m.warps[w].access = now + (p.shared_issue if what == SHARED else p.global_warp)
            m.busy[Pipe.LSU] += cycles
            if what == SHARED:
                m.totals[Total.SHARED_WAVEFRONTS] += cycles
                extra = 3.0 if width == 16 and kind != Kind.ASYNC_COPY else 1.0 if width == 8 else 0.0
                done = max(done, begin - 2 + m.ops[i].latency + 2 * (cycles - 1) + extra)
                if m.ops[i].stores:
                    m.warps[w].stored = begin + p.shared_latency if m.ops[i].remote else done
                if m.ops[i].remote:
                    done = max(done, remote(m, p, q, begin, m.ops[i].latency, m.ops[i].amount == 1))
                    if m.ops[i].stores:
                        m.warps[w].sent = m.free[Unit.REMOTE]
            else:
                done = max(done, access_global(m, p, w, i, q, begin, cycles, now))
                done = flag(m, p, w, q, done)
        if not m.ops[i].last_of_site or m.ops[i].moved:
            break
    if found:
        if kind == Kind.ACCESS and not m.ops[i].stores and not m.ops[i].remote:
            m.warps[w].loaded = max(m.warps[w].loaded, done)
        return float(done)
    if m.ops[i].is_own:
        return own_access(m, p, s, w, i, now)
    return switched_off(m, p, s, w, now) if m.ops[i].guarded else now + 4.0


def switched_off(m: Machine, p: Any, s: int, w: int, now: float) -> float:
    """An access whose predicate is false in all lanes passes through the pipe like another one, and comes back as soon as from shared memory."""
    begin = passes(m, s, now, 1.0)
    m.pipes[s, Pipe.LSU] = begin + p.shared_issue
    m.warps[w].access = now + p.shared_issue
    m.busy[Pipe.LSU] += 1
    return float(begin - 2 + p.shared_latency)


def own_access(m: Machine, p: Any, s: int, w: int, i: int, now: float) -> float:
    """An access that the assembler has added, to registers in local memory or to the shared memory: lanes side by side.

    `amount` is one more than the word of local memory; 0 for shared memory.
    """
    words = max(1, int(m.ops[i].cost))
    begin = passes(m, s, now, float(words))
    m.pipes[s, Pipe.LSU] = begin + max(p.global_issue, 2.0 * words)
    m.busy[Pipe.LSU] += words
    done = begin - 2 + m.ops[i].latency
    if m.ops[i].amount == 0:
        return float(done)
    done = begin - 2 + p.l1_latency
    first = LOCAL_LINES + (((m.warps[w].cta << 6) + m.warps[w].number) << LOCAL_WORDS) + m.ops[i].amount
    for k in range(words):
        if m.ops[i].stores:
            store_line(m, p, first + k, begin)
        else:
            done = max(done, load_line(m, p, first + k, 15, False, begin, now, k, False, p.l2_bandwidth, 0.0, 0.0))
    return float(done)


def store_line(m: Machine, p: Any, line: int, begin: float) -> None:
    """A whole line of local memory is written, through L1, which keeps it."""
    send(m, p, begin, line, 4, False)
    keep(m, p, line, 15, False, begin)


def shuffle(m: Machine, p: Any, s: int, w: int, i: int, now: float) -> float:
    """An instruction that goes through the shared-memory pipe without an access; returns when its result is there."""
    cost = m.ops[i].cost
    if cost == 0.0:  # match.any, value by value, beside that pipe
        values = matched(m, w, i)
        begin = max(now, m.free[Unit.MATCHES])
        m.free[Unit.MATCHES] = begin + p.match_port * values
        work(m, Unit.MATCHES, 0, begin, m.free[Unit.MATCHES])
        return float(begin + m.ops[i].latency + p.match_value * values)
    begin = passes(m, s, now - 2.0, cost / 2)
    m.pipes[s, Pipe.LSU] = begin + max(p.shared_issue, cost)
    m.busy[Pipe.LSU] += cost / 2
    return float(begin + m.ops[i].latency)


def detours(m: Machine, w: int, i: int) -> float:
    """Whether the operands of an operation needed a routine, by its next record of that: as facts.detour says it."""
    for q in range(first_entry(m, w), m.warps[w].next):
        if not m.used[q] and m.entries[q].code == DETOUR and m.entries[q].site == m.ops[i].site:
            m.used[q] = True
            return float(m.entries[q].cycles)
    return 0.0


def matched(m: Machine, w: int, i: int) -> float:
    """How many different values a match.any has found."""
    for q in range(first_entry(m, w), m.warps[w].next):
        if not m.used[q] and m.entries[q].code == MATCH and m.entries[q].site == m.ops[i].site:
            m.used[q] = True
            return float(m.entries[q].cycles)
    return 1.0
