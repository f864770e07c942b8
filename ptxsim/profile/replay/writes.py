"""What an SM writes to L2 in the replay: stores to lines that are open are put together, and go there as one.

As tools/data/accesses.tsv shows it: an SM has few lines open, the one opened first is closed for another one; all are closed when the stores that
have come are sent, but for those of the last store, which wait a moment longer. It counts as sent what has been put together, too.
"""

from __future__ import annotations

from typing import Any

from ptxsim.profile.model.entries import LOCAL_LINES
from ptxsim.profile.replay.state import FROM_DRAM, OPEN_LINES, Machine, Total, Unit
from ptxsim.profile.replay.units import work


def bits(value: int) -> int:
    return (value & 1) + (value >> 1 & 1) + (value >> 2 & 1) + (value >> 3 & 1)


def write_cost(p: Any, sectors: int, partly: bool) -> float:
    """Cycles of the SM's port that a line takes of which so many sectors are written, all their bytes or not."""
    return float(p.store_sector * sectors + (p.store_part if partly else 0.0))


def write_cost_now(p: Any, line: int, sectors: int, partly: bool) -> float:
    """Cycles of what L2 takes of an SM while the others write, too."""
    cost = (p.local_sector_now if line >= LOCAL_LINES else p.store_sector_now) * sectors
    return float(cost + (p.store_part_now + p.store_part_sector_now * sectors if partly else 0.0))


def ask_l2(m: Machine, p: Any, begin: float, cycles: float) -> float:
    """A read that L2 needs so many cycles of the SM's share for: returns when its turn is, after all that the SM has stored and asked for before.
    Meanwhile what is stored is put away more slowly (tools/data/l2)."""
    begin = max(begin, m.free[Unit.WRITTEN])
    m.free[Unit.WRITTEN] = begin + p.store_read * cycles
    begin = max(begin, m.free[Unit.L2])
    m.free[Unit.L2] = begin + cycles
    return float(begin)


def room(m: Machine, p: Any, begin: float) -> float:
    """When L2 has taken in enough of what was stored before for more of it to leave the SM, and DRAM of what L2 does not hold."""
    return float(max(begin, max(m.free[Unit.WRITTEN], m.free[Unit.DRAM]) - p.store_buffer))


def send(m: Machine, p: Any, begin: float, line: int, sectors: int, partly: bool) -> float:
    """So many sectors of a line are written; returns when they have left the SM."""
    begin = max(room(m, p, begin), m.free[Unit.WRITES])
    m.free[Unit.WRITES] = begin + write_cost(p, sectors, partly)
    m.free[Unit.WRITTEN] = max(begin, m.free[Unit.WRITTEN]) + write_cost_now(p, line, sectors, partly)
    work(m, Unit.WRITES, 0, begin, m.free[Unit.WRITES])
    m.totals[Total.L2_WRITE_SECTORS] += sectors
    return float(m.free[Unit.WRITES])


def use_dram(m: Machine, begin: float, cycles: float) -> float:
    """DRAM's share of the SM has so many cycles more to do, from when it is free on: returns when that is."""
    begin = max(begin, m.free[Unit.DRAM])
    m.free[Unit.DRAM] = begin + cycles
    work(m, Unit.DRAM, 0, begin, m.free[Unit.DRAM])
    return float(begin)


def is_lost(p: Any, line: int) -> bool:
    """Whether a line is of those that L2 does not hold: as many of 1024 in turn, in the order of a golden section."""
    return bool(line * 633 % 1024 < 1024 * p.cold)


def write_back(m: Machine, p: Any, begin: float, line: int, sectors: int) -> None:
    """Sectors are written of memory that L2 does not hold in full: what of them has not been written before goes on to DRAM."""
    place = line % len(m.seen)
    new = bits(sectors & ~int(m.seen[place]))
    if p.cold > 0 and new and is_lost(p, line):
        m.seen[place] |= FROM_DRAM | sectors
        to_dram(m, p, begin, 32.0 * new)


