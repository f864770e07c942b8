"""Strong updates of global memory, for lines to which nothing else has been done (`global_lines` has the others). For bodies."""

from __future__ import annotations

from ptxsim.checks.order.cells import NOBODY, note_lane
from ptxsim.checks.order.clocks import first_row
from ptxsim.checks.order.memory.runs import LINE
from ptxsim.checks.order.slots import far_line, place_granules
from ptxsim.checks.order.state import CTAS, LINE_BITS, NONE, NOW, SHIFT, UNITS, WARPS, Order
from ptxsim.jit.body import Array
from ptxsim.lanes import LANES
from ptxsim.machine.event import Event


def update_global(o: Order, slot: int, warp: int, record: Array) -> bool:
    """A strong update, where any two such are each in the scope of the other, of lines to which nothing else has been done."""
    mask, width, site, addresses = int(record["mask"]), int(record["width"]), int(record["site"]), record["addresses"]
    known, granules, shift, now = NONE, 0, int(o.n[SHIFT]), int(o.n[NOW])
    for lane in range(LANES):
        if mask >> lane & 1 and int(addresses[lane]) >> LINE_BITS != known:
            known = int(addresses[lane]) >> LINE_BITS
            at = far_line(o, known)
            if at == NONE or place_granules(o, at) == NONE:
                return False
            line = o.far_lines[at]
            if line["read"] != 0 or line["others"] != 0 or line["held"] != 0:
                return False
    row, base = first_row(o, slot, warp) + int(o.uniform[slot, warp]), int(o.cluster[slot] * o.n[CTAS] * o.n[WARPS])
    unit, known = int(o.cluster[slot]) * int(o.n[UNITS]) + warp * LANES, NONE
    for lane in range(LANES):
        if mask >> lane & 1:
            address = int(addresses[lane])
            if address >> LINE_BITS != known:
                known = address >> LINE_BITS
                at = far_line(o, known)
                granules = place_granules(o, at)
                o.far_lines[at]["written"], o.far_lines[at]["updated"] = now, now
            first = address & LINE - 1
            for cell in range(granules + (first >> shift), granules + (first + width - 1 >> shift) + 1):
                one = o.far_cells[cell]
                written, one["last"] = int(one["written"]), now
                if written == 0:
                    one["writer"], one["written"], one["site"] = unit + lane, now, site
                else:
                    one["update"] = now
                    one["updater"] = unit + lane if record["event"] != Event.REDUCE else NOBODY
                    note_lane(o, warp, lane, row, base, o.far_updates[cell], NONE, NONE, 0, site, written)
    return True
