"""What the proxy checks remember about every word of a CTA's shared memory, and the scan that keeps it.

The generic proxy (ordinary loads and stores, cp.async) and the async proxy (products of warpgroups, bulk copies) see each other's data only
through proxy fences. PTX ISA, "Memory Consistency Model: Proxies", "Async proxy".
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ptxsim.jit.body import Array, body
from ptxsim.machine.event import FLAG_ASYNC_PROXY, FLAG_READ, FLAG_STRONG, LANE_SHIFT, Event, Proxy, Space
from ptxsim.machine.memory import RANK_SHIFT

# Problems the scan finds.
UNFENCED, OVERWRITTEN, UNWAITED = range(3)
# Kinds of sites.
# A product; a bulk or tensor copy that reads its destination, too; what is not of the async proxy.
WARPGROUP, REDUCTION, GENERIC = 1, 2, 3
LINE_BITS, CHUNK_BITS = 7, 4
# In what counts for the four words of a chunk: one more for each, and what makes the top bit of those that are not 0 appear.
EACH, TOPS, UP_TO_TOP = 0x0001_0001_0001_0001, -0x7FFF_7FFF_7FFF_8000, 0x7FFF_7FFF_7FFF_7FFF
_WAITS = (Event.LEAVE, Event.MBARRIER_WAIT, Event.SYNC_WARP)
_HANDS_ON = (Event.ARRIVE, Event.MBARRIER_ARRIVE, Event.SYNC_WARP)


class _Arrays(NamedTuple):
    """Shadow state of one CTA by words of 4 bytes, and the time of each thread's last proxy fence."""

    rank: Array  # of the CTA in its cluster
    writer: Array  # thread that wrote last through the generic proxy
    write_site: Array
    write_time: Array
    reading: Array  # asynchronous operations that read the word and are not waited for
    read_site: Array
    writing: Array
    issue_site: Array
    issuer: Array  # thread
    fenced: Array
    synced: Array  # by thread: when it last waited for others
    covers: Array  # by thread: up to when its last fence covers what others have written
    handed: Array  # by thread: its last fence before it last handed on what it had done
    unfenced: Array  # by thread: 1 it has written through the generic proxy since its last fence, 2 it has not handed that on since
    # Now, last generic access to shared memory, to global memory, when nobody had written without a fence that is handed on, and how many
    # threads have; how many have exited.
    clock: Array
    newest: Array  # by line of 128 bytes: when the generic proxy last wrote there
    # The same memory, several words a number: for each chunk of 16 bytes there is one number, or two.
    readings: Array
    writings: Array
    writers: Array
    write_sites: Array
    write_times: Array
    read_sites: Array
    issue_sites: Array
    issuers: Array


class ProxyShadow(_Arrays):
    """The same, which keeps how it is passed to native code (jit.native), and serves one CTA after the other."""

    _all: tuple[np.ndarray, ...]

    @classmethod
    def of(cls, warps: int, shared_bytes: int) -> ProxyShadow:
        """For CTAs of so many warps, with so much shared memory."""
        lines = -(-shared_bytes >> LINE_BITS)
        by_word = np.zeros((6, lines << LINE_BITS - 2), np.int32)
        counts = np.zeros((2, lines << LINE_BITS - 2), np.int16)
        by_thread, newest = np.zeros((5, warps * 32), np.int32), np.zeros(lines, np.int32)
        numbers = np.zeros(7, np.int32)
        writer, write_site, write_time, read_site, issue_site, issuer = by_word
        reading, writing = counts
        fenced, synced, covers, handed, unfenced = by_thread
        by_chunk = reading, writing, writer, write_site, write_time, read_site, issue_site, issuer
        shadow = cls(
            numbers[6:], writer, write_site, write_time, reading, read_site, writing, issue_site, issuer, fenced,
            synced, covers, handed, unfenced, numbers[:6], newest, *(each.view(np.int64) for each in by_chunk),
        )  # fmt: skip
        shadow._all = counts, by_thread, numbers, newest
        return shadow

    def begin(self, rank: int) -> None:
        """A CTA of a rank in its cluster is to run. What says where and when counts only of words with a writer, or in use."""
        for each in self._all:
            each.fill(0)
        self.writer.fill(-1)
        self.clock[0], self.rank[0] = 1, rank


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


