"""What the SMs of a launch have in common: lines of global memory that several read, and few places that atomics update."""

from __future__ import annotations

import numpy as np

from ptxsim.profile.model.entries import LOAD
from ptxsim.profile.model.figures import Figures
from ptxsim.profile.model.trace import Trace


def readers(trace: Trace, sms: int) -> tuple[float, int]:
    """How many SMs read a line of global memory, on average over the lines that are read, and how many lines those are; CTAs go to `sms`
    in turn. Where none is read, as many as need be."""
    loads = trace.entries[trace.entries["code"] == LOAD]
    counts = loads["count"].astype(np.int64)
    if not counts.sum() and not len(trace.copied):
        return 1.0, 1 << 30
    offsets = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    lines = trace.lines[np.repeat(loads["first"], counts) + offsets] >> 4
    pairs = np.unique(np.concatenate([lines * sms + np.repeat(loads["cta"] % sms, counts), trace.copied]))
    read = len(np.unique(pairs // sms))
    return 1 + (len(pairs) / read - 1) * trace.modulus, read


def atomic_rate(figures: Figures, entries: np.ndarray, all_lines: np.ndarray) -> float:
    """Atomic operations on global memory that the GPU completes per cycle: in few places, few units of L2 have all the work."""
    if not len(entries):
        return figures.atomic_units
    counts = entries["count"].astype(np.int64)
    offsets = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    lines = np.unique(all_lines[np.repeat(entries["first"], counts) + offsets] >> 4)
    chunks = len(np.unique(lines // (figures.atomic_chunk // figures.l1_line)))
    return chunks * figures.atomic_units / (chunks + figures.atomic_units)  # chunks fall on units as chance has it
