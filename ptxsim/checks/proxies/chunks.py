"""Accesses to whole lines and chunks of shared memory that are no problem for the proxy checks: the fast path. For bodies."""

from __future__ import annotations

from ptxsim.checks.proxies.state import (
    CHUNK_BITS,
    CHUNKS,
    EACH,
    FULL,
    HIGH,
    LINE_BITS,
    MOST,
    ONES,
    TOPS,
    UP_TO_TOP,
    ProxyShadow,
    tell_counts,
    tell_writers,
    write,
)
from ptxsim.jit.body import Array
from ptxsim.machine.event import Event
from ptxsim.machine.memory import RANK_SHIFT


def take_lines(
    shadow: ProxyShadow, event: int, is_write: bool, bulk: bool, fetches: bool, known: int, warp: int, mask: int, addresses: Array,
    width: int, site: int,
) -> int:  # fmt: skip
    """What an access does to whole lines (jit.filling), where that is no problem; returns the lanes of which all has been done.

    known: up to when those that fetch know what was written.
    """
    base, now, each = int(shadow.rank[0]) << RANK_SHIFT, int(shadow.clock[0]), (1 << LINE_BITS) // width
    done, lane, bits = 0, 0, LINE_BITS - (each - 1).bit_count()
    while lane < 32:
        start, first, group = int(addresses[lane]) - base, lane, (1 << each) - 1 << lane
        lane += each
        if not mask >> first & 1 or start < 0 or start >> LINE_BITS >= len(shadow.lines):
            continue
        number = start >> LINE_BITS
        line = shadow.lines[number]
        if line["apart"] != 0 and says_some(shadow, number):
            continue
        line["apart"] = 0
        reading, writing = int(line["reading"]), int(line["writing"])
        thread = warp * 32 + first ^ (start & (1 << LINE_BITS) - 1) >> bits
        if fetches and line["newest"] > known:
            continue
        if event == Event.ASYNC_WAIT:
            if writing == 0:
                continue
            line["writing"] = writing - 1
        elif event == Event.ASYNC_ISSUE:
            if reading != 0 or (writing != 0 and not bulk):
                continue
            line["writing"], line["issue_site"], line["issuer"], line["bits"] = writing + 1, site, thread, bits
        elif event == Event.ASYNC_WRITE and bulk:
            line["wrote"], line["writer"], line["pitch"] = now, -1, LINE_BITS
        elif event != Event.ASYNC_WRITE:
            if writing != 0 or (is_write and reading != 0):
                continue
        if is_write or (event == Event.ASYNC_WRITE and not bulk):
            line["wrote"], line["writer"], line["pitch"], line["write_site"] = now, thread, bits, site
            for other in range(first, first + each):
                write(shadow, warp * 32 + other, start)
        done |= group
    return done


def take_reads(
    shadow: ProxyShadow, event: int, fetches: bool, known: int, mask: int, addresses: Array, width: int, site: int
) -> int:  # fmt: skip
    """What an asynchronous operation that reads, or has read, does to whole chunks of lines, as `take_lines` does."""
    base, done = int(shadow.rank[0]) << RANK_SHIFT, 0
    for lane in range(32):
        start = int(addresses[lane]) - base
        number, chunk, count = start >> LINE_BITS, start >> CHUNK_BITS & CHUNKS - 1, width >> CHUNK_BITS
        if not mask >> lane & 1 or start < 0 or number >= len(shadow.lines) or start & (1 << CHUNK_BITS) - 1:
            continue
        line = shadow.lines[number]
        if count == 0 or chunk + count > CHUNKS or (fetches and line["newest"] > known):
            continue
        if line["apart"] != 0 and says_some(shadow, number):
            continue
        line["apart"] = 0
        reading, ones = int(line["reading"]), ONES >> (CHUNKS - count << 3) << (chunk << 3)
        if event == Event.ASYNC_WAIT:
            if (reading + FULL >> 7 & ONES) & ones != ones:
                continue
            line["reading"] = reading - ones
        else:
            if (event == Event.ASYNC_READ and line["writing"] != 0) or (reading + ones) & HIGH != 0:
                continue
            line["reading"] = reading + ones
            for each in range(chunk, chunk + count):
                line["read_site"][each] = site
        done |= 1 << lane
    return done