def write(shadow: ProxyShadow, thread: int, at: int) -> None:
    """A thread writes to a line through the generic proxy, from a byte of it on."""
    shadow.newest[at >> LINE_BITS] = shadow.clock[0]
    if shadow.unfenced[thread] == 0:
        shadow.clock[4] += 1
    shadow.unfenced[thread] = 1


def take_tile(shadow: ProxyShadow, event: int, known: int, mask: int, addresses: Array, width: int, site: int) -> int:
    """What a product does to whole chunks of its tile, as `take_chunks` does; known: up to when its readers know what was written."""
    done, chunks, base, pair = 0, len(shadow.readings), int(shadow.rank[0]) << RANK_SHIFT, site << 32 | site
    for lane in range(32):
        start = int(addresses[lane]) - base
        first, end = start >> CHUNK_BITS, start + width >> CHUNK_BITS
        if not mask >> lane & 1 or first < 0 or end > chunks or start & (1 << CHUNK_BITS) - 1:
            continue
        some = 0
        if event == Event.ASYNC_READ:
            for chunk in range(first, end):
                some |= int(shadow.writings[chunk]) | (shadow.newest[chunk >> LINE_BITS - CHUNK_BITS] > known)
        elif event == Event.ASYNC_WAIT:
            for chunk in range(first, end):
                some |= ~(int(shadow.readings[chunk]) + UP_TO_TOP) & TOPS
        if some != 0:
            continue
        if event == Event.ASYNC_WAIT:
            for chunk in range(first, end):
                shadow.readings[chunk] -= EACH
        else:
            for chunk in range(first, end):
                shadow.readings[chunk] += EACH
                shadow.read_sites[2 * chunk], shadow.read_sites[2 * chunk + 1] = pair, pair
        done |= 1 << lane
    return done


