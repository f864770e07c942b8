"""The tallies of `checks.banks` in one loop over the records, compiled by numba. Import it only where there is much to count."""

from __future__ import annotations

import numpy as np

from ptxsim.layout.banks_native import compiled, copy_wavefronts, distinct_of, is_paired, loop_of, wavefronts_of
from ptxsim.machine.event import RECORD

# What an access is counted as; order of layout.banks.KINDS, then an atomic of one lane, and nothing.
LD, ST, LDMATRIX, STMATRIX, ATOM, RED, CAS, SPIN, HALF, SWAP, COUNT, COPY, BYPASS, LEADER, ELSEWHERE = range(15)
# Columns of the tallies; the last three belong to the worst execution.
RUNS, COST, IDEAL, LINES, WORST_RATIO, WORST, KEY, KIND, WIDTH, MASK = range(10)
CONFLICTS = LINES  # of shared accesses
COLUMNS = 10
DIFFERENT = 32  # executions of an instruction that are kept as long as there are no more different ones
SLOTS = 2 * DIFFERENT
PATIENCE = 256  # executions after which an instruction without conflicts is not looked at so closely
FIRST = RECORD.fields["addresses"][1] // 4  # word of a record at which the addresses begin
_PRIME = 0x100000001B3
_FACTORS = np.random.default_rng(1).integers(-(2**62), 2**62, 32) | 1  # of a sum that tells addresses apart


@compiled
def _keep(site, key, row, raw, mask, keys, counts, masks, kept_at, different):
    """Count an execution under its key, in a hash table of SLOTS; `different` beyond DIFFERENT: no more of it."""
    slot = ((key ^ key >> 29) * _PRIME >> 20) % SLOTS
    while counts[site, slot] and keys[site, slot] != key:
        slot = (slot + 1) % SLOTS
    if counts[site, slot] == 0:
        different[site] += 1
        keys[site, slot], masks[site, slot] = key, mask
        for lane in range(32):
            kept_at[site, slot, lane] = (
                np.uint64(raw[row, FIRST + 2 * lane]) | np.uint64(raw[row, FIRST + 1 + 2 * lane]) << 32
            )
    counts[site, slot] += 1


