"""The readers of a line of shared memory that are no warps: products of warpgroups, and copies that complete on mbarriers. For bodies.

A line has room for two of them, by their columns of clocks.
"""

from __future__ import annotations

from ptxsim.checks.order.state import COPIED, INITS, NOW, PRODUCTS, UNITS, Order
from ptxsim.jit.body import Array

HALF_BITS, HALF = 16, 0xFFFF  # of a line's `held`, for each of two: its column, from COPIED on, plus one; 0 for none


def hold(o: Order, one: Array, column: int, era: int) -> None:
    """Remember at a line that a reader with a column of clocks has read it, in an era, or that a copy reads it (the column of those in flight).

    Where there is no room for it, remember that the line cannot tell.
    """
    first, second = int(one["held"]) & HALF, int(one["held"]) >> HALF_BITS
    reader, now, flying = column - int(o.n[COPIED]) + 1, int(o.n[NOW]), int(o.n[INITS] - o.n[COPIED])
    if reader == flying and flying in (first, second):
        one["source"] = era  # one of them will be over first
    elif column < o.n[INITS]:  # it is over
        first, second = 0 if first == flying else first, 0 if second == flying else second
    if first == 0 or first == reader:
        first, one["first"] = reader, now
    elif second == 0 or second == reader:
        second, one["second"] = reader, now
    elif is_product(o, column):
        one["others"] = now
    else:
        one["source"] = era
    one["held"] = second << HALF_BITS | first


def is_product(o: Order, column: int) -> bool:
    """Whether a column is that of a warpgroup's products."""
    return bool(o.n[PRODUCTS] <= column < o.n[UNITS] - 1)


def knows_held(o: Order, row: int, at: int, start: int) -> bool:
    """Whether a row knows of all reads of a line by what it holds, and by others than warps."""
    one = o.lines[at]
    held = int(one["held"])
    if one["others"] > o.floor[row]:
        return False
    return held == 0 or (
        knows_reader(o, row, held & HALF, int(one["first"]), start)
        and knows_reader(o, row, held >> HALF_BITS, int(one["second"]), start)
    )


def knows_reader(o: Order, row: int, reader: int, time: int, start: int) -> bool:
    """The same of one. What threads have waited for is known with all that they have done; that a copy is over is nobody's doing."""
    column = int(o.n[COPIED]) - 1 + reader
    known = int(o.floor[row]) if is_product(o, column) else start
    return reader == 0 or time <= known or bool(o.clock[row, column] >= time)
