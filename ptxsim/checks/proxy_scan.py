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
_WAITS = (Event.LEAVE, Event.MBARRIER_WAIT, Event.SYNC_WARP)


class ProxyShadow(NamedTuple):
    """Shadow state of one CTA by words of 4 bytes, and the time of each thread's last proxy fence."""

    rank: int
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
    clock: Array  # now, last generic access to shared memory, to global memory

    @classmethod
    def of(cls, rank: int, warps: int, shared_bytes: int) -> ProxyShadow:
        """Of a CTA before it runs."""
        words = -(-shared_bytes // 4)
        return cls(
            rank, np.full(words, -1, np.int32), np.zeros(words, np.int32), np.zeros(words, np.int32),
            np.zeros(words, np.int16), np.zeros(words, np.int32), np.zeros(words, np.int16), np.zeros(words, np.int32),
            np.zeros(words, np.int32),
            np.zeros(warps * 32, np.int32), np.zeros(warps * 32, np.int32), np.zeros(warps * 32, np.int32), np.array([1, 0, 0], np.int32),
        )  # fmt: skip


def has_third(shadow: ProxyShadow, written: int, waited: int) -> bool:
    """Whether some thread has waited for others since a time, then executed a proxy fence, and that before somebody waited."""
    for thread in range(len(shadow.covers)):
        if shadow.covers[thread] >= written and shadow.fenced[thread] < waited:
            return True
    return False


@body(enough=500)
def scan(records: Array, shadow: ProxyShadow, kinds: Array, useful: Array, found: Array) -> int:
    """Update the shadow by records of one CTA in order; `kinds` says which sites are products of warpgroups and reductions,
    `useful` (by site) whether a proxy fence ever had something to order: 1 no, 2 yes. Problems go to `found`, rows of (what, site, other site,
    byte address, warp, lane), at most one for a lane of a record; returns how many."""
    rank, writer, write_site, write_time, reading, read_site, writing, issue_site, issuer, fenced, synced, covers, clock = (
        shadow
    )  # fmt: skip
    count = 0
    for i in range(records.shape[0]):
        record = records[i]
        event, warp, site = int(record["event"]), int(record["warp"]), int(record["site"])
        addresses, flags, mask = record["addresses"], int(record["flags"]), int(record["mask"])
        clock[0] += 1
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
            if useful[site] == 0:
                useful[site] = 1
            continue
        if event in _WAITS or flags & FLAG_STRONG:
            for lane in range(32):
                if (mask >> lane) & 1:
                    synced[warp * 32 + lane] = clock[0]
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
            fetches = True
            for lane in range(32):
                readers_fence = max(readers_fence, covers[warp * 32 + lane])
                has_waited = max(has_waited, synced[warp * 32 + lane])
        elif event == Event.ASYNC_ISSUE and bulk and kinds[site] != WARPGROUP:
            fetches = kinds[site] != GENERIC  # what it writes over must have been published, too
            reader = warp * 32 + (flags >> LANE_SHIFT)
            readers_fence, has_waited = covers[reader], synced[reader]
        for lane in range(32):
            if not (mask >> lane) & 1 or int(addresses[lane]) >> RANK_SHIFT != rank:
                continue
            start = int(addresses[lane]) & ((1 << RANK_SHIFT) - 1)
            what, other = -1, 0
            for word in range(start >> 2, min((start + int(record["width"]) + 3) >> 2, writer.shape[0])):
                if fetches:
                    w = writer[word]
                    is_old = w >= 0 and fenced[w] < write_time[word] and readers_fence < write_time[word]
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
                elif event == Event.ASYNC_READ:
                    if writing[word] > 0 and what < 0:
                        what, other = UNWAITED, issue_site[word]
                elif event == Event.ASYNC_WRITE:
                    writer[word] = -1
                    if not bulk:
                        writer[word], write_site[word], write_time[word] = warp * 32 + lane, site, clock[0]
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
                    count += 1
                    break
    return count
