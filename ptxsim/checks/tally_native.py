"""The tallies of `checks.banks` in one loop over the records, compiled by numba. Import it only where there is much to count."""

from __future__ import annotations

import numpy as np
from numba import njit

from ptxsim.layout.banks_native import distinct_of, wavefronts_of

# What an access is counted as; order of layout.banks.KINDS, then a cp.async and an atomic of one lane.
LD, ST, LDMATRIX, STMATRIX, ATOM, RED, CAS, COUNT, COPY, LEADER = range(10)
# Columns of the tallies; the last three belong to the worst execution.
RUNS, COST, IDEAL, LINES, WORST_RATIO, WORST, KEY, KIND, WIDTH, MASK = range(10)
COLUMNS = 10


@njit(cache=True, nogil=True)
def _is_paired(address, active, step):
    for lane in range(32):
        if active[lane] and active[lane ^ step] and address[lane] != address[lane ^ step]:
            return False
    return True


@njit(cache=True, nogil=True)
def tally(
    records,
    addresses,
    code_of_event,
    code_of_site,
    shared_space,
    global_space,
    skip_flags,
    shared,
    shared_at,
    outer,
    outer_at,
):
    """Add records to `shared` and `outer`, int64 (sites, COLUMNS), and the worst addresses uint64 (sites, 32).

    addresses: the records' field, uint64 (n, 32), which is faster to read by itself. code_of_event: what an event is counted as, -1 for nothing. code_of_site: COUNT or LEADER where an atomic is one.
    skip_flags: of copies that are not counted.
    """
    chain, word_of, length = np.empty(544, np.int64), np.empty(512, np.int64), np.empty(32, np.int64)
    seen = np.empty(32, np.int64)
    address, active = np.empty(32, np.int64), np.empty(32, np.bool_)
    lanes, before = 0, np.int64(-1)
    for row in range(len(records)):
        record = records[row]
        code = code_of_event[record["event"]]
        space = record["space"]
        if code < 0 or (space != shared_space and space != global_space):
            continue
        if code == COPY:
            if record["flags"] & skip_flags or space != shared_space:
                continue
            code = ST
        site, width = record["site"], np.int64(record["width"])
        mask = np.int64(record["mask"])
        if space == shared_space and code_of_site[site] == LEADER:
            mask &= -mask
        full = mask == 0xFFFFFFFF
        for lane in range(32):
            address[lane] = np.int64(addresses[row, lane])
        if mask != before:
            lanes, before = 0, mask
            for lane in range(32):
                active[lane] = (mask >> lane) & 1 != 0
                lanes += active[lane]
        if space == shared_space:
            if code_of_site[site] == COUNT:
                code = COUNT
            is_matrix = code == LDMATRIX or code == STMATRIX
            merges = code < ATOM or code == COUNT
            words = 4 if is_matrix else max(1, width // 4) if code <= ST else 1
            phase = 32 // words
            if code == LD and words > 1 and (_is_paired(address, active, 1) or _is_paired(address, active, 2)):
                phase *= 2
            cost, ideal = wavefronts_of(address, active, full, words, phase, merges, chain, word_of, length)
            cost, ideal = max(1, cost), max(1, ideal)
            if code == CAS:
                cost, ideal = 2 * cost, 2 * ideal
            sums, worst_at, lines = shared, shared_at, 0
        else:
            cost = distinct_of(address, active, 5, seen)
            lines = distinct_of(address, active, 7, seen)
            if ATOM <= code <= CAS:
                spare = lanes - distinct_of(address, active, 2, seen)
                cost, lines = cost + spare, lines + spare
            ideal = min(max(1, (lanes * width + 31) // 32), cost)
            sums, worst_at = outer, outer_at
        total = sums[site]
        total[RUNS] += 1
        total[COST] += cost
        total[IDEAL] += ideal
        total[LINES] += lines
        total[WORST_RATIO] = max(total[WORST_RATIO], (cost + ideal - 1) // max(1, ideal))
        key = np.int64(record["cta"]) << 16 | np.int64(record["warp"])
        if cost > total[WORST] or (cost == total[WORST] and key < total[KEY]):
            total[WORST], total[KEY], total[KIND], total[WIDTH] = cost, key, code, width
            total[MASK] = mask
            for lane in range(32):
                worst_at[site, lane] = addresses[row, lane]
