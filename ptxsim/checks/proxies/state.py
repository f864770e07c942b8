"""The shadow memory of the proxy checks: a CTA's shared memory by words, chunks of 16 bytes and lines of 128. For bodies."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ptxsim.jit.body import Array, record
from ptxsim.jit.filling import LINE_BITS as LINE_BITS
from ptxsim.jit.rows import fill
from ptxsim.machine.barriers.cluster import CLUSTER_BARRIER

CHUNK_BITS = 4
HANDS = 8  # fences that are remembered of a thread
PHASES = 64  # of mbarriers that are remembered
CHUNKS = 1 << LINE_BITS - CHUNK_BITS  # of a line
# In what counts for the four words of a chunk: one more for each, and what makes the top bit of those that are not 0 appear.
EACH, TOPS, UP_TO_TOP = 0x0001_0001_0001_0001, -0x7FFF_7FFF_7FFF_8000, 0x7FFF_7FFF_7FFF_7FFF
# In the bytes of a line's chunks: one for each, the most that one may be, and what says that some are not 0.
ONES, MOST, FULL, HIGH = 0x0101_0101_0101_0101, 0x7F, 0x7F7F_7F7F_7F7F_7F7F, -0x7F7F_7F7F_7F7F_7F80
# A line, in place of its words: copies that write all of it and are not waited for, the last one's site and the thread that begins it;
# in `reading` a byte for each chunk, how many operations that are not waited for read all of it, with the last one's site; when the
# generic proxy wrote all of the line, 0 if words say that, and which thread at which site, -1 where the async proxy did. The thread is
# that of the first word, that of byte b of the line `issuer` ^ b >> `bits`, or `writer` ^ b >> `pitch`.
# newest: when the generic proxy last wrote there; apart: whether words may say that they are read or written, of which the line says
# nothing then.
LINE = record(
    ("reading", "i8"), ("read_site", "i4", (CHUNKS,)), ("writing", "i4"), ("issue_site", "i4"), ("issuer", "i4"), ("bits", "i4"),
    ("wrote", "i4"), ("write_site", "i4"), ("writer", "i4"), ("pitch", "i4"), ("newest", "i4"), ("apart", "i4"),
)  # fmt: skip


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
    synced: Array  # by thread: when it last waited for others, or they had come
    left: Array  # by barrier: the phase that somebody has left last, and when the first did
    covers: Array  # by thread: up to when its last fence covers what others have written
    handed: Array  # by thread: its last fence before it last handed on what it had done
    hands: Array  # by thread: how many fences it has handed on, and the last HANDS of them by turns: the fence, and when it was first handed on
    phases: Array  # of mbarriers, by `hashed`: the mbarrier's address with ODD_PHASE, and when somebody last arrived in such a phase
    settled: Array  # times, by turns: all that had been written until then had been fenced, and that handed on, by the next one
    unfenced: Array  # by thread: 1 it has written through the generic proxy since its last fence, 2 it has not handed that on since
    # Now, last generic access to shared memory, to global memory, how many times have been settled, how many threads have written without a
    # fence that is handed on; how many have exited; whether the CTA is one of several of a cluster.
    clock: Array
    lines: Array
    blank: Array  # all of what is 0 when a CTA begins
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

    @classmethod
    def of(cls, warps: int, shared_bytes: int) -> ProxyShadow:
        """For CTAs of so many warps, with so much shared memory."""
        lines, threads = -(-shared_bytes >> LINE_BITS), warps * 32
        by_word = np.zeros((6, lines << LINE_BITS - 2), np.int32)
        writer, write_site, write_time, read_site, issue_site, issuer = by_word
        shapes: list[tuple[tuple[int, ...], np.dtype[Any]]] = [
            ((PHASES, 2), np.dtype(np.int64)), ((2, lines << LINE_BITS - 2), np.dtype(np.int16)), ((lines,), LINE),
            ((5, threads), np.dtype(np.int32)), ((threads, 1 + 2 * HANDS), np.dtype(np.int32)), ((CLUSTER_BARRIER + 1, 2), np.dtype(np.int32)),
            ((HANDS,), np.dtype(np.int32)), ((8,), np.dtype(np.int32)),
        ]  # fmt: skip
        ends = np.cumsum([math.prod(shape) * dtype.itemsize for shape, dtype in shapes])
        blank = np.zeros(ends[-1] // 4, np.int32)
        parts = np.split(blank.view(np.uint8), ends[:-1])
        phases, (reading, writing), by_line, by_thread, hands, left, settled, numbers = (
            part.view(dtype).reshape(shape) for part, (shape, dtype) in zip(parts, shapes)
        )
        fenced, synced, covers, handed, unfenced = by_thread
        by_chunk = reading, writing, writer, write_site, write_time, read_site, issue_site, issuer
        return cls(
            numbers[7:], writer, write_site, write_time, reading, read_site, writing, issue_site, issuer, fenced,
            synced, left, covers, handed, hands, phases, settled, unfenced, numbers[:7], by_line, blank, *(each.view(np.int64) for each in by_chunk),
        )  # fmt: skip


def begin(shadow: ProxyShadow, rank: int, is_of_several: bool) -> None:
    """A CTA of a rank in its cluster, which may have several, is to run. What says where and when counts only of words with a writer, or in
    use."""
    fill(shadow.blank, 0, len(shadow.blank), 0)
    fill(shadow.writer, 0, len(shadow.writer), -1)
    shadow.clock[0], shadow.clock[6], shadow.rank[0] = 1, is_of_several, rank


def is_reading(shadow: ProxyShadow) -> bool:
    """Whether some asynchronous operation reads that is not waited for."""
    some = 0
    for number in range(len(shadow.lines)):
        some |= int(shadow.lines[number]["reading"])
    for chunk in range(len(shadow.readings)):
        some |= int(shadow.readings[chunk])
    return some != 0


def leave(shadow: ProxyShadow, barrier: int, phase: int) -> int:
    """Somebody leaves a barrier; since when it could: all had come when the first left that phase, though others take their turns later."""
    one, now = shadow.left[barrier], int(shadow.clock[0])
    if one[1] == 0 or one[0] != phase:
        one[0], one[1] = phase, now
    return int(one[1])


def write(shadow: ProxyShadow, thread: int, at: int) -> None:
    """A thread writes to a line through the generic proxy, from a byte of it on."""
    shadow.lines[at >> LINE_BITS]["newest"] = shadow.clock[0]
    if shadow.unfenced[thread] == 0:
        shadow.clock[4] += 1
    shadow.unfenced[thread] = 1


def tell_counts(shadow: ProxyShadow, start: int, end: int) -> None:
    """The words of the lines of some bytes are to say, from now on, which of them are read and written."""
    for number in range(start >> LINE_BITS, min((end - 1 >> LINE_BITS) + 1, len(shadow.lines))):
        line = shadow.lines[number]
        reading, writing, first = int(line["reading"]), int(line["writing"]), number << LINE_BITS - 2
        line["apart"] = 1
        if reading != 0 or writing != 0:
            line["reading"], line["writing"] = 0, 0
            for word in range(1 << LINE_BITS - 2):
                count, chunk = reading >> (word >> 2 << 3) & MOST, word >> 2
                if count != 0:
                    shadow.reading[first + word] += count
                    shadow.read_site[first + word] = line["read_site"][chunk]
                if writing != 0:
                    shadow.writing[first + word] += writing
                    shadow.issue_site[first + word] = line["issue_site"]
                    shadow.issuer[first + word] = int(line["issuer"]) ^ (word << 2 >> int(line["bits"]))


def tell_writers(shadow: ProxyShadow, start: int, end: int) -> None:
    """They are to say who has written them."""
    for number in range(start >> LINE_BITS, min((end - 1 >> LINE_BITS) + 1, len(shadow.lines))):
        line = shadow.lines[number]
        time, first = int(line["wrote"]), number << LINE_BITS - 2
        if time != 0:
            line["wrote"] = 0
            for word in range(1 << LINE_BITS - 2):
                shadow.writer[first + word] = int(line["writer"]) ^ (word << 2 >> int(line["pitch"]))
                shadow.write_site[first + word], shadow.write_time[first + word] = line["write_site"], time
