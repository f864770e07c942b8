"""What is remembered about every byte of a CTA's shared memory, and the scan that keeps it.

Happens-before between warps is kept in vector clocks: barriers, mbarriers, and atomic or strong accesses to one address
order what came before them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ptxsim.jit.body import Array, body
from ptxsim.machine.event import FLAG_ASYNC_PROXY, FLAG_READ, FLAG_STRONG, FLAG_UNCHANGED, Event, Space

MAX_SITES = 256  # synchronising addresses remembered per CTA
BARRIERS = 17  # the sixteen of the CTA and the barrier of the cluster
RACE, RACE_IN_WARP, UNINITIALIZED = 1, 2, 3
KINDS = 3
NONE = -1
_LIMIT = 1 << 24  # addresses of other CTAs of the cluster lie above


class Shadow(NamedTuple):
    """Shadow state of one CTA: arrays by byte of shared memory, clocks by warp."""

    writer: Array
    written_at: Array
    write_lane: Array
    write_turn: Array
    write_site: Array
    reads: Array  # the last two warps that read: warp, time, site, whether that was strong
    initialized: Array
    same: Array  # who stored what was there already, since the last change: warp, time, lane, turn, site
    clock: Array
    turn: Array
    barrier: Array
    sync_address: Array
    sync_clock: Array

    @classmethod
    def of(cls, warps: int, shared_bytes: int) -> Shadow:
        """Of a CTA before it runs."""
        size = shared_bytes
        return cls(
            np.full(size, NONE, np.int16), np.zeros(size, np.int32), np.zeros(size, np.int8), np.zeros(size, np.int32),
            np.full(size, -1, np.int32), np.full((size, 2, 4), NONE, np.int32), np.zeros(size, np.bool_),
            np.full((size, 5), NONE, np.int32), np.eye(warps, dtype=np.int32), np.zeros(warps, np.int32),
            np.zeros((BARRIERS, 2, warps), np.int32), np.full(MAX_SITES, -1, np.int64), np.zeros((MAX_SITES, warps), np.int32),
        )  # fmt: skip


@body(enough=500)
def scan(records: Array, shadow: Shadow, warp_wide: Array, found: Array) -> int:
    """Update the shadow by records of one CTA in order; `warp_wide` says which sites are products of a warpgroup.

    Problems go to `found`, rows of (what, site, other site, address, warp, other warp, lane), at most KINDS for a record;
    returns how many there are.
    """
    (writer, written_at, write_lane, write_turn, write_site, reads, initialized, same, clock, turn, barrier, sync_address,
     sync_clock) = shadow  # fmt: skip
    count = 0
    size = writer.shape[0]
    for i in range(records.shape[0]):
        record = records[i]
        event, warp, site = int(record["event"]), int(record["warp"]), int(record["site"])
        addresses, flags, mask = record["addresses"], int(record["flags"]), int(record["mask"])
        if event == Event.ARRIVE:
            number, side = int(addresses[0]), int(addresses[1]) & 1
            turn[warp] += 1
            for w in range(clock.shape[0]):
                barrier[number, side, w] = max(barrier[number, side, w], clock[warp, w])
            clock[warp, warp] += 1
            continue
        if event == Event.LEAVE:
            number, side = int(addresses[0]), int(addresses[1]) & 1
            turn[warp] += 1
            for w in range(clock.shape[0]):
                clock[warp, w] = max(clock[warp, w], barrier[number, side, w])
            continue
        if event == Event.SYNC_WARP:
            turn[warp] += 1
            continue
        is_read = event in (Event.LOAD, Event.LDMATRIX)
        of_threads = flags & (FLAG_READ | FLAG_ASYNC_PROXY) == 0
        # cp.async writes for its own thread, which sees the data from its wait on.
        is_write = event in (Event.STORE, Event.STMATRIX) or (event == Event.ASYNC_WAIT and of_threads)
        is_atomic = event in (Event.ATOMIC, Event.CAS, Event.REDUCE)
        strong = is_atomic or (flags & FLAG_STRONG) != 0 or event in (Event.MBARRIER_ARRIVE, Event.MBARRIER_WAIT)
        if strong:
            turn[warp] += 1
            for lane in range(32):
                if not (mask >> lane) & 1:
                    continue
                address = int(addresses[lane])
                slot = (address >> 2) % MAX_SITES
                for _ in range(MAX_SITES):
                    if sync_address[slot] == address or sync_address[slot] == -1:
                        break
                    slot = (slot + 1) % MAX_SITES
                sync_address[slot] = address
                for w in range(clock.shape[0]):
                    if is_read or is_atomic or event == Event.MBARRIER_WAIT:
                        clock[warp, w] = max(clock[warp, w], sync_clock[slot, w])
                    if not is_read and event != Event.MBARRIER_WAIT:
                        sync_clock[slot, w] = max(sync_clock[slot, w], clock[warp, w])
            if not is_read and event != Event.MBARRIER_WAIT:
                clock[warp, warp] += 1
        if record["space"] != Space.SHARED:
            continue
        landing = event == Event.ASYNC_WRITE or (event == Event.ASYNC_ISSUE and flags & FLAG_READ == 0)
        is_fetch = event == Event.ASYNC_READ  # by a product of a warpgroup or a bulk store
        if not (is_read or is_write or is_atomic or landing or is_fetch):
            continue
        unchanged = is_write and (flags & FLAG_UNCHANGED) != 0
        said = 0
        for lane in range(32):
            if not (mask >> lane) & 1:
                continue
            start = int(addresses[lane]) & 0xFFFFFFFF
            if start >= _LIMIT:
                continue
            for byte in range(start, min(start + int(record["width"]), size)):
                if unchanged:  # harmless, but not beside a store of something else: the first without order is kept
                    w = same[byte, 0]
                    if w < 0 or w == warp or same[byte, 1] <= clock[warp, w]:
                        same[byte, 0], same[byte, 1], same[byte, 2] = warp, clock[warp, warp], lane
                        same[byte, 3], same[byte, 4] = -1 if strong else turn[warp], site
                    initialized[byte] = True
                    continue
                what = 0
                other = write_site[byte]
                w = writer[byte]
                if (is_read or is_atomic or is_fetch) and not initialized[byte]:
                    what = UNINITIALIZED
                elif w >= 0 and w != warp:
                    if written_at[byte] > clock[warp, w] and not (strong and write_turn[byte] == -1):
                        what = RACE
                elif w == warp and not strong and write_lane[byte] != lane and not landing and not is_fetch:
                    if write_turn[byte] == turn[warp] and other != site:
                        what = RACE_IN_WARP
                if what == 0 and is_write:
                    for place in range(2):
                        r = reads[byte, place, 0]
                        if r >= 0 and r != warp and reads[byte, place, 1] > clock[warp, r]:
                            if not (strong and reads[byte, place, 3]):
                                what, other, w = RACE, reads[byte, place, 2], r
                if what == 0 and (is_write or is_atomic):
                    s = same[byte, 0]
                    if s >= 0 and s != warp:
                        if same[byte, 1] > clock[warp, s] and not (strong and same[byte, 3] == -1):
                            what, other, w = RACE, same[byte, 4], s
                    elif s == warp and not strong and same[byte, 2] != lane:
                        if same[byte, 3] == turn[warp] and same[byte, 4] != site:
                            what, other, w = RACE_IN_WARP, same[byte, 4], s
                if what and not (said >> what) & 1:  # once per instruction of a warp
                    said |= 1 << what
                    found[count, 0], found[count, 1], found[count, 2], found[count, 3] = what, site, other, byte
                    found[count, 4], found[count, 5], found[count, 6] = warp, w, lane
                    count += 1
                if landing:
                    writer[byte] = -1
                    same[byte, 0] = -1
                    initialized[byte] = True
                elif is_read or is_fetch:
                    # Any warp of the four may say that the product is over; what overwrites its tile is for the proxy checks.
                    if not warp_wide[site]:
                        if reads[byte, 0, 0] != warp:
                            reads[byte, 1] = reads[byte, 0]
                        reads[byte, 0, 0], reads[byte, 0, 1] = warp, clock[warp, warp]
                        reads[byte, 0, 2], reads[byte, 0, 3] = site, strong
                    initialized[byte] = True  # say it once
                else:
                    writer[byte], written_at[byte], write_lane[byte] = warp, clock[warp, warp], lane
                    write_turn[byte] = -1 if strong else turn[warp]
                    write_site[byte] = site
                    same[byte, 0] = -1
                    initialized[byte] = True
    return count


def problems(records: np.ndarray, shadow: Shadow, warp_wide: np.ndarray) -> np.ndarray:
    """Problems found in records of one CTA: rows as `scan` says."""
    found = np.empty((KINDS * len(records), 7), np.int64)
    return found[: scan.form(len(records))(records, shadow, warp_wide, found)]
