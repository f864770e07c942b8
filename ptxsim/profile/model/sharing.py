"""What the SMs of a launch have in common: lines of global memory that several read, and few places that atomics update."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ptxsim.profile.figures import Figures
from ptxsim.profile.model.different import different
from ptxsim.profile.model.entries import BULK, LOAD, LOCAL_LINES, MOST_WARPS
from ptxsim.profile.model.trace import Trace

SCATTERED = 8  # lines of an access from which on lanes have chosen them
MIXED = 0x9E3779B97F4A7C1  # spreads the bits of a line's number
ITS_OWN = 1.2  # CTAs that read a line, up to which each reads its own, but for the ends
LOOKED_AT = 1 << 18  # such accesses, the first of a launch, that are compared


class Reads(NamedTuple):
    """What the loads and bulk copies of a launch read of global memory."""

    sms: float  # that read a line, on average over those that are read
    lines: int  # that are read; as many as need be where none is
    first: int  # of those that loads read, by address
    by_sm: np.ndarray  # lines that each of the SMs kept reads
    scattered: float = 0.0  # lines among which lanes choose, each SM in an order of its own; 0: they do not


def reads(trace: Trace, sms: int) -> Reads:
    """Who reads what; CTAs go to `sms` in turn."""
    loads = np.flatnonzero(trace.codes == LOAD)
    counts = trace.entries["count"].take(loads)
    kept = -(-sms // trace.modulus)
    if not counts.any() and not len(trace.copied):
        return Reads(1.0, 1 << 30, 0, np.zeros(kept, np.int64))
    lines = trace.lines.take(places_of(trace.entries["first"].take(loads), counts)) >> 4
    first = int(lines.min()) if len(lines) else 0
    copied = trace.copied // sms * kept + trace.copied % sms // trace.modulus
    sm = repeated(trace.entries["cta"].take(loads) % sms // trace.modulus, counts)
    pairs = different(np.concatenate([lines * kept + sm, copied]))
    read = len(different(pairs // kept))
    sharers, by_sm = 1 + (len(pairs) / read - 1) * trace.modulus, np.bincount(pairs % kept, minlength=kept)
    return Reads(sharers, read, first, by_sm, _scattered(trace, loads[counts > SCATTERED]))


def _scattered(trace: Trace, loads: np.ndarray) -> float:
    """Lines that loads of many lines read, if CTAs do not all read the same ones one after the other: those come once for all that ask. Loads of
    instructions by which each CTA reads lines of its own count for nothing."""
    rows = loads[:LOOKED_AT]
    rows = rows[trace.lines.take(trace.entries["first"].take(rows)) >> 4 < LOCAL_LINES]
    sites = trace.entries["site"][rows]
    shared = [site for site in np.unique(sites) if _readers(trace, rows[sites == site])[1] > ITS_OWN]
    rows = rows[np.isin(sites, shared)]
    if not len(rows):
        return 0.0
    warp = trace.entries["cta"][rows].astype(np.int64) * MOST_WARPS + trace.entries["warp"][rows]
    rows = rows[np.argsort(warp, kind="stable")]
    warp = np.sort(warp)
    first, counts = trace.entries["first"].take(rows), trace.entries["count"].take(rows)
    turn = (np.arange(len(warp)) - np.searchsorted(warp, warp)) * MOST_WARPS + warp % MOST_WARPS
    lines = trace.lines.take(places_of(first, counts))
    which = np.add.reduceat(lines * MIXED >> 13, np.cumsum(counts) - counts)  # as good as a list of them
    turns, kinds = len(different(turn)), len(np.unique(np.stack([turn, which], axis=1), axis=0))
    own_order = 2 * (kinds - turns) > len(rows) - turns
    read, readers = _readers(trace, rows)
    return float(read) if own_order and readers >= 2 else 0.0


def _readers(trace: Trace, rows: np.ndarray) -> tuple[int, float]:
    """How many lines accesses read, and by how many CTAs each in the mean."""
    counts = trace.entries["count"].take(rows)
    lines = trace.lines.take(places_of(trace.entries["first"].take(rows), counts)) >> 4
    ctas = np.repeat(trace.entries["cta"][rows].astype(np.int64), counts)
    read = len(different(lines))
    return read, len(different((lines - lines.min()) * (ctas.max() + 1) + ctas)) / read


def lost_from_l2(trace: Trace, figures: Figures, share: float) -> float:
    """The part of the lines of global memory that a launch touches which L2 holds no more when the launch comes again: none of little memory, all
    of much, and between those ever more (tools/data/l2). share: how many times as much the kept SMs have to do as the trace has of them."""
    by_access, copied = trace.lines >> 4, trace.copied // figures.sms
    of_l2 = figures.l1_line * trace.modulus * share / figures.l2_bytes
    if (len(by_access) + len(copied)) * of_l2 <= figures.l2_kept:
        return 0.0
    touched = len(different(np.concatenate([by_access, copied]))) * of_l2
    return float(min(1.0, max(0.0, (touched - figures.l2_kept) / (figures.l2_lost - figures.l2_kept))))


def copied_first(trace: Trace, figures: Figures) -> float:
    """The part of what bulk copies of an SM read that it has not read before."""
    bulk = trace.entries.take(np.flatnonzero(trace.codes == BULK))
    size = bulk["cycles"][bulk["object"] >= 0].sum()
    return min(1.0, len(trace.copied) * figures.l1_line / float(size)) if size else 1.0


def reduction_rate(figures: Figures, reduced: np.ndarray, modulus: int) -> float:
    """Bytes of bulk reductions that L2 gets done per cycle for the whole GPU. CTAs that reduce to the same lines follow each other through them: of a
    few lines all are at work at once, of many as their root (tools/data/exchange). reduced: as in a Trace, of each `modulus`-th SM."""
    most = figures.bulk_store_bandwidth_all * figures.sms / figures.bulk_reduction
    if not len(reduced):
        return most
    sms = 1 + (len(reduced) / len(different(reduced // figures.sms)) - 1) * modulus  # that change a line
    lines = len(reduced) * modulus / sms
    at_once = min(lines, max(figures.reduction_lines, figures.reduction_spread * lines**0.5))
    return float(1 / np.hypot(1 / (figures.reduction_line * at_once), 1 / most))


def places_of(first: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Where the lines of accesses are: first, first + 1, ... of each, as many as it counts, one after the other."""
    if (counts == 1).all():
        return first
    found: np.ndarray = np.arange(counts.sum()) + np.repeat(first - (np.cumsum(counts) - counts), counts)
    return found


def repeated(values: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Each value as many times as it counts."""
    return values if (counts == 1).all() else np.repeat(values, counts)


def atomic_rate(figures: Figures, entries: np.ndarray, all_lines: np.ndarray) -> float:
    """Atomic operations on global memory that the GPU completes per cycle: in few places, few units of L2 have all the work."""
    if not len(entries):
        return figures.atomic_units
    counts = entries["count"].astype(np.int64)
    lines = different(all_lines[places_of(entries["first"], counts)] >> 4)
    chunks = len(different(lines // (figures.atomic_chunk // figures.l1_line)))
    p = figures.atomic_spread  # chunks fall on units as chance has it
    return float((chunks**-p + figures.atomic_units**-p) ** (-1 / p))
