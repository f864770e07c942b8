"""Shared memory that has been written since its CTA began, and only read after that. For bodies."""

from __future__ import annotations

from ptxsim.checks.order.log import note_lines
from ptxsim.checks.order.sites import LATER
from ptxsim.checks.order.state import (
    ALWAYS,
    CHANGED,
    CTAS,
    END_WHOLE,
    FIRST_WHOLE,
    LINE_BITS,
    LINES,
    LOGGED,
    NOTED,
    NOW,
    SHIFT,
    Order,
)
from ptxsim.jit.body import Array
from ptxsim.jit.vectors import lanes_between
from ptxsim.machine.event import FLAG_ASYNC_PROXY, Event


def change(o: Order, slot: int, event: int, flags: int, bits: int) -> None:
    """Something happens to shared memory: who asks for what has been read there is to find it at its lines."""
    if event == Event.LOAD or event == Event.LDMATRIX:
        return
    is_copy = event >= Event.ASYNC_READ or bits & LATER != 0 or flags & FLAG_ASYNC_PROXY != 0
    o.whole[slot, CHANGED] = ALWAYS if is_copy else max(o.whole[slot, CHANGED], o.n[NOW])
    if o.n[NOTED] != o.n[LOGGED]:
        note_lines(o)


def is_known(o: Order, slot: int, row: int, record: Array) -> bool:
    """Whether a row of a warp knows all that has been done to the shared memory of its CTA but to read it, and what a record reads has been
    written. Then its lines are noted only where somebody asks for them: mostly a barrier comes first."""
    if o.n[CTAS] > 1 or o.whole[slot, CHANGED] > o.floor[row]:
        return False
    first, end = int(o.whole[slot, FIRST_WHOLE]) << LINE_BITS, int(o.whole[slot, END_WHOLE]) << LINE_BITS
    mask = int(record["mask"])
    return end > first and lanes_between(record["addresses"], mask, first, end - int(record["width"])) == mask


def fill(o: Order, slot: int, line: int) -> bool:
    """Whether all granules of a line have been written since their CTA began, which is remembered."""
    one, start, per_line = o.lines[line], int(o.start[slot]), LINE_BITS - int(o.n[SHIFT])
    if one["wrote"] <= start:
        for cell in range(line << per_line, line + 1 << per_line):
            if o.cells[cell]["written"] <= start or one["wrote"] != 0:
                return False
    one["full"] = o.cluster[slot] + 1
    if o.n[CTAS] == 1:
        extend(o, slot, line % int(o.n[LINES]))
    return True


def extend(o: Order, slot: int, line: int) -> None:
    """A line of a slot is full now: those that are, side by side."""
    lines, era, base = int(o.n[LINES]), o.cluster[slot] + 1, slot * int(o.n[LINES])
    first, end = int(o.whole[slot, FIRST_WHOLE]), int(o.whole[slot, END_WHOLE])
    if first == end:
        first, end = line, line + 1
    while end < lines and o.lines[base + end]["full"] == era:
        end += 1
    while first > 0 and o.lines[base + first - 1]["full"] == era:
        first -= 1
    o.whole[slot, FIRST_WHOLE], o.whole[slot, END_WHOLE] = first, end
