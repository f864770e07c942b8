"""Tensor memory: who uses cells knows what others have done with them before. For bodies.

A clock has two columns for each warp of the cluster. The first says up to when what the warp has done with tensor memory comes before
what the row's thread does there next; the second up to when it comes before what synchronises threads, even relaxed:
the fence before a synchronisation raises it, and a commit does so for who waits at its mbarrier. What was handed on relaxed counts
after the fence that comes after one. Loads and stores that a wait has covered are in order with releases and acquires like other
accesses, too; what the tensor core does is not, since it goes on after its thread. PTX ISA, "TensorCore 5th Generation
Instructions: Specialized Inter-thread Synchronization", "Canonical synchronization patterns".
"""

from __future__ import annotations

from ptxsim.checks.order.cells import FREED, UNFENCED, tell
from ptxsim.checks.order.clocks import first_row, lowest, own_row, row_of, share, sharing, waiting_row
from ptxsim.checks.order.state import CTAS, EDGES, NONE, NOW, TENSOR, TENSOR_CELLS, WARPS, Order
from ptxsim.jit.body import Array
from ptxsim.lanes import LANES
from ptxsim.machine.event import TensorUse

GROUPS = 8  # of rows of a column
WORDS = 3  # of a record's numbers, the first that says which columns

# ---- fences ----


def fence_before(o: Order, slot: int, warp: int, lanes: int) -> None:
    """What lanes know, and what their warp has done, comes before what synchronises them from now on."""
    first, warps, rest = int(o.n[TENSOR]), int(o.n[CTAS] * o.n[WARPS]), lanes
    o.n[EDGES] += 1
    while rest and first:
        part = sharing(o, slot, warp, rest)
        mine = own_row(o, slot, warp, part)
        share(o, slot, warp, part, mine)
        row = o.clock[first_row(o, slot, warp) + mine]
        for other in range(warps):
            row[first + warps + other] = max(row[first + warps + other], row[first + other])
        row[first + warps + warp] = o.n[NOW]
        rest &= ~part


def fence_after(o: Order, slot: int, warp: int, lanes: int) -> None:
    """What was handed on to lanes, even relaxed, comes before what they do with tensor memory from now on."""
    first, warps = int(o.n[TENSOR]), int(o.n[CTAS] * o.n[WARPS])
    for lane in range(LANES):
        unit = warp * LANES + lane
        if lanes >> lane & 1 and o.need[slot, unit] != NONE and first:
            mine = own_row(o, slot, warp, 1 << lane)
            share(o, slot, warp, 1 << lane, mine)
            row, read = o.clock[first_row(o, slot, warp) + mine], o.clock[waiting_row(o, slot, unit)]
            for other in range(warps):
                time = max(row[first + other], max(read[first + other], read[first + warps + other]))
                for thread in range(
                    other * LANES, (other + 1) * LANES
                ):  # a release comes after waits for loads and stores
                    time = max(time, read[thread])
                row[first + other] = time


def hand_fenced(o: Order, row: int, source: int) -> None:
    """A row knows what comes before a fence of another one's thread."""
    first, warps = int(o.n[TENSOR]), int(o.n[CTAS] * o.n[WARPS])
    for other in range(warps):
        o.clock[row, first + other] = max(o.clock[row, first + other], o.clock[source, first + warps + other])


def release_committed(o: Order, place: int, warp: int) -> None:
    """What a warp has begun until now is complete for who waits where its commit arrives."""
    if place != NONE and o.n[TENSOR]:
        o.kept[o.entries[place]["row"], int(o.n[TENSOR]) + warp] = o.n[NOW]
        o.entries[place]["snap"] = 0


# ---- cells ----


