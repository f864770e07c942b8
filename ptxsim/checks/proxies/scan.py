"""The scan of the proxy checks: what is recorded of every word of a CTA's shared memory.

The generic proxy (ordinary loads and stores, cp.async) and the async proxy (products of warpgroups, bulk copies) see each other's data only
through proxy fences. PTX ISA, "Memory Consistency Model: Proxies", "Async proxy".
"""

from __future__ import annotations

from ptxsim.checks.proxies.arrivals import arrive_in_phases, hand_on, is_told, latest_arrival, settled_by
from ptxsim.checks.proxies.chunks import take_chunks, take_lanes, take_lines, take_reads
from ptxsim.checks.proxies.running import FOUND, FULL, NONE, Running, admit
from ptxsim.checks.proxies.state import CHUNK_BITS, ProxyShadow, leave, tell_counts, tell_writers, write
from ptxsim.jit.body import Array, body
from ptxsim.jit.filling import fill_lines
from ptxsim.jit.kinds import Alike
from ptxsim.lanes import LANES
from ptxsim.machine.event import FLAG_ASYNC_PROXY, FLAG_READ, FLAG_STRONG, LANE_SHIFT, Event, Proxy, Space
from ptxsim.machine.memory import RANK_SHIFT

FIELDS = 8  # of a problem
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


def note_waits(shadow: ProxyShadow, record: Array, acquires: Array) -> None:
    """Keep which threads know of others by now, and which have told others what they have done."""
    event, warp, mask = int(record["event"]), int(record["warp"]), int(record["mask"])
    addresses = record["addresses"]
    if event in _WAITS or acquires[record["site"]]:
        since = int(shadow.clock[0])
        if event == Event.LEAVE:
            since = leave(shadow, int(addresses[0]), int(addresses[1]))
        for lane in range(32):
            if (mask >> lane) & 1:
                if event == Event.MBARRIER_WAIT:
                    since = latest_arrival(shadow, int(addresses[lane]))
                shadow.synced[warp * 32 + lane] = max(int(shadow.synced[warp * 32 + lane]), since)
    if event == Event.MBARRIER_ARRIVE:
        arrive_in_phases(shadow, addresses, mask)
    if event in _HANDS_ON or (int(record["flags"]) & FLAG_STRONG and event <= Event.REDUCE):
        hand_on(shadow, warp, mask)


def note_fence(shadow: ProxyShadow, record: Array, useful: Array) -> None:
    """Keep a proxy fence of the async proxy, if it orders shared memory, and whether it has something to order."""
    site, warp, proxy, clock = int(record["site"]), int(record["warp"]), int(record["addresses"][1]), shadow.clock
    if proxy not in (Proxy.ASYNC, Proxy.ASYNC_GLOBAL, Proxy.ASYNC_SHARED):
        return
    for lane in range(32):
        if (int(record["mask"]) >> lane) & 1:
            thread = warp * 32 + lane
            if proxy != Proxy.ASYNC_GLOBAL and clock[1] > shadow.fenced[thread]:
                useful[site] = 2
            if proxy != Proxy.ASYNC_SHARED and clock[2] > shadow.fenced[thread]:
                useful[site] = 2
            if proxy != Proxy.ASYNC_GLOBAL:
                shadow.fenced[thread], shadow.covers[thread] = clock[0], shadow.synced[thread]
                shadow.unfenced[thread] = 2 if shadow.unfenced[thread] != 0 else 0
    if useful[site] == 0:
        useful[site] = 1


def is_unpublished(shadow: ProxyShadow, word: int, warp: int, of_group: bool, fence: int, waited: int) -> bool:
    """Whether the async proxy may read of a word what was there before a thread wrote it. of_group: all warps of the warpgroup read; fence,
    waited: up to when a fence of who reads covers what others have written, and up to when it knows of what they have done."""
    writer, written = int(shadow.writer[word]), int(shadow.write_time[word])
    if writer < 0 or fence >= written:
        return False
    is_near = writer >> 5 == warp or (of_group and writer >> 7 == warp >> 2)
    told = shadow.fenced[writer] >= written if is_near else is_told(shadow, writer, written, waited)
    return not told and not has_third(shadow, written, waited)


def touch_word(
    shadow: ProxyShadow, word: int, event: int, thread: int, site: int, bulk: bool, reads_memory: bool, what: int, other: int
) -> tuple[int, int]:  # fmt: skip
    """Keep what a lane does to a word, and judge it where nothing has been found of the lane yet: the problem, or `what`, with its site."""
    is_atomic = event in (Event.ATOMIC, Event.CAS, Event.REDUCE)
    is_read = is_atomic or event in (Event.LOAD, Event.LDMATRIX, Event.ASYNC_READ)
    is_write = is_atomic or event in (Event.STORE, Event.STMATRIX)
    is_issue = event == Event.ASYNC_ISSUE
    is_read_late, is_written_late = shadow.reading[word] > 0, shadow.writing[word] > 0
    if what < 0 and is_read and is_written_late:
        what, other = UNWAITED, int(shadow.issue_site[word])
    if what < 0 and (is_write or (is_issue and not reads_memory)) and is_read_late:
        what, other = OVERWRITTEN, int(shadow.read_site[word])
    if what < 0 and is_write and is_written_late:
        what, other = UNWAITED, int(shadow.issue_site[word])
    # Copies of one thread; those of several may be of the same bytes.
    is_own = is_issue and not reads_memory and not bulk and shadow.issuer[word] == thread
    if what < 0 and is_own and is_written_late:
        what, other = UNWAITED, int(shadow.issue_site[word])
    if is_write or (event == Event.ASYNC_WRITE and not bulk):
        shadow.writer[word], shadow.write_site[word], shadow.write_time[word] = thread, site, shadow.clock[0]
        write(shadow, thread, word << 2)
    elif event == Event.ASYNC_WRITE:
        shadow.writer[word] = -1
    elif is_issue and reads_memory:
        shadow.reading[word] += 1
        shadow.read_site[word] = site
    elif is_issue:
        shadow.writing[word] += 1
        shadow.issue_site[word], shadow.issuer[word] = site, thread
    elif event == Event.ASYNC_WAIT and reads_memory:
        shadow.reading[word] = max(0, int(shadow.reading[word]) - 1)
    elif event == Event.ASYNC_WAIT:
        shadow.writing[word] = max(0, int(shadow.writing[word]) - 1)
    return what, other


