"""What the proxy checks remember about every word of a CTA's shared memory, and the scan that keeps it.

The generic proxy (ordinary loads and stores, cp.async) and the async proxy (wgmma, bulk copies) see each other's data only
through proxy fences. PTX ISA, "Memory Consistency Model: Proxies", "Async proxy".
"""

from __future__ import annotations

from functools import cache

import numpy as np

from ptxsim.machine.event import FLAG_ASYNC_PROXY, FLAG_READ, Event, Proxy, Space
from ptxsim.machine.memory import RANK_SHIFT

# Problems the scan finds.
UNFENCED, OVERWRITTEN, UNWAITED = range(3)
COMPILE_FROM = 4000  # records of one run; fewer are scanned before numba has loaded

_READS = (int(Event.LOAD), int(Event.LDMATRIX))
_LOAD, _LDMATRIX = _READS
_STORE, _STMATRIX, _REDUCE = int(Event.STORE), int(Event.STMATRIX), int(Event.REDUCE)
_ATOMIC, _CAS = int(Event.ATOMIC), int(Event.CAS)
_ASYNC_READ, _ASYNC_WRITE = int(Event.ASYNC_READ), int(Event.ASYNC_WRITE)
_ISSUE, _WAIT, _FENCE = int(Event.ASYNC_ISSUE), int(Event.ASYNC_WAIT), int(Event.FENCE)
_SHARED, _GLOBAL = int(Space.SHARED), int(Space.GLOBAL)
_PROXY_ASYNC, _PROXY_GLOBAL, _PROXY_SHARED = int(Proxy.ASYNC), int(Proxy.ASYNC_GLOBAL), int(Proxy.ASYNC_SHARED)


class ProxyShadow:
    """Shadow state of one CTA by words of 4 bytes, and the time of each thread's last proxy fence."""

    def __init__(self, rank: int, warps: int, shared_bytes: int):
        words = -(-shared_bytes // 4)
        self.rank = rank
        self.writer = np.full(words, -1, np.int32)  # thread that wrote last through the generic proxy
        self.write_site = np.zeros(words, np.int32)
        self.write_time = np.zeros(words, np.int32)
        self.reading = np.zeros(words, np.int16)  # asynchronous operations that read the word and are not waited for
        self.read_site = np.zeros(words, np.int32)
        self.writing = np.zeros(words, np.int16)
        self.issue_site = np.zeros(words, np.int32)
        self.fenced = np.zeros(warps * 32, np.int32)
        self.clock = np.array([1, 0, 0], np.int32)  # now, last generic access to shared memory, to global memory


def scan(
    records, rank, writer, write_site, write_time, reading, read_site, writing, issue_site, fenced, clock,
    warp_wide, useful, found,
):  # fmt: skip
    """Update the shadow by records of one CTA in order; `warp_wide` says which sites are wgmma, `useful` (by site) whether
    a proxy fence ever had something to order: 1 no, 2 yes. Problems go to `found`, rows of (what, site, other site,
    byte address, warp, lane), at most one for a lane of a record; returns how many."""
    count = 0
    for i in range(records.shape[0]):
        record = records[i]
        event, warp, site, mask = record["event"], record["warp"], record["site"], record["mask"]
        addresses = record["addresses"]
        clock[0] += 1
        if event == _FENCE:
            proxy = addresses[1]
            if proxy != _PROXY_ASYNC and proxy != _PROXY_GLOBAL and proxy != _PROXY_SHARED:
                continue
            for lane in range(32):
                if (mask >> lane) & 1:
                    thread = warp * 32 + lane
                    if proxy != _PROXY_GLOBAL and clock[1] > fenced[thread]:
                        useful[site] = 2
                    if proxy != _PROXY_SHARED and clock[2] > fenced[thread]:
                        useful[site] = 2
                    fenced[thread] = clock[0]
            if useful[site] == 0:
                useful[site] = 1
            continue
        is_read = event in (_LOAD, _LDMATRIX)
        is_atomic = event in (_ATOMIC, _CAS, _REDUCE)
        is_write = event in (_STORE, _STMATRIX) or is_atomic
        if record["space"] == _GLOBAL:
            if is_read or is_write:
                clock[2] = clock[0]
            continue
        if record["space"] != _SHARED:
            continue
        bulk = (record["flags"] & FLAG_ASYNC_PROXY) != 0
        if is_read or is_write or (event == _ASYNC_WRITE and not bulk):
            clock[1] = clock[0]
        reads_memory = (record["flags"] & FLAG_READ) != 0
        readers_fence = 0
        if event == _ASYNC_READ and warp_wide[site]:
            for lane in range(32):
                readers_fence = max(readers_fence, fenced[warp * 32 + lane])
        for lane in range(32):
            if not (mask >> lane) & 1 or int(addresses[lane]) >> RANK_SHIFT != rank:
                continue
            start = int(addresses[lane]) & ((1 << RANK_SHIFT) - 1)
            what, other = -1, 0
            for word in range(start >> 2, min((start + int(record["width"]) + 3) >> 2, writer.shape[0])):
                if (is_read or is_atomic) and writing[word] > 0 and what < 0:
                    what, other = UNWAITED, issue_site[word]
                if is_write:
                    if reading[word] > 0 and what < 0:
                        what, other = OVERWRITTEN, read_site[word]
                    writer[word], write_site[word], write_time[word] = warp * 32 + lane, site, clock[0]
                elif event == _ASYNC_READ:
                    w = writer[word]
                    if w >= 0 and fenced[w] < write_time[word] and readers_fence < write_time[word] and what < 0:
                        what, other = UNFENCED, write_site[word]
                    if writing[word] > 0 and what < 0:
                        what, other = UNWAITED, issue_site[word]
                elif event == _ASYNC_WRITE:
                    writer[word] = -1
                    if not bulk:
                        writer[word], write_site[word], write_time[word] = warp * 32 + lane, site, clock[0]
                elif event == _ISSUE:
                    if reads_memory:
                        reading[word] += 1
                        read_site[word] = site
                    else:
                        if reading[word] > 0 and what < 0:
                            what, other = OVERWRITTEN, read_site[word]
                        writing[word] += 1
                        issue_site[word] = site
                elif event == _WAIT:
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


@cache
def compiled_scan():
    import numba

    return numba.njit(cache=True, nogil=True)(scan)
