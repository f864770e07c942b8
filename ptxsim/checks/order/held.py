"""What has read a line of shared memory that is no warp: products of warpgroups, and copies that complete on mbarriers. For bodies.

A line has room for two of them, by their columns of clocks.
"""

from __future__ import annotations

from ptxsim.checks.order.state import COPIED, NOW, PRODUCTS, UNITS, Order
from ptxsim.jit.body import Array

HALF_BITS, HALF = 16, 0xFFFF  # of a line's `held`, for each of two: its column, from COPIED on, plus one; 0 for none


def hold(o: Order, one: Array, column: int, era: int) -> None:
    """Remember at a line that what has a column has read it, in an era; where there is no room, that the line cannot tell."""
    first, second = int(one["held"]) & HALF, int(one["held"]) >> HALF_BITS
    reader, now = column - int(o.n[COPIED]) + 1, int(o.n[NOW])
    if first == 0 or first == reader:
        one["held"], one["first"] = second << HALF_BITS | reader, now
    elif second == 0 or second == reader:
        one["held"], one["second"] = reader << HALF_BITS | first, now
    elif is_product(o, column):
        one["others"] = now
    else:
        one["source"] = era


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