def to_dram(m: Machine, p: Any, begin: float, size: float) -> None:
    """So many bytes go on to DRAM, which takes longer between reads."""
    between_reads = m.totals[Total.DRAM_SECTORS] > m.totals[Total.DRAM_WRITTEN]
    use_dram(m, begin, size * (p.dram_write + (p.dram_turn_now if between_reads else 0.0)))
    m.totals[Total.DRAM_WRITTEN] += size / 32


def is_behind(m: Machine, p: Any, begin: float) -> bool:
    """Whether L2 still has to take in what has left the SM before, and what has not."""
    return bool(m.free[Unit.WRITTEN] > max(begin, m.free[Unit.WRITES]) + p.store_behind)


def arrives(m: Machine, p: Any, begin: float, sectors: int, burst: bool) -> None:
    """A store of so many sectors to global memory: lines that have been sent before are not open any more."""
    if begin > m.state[0].sending and not (burst and is_behind(m, p, begin)):
        held = begin <= m.state[0].stored + p.store_hold
        for k in range(OPEN_LINES):
            if not held or m.open_lines[k].store != m.state[0].stores:
                m.open_lines[k].line = -1
    m.state[0].stores += 1
    m.state[0].stored = begin
    m.state[0].sending = min(max(m.state[0].sending, begin) + sectors, begin + 4 * OPEN_LINES)


def charge(m: Machine, unit: int, begin: float, more: float) -> None:
    """A unit has more to do for what it has been given before, or less, but for what it has done."""
    if more > 0:
        m.free[unit] = max(begin, m.free[unit]) + more
    else:
        m.free[unit] = max(min(begin, m.free[unit]), m.free[unit] + more)


def is_parted(m: Machine, p: Any, begin: float) -> bool:
    """Whether a store of many lines goes by itself, though its line is open: of those that come while L2 is behind, one in so many (tools/data/bursts)."""
    if not is_behind(m, p, begin):
        return False
    m.state[0].together += 1
    return bool(m.state[0].together % int(p.store_parted) == 0)


def write(m: Machine, p: Any, begin: float, line: int, sectors: int, written: float, alone: bool, burst: bool) -> float:
    """So many bytes of sectors of a line of global memory are written; returns when they have left the SM. `alone`: the store has no other line."""
    write_back(m, p, begin, line, sectors)
    for k in range(OPEN_LINES):
        if m.open_lines[k].line == line:
            if not burst or not is_parted(m, p, begin):
                return put_together(m, p, begin, k, sectors, written)
            m.open_lines[k].sectors, m.open_lines[k].bytes, m.open_lines[k].store = sectors, written, m.state[0].stores
            return send(m, p, begin, line, bits(sectors), written < 32 * bits(sectors))
    k = m.state[0].place
    m.open_lines[k].line, m.open_lines[k].sectors, m.open_lines[k].bytes = line, sectors, written
    m.open_lines[k].store = m.state[0].stores
    if alone:  # takes as long as two
        m.open_lines[(k + 1) % OPEN_LINES].line = -1
    m.state[0].place = (k + (2 if alone else 1)) % OPEN_LINES
    return send(m, p, begin, line, bits(sectors), written < 32 * bits(sectors))


def put_together(m: Machine, p: Any, begin: float, k: int, sectors: int, written: float) -> float:
    """The same of a line that is open: what is sent of it is more than before, or whole sectors in the place of parts."""
    line, before = m.open_lines[k].line, bits(m.open_lines[k].sectors)
    partly_before = m.open_lines[k].bytes < 32 * before
    m.open_lines[k].sectors |= sectors
    after = bits(m.open_lines[k].sectors)
    m.open_lines[k].bytes = min(m.open_lines[k].bytes + written, 32.0 * after)
    m.open_lines[k].store = m.state[0].stores
    partly = m.open_lines[k].bytes < 32 * after
    charge(m, Unit.WRITES, begin, write_cost(p, after, partly) - write_cost(p, before, partly_before))
    charge(
        m, Unit.WRITTEN, begin, write_cost_now(p, line, after, partly) - write_cost_now(p, line, before, partly_before)
    )
    m.totals[Total.L2_WRITE_SECTORS] += after - before
    return float(max(begin, m.free[Unit.WRITES]))