def use(o: Order, slot: int, warp: int, mask: int, numbers: Array, site: int, found: Array) -> None:
    """Lanes of a warp use cells of a CTA, or have waited until such work is over; numbers: of the record, see Event."""
    how, told = int(numbers[1]), int(numbers[1]) & (TensorUse.SAID | TensorUse.ENDS) != 0
    by_core, writes, start = how & TensorUse.CORE, how & TensorUse.WRITES, int(o.start[slot])
    warps, known, since = int(o.n[CTAS] * o.n[WARPS]), NONE, NONE  # `known` is known up to `since`
    for column in range(TENSOR_CELLS // GROUPS):
        if not int(numbers[WORDS + (column >> 6)]) >> (column & 63) & 1 or not o.n[TENSOR]:
            continue
        for group in range(GROUPS):
            if not int(numbers[2]) >> group & 1:
                continue
            cell = o.tensors[cell_of(o, slot, int(numbers[0]), column, group)]
            if how & TensorUse.ENDS:
                mine = cell[0 if writes else 1 + warp]
                if mine["warp"] == warp:
                    mine["time"] = o.n[NOW]
                continue
            for place in range(1 + warps if writes else 1):
                other = cell[place]
                if told or other["time"] <= start or (other["warp"] == known and other["time"] <= since):
                    continue
                if is_before(o, slot, warp, mask, other, by_core):
                    known, since = int(other["warp"]), int(other["time"])
                else:
                    unordered(o, found, UNFENCED, site, other, column, slot, warp, mask)
                    told = True
            mine = cell[0 if writes else 1 + warp]
            mine["warp"], mine["time"], mine["lanes"], mine["site"], mine["core"] = warp, o.n[NOW], mask, site, by_core


def free(o: Order, slot: int, warp: int, mask: int, numbers: Array, site: int, found: Array) -> None:
    """A warp gives columns back: a use by another warp that it is not ordered after may come later, when another CTA has them."""
    if int(numbers[1]) & TensorUse.SAID or not o.n[TENSOR]:
        return
    for column in range(TENSOR_CELLS // GROUPS):
        if not int(numbers[WORDS + (column >> 6)]) >> (column & 63) & 1:
            continue
        for group in range(GROUPS):
            cell = o.tensors[cell_of(o, slot, int(numbers[0]), column, group)]
            for place in range(1 + int(o.n[CTAS] * o.n[WARPS])):
                other = cell[place]
                if other["time"] <= o.start[slot] or other["warp"] == warp:
                    continue
                if not knows_lane(o, slot, warp, mask, other) and not is_before(o, slot, warp, mask, other, 0):
                    unordered(o, found, FREED, site, other, column, slot, warp, mask)
                    return


def unordered(
    o: Order, found: Array, what: int, site: int, other: Array, column: int, slot: int, warp: int, mask: int
) -> None:  # fmt: skip
    """Note that a use of a column does not come after another warp's."""
    tell(o, found, what, site, int(other["site"]), column, slot, warp, lowest(mask), int(other["warp"]), False)


def cell_of(o: Order, slot: int, rank: int, column: int, group: int) -> int:
    return ((slot * int(o.n[CTAS]) + rank) * TENSOR_CELLS) + column * GROUPS + group


def is_before(o: Order, slot: int, warp: int, mask: int, other: Array, by_core: int) -> bool:
    """Whether a use comes before the next one of lanes of a warp, as one of them knows. What the tensor core does for one warp it does in order."""
    whose, time, rest = int(other["warp"]), int(other["time"]), mask
    if whose == warp and (by_core or not other["core"]):
        return True
    first = int(o.n[TENSOR]) + whose
    while rest:
        row = o.clock[row_of(o, slot, warp * LANES + lowest(rest))]
        if row[first] >= time or (whose != warp and row[first + int(o.n[CTAS] * o.n[WARPS])] >= time):
            return True
        rest &= ~sharing(o, slot, warp, rest)
    return not other["core"] and knows_lane(o, slot, warp, mask, other)


def knows_lane(o: Order, slot: int, warp: int, mask: int, other: Array) -> bool:
    """Whether one of some lanes knows of one of the lanes of a use that it has done what they did together."""
    rest = mask
    while rest:
        row, lanes = o.clock[row_of(o, slot, warp * LANES + lowest(rest))], int(other["lanes"])
        while lanes:
            if row[int(other["warp"]) * LANES + lowest(lanes)] >= other["time"]:
                return True
            lanes &= lanes - 1
        rest &= ~sharing(o, slot, warp, rest)
    return False
