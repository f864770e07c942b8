"""Where warps of the replay go: CTAs start and end, blocks follow each other, an instruction waits for what it reads."""

from __future__ import annotations

from typing import Any

from ptxsim.profile.machine_code import Kind, Pipe
from ptxsim.profile.model.encode import BARRIER, NO_INSTRUCTION, WAIT
from ptxsim.profile.model.entries import BLOCK
from ptxsim.profile.replay.state import INF, NOBODY, SUBS, Async, Count, Machine, Unit
from ptxsim.profile.replay.units import work

AHEAD = 4  # lines of code that are fetched when a warp first comes by the first of them


def after_block(m: Machine, q: int, end: int) -> int:
    """Where the entries of the block that begins at q end, and those of blocks after it that run as part of it."""
    q += 1
    while q < end and (
        m.entries[q].code != BLOCK or m.blocks[m.entries[q].site].begin == m.blocks[m.entries[q].site].end
    ):
        q += 1
    return q


def end_of_segment(m: Machine, g: int, part: int, q: int, end: int, lenient: bool) -> int:
    """Where the entries of the blocks end that segment g is from a part of it on, which begin at q; -1 if it is not what comes.

    lenient: all but the first may be missing.
    """
    for k in range(part, m.segments[g].parts_end):
        if (
            q < end
            and m.entries[q].site == m.parts[k].block
            and not (m.parts[k].optional and left_whole(m, g, k, q, end))
        ):
            q = after_block(m, q, end)
        elif not m.parts[k].optional and not lenient:
            return -1
    return q


def left_whole(m: Machine, g: int, part: int, q: int, end: int) -> bool:
    """Whether turns of a loop are not begun under a predicate by segment g, because a segment after it is several of them, and those that come
    are a multiple of that."""
    block, most = m.parts[part].block, 1
    for k in range(m.segments[g].followers, m.segments[g].followers_end):
        f = m.segments[m.followers[k]]
        if f.parts_end - f.parts > most:
            copies = 0
            for j in range(f.parts, f.parts_end):
                copies += m.parts[j].block == block and not m.parts[j].optional
            most = max(most, copies if copies == f.parts_end - f.parts else 1)
    if most == 1:
        return False
    turns = 0
    while q < end and m.entries[q].site == block:
        q, turns = after_block(m, q, end), turns + 1
    return turns % most == 0


def follows(m: Machine, before: int, g: int) -> bool:
    """Whether segment g can come after another one."""
    if before >= 0:
        for k in range(m.segments[before].followers, m.segments[before].followers_end):
            if m.followers[k] == g:
                return True
    return False


def next_block(m: Machine, w: int, at: float) -> bool:
    """Put a warp at the begin of its next segment; False at its end.

    Of the segments that what comes can be, it is one that can follow the last one, then the one that is most of it.
    """
    q, b = m.warps[w].next, m.warps[w].block
    if b >= 0 and m.counts[Count.SPANS] < len(m.spans):
        k = m.counts[Count.SPANS]
        m.counts[Count.SPANS] += 1
        m.spans[k, 0], m.spans[k, 1], m.spans[k, 2] = w, m.warps[w].cta, b
        m.spans[k, 3], m.spans[k, 4] = m.warps[w].since, at
    if q >= m.warps[w].end:
        return False
    b = m.entries[q].site
    m.warps[w].block, m.warps[w].entry, m.warps[w].since, m.warps[w].began = b, q + 1, at, q
    after, chosen, can_follow = -1, -1, False
    for lenient in (False, True):
        for k in range(m.blocks[b].begin, m.blocks[b].end):
            g = m.candidates[k].segment
            stop = end_of_segment(m, g, m.candidates[k].part, q, m.warps[w].end, lenient)
            if stop < 0:
                continue
            can = follows(m, m.warps[w].segment, g)
            if chosen < 0 or (can and not can_follow) or (can == can_follow and stop > after):
                after, chosen, can_follow = stop, g, can
        if chosen >= 0:
            break
    if chosen < 0:
        after = after_block(m, q, m.warps[w].end)
        m.warps[w].next, m.warps[w].op, m.warps[w].op_end = after, 0, 0
        m.counts[Count.LOST] += 1
        return True
    m.warps[w].next, m.warps[w].segment = after, chosen
    m.warps[w].op, m.warps[w].op_end = m.segments[chosen].begin, m.segments[chosen].end
    return True


def crossing(p: Any, made: int, used: int) -> float:
    """Extra latency between the ALU and the FMA pipe."""
    if made == used or (made != Pipe.ALU and used != Pipe.ALU):
        return 0.0
    other = used if made == Pipe.ALU else made
    return p.cross_pipe if other == Pipe.FMA or other == Pipe.FMA_HEAVY else 0.0


