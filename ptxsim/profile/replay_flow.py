"""Where warps of the replay go: CTAs start and end, blocks follow each other, an instruction waits for what it reads."""

from __future__ import annotations

import numba

from ptxsim.profile.encode import NO_INSTRUCTION, WAIT
from ptxsim.profile.replay_state import ALU, COPY, FETCH, FMA, HEAVY, SPANS, SUBS
from ptxsim.profile.replay_units import work
from ptxsim.profile.trace import BLOCK


@numba.njit
def end_of_block(code, entries, q, b, count, end):
    """Where the entries of `count` executions in a row of block b end, which begin at q; -1 if there are fewer."""
    for _ in range(count):
        if q >= end or entries.site[q] != b:
            return -1
        q += 1
        while q < end and (entries.code[q] != BLOCK or code.absorber[entries.site[q]] == b):
            q += 1
    return q


@numba.njit
def next_block(code, entries, warps, tally, w, at):
    """Put a warp at the begin of its next block; False at its end."""
    q, b = warps.next[w], warps.block[w]
    if b >= 0 and tally.counts[SPANS] < len(tally.spans):
        k = tally.counts[SPANS]
        tally.counts[SPANS] += 1
        tally.spans[k, 0], tally.spans[k, 1], tally.spans[k, 2] = w, warps.cta[w], b
        tally.spans[k, 3], tally.spans[k, 4] = warps.since[w], at
    if q >= warps.end[w]:
        return False
    b = entries.site[q]
    warps.block[w], warps.entry[w], warps.since[w] = b, q + 1, at
    after, chosen = end_of_block(code, entries, q, b, 1, warps.end[w]), b
    for k in range(2):  # whole unrolled bodies as long as the iterations last
        copy = code.variant[b, k]
        if copy >= 0:
            stop = end_of_block(code, entries, q, b, code.iterations[copy], warps.end[w])
            if stop >= 0:
                after, chosen = stop, copy
                break
    warps.next[w] = after
    warps.op[w], warps.op_end[w] = code.begin[chosen], code.end[chosen]
    return True


@numba.njit(forceinline=True)
def crossing(p, made, used):
    """Extra latency between the ALU and the FMA pipe."""
    if made == used or (made != ALU and used != ALU):
        return 0.0
    other = used if made == ALU else made
    return p.cross_pipe if other == FMA or other == HEAVY else 0.0


@numba.njit
def operands(code, warps, p, w, i, at):
    """When an instruction has what it reads, and what it writes is free: (moment, reason of the wait)."""
    moment, why, pipe = at, WAIT, code.pipe[i]
    for k in range(code.reads[i], code.writes[i]):
        r = code.registers[k]
        there = warps.register_ready[w, r]
        if there > moment - 2:
            there += crossing(p, warps.register_pipe[w, r], pipe)
        if there > moment:
            moment, why = there, warps.register_why[w, r]
    for k in range(code.writes[i], code.guards[i]):  # written again: not before the first is there
        r = code.registers[k]
        if warps.register_ready[w, r] > moment:
            moment, why = warps.register_ready[w, r], warps.register_why[w, r]
    for k in range(code.guards[i], code.reads[i + 1]):
        r = code.registers[k]
        there = warps.register_ready[w, r]
        if warps.register_pipe[w, r] == ALU and there > 0:
            there += p.guard_latency - 4
        if there > moment:
            moment, why = there, warps.register_why[w, r]
    return moment, why


@numba.njit
def copy(code, warps, w, i):
    """No instruction: what is written is there when the latest of what is read is."""
    latest, source = 0.0, -1
    for k in range(code.reads[i], code.writes[i]):
        r = code.registers[k]
        if warps.register_ready[w, r] >= latest:
            latest, source = warps.register_ready[w, r], r
    for k in range(code.writes[i], code.guards[i]):
        r = code.registers[k]
        warps.register_ready[w, r] = latest
        if source >= 0:
            warps.register_pipe[w, r] = warps.register_pipe[w, source]
            warps.register_why[w, r] = warps.register_why[w, source]


@numba.njit
def fetch(code, store, units, tally, p, i, at):
    """When the line of code that holds an instruction is there; the first warp that comes by has it fetched."""
    line = code.address[i] >> 7
    if not store.code[line]:
        store.code[line] = True
        begin = max(at, units.free[FETCH])
        units.free[FETCH] = begin + (p.code_line if code.address[i] < p.code_cache else p.code_line_far)
        store.code_ready[line] = units.free[FETCH]
        work(tally, FETCH, 0, begin, units.free[FETCH])
    return store.code_ready[line]


@numba.njit
def advance(code, entries, warps, store, units, tally, p, w, at):
    """Move a warp to its next instruction and say when it can issue; False if there is none."""
    while True:
        while warps.op[w] >= warps.op_end[w]:
            if not next_block(code, entries, warps, tally, w, at):
                return False
        i = warps.op[w]
        if code.kind[i] == COPY:
            copy(code, warps, w, i)
            warps.op[w] += 1
            continue
        moment, why = operands(code, warps, p, w, i, at)
        there = fetch(code, store, units, tally, p, i, at)
        if there > moment:
            moment, why = there, NO_INSTRUCTION
        warps.ready[w], warps.why[w] = moment, why
        return True


@numba.njit
def launch(ctas, entries, code, warps, store, units, tally, p, c, start):
    """Start a CTA: its warps take the free slots of their sub-cores. Returns when it ends, if it has nothing to do, else -1."""
    begin = start + p.launch + (p.first_launch if c == 0 else 0.0)
    ctas.left[c] = ctas.warps[c]
    for k in range(ctas.warps[c]):
        w = k % SUBS
        while warps.active[w]:
            w += SUBS
        j = ctas.first_warp[c] + k
        warps.active[w], warps.blocked[w], warps.cta[w], warps.block[w] = True, -1, c, -1
        warps.entry[w] = warps.next[w] = ctas.warp_begin[j]
        warps.end[w] = ctas.warp_end[j]
        warps.op[w] = warps.op_end[w] = 0
        warps.issued[w] = warps.ready[w] = begin + 2 * k
        warps.register_ready[w, :] = 0.0
        warps.store[w] = warps.atomic[w] = 0.0
        warps.last[:, w] = 0.0
        warps.count[:, w] = 0
        warps.groups[:, w, :] = 0.0
        if not advance(code, entries, warps, store, units, tally, p, w, warps.ready[w]):
            warps.active[w] = False
            ctas.left[c] -= 1
        units.dirty[w % SUBS] = True
    return begin + p.drain if ctas.left[c] == 0 else -1.0