@compiled
def tally(
    records,
    raw,
    code_of_event,
    code_of_site,
    spaces,
    skip_flags,
    more_flag,
    sums,
    worst_at,
    last,
    last_at,
    kept,
    sources,
):
    """Add records to `sums`, int64 (2, sites, COLUMNS), and to the worst addresses, uint64 (2, sites, 32).

    raw: the records as uint32 (n, 69), whose adjacent words are faster to read. code_of_event: what an event is
    counted as, -1 for nothing. code_of_site: what an access to shared memory is counted as instead, -1 for its event.
    spaces: of shared and of global memory, in the order of `sums`. skip_flags: of copies that are not counted.
    more_flag: of records that go on with the one before. last, int64 (2, sites, 7), and last_at, uint32 (2, sites, 32):
    the last access of each instruction and what it cost; loops repeat it, moved by whole lines. kept: the different
    executions of shared accesses, as (keys, counts, masks: int64 (sites, SLOTS), addresses: uint64 (sites, SLOTS, 32),
    how many: int64 (sites,)). sources: what the cp.async at each site has read and not yet written, as (addresses: int64
    (sites, 32), masks: int64 (sites,)).
    """
    chain, word_of, length = np.empty(544, np.int64), np.empty(512, np.int64), np.empty(32, np.int64)
    seen = np.empty(32, np.int64)
    address, active = np.empty(32, np.int64), np.empty(32, np.bool_)
    keys, counts, masks, kept_at, different = kept
    source_at, source_mask = sources
    for row in range(len(records)):
        record = records[row]
        code = code_of_event[record["event"]]
        space = record["space"]
        if code < 0 or (space != spaces[0] and space != spaces[1]):
            continue
        outer = 1 if space == spaces[1] else 0
        if code == COPY and (record["flags"] & skip_flags or outer):
            continue
        site, width = record["site"], np.int64(record["width"])
        mask = np.int64(record["mask"])
        how = -1 if outer else code_of_site[site]
        if how == ELSEWHERE:
            continue
        if how == LEADER:
            mask &= -mask
        elif how >= 0:
            code = how
        if outer and (code_of_site[site] == COPY or code_of_site[site] == BYPASS):
            if not record["flags"] & more_flag:
                source_mask[site] = 0
            source_mask[site] |= mask
            for lane in range(32):
                if mask >> lane & 1:
                    source_at[site, lane] = (
                        np.int64(raw[row, FIRST + 2 * lane]) | np.int64(raw[row, FIRST + 1 + 2 * lane]) << 32
                    )
        if outer:
            while width & (width - 1):  # cp.async may read a part of its aligned element
                width += 1
            if record["flags"] & more_flag:
                mask |= last[outer, site, 0]
                width = max(width, last[outer, site, 1])
                sums[outer, site, RUNS] -= 1
                sums[outer, site, COST] -= last[outer, site, 3]
                sums[outer, site, IDEAL] -= last[outer, site, 4]
                sums[outer, site, LINES] -= last[outer, site, 5]
        # Lanes relative to the line of the first one; numba turns this into vectors, for 32-bit words that are adjacent.
        base, high = raw[row, FIRST] & np.uint32(0xFFFFFF80), raw[row, FIRST + 1]
        changed, mixed = np.uint32(0), np.uint32(0)
        for lane in range(32):
            changed |= np.uint32(np.uint32(raw[row, FIRST + 2 * lane] - base) ^ last_at[outer, site, lane])
            mixed |= np.uint32(raw[row, FIRST + 1 + 2 * lane] ^ high)
        start = np.int64(high) << 32 | np.int64(base)
        before = last[outer, site]
        if code >= COPY or changed or mixed or before[0] != mask or before[1] != width or before[2] != code:
            lanes = 0
            pattern = mask * _PRIME
            for lane in range(32):
                last_at[outer, site, lane] = raw[row, FIRST + 2 * lane] - base
                address[lane] = np.int64(raw[row, FIRST + 2 * lane]) | np.int64(raw[row, FIRST + 1 + 2 * lane]) << 32
                pattern += (address[lane] - start) * _FACTORS[lane]
                active[lane] = (mask >> lane) & 1 != 0
                lanes += active[lane]
            if outer:
                cost = distinct_of(address, active, 5, seen)
                lines = distinct_of(address, active, 7, seen)
                if ATOM <= code <= CAS:
                    spare = lanes - distinct_of(address, active, 2, seen)
                    cost, lines = cost + spare, lines + spare
                ideal = min(max(1, (lanes * width + 31) // 32), cost)
            elif code == COPY:
                cost, ideal = copy_wavefronts(address, source_at[site], mask, mask & source_mask[site], width)
                lines = cost - ideal
                source_mask[site] = 0
            elif SPIN <= code <= SWAP:
                words = max(1, width // 4)
                cost, lines, ideal = loop_of(address, mask, words, code == SPIN, code == SWAP, chain, word_of, length)
            else:
                if code == BYPASS:  # only zeros pass through the pipe
                    lanes = 0
                    for lane in range(32):
                        active[lane] = (mask & ~source_mask[site]) >> lane & 1 != 0
                        lanes += active[lane]
                    source_mask[site] = 0
                is_matrix = code == LDMATRIX or code == STMATRIX
                merges = code < ATOM or code == COUNT or code == BYPASS
                words = 4 if is_matrix else 1 if code == COUNT else max(1, width // 4)
                phase = 32 // words
                if code == LD and words > 1 and (is_paired(address, active, 1) or is_paired(address, active, 2)):
                    phase *= 2
                cost, ideal = wavefronts_of(address, active, lanes == 32, words, phase, merges, chain, word_of, length)
                if code != BYPASS:
                    cost, ideal = max(1, cost), max(1, ideal)
                lines = cost - ideal
                if code == CAS:
                    cost, ideal = 2 * cost, 2 * ideal
            before[0], before[1], before[2] = mask, width, code
            before[3], before[4], before[5], before[6] = cost, ideal, lines, pattern
        cost, ideal, lines = before[3], before[4], before[5]
        if not outer and different[site] <= DIFFERENT:
            _keep(site, before[6] + start, row, raw, mask, keys, counts, masks, kept_at, different)
            if cost == ideal and sums[outer, site, RUNS] == PATIENCE and sums[outer, site, WORST_RATIO] == 1:
                different[site] = DIFFERENT + 1
        sums[outer, site, RUNS] += 1
        sums[outer, site, COST] += cost
        sums[outer, site, IDEAL] += ideal
        sums[outer, site, LINES] += lines
        sums[outer, site, WORST_RATIO] = max(1, sums[outer, site, WORST_RATIO], (cost + ideal - 1) // max(1, ideal))
        order = np.int64(record["cta"]) << 16 | np.int64(record["warp"])
        worst = sums[outer, site, WORST]
        if sums[outer, site, RUNS] == 1 or cost > worst or (cost == worst and order < sums[outer, site, KEY]):
            sums[outer, site, WORST], sums[outer, site, KEY], sums[outer, site, KIND] = cost, order, code
            sums[outer, site, WIDTH], sums[outer, site, MASK] = width, mask
            for lane in range(32):
                worst_at[outer, site, lane] = (
                    np.uint64(raw[row, FIRST + 2 * lane]) | np.uint64(raw[row, FIRST + 1 + 2 * lane]) << 32
                )
