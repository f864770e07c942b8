"""Clusters that were looked at apart, on several threads: whether one has written global memory that another has accessed.

Then what is wrong, and what is not, shows only where all of them are looked at in order.
"""

from __future__ import annotations

import numpy as np

from ptxsim.checks.order.clocks import lowest
from ptxsim.checks.order.global_lines import LINE
from ptxsim.checks.order.slots import page_entry
from ptxsim.checks.order.state import FAR_WAYS, HOLDS_WRITE, LINE_BITS, NONE, PAGE_BITS, PAGE_LINES, SHIFT, Order
from ptxsim.jit.body import Array, body

READ, WRITTEN = 1, 2


@body(enough=0)
def meet(one: Order, other: Order) -> bool:
    """Whether any byte has been accessed in both, and written in one of them."""
    bytes_of_one, bytes_of_other = np.zeros(LINE, np.uint8), np.zeros(LINE, np.uint8)
    for entry in range(len(one.page_key)):
        page = int(one.page_key[entry])
        there = page_entry(other, page) if page != NONE else 0
        if page == NONE or other.page_key[there] == NONE:
            continue
        mine, theirs = int(one.page_at[entry]), int(other.page_at[there])
        for line in range(1 << PAGE_LINES):
            a, b = one.far_lines[(mine << PAGE_LINES) + line], other.far_lines[(theirs << PAGE_LINES) + line]
            if (a["written"] != 0 and b["written"] + b["read"] > 0) or (b["written"] != 0 and a["read"] != 0):
                note_bytes(one, mine, page, line, bytes_of_one)
                note_bytes(other, theirs, page, line, bytes_of_other)
                for at in range(LINE):
                    if (bytes_of_one[at] | bytes_of_other[at]) & WRITTEN and bytes_of_one[at] * bytes_of_other[at] > 0:
                        return True
    return False


def note_bytes(o: Order, place: int, page: int, line: int, found: Array) -> None:
    """READ and WRITTEN of each byte of a line: as its granules say, and the accesses that it holds itself."""
    shift, at = int(o.n[SHIFT]), (place << PAGE_LINES) + line
    granules, start = int(o.page_granules[place]), (page << PAGE_BITS) + (line << LINE_BITS)
    if granules != NONE:
        granules = (granules << PAGE_BITS - shift) + (line << LINE_BITS - shift)
    for byte in range(LINE):
        found[byte] = 0
        if granules != NONE:
            cell = granules + (byte >> shift)
            for way in range(FAR_WAYS):
                if o.far_reads[cell, way]["time"] != 0:
                    found[byte] |= READ
            if o.far_cells[cell]["written"] != 0 or o.far_cells[cell]["update"] != 0:
                found[byte] |= WRITTEN
    held = int(o.far_lines[at]["held"])
    for way in range(2 if held else 0):
        one = o.far_ways[at, way]
        lanes, what = int(one["lanes"]) if one["time"] != 0 else 0, WRITTEN if held == HOLDS_WRITE else READ
        while lanes:
            first = int(one["start"]) + lowest(lanes) * int(one["step"]) - start
            lanes &= lanes - 1
            for byte in range(max(first, 0), min(first + int(one["width"]), LINE)):
                found[byte] |= what
