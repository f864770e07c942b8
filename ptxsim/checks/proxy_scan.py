"""What the proxy checks remember about every word of a CTA's shared memory, and the scan that keeps it.

The generic proxy (ordinary loads and stores, cp.async) and the async proxy (products of warpgroups, bulk copies) see each other's data only
through proxy fences. PTX ISA, "Memory Consistency Model: Proxies", "Async proxy".
"""

from __future__ import annotations

from ptxsim.checks.proxy_chunks import take_chunks, take_lanes, take_lines, take_reads
from ptxsim.checks.proxy_state import CHUNK_BITS, ProxyShadow, leave, tell_counts, tell_writers, write
from ptxsim.jit.body import Array, body
from ptxsim.jit.filling import fill_lines
from ptxsim.machine.event import FLAG_ASYNC_PROXY, FLAG_READ, FLAG_STRONG, LANE_SHIFT, Event, Proxy, Space
from ptxsim.machine.memory import RANK_SHIFT

# Problems the scan finds.
UNFENCED, OVERWRITTEN, UNWAITED = range(3)
# Kinds of sites.
# A product; a bulk or tensor copy that reads its destination, too; what is not of the async proxy.
WARPGROUP, REDUCTION, GENERIC = 1, 2, 3
_WAITS = (Event.LEAVE, Event.MBARRIER_WAIT, Event.SYNC_WARP)
_HANDS_ON = (Event.ARRIVE, Event.MBARRIER_ARRIVE, Event.SYNC_WARP)


def latest(times: Array, warp: int) -> int:
    """The latest time of the threads of a warp."""
    found = 0
    for thread in range(warp * 32, warp * 32 + 32):
        found = max(found, int(times[thread]))
    return found


def has_third(shadow: ProxyShadow, written: int, waited: int) -> bool:
    """Whether some thread has waited for others since a time, then executed a proxy fence, and handed that on before another thread waited."""
    for thread in range(len(shadow.covers)):
        fence = shadow.fenced[thread]
        if shadow.covers[thread] >= written and fence < waited and fence == shadow.handed[thread]:
            return True
    return False


def hand_on(shadow: ProxyShadow, warp: int, mask: int) -> None:
    """Threads tell others what they have done, their fences with it."""
    for lane in range(32):
        thread = warp * 32 + lane
        if mask >> lane & 1:
            shadow.handed[thread] = shadow.fenced[thread]
            if shadow.unfenced[thread] == 2:
                shadow.unfenced[thread] = 0
                shadow.clock[4] -= 1
    if shadow.clock[4] == 0:
        shadow.clock[3] = shadow.clock[0] - 1  # an atomic writes after it has handed on what came before


