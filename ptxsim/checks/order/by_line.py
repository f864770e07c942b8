"""Lines of shared memory that one record has written whole: the line says by whom, and its granules do not. For bodies.

Tiles are copied, waited for and copied over line by line, and writing each of their granules would cost more than all else. The granules
are written (`lay_out`) before one of them is looked at or written alone.
"""

from __future__ import annotations

from ptxsim.checks.order.cells import OWNER, first_line, line_of
from ptxsim.checks.order.clocks import lowest
from ptxsim.checks.order.state import CTAS, LINE_BITS, LINES, NONE, NOW, PLAIN, SHIFT, WHOLE_LINES, Order
from ptxsim.jit.blocks import blocks_of
from ptxsim.jit.body import Array
from ptxsim.jit.filling import fill_lines
from ptxsim.lanes import LANES


def fills_lines(o: Order, record: Array) -> bool:
    """Whether a record's bytes are whole lines of shared memory, each in order, but that numbers of lanes may be exchanged by an exclusive or."""
    return (
        o.n[WHOLE_LINES] != 0
        and o.n[PLAIN] == 0
        and fill_lines(record["addresses"], int(record["mask"]), int(record["width"]))
    )


def write_lines(o: Order, slot: int, record: Array, writer: int, step: int) -> None:
    """Whole lines are written now: by `writer`, or where `step` is 1, each lane's part by the lane's own after it."""
    mask, addresses, now, site = int(record["mask"]), record["addresses"], int(o.n[NOW]), int(record["site"])
    each = (1 << LINE_BITS) // int(record["width"])
    lane, bits = 0, LINE_BITS - (each - 1).bit_count() if step else LINE_BITS
    while lane < LANES:
        if mask >> lane & 1:
            at, first = line_of(o, slot, int(addresses[lane])), writer
            if step:
                first = writer + lane ^ (int(addresses[lane]) & (1 << LINE_BITS) - 1) >> bits
            if at != NONE:
                one = o.lines[at]
                one["wrote"], one["writer"], one["site"], one["bits"] = now, first, site, bits
        lane += each


def are_of_lanes(o: Order, slot: int, record: Array, writer: int, floor: int) -> bool:
    """Whether whole lines have last been written by lanes after `writer`, each its own part, and not updated since a floor."""
    mask, addresses, start = int(record["mask"]), record["addresses"], max(int(o.start[slot]), 0)
    each = (1 << LINE_BITS) // int(record["width"])
    lane, bits = 0, LINE_BITS - (each - 1).bit_count()
    while lane < LANES:
        if mask >> lane & 1:
            at, first = line_of(o, slot, int(addresses[lane])), writer + lane
            one = o.lines[max(at, 0)]
            first ^= (int(addresses[lane]) & (1 << LINE_BITS) - 1) >> bits
            if (
                at == NONE
                or one["wrote"] <= start
                or one["writer"] != first
                or one["bits"] != bits
                or one["updated"] > floor
            ):
                return False
        lane += each
    return True


def lay_out(o: Order, at: int) -> None:
    """Tell a line's granules who wrote them, if it does not."""
    line = o.lines[at]
    time = int(line["wrote"])
    if time == 0:
        return
    writer, site, bits, line["wrote"] = int(line["writer"]), int(line["site"]), int(line["bits"]), 0
    shift, count = int(o.n[SHIFT]), 1 << LINE_BITS - int(o.n[SHIFT])
    for number in range(count):
        one = o.cells[at * count + number]
        one["writer"], one["written"], one["site"], one["last"] = writer ^ (number << shift >> bits), time, site, time


def lay_out_around(o: Order, first: int, last: int) -> None:
    """The same of the lines of some granules."""
    to_line = LINE_BITS - int(o.n[SHIFT])
    for at in range(first >> to_line, (last >> to_line) + 1):
        lay_out(o, at)


def lay_out_under(o: Order, slot: int, addresses: Array, mask: int, width: int) -> None:
    """The same of all lines of an access, those aside that are of no shared memory."""
    rest = mask
    while rest:
        first, touched, part = blocks_of(addresses, rest, width, LINE_BITS)
        rest &= ~part
        rank = first >> OWNER
        base, end = first_line(o, slot, rank), (rank << OWNER) + int(o.n[LINES])
        while touched and rank < o.n[CTAS]:
            number = first + lowest(touched)
            touched &= touched - 1
            if number < end:
                lay_out(o, base + number)