def operands(m: Machine, p: Any, w: int, i: int, at: float) -> tuple[float, int]:
    """When an instruction has what it reads, and what it writes is free: (moment, reason of the wait)."""
    moment, why, pipe = at, WAIT, m.ops[i].pipe
    if m.ops[i].stall > 0:  # the assembler has seen to the rest
        for k in range(m.ops[i].reads, m.ops[i].writes):
            r = m.registers[k]
            if m.values[w, r].ready > moment:
                moment, why = m.values[w, r].ready, m.values[w, r].why
        return moment, why
    for k in range(m.ops[i].reads, m.ops[i].writes):
        r = m.registers[k]
        there = m.values[w, r].ready
        if there > moment - 2:
            there += crossing(p, m.values[w, r].pipe, pipe)
        if there > moment:
            moment, why = there, m.values[w, r].why
    for k in range(m.ops[i].writes, m.ops[i].guards):  # written again: not before the first is there
        r = m.registers[k]
        there = m.values[w, r].ready
        if m.values[w, r].pipe in (Pipe.ALU, Pipe.FMA, Pipe.FMA_HEAVY):
            there -= m.ops[i].latency
        if there > moment:
            moment, why = there, m.values[w, r].why
    for k in range(m.ops[i].guards, m.ops[i].stop):
        r = m.registers[k]
        there = m.values[w, r].ready
        if m.values[w, r].pipe == Pipe.ALU and there > 0:
            there += p.guard_latency - 4
        if there > moment:
            moment, why = there, m.values[w, r].why
    return moment, why


def copy(m: Machine, w: int, i: int) -> None:
    """No instruction: what is written is there when the latest of what is read is."""
    latest, source = 0.0, -1
    for k in range(m.ops[i].reads, m.ops[i].writes):
        r = m.registers[k]
        if m.values[w, r].ready >= latest:
            latest, source = m.values[w, r].ready, r
    for k in range(m.ops[i].writes, m.ops[i].guards):
        r = m.registers[k]
        m.values[w, r].ready = latest
        if source >= 0:
            m.values[w, r].pipe = m.values[w, source].pipe
            m.values[w, r].why = m.values[w, source].why


def fetch(m: Machine, p: Any, i: int, at: float) -> float:
    """When the line of code that holds an instruction is there; the first warp that comes by has it and the next ones fetched."""
    line = m.ops[i].address >> 7
    if not m.fetched[line].reached:
        m.fetched[line].reached = True
        for k in range(line, min(line + AHEAD, len(m.fetched))):
            if not m.fetched[k].present:
                m.fetched[k].present = True
                begin = max(at, m.free[Unit.FETCH])
                m.free[Unit.FETCH] = begin + p.code_line
                m.fetched[k].ready = m.free[Unit.FETCH]
                work(m, Unit.FETCH, 0, begin, m.free[Unit.FETCH])
    if line < p.code_near:
        return float(m.fetched[line].ready)
    if m.state[0].far == 0:
        m.state[0].far = min(p.code_far, at + p.code_trip)
    return max(float(m.fetched[line].ready), float(m.state[0].far))


def parting(m: Machine, p: Any, before: int, q: int) -> float:
    """Cycles that it takes a warp that its lanes part, from the segment that began with entry `before` to the one that begins with q, or
    meet again. Within a segment the assembler has no branch."""
    if before < 0:
        return 0.0
    lanes, had = m.entries[q].object, m.entries[before].object
    if lanes & ~had:
        return float(p.converge) if had & ~lanes == 0 else 0.0
    return float(p.diverge) if had & ~lanes else 0.0


def jump(m: Machine, p: Any, w: int, branch: int, i: int) -> float:
    """Cycles from a branch that ends at this address to instruction i, beyond its stall count. Of code that its sub-core has, a jump ahead is like one back."""
    if m.ops[i].address == branch:
        return 0.0
    has = m.fetched[m.ops[i].address >> 7].subs >> (w % SUBS) & 1 == 1 and m.subs[w % SUBS].lines <= p.code_lines
    return float(p.jump if m.ops[i].address < branch or has else p.jump_ahead)


def run_through(m: Machine, w: int, i: int) -> None:
    """The sub-core of a warp has the line of code that holds an instruction from now on."""
    line = m.ops[i].address >> 7
    if m.fetched[line].subs >> (w % SUBS) & 1 == 0:
        m.fetched[line].subs |= 1 << (w % SUBS)
        m.subs[w % SUBS].lines += 1


