"""L1 in the replay: which lines it has, what loads ask L2 for, and when that is there."""

from __future__ import annotations

from typing import Any

from ptxsim.profile.model.entries import LOCAL_LINES
from ptxsim.profile.replay.state import FROM_DRAM, WAYS, Machine, Total, Unit
from ptxsim.profile.replay.units import work
from ptxsim.profile.replay.writes import ask_l2, bits, is_lost, use_dram

LOCAL_WORDS = 22  # bits of a line's number that say which word of the warp it is


def first_way(line: int, sets: int) -> int:
    """Where the places are that a line may have. Words of local memory follow each other, so that those of a warp take as many sets; the next warp's
    begin a golden section of all sets later, which keeps any number of warps apart."""
    if line >= LOCAL_LINES:
        warp, word = line - LOCAL_LINES >> LOCAL_WORDS, line & ((1 << LOCAL_WORDS) - 1)
        return (warp * (sets * 618 // 1000) + word) % sets * WAYS
    return ((line ^ (line >> 9)) % sets) * WAYS


def find_line(m: Machine, line: int, sets: int, now: float) -> int:
    """Where a line is in L1, or -1."""
    first = first_way(line, sets)
    for i in range(first, first + WAYS):
        if m.cache[i].tag == line:
            m.cache[i].used = now
            return i
    return -1


def forget(m: Machine) -> None:
    """L1 is empty, but for what is the thread's own: local memory."""
    for i in range(len(m.cache)):
        if m.cache[i].tag < LOCAL_LINES:
            m.cache[i].tag = -1


def allocate(m: Machine, line: int, sets: int, now: float) -> int:
    """A place for a line, empty or used longest ago."""
    first = first_way(line, sets)
    best = first
    for i in range(first, first + WAYS):
        if m.cache[i].tag == -1:
            best = i
            break
        if m.cache[i].used < m.cache[best].used:
            best = i
    m.cache[best].tag, m.cache[best].sectors, m.cache[best].parts = line, 0, 0
    m.cache[best].used, m.cache[best].arrival = now, 0.0
    return best


def drop(m: Machine, p: Any, line: int) -> None:
    """L1 has a line no more."""
    index = find_line(m, line, int(p.l1_sets), 0.0)
    if index >= 0:
        m.cache[index].tag = -1


def distance(p: Any, line: int) -> float:
    """Cycles to the slice of L2 that has a line, and back: two lines side by side are in one, and which one is as good as chance. Lines count
    from the first that the launch reads: the same data elsewhere in memory takes as long."""
    return float(p.l2_latency + p.l2_apart * ((line - int(p.first_line) >> 1) * 633 % 1024 / 512 - 1))


def load_line(
    m: Machine, p: Any, line: int, sectors: int, partly: bool, begin: float, now: float, place: int, bypass: bool, bandwidth: float, scattered: float, passing: float
) -> float:  # fmt: skip
    """When the sectors of a line are there, of all of which or parts a load asks for. `place`: how many lines of the instruction came before;
    passing: cycles that a load's other lines hold up the next one that waits for the same line;
    scattered: cycles of the SM's share of what L2 does for a line, where lanes choose theirs; 0: they do not."""
    sets = int(p.l1_sets)
    index = -1 if bypass else find_line(m, line, sets, now)
    missing = sectors
    if index >= 0:
        # Parts that are asked for are taken for those that were written.
        missing = sectors & ~(m.cache[index].sectors if partly else m.cache[index].sectors & ~m.cache[index].parts)
    m.totals[Total.L1_SECTORS] += bits(sectors)
    if missing == 0:
        m.totals[Total.L1_HIT_SECTORS] += bits(sectors)
        at = float(m.cache[index].arrival)
        if at > begin + p.l1_latency:
            m.cache[index].arrival = at + passing
            m.free[Unit.LINES] += p.l1_waiting
        return at
    count = bits(missing)
    from_l2 = ask_l2(
        m, p, max(begin, max(m.free[Unit.ATOMICS], m.free[Unit.REMOTE])), max(p.l2_line, 32.0 * count / bandwidth)
    )
    work(m, Unit.L2, 0, from_l2, m.free[Unit.L2])
    m.totals[Total.L2_READ_SECTORS] += count
    arrive = from_l2 - 2 + distance(p, line) + p.l2_line_latency * place
    if scattered > 0.0:  # many SMs come to one slice at a time, which has some of them wait
        m.free[Unit.SLICES] = max(from_l2, m.free[Unit.SLICES]) + scattered
        arrive += max(0.0, m.free[Unit.SLICES] - from_l2 - p.l2_scattered_queue)
    if p.cold > 0 and is_lost(p, line) and m.seen[line % len(m.seen)] == 0:
        m.seen[line % len(m.seen)] = FROM_DRAM
        arrive = max(arrive, use_dram(m, from_l2, 128.0 * p.dram_read) + p.dram_latency)
        m.totals[Total.DRAM_SECTORS] += 4
    if not bypass:
        m.free[Unit.LINES] = max(begin, m.free[Unit.LINES]) + p.l1_fill * count  # as L1 will be writing what comes
        if index < 0:
            index = allocate(m, line, sets, now)
        m.cache[index].sectors |= sectors
        m.cache[index].parts &= ~missing
        m.cache[index].arrival = max(m.cache[index].arrival, arrive + passing)
    return float(arrive)


def keep(m: Machine, p: Any, line: int, sectors: int, partly: bool, now: float) -> None:
    """L1 keeps what is written, whatever the store's cache operator, though to global memory it goes on to L2."""
    sets = int(p.l1_sets)
    index = find_line(m, line, sets, now)
    if index < 0:
        index = allocate(m, line, sets, now)
    if partly:
        m.cache[index].parts |= sectors & ~m.cache[index].sectors
    else:
        m.cache[index].parts &= ~sectors
    m.cache[index].sectors |= sectors