@body(enough=500)
def scan(
    records: Array, cta: int, shadow: ProxyShadow, kinds: Array, acquires: Array, useful: Array, found: Array
) -> int:
    """Update the shadow of a CTA by its records, of some in order; `kinds` says which sites are products of warpgroups and reductions,
    `acquires` after which a thread knows what others have done, `useful` (by site) whether a proxy fence ever had something to order: 1 no, 2 yes. Problems go to `found`, rows of (what, site, other site,
    byte address, warp, lane, warp that copies), at most one for a lane of a record; returns how many."""
    rank, clock, unfenced = int(shadow.rank[0]), shadow.clock, shadow.unfenced
    writer, write_site, write_time = shadow.writer, shadow.write_site, shadow.write_time
    reading, read_site, writing, issue_site = shadow.reading, shadow.read_site, shadow.writing, shadow.issue_site
    issuer, fenced, synced, covers = shadow.issuer, shadow.fenced, shadow.synced, shadow.covers
    count, group, group_fence, group_waited = 0, -1, 0, 0  # of the warpgroup whose product reads, its first warp
    for i in range(records.shape[0]):
        record = records[i]
        if record["cta"] != cta:
            continue
        event, warp, site = int(record["event"]), int(record["warp"]), int(record["site"])
        addresses, flags, mask = record["addresses"], int(record["flags"]), int(record["mask"])
        clock[0] += 1
        if event == Event.EXIT:
            clock[5] += mask.bit_count()
            continue
        if event != Event.ASYNC_READ:
            group = -1
        if event in _WAITS or acquires[site]:
            since = leave(shadow, int(addresses[0]), int(addresses[1])) if event == Event.LEAVE else int(clock[0])
            for lane in range(32):
                if (mask >> lane) & 1:
                    synced[warp * 32 + lane] = max(int(synced[warp * 32 + lane]), since)
        if event in _HANDS_ON or (flags & FLAG_STRONG and event <= Event.REDUCE):
            hand_on(shadow, warp, mask)
        if event == Event.FENCE:
            proxy = int(addresses[1])
            if proxy not in (Proxy.ASYNC, Proxy.ASYNC_GLOBAL, Proxy.ASYNC_SHARED):
                continue
            for lane in range(32):
                if (mask >> lane) & 1:
                    thread = warp * 32 + lane
                    if proxy != Proxy.ASYNC_GLOBAL and clock[1] > fenced[thread]:
                        useful[site] = 2
                    if proxy != Proxy.ASYNC_SHARED and clock[2] > fenced[thread]:
                        useful[site] = 2
                    fenced[thread], covers[thread] = clock[0], synced[thread]
                    unfenced[thread] = 2 if unfenced[thread] != 0 else 0
            if useful[site] == 0:
                useful[site] = 1
            continue
        is_read = event in (Event.LOAD, Event.LDMATRIX)
        is_atomic = event in (Event.ATOMIC, Event.CAS, Event.REDUCE)
        is_write = event in (Event.STORE, Event.STMATRIX) or is_atomic
        if record["space"] == Space.GLOBAL:
            if is_read or is_write:
                clock[2] = clock[0]
            continue
        if record["space"] != Space.SHARED:
            continue
        bulk = (flags & FLAG_ASYNC_PROXY) != 0
        if is_read or is_write or (event == Event.ASYNC_WRITE and not bulk):
            clock[1] = clock[0]
        reads_memory = (flags & FLAG_READ) != 0
        readers_fence, has_waited, fetches = 0, 0, False
        if event == Event.ASYNC_READ and kinds[site] == WARPGROUP:
            fetches, first = True, warp & ~3
            if group != first:  # each of its warps reads for itself: the one that knows least counts
                group, group_fence, group_waited = first, latest(covers, first), latest(synced, first)
                for other in range(first + 1, min(first + 4, len(covers) >> 5)):
                    group_fence = min(group_fence, latest(covers, other))
                    group_waited = min(group_waited, latest(synced, other))
            readers_fence, has_waited = group_fence, group_waited
        elif event == Event.ASYNC_ISSUE and bulk and kinds[site] != WARPGROUP:
            fetches = kinds[site] != GENERIC  # what it writes over must have been published, too
            reader = warp * 32 + (flags >> LANE_SHIFT)
            readers_fence, has_waited = covers[reader], synced[reader]
        width = int(record["width"])
        is_copy, known = Event.ASYNC_READ <= event <= Event.ASYNC_WAIT, max(int(readers_fence), int(clock[3]))
        is_of_chunks = is_copy and width & (1 << CHUNK_BITS) - 1 == 0
        if is_of_chunks and (reads_memory or (event == Event.ASYNC_READ and fetches)) and event != Event.ASYNC_WRITE:
            mask &= ~take_reads(shadow, event, fetches, known, mask, addresses, width, site)
        elif (is_copy or is_read or is_write) and fill_lines(addresses, mask, width):
            mask &= ~take_lines(shadow, event, is_write, bulk, fetches, known, warp, mask, addresses, width, site)
        if mask != 0 and is_of_chunks:
            mask &= ~take_chunks(shadow, event, bulk, reads_memory, fetches, known, warp, mask, addresses, width, site)
        elif mask != 0 and (is_read or is_write):
            mask &= ~take_lanes(shadow, is_write, warp, mask, addresses, width, site)
        if mask == 0:
            continue
        for lane in range(32):
            if not (mask >> lane) & 1 or int(addresses[lane]) >> RANK_SHIFT != rank:
                continue
            start = int(addresses[lane]) & ((1 << RANK_SHIFT) - 1)
            what, other = -1, 0
            tell_counts(shadow, start, start + width)
            tell_writers(shadow, start, start + width)
            if event == Event.ASYNC_READ and fetches:
                for word in range(start >> 2, min((start + width + 3) >> 2, writer.shape[0])):
                    reading[word] += 1
                    read_site[word] = site
            for word in range(start >> 2, min((start + width + 3) >> 2, writer.shape[0])):
                if fetches:
                    w = writer[word]
                    if w >= 0 and readers_fence < write_time[word]:
                        is_near = w >> 5 == warp or (group >= 0 and w >> 7 == warp >> 2)
                        is_old = (fenced[w] if is_near else shadow.handed[w]) < write_time[word]
                        if is_old and not has_third(shadow, int(write_time[word]), has_waited):
                            what, other = UNFENCED, write_site[word]
                if (is_read or is_atomic) and writing[word] > 0 and what < 0:
                    what, other = UNWAITED, issue_site[word]
                if is_write:
                    if reading[word] > 0 and what < 0:
                        what, other = OVERWRITTEN, read_site[word]
                    if writing[word] > 0 and what < 0:
                        what, other = UNWAITED, issue_site[word]
                    writer[word], write_site[word], write_time[word] = warp * 32 + lane, site, clock[0]
                    write(shadow, warp * 32 + lane, word << 2)
                elif event == Event.ASYNC_READ:
                    if writing[word] > 0 and what < 0:
                        what, other = UNWAITED, issue_site[word]
                elif event == Event.ASYNC_WRITE:
                    writer[word] = -1
                    if not bulk:
                        writer[word], write_site[word], write_time[word] = warp * 32 + lane, site, clock[0]
                        write(shadow, warp * 32 + lane, word << 2)
                elif event == Event.ASYNC_ISSUE:
                    if reads_memory:
                        reading[word] += 1
                        read_site[word] = site
                    else:
                        if reading[word] > 0 and what < 0:
                            what, other = OVERWRITTEN, read_site[word]
                        # Copies of one thread; those of several may be of the same bytes.
                        if not bulk and writing[word] > 0 and issuer[word] == warp * 32 + lane and what < 0:
                            what, other = UNWAITED, issue_site[word]
                        writing[word] += 1
                        issue_site[word], issuer[word] = site, warp * 32 + lane
                elif event == Event.ASYNC_WAIT:
                    if reads_memory:
                        reading[word] = max(0, reading[word] - 1)
                    else:
                        writing[word] = max(0, writing[word] - 1)
                if what >= 0:
                    found[count, 0], found[count, 1], found[count, 2] = what, site, other
                    found[count, 3], found[count, 4], found[count, 5] = word * 4, warp, lane
                    found[count, 6] = issuer[word] >> 5
                    count += 1
                    break
    return count