def says_some(shadow: ProxyShadow, number: int) -> bool:
    """Whether any word of a line says that it is read or written."""
    some, first = 0, number << LINE_BITS - CHUNK_BITS
    for chunk in range(first, first + (1 << LINE_BITS - CHUNK_BITS)):
        some |= int(shadow.readings[chunk]) | int(shadow.writings[chunk])
    return some != 0


def is_older(shadow: ProxyShadow, start: int, width: int, known: int) -> bool:
    """Whether all that the generic proxy has written to some bytes, or near them, is from before a time."""
    for number in range(start >> LINE_BITS, (start + width - 1 >> LINE_BITS) + 1):
        if shadow.lines[number]["newest"] > known:
            return False
    return True


def take_chunks(
    shadow: ProxyShadow, event: int, bulk: bool, reads_memory: bool, fetches: bool, known: int, warp: int, mask: int,
    addresses: Array, width: int, site: int,
) -> int:  # fmt: skip
    """What an asynchronous operation does to whole chunks of 16 bytes, where that is no problem; returns the lanes of which all
    has been done."""
    done, size, base = 0, len(shadow.readings) << CHUNK_BITS, int(shadow.rank[0]) << RANK_SHIFT
    now, pair = int(shadow.clock[0]), site << 32 | site
    times = now << 32 | now
    reads = fetches if event == Event.ASYNC_READ else event == Event.ASYNC_ISSUE and reads_memory
    for lane in range(32):
        start = int(addresses[lane]) - base
        if not mask >> lane & 1 or start < 0 or start + width > size or start & (1 << CHUNK_BITS) - 1:
            continue
        first, end, some = start >> CHUNK_BITS, start + width >> CHUNK_BITS, 0
        if fetches and not is_older(shadow, start, width, known):
            continue
        if event != Event.ASYNC_WRITE:
            tell_counts(shadow, start, start + width)
        if event == Event.ASYNC_WAIT:
            # A word of which no record says that it is read, or written, stays as it is.
            for chunk in range(first, end):
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
        if some != 0:
            continue
        done |= 1 << lane
        thread = warp * 32 + lane
        threads = thread << 32 | thread
        if reads:
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
            tell_writers(shadow, start, start + width)
            for chunk in range(first, end):
                shadow.writers[2 * chunk], shadow.writers[2 * chunk + 1] = -1, -1
        elif event == Event.ASYNC_WRITE:
            tell_writers(shadow, start, start + width)
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
    done, size, now = 0, len(shadow.readings) << CHUNK_BITS, int(shadow.clock[0])
    base = int(shadow.rank[0]) << RANK_SHIFT
    for lane in range(32):
        start = int(addresses[lane]) - base
        chunk = start >> CHUNK_BITS
        if not mask >> lane & 1 or start < 0 or start + width > size or start + width - 1 >> CHUNK_BITS != chunk:
            continue
        line = shadow.lines[chunk >> LINE_BITS - CHUNK_BITS]
        at_work = int(shadow.writings[chunk]) | int(line["writing"])
        if is_write:
            at_work |= int(shadow.readings[chunk]) | int(line["reading"]) >> ((chunk & CHUNKS - 1) << 3) & MOST
        if at_work != 0:
            continue
        done |= 1 << lane
        if is_write:
            tell_writers(shadow, start, start + width)
            write(shadow, warp * 32 + lane, start)
            for word in range(start >> 2, start + width + 3 >> 2):
                shadow.writer[word], shadow.write_site[word], shadow.write_time[word] = warp * 32 + lane, site, now
    return done
