"""The tallies of `checks.banks` in one loop over the records, compiled by numba. Import it only where there is much to count."""

from __future__ import annotations

import numpy as np

from ptxsim.layout.banks_native import compiled, distinct_of, wavefronts_of

# What an access is counted as; order of layout.banks.KINDS, then a cp.async, an atomic of one lane, and nothing.
LD, ST, LDMATRIX, STMATRIX, ATOM, RED, CAS, COUNT, COPY, LEADER, ELSEWHERE = range(11)
# Columns of the tallies; the last three belong to the worst execution.
RUNS, COST, IDEAL, LINES, WORST_RATIO, WORST, KEY, KIND, WIDTH, MASK = range(10)
COLUMNS = 10


@compiled
def _is_paired(address, active, step):
    for lane in range(32):
        if active[lane] and active[lane ^ step] and address[lane] != address[lane ^ step]:
            return False
    return True


@compiled
def tally(
    records, addresses, code_of_event, code_of_site, spaces, skip_flags, more_flag, sums, worst_at, last, last_at
):
    """Add records to `sums`, int64 (2, sites, COLUMNS), and to the worst addresses, uint64 (2, sites, 32).

    addresses: the records' field, uint64 (n, 32), which is faster to read by itself. code_of_event: what an event is
    counted as, -1 for nothing. code_of_site: COUNT, CAS, LEADER or ELSEWHERE where an access to shared memory is one. spaces: of shared and of global
    memory, in the order of `sums`. skip_flags: of copies that are not counted. more_flag: of records
    that go on with the one before. last, int64 (2, sites, 6), and last_at,
    int64 (2, sites, 32): the last access of each instruction and what it cost. Loops repeat it, moved by whole lines.
    """
    chain, word_of, length = np.empty(544, np.int64), np.empty(512, np.int64), np.empty(32, np.int64)
    seen = np.empty(32, np.int64)
    address, active = np.empty(32, np.int64), np.empty(32, np.bool_)
    for row in range(len(records)):
        record = records[row]
        code = code_of_event[record["event"]]
        space = record["space"]
        if code < 0 or (space != spaces[0] and space != spaces[1]):
            continue
        outer = 1 if space == spaces[1] else 0
        if code == COPY:
            if record["flags"] & skip_flags or outer:
                continue
            code = ST
        site, width = record["site"], np.int64(record["width"])
        mask = np.int64(record["mask"])
        how = -1 if outer else code_of_site[site]
        if how == ELSEWHERE:
            continue
        if how == LEADER:
            mask &= -mask
        elif how >= 0:
            code = how
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
        base = np.int64(addresses[row, 0]) & ~127
        changed = np.int64(0)
        for lane in range(32):
            address[lane] = np.int64(addresses[row, lane]) - base
            changed |= address[lane] ^ last_at[outer, site, lane]
        if changed or last[outer, site, 0] != mask or last[outer, site, 1] != width or last[outer, site, 2] != code:
            lanes = 0
            for lane in range(32):
                last_at[outer, site, lane] = address[lane]
                address[lane] += base
                active[lane] = (mask >> lane) & 1 != 0
                lanes += active[lane]
            if outer:
                cost = distinct_of(address, active, 5, seen)
                lines = distinct_of(address, active, 7, seen)
                if ATOM <= code <= CAS:
                    spare = lanes - distinct_of(address, active, 2, seen)
                    cost, lines = cost + spare, lines + spare
                ideal = min(max(1, (lanes * width + 31) // 32), cost)
            else:
                is_matrix = code == LDMATRIX or code == STMATRIX
                merges = code < ATOM or code == COUNT
                words = 4 if is_matrix else max(1, width // 4) if code <= ST else 1
                phase = 32 // words
                if code == LD and words > 1 and (_is_paired(address, active, 1) or _is_paired(address, active, 2)):
                    phase *= 2
                cost, ideal = wavefronts_of(address, active, lanes == 32, words, phase, merges, chain, word_of, length)
                cost, ideal, lines = max(1, cost), max(1, ideal), 0
                if code == CAS:
                    cost, ideal = 2 * cost, 2 * ideal
            last[outer, site, 0], last[outer, site, 1], last[outer, site, 2] = mask, width, code
            last[outer, site, 3], last[outer, site, 4], last[outer, site, 5] = cost, ideal, lines
        cost, ideal, lines = last[outer, site, 3], last[outer, site, 4], last[outer, site, 5]
        sums[outer, site, RUNS] += 1
        sums[outer, site, COST] += cost
        sums[outer, site, IDEAL] += ideal
        sums[outer, site, LINES] += lines
        sums[outer, site, WORST_RATIO] = max(sums[outer, site, WORST_RATIO], (cost + ideal - 1) // max(1, ideal))
        key = np.int64(record["cta"]) << 16 | np.int64(record["warp"])
        worst = sums[outer, site, WORST]
        if cost > worst or (cost == worst and key < sums[outer, site, KEY]):
            sums[outer, site, WORST], sums[outer, site, KEY], sums[outer, site, KIND] = cost, key, code
            sums[outer, site, WIDTH], sums[outer, site, MASK] = width, mask
            for lane in range(32):
                worst_at[outer, site, lane] = addresses[row, lane]
