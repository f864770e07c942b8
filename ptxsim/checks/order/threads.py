"""Clusters that were checked separately, on several threads: whether one has written global memory that another has accessed.

If so, the launch is run again in order: only then is it known what is wrong, and what is not.
"""

from __future__ import annotations

import numpy as np

from ptxsim.checks.order.memory.dependents import note_sites
from ptxsim.checks.order.memory.runs import LINE
from ptxsim.checks.order.slots import page_entry
from ptxsim.checks.order.state import NONE, PAGE_LINES, Order
from ptxsim.jit.body import body


@body(enough=0)
def meet(one: Order, other: Order) -> bool:
    """Whether any byte has been accessed in both, and written in one of them."""
    wrote, read = np.zeros(LINE, np.int32), np.zeros(LINE, np.int32)
    wrote_there, read_there = np.zeros(LINE, np.int32), np.zeros(LINE, np.int32)
    for entry in range(len(one.page_key)):
        page = int(one.page_key[entry])
        there = page_entry(other, page) if page != NONE else 0
        if page == NONE or other.page_key[there] == NONE:
            continue
        mine, theirs = int(one.page_at[entry]), int(other.page_at[there])
        for line in range(1 << PAGE_LINES):
            a, b = one.far_lines[(mine << PAGE_LINES) + line], other.far_lines[(theirs << PAGE_LINES) + line]
            if (a["written"] != 0 and b["written"] + b["read"] > 0) or (b["written"] != 0 and a["read"] != 0):
                note_sites(one, mine, page, line, wrote, read)
                note_sites(other, theirs, page, line, wrote_there, read_there)
                for at in range(LINE):
                    if wrote[at] != 0 and wrote_there[at] + read_there[at] != 0:
                        return True
                    if wrote_there[at] != 0 and read[at] != 0:
                        return True
    return False