def advance(m: Machine, p: Any, w: int, at: float) -> bool:
    """Move a warp to its next instruction and say when it can issue; False if there is none."""
    while True:
        while m.warps[w].op >= m.warps[w].op_end:
            before, began = m.warps[w].segment, m.warps[w].began
            if not next_block(m, w, at):
                return False
            parts = parting(m, p, began, m.warps[w].began)
            if before >= 0 and m.warps[w].segment != before and not follows(m, before, m.warps[w].segment):
                parts += p.other_lanes
            if parts > 0 and m.segments[m.warps[w].segment].address > m.warps[w].branch:
                m.warps[w].branch = 0  # where lanes part and meet ahead, the branch is in what that takes
            at += parts
        i = m.warps[w].op
        if m.ops[i].kind == Kind.COPY:
            copy(m, w, i)
            m.warps[w].op += 1
            continue
        if m.warps[w].branch > 0 and not m.ops[i].converges:
            at += jump(m, p, w, m.warps[w].branch, i)
            m.warps[w].branch = 0
        run_through(m, w, i)
        moment, why = operands(m, p, w, i, at)
        there = fetch(m, p, i, at)
        if there > moment:
            moment, why = there, NO_INSTRUCTION
        if m.warps[w].held >= 0 and (moment > m.warps[w].held_from or m.ops[i].pipe in (Pipe.LSU, Pipe.ADU, Pipe.CBU)):
            moment, why = hold(m, w, moment, why)
        m.warps[w].ready, m.warps[w].why = moment, why
        return True


def hold(m: Machine, w: int, moment: float, why: int) -> tuple[float, int]:
    """The barrier that a warp has come to holds it now: (when it goes on, reason of the wait), if all warps are there."""
    o = m.warps[w].held
    m.warps[w].held = -1
    if m.warps[w].released == INF:
        m.warps[w].blocked, m.warps[w].awaits = o, BARRIER
    elif m.warps[w].released > moment:
        m.warps[w].by = m.objects[o].by
        return float(m.warps[w].released), BARRIER
    return moment, why


def free_slot(m: Machine, first: int, step: int) -> int:
    """The first slot without a warp, of those from `first` on that are so far apart; -1 if there is none."""
    w = first
    while w < len(m.warps):
        if not m.warps[w].active:
            return w
        w += step
    return -1


def launch(m: Machine, p: Any, c: int, start: float) -> float:
    """Start a CTA: its warps take the free slots of their sub-cores, which take turns; the first one's is that after the last CTA's last one, or the one
    after that where a CTA has as many on each (tools/data/late, places.tsv). Returns when it ends, if it has nothing to do, else -1."""
    begin = start + p.launch
    if c == 0:
        m.state[0].launched = begin + p.first_constants
    m.ctas[c].left = m.ctas[c].warps
    rest = m.ctas[c].warps % SUBS
    first = c * (rest if rest > 0 else 1)
    for k in range(m.ctas[c].warps):
        w = free_slot(m, (first + k) % SUBS, SUBS)
        if w < 0:  # CTAs of one to three warps have filled the sub-core
            w = free_slot(m, 0, 1)
        m.counts[Count.USED_SLOTS] = max(m.counts[Count.USED_SLOTS], w + 1)
        j = m.ctas[c].first_warp + k
        m.warps[w].active, m.warps[w].blocked, m.warps[w].held, m.warps[w].cta, m.warps[w].block = True, -1, -1, c, -1
        m.warps[w].segment, m.warps[w].number, m.warps[w].by, m.warps[w].began, m.warps[w].branch = -1, k, NOBODY, -1, 0
        m.warps[w].entry = m.warps[w].next = m.starts[j].begin
        m.warps[w].end = m.starts[j].end
        m.warps[w].op = m.warps[w].op_end = 0
        m.warps[w].issued = m.warps[w].ready = begin + 2 * k
        for r in range(m.values.shape[1]):
            m.values[w, r].ready = 0.0
        m.warps[w].access = m.warps[w].store = m.warps[w].stored = m.warps[w].written = 0.0
        m.warps[w].read = m.warps[w].loaded = m.warps[w].changed = m.warps[w].fenced = 0.0
        m.warps[w].stores = m.warps[w].changes = 0
        for what in (Async.COPIES, Async.BULKS, Async.PRODUCTS, Async.TENSOR, Async.MOVES):
            m.groups[what, w].last, m.groups[what, w].count = 0.0, 0
        if not advance(m, p, w, m.warps[w].ready):
            m.warps[w].active = False
            m.ctas[c].left -= 1
        m.subs[w % SUBS].dirty = True
    return begin + p.drain if m.ctas[c].left == 0 else -1.0