def take_chunks(
    shadow: ProxyShadow, event: int, bulk: bool, reads_memory: bool, fetches: bool, readers_fence: int, warp: int, mask: int,
    addresses: Array, width: int, site: int,
) -> int:  # fmt: skip
    """What an asynchronous operation does to whole chunks of 16 bytes, where that is no problem; returns the lanes of which all
    has been done."""
    done, size, base = 0, len(shadow.readings) << CHUNK_BITS, int(shadow.rank[0]) << RANK_SHIFT
    known, now, pair = max(readers_fence, int(shadow.clock[3])), int(shadow.clock[0]), site << 32 | site
    is_product = fetches if event == Event.ASYNC_READ else reads_memory and not fetches and event != Event.ASYNC_WRITE
    if is_product and bulk:
        return take_tile(shadow, event, known, mask, addresses, width, site)
    times = now << 32 | now
    for lane in range(32):
        start = int(addresses[lane]) - base
        if not mask >> lane & 1 or start < 0 or start + width > size or start & (1 << CHUNK_BITS) - 1:
            continue
        first, end, is_fine, some = start >> CHUNK_BITS, start + width >> CHUNK_BITS, True, 0
        if fetches:
            for line in range(start >> LINE_BITS, (start + width - 1 >> LINE_BITS) + 1):
                is_fine = is_fine and shadow.newest[line] <= known
        if event == Event.ASYNC_WAIT:
            for chunk in range(
                first, end
            ):  # a word of which no record says that it is read, or written, stays as it is
                counts = int(shadow.readings[chunk]) if reads_memory else int(shadow.writings[chunk])
                some |= ~(counts + UP_TO_TOP) & TOPS
        elif event == Event.ASYNC_READ:
            for chunk in range(first, end):
                some |= int(shadow.writings[chunk])
        elif event == Event.ASYNC_ISSUE and not reads_memory:
            for chunk in range(first, end):
                some |= int(shadow.readings[chunk])
                if not bulk:
                    some |= int(shadow.writings[chunk])
        if some != 0 or not is_fine:
            continue
        done |= 1 << lane
        thread = warp * 32 + lane
        threads = thread << 32 | thread
        if event == Event.ASYNC_ISSUE and reads_memory:
            for chunk in range(first, end):
                shadow.readings[chunk] += EACH
                shadow.read_sites[2 * chunk], shadow.read_sites[2 * chunk + 1] = pair, pair
        elif event == Event.ASYNC_ISSUE:
            for chunk in range(first, end):
                shadow.writings[chunk] += EACH
                shadow.issue_sites[2 * chunk], shadow.issue_sites[2 * chunk + 1] = pair, pair
                shadow.issuers[2 * chunk], shadow.issuers[2 * chunk + 1] = threads, threads
        elif event == Event.ASYNC_WAIT and reads_memory:
            for chunk in range(first, end):
                shadow.readings[chunk] -= EACH
        elif event == Event.ASYNC_WAIT:
            for chunk in range(first, end):
                shadow.writings[chunk] -= EACH
        elif event == Event.ASYNC_WRITE and bulk:
            for chunk in range(first, end):
                shadow.writers[2 * chunk], shadow.writers[2 * chunk + 1] = -1, -1
        elif event == Event.ASYNC_WRITE:
            for chunk in range(first, end):
                write(shadow, thread, chunk << CHUNK_BITS)
                shadow.writers[2 * chunk], shadow.writers[2 * chunk + 1] = threads, threads
                shadow.write_sites[2 * chunk], shadow.write_sites[2 * chunk + 1] = pair, pair
                shadow.write_times[2 * chunk], shadow.write_times[2 * chunk + 1] = times, times
    return done


def take_lanes(
    shadow: ProxyShadow, is_write: bool, warp: int, mask: int, addresses: Array, width: int, site: int
) -> int:
    """What loads and stores do to words, each lane within a chunk with which no asynchronous operation is at work; returns the
    lanes of which all has been done."""
    done, size, base, now = (
        0,
        len(shadow.readings) << CHUNK_BITS,
        int(shadow.rank[0]) << RANK_SHIFT,
        int(shadow.clock[0]),
    )
    for lane in range(32):
        start = int(addresses[lane]) - base
        chunk = start >> CHUNK_BITS
        if not mask >> lane & 1 or start < 0 or start + width > size or start + width - 1 >> CHUNK_BITS != chunk:
            continue
        at_work = int(shadow.writings[chunk])
        if is_write:
            at_work |= int(shadow.readings[chunk])
        if at_work != 0:
            continue
        done |= 1 << lane
        if is_write:
            write(shadow, warp * 32 + lane, start)
            for word in range(start >> 2, start + width + 3 >> 2):
                shadow.writer[word], shadow.write_site[word], shadow.write_time[word] = warp * 32 + lane, site, now
    return done


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
            for lane in range(32):
                if (mask >> lane) & 1:
                    synced[warp * 32 + lane] = clock[0]
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
        if Event.ASYNC_READ <= event <= Event.ASYNC_WAIT and width & (1 << CHUNK_BITS) - 1 == 0:
            mask &= ~take_chunks(
                shadow, event, bulk, reads_memory, fetches, int(readers_fence), warp, mask, addresses, width, site
            )
        elif is_read or is_write:
            mask &= ~take_lanes(shadow, is_write, warp, mask, addresses, width, site)
        if mask == 0:
            continue
        for lane in range(32):
            if not (mask >> lane) & 1 or int(addresses[lane]) >> RANK_SHIFT != rank:
                continue
            start = int(addresses[lane]) & ((1 << RANK_SHIFT) - 1)
            what, other = -1, 0
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