@body(enough=500)
def scan(
    records: Array, first: int, running: Running, shadows: Alike[ProxyShadow], kinds: Array, acquires: Array, useful: Array, found: Array
) -> int:  # fmt: skip
    """Update the shadows of CTAs by records, from `first` on; returns the number of the first whose CTA has no shadow (`Running`), or of the
    end. `kinds` says which sites are products of warpgroups and reductions, `acquires` after which a thread knows what others have done, `useful`
    (by site) whether a proxy fence ever had something to order: 1 no, 2 yes. Problems go to `found`, as many as running.n[FOUND] says: rows
    of (what, site, other site, byte address, warp, lane, warp that copies, CTA), at most one for a lane of a record."""
    at = first
    while at < len(records):
        cta = int(records[at]["cta"])
        place = int(running.place[cta])
        if place == NONE:
            place = admit(running, shadows, cta)
        if place == NONE:
            return at
        at, count = go_on(records, at, shadows[place], kinds, acquires, useful, found, int(running.n[FOUND]))
        running.n[FOUND] = count
    running.n[FULL] = int(running.n[FOUND]) + LANES * len(records) > len(found)  # for as many records more
    return len(records)


def go_on(
    records: Array, at: int, shadow: ProxyShadow, kinds: Array, acquires: Array, useful: Array, found: Array, count: int
) -> tuple[int, int]:
    """Update the shadow of a CTA up to the first record of another one; returns that, and how many problems there are then, `count` before."""
    rank, clock, covers, synced, cta = (
        int(shadow.rank[0]),
        shadow.clock,
        shadow.covers,
        shadow.synced,
        int(records[at]["cta"]),
    )
    group, group_fence, group_waited = -1, 0, 0  # of the warpgroup whose product reads, its first warp
    for i in range(at, len(records)):
        record = records[i]
        if record["cta"] != cta:
            return i, count
        event, warp, site = int(record["event"]), int(record["warp"]), int(record["site"])
        addresses, flags, mask = record["addresses"], int(record["flags"]), int(record["mask"])
        clock[0] += 1
        if event == Event.EXIT:
            clock[5] += mask.bit_count()
            continue
        if event != Event.ASYNC_READ:
            group = -1
        note_waits(shadow, record, acquires)
        if event == Event.FENCE:
            note_fence(shadow, record, useful)
            continue
        is_read = event in (Event.LOAD, Event.LDMATRIX)
        is_write = event in (Event.STORE, Event.STMATRIX, Event.ATOMIC, Event.CAS, Event.REDUCE)
        if record["space"] == Space.GLOBAL:
            if is_read or is_write:
                clock[2] = clock[0]
            continue
        if record["space"] != Space.SHARED or event > Event.ASYNC_WAIT:  # what is done at mbarriers is no access
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
        elif event == Event.ASYNC_ISSUE and bulk and kinds[site] not in (WARPGROUP, GENERIC):
            fetches = True  # what it writes over must have been published, too
            reader = warp * 32 + (flags >> LANE_SHIFT)
            readers_fence, has_waited = int(covers[reader]), latest(synced, warp)
        width = int(record["width"])
        is_copy, known = Event.ASYNC_READ <= event <= Event.ASYNC_WAIT, 0
        if fetches:
            known = max(readers_fence, settled_by(shadow, has_waited))
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
            end = min((start + width + 3) >> 2, len(shadow.writer))
            tell_counts(shadow, start, start + width)
            tell_writers(shadow, start, start + width)
            if event == Event.ASYNC_READ and fetches:
                for word in range(start >> 2, end):
                    shadow.reading[word] += 1
                    shadow.read_site[word] = site
            what, other = -1, 0
            for word in range(start >> 2, end):
                if fetches and is_unpublished(shadow, word, warp, group >= 0, readers_fence, has_waited):
                    what, other = UNFENCED, int(shadow.write_site[word])
                what, other = touch_word(
                    shadow, word, event, warp * 32 + lane, site, bulk, reads_memory, what, other
                )  # fmt: skip
                if what >= 0:
                    found[count, 0], found[count, 1], found[count, 2] = what, site, other
                    found[count, 3], found[count, 4], found[count, 5] = word * 4, warp, lane
                    found[count, 6], found[count, 7] = shadow.issuer[word] >> 5, cta
                    count += 1
                    break
    return len(records), count
