"""The asynchronous products of a warpgroup. PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions".

Four warps come to a product, which then starts. It belongs to the group that each warp commits next, and completes, in the order
of start, when a wait of any warp covers it or when it is due; who runs the machine computes it then.
"""

from __future__ import annotations

from collections.abc import MutableSequence, Sequence
from typing import Annotated, Any, cast

from ptxsim.jit.body import body
from ptxsim.jit.record import I32, I64, U32, U64, Record, record
from ptxsim.lanes import LANES
from ptxsim.machine.barriers.cta import whole
from ptxsim.machine.records import BARRIERS, CtaRecord, WarpRecord

WARPS = 4  # of a warpgroup
RING = 128  # products of a warpgroup that are remembered: more than can have accumulators of their own

# What `arrive` returns. The last two: nothing has changed.
WAITS, STARTED, NO_WARPGROUP, OTHER_PRODUCT = range(4)
NOT_COMMITTED = -1  # in place of a number of products

ALL_HERE = (1 << WARPS) - 1


@record
class ProductRecord(Record):
    """An asynchronous product of a warpgroup."""

    site: I32  # of the instruction
    line: I32
    keep: I32  # all ones if it adds to its accumulators, else 0
    a: U64  # descriptors of its tiles; 0 where A comes from registers
    b: U64
    due: I64  # the turn at which it completes without a wait
    group: Annotated[MutableSequence[int], I64, WARPS]  # of each warp, counted from its first
    run: I64  # native code that computes it, that code's table, and steps over the columns
    table: I64
    steps: I64
    metadata: Annotated[MutableSequence[int], U32, LANES * WARPS]  # of a sparse one


@record
class WarpgroupRecord(Record):
    """Four warps of a CTA and their products, which are counted in the order of their start."""

    issued: I64
    completed: I64
    come: I32  # the warps, a bit for each, that have come to the next product, whose record is filled already
    committed: Annotated[MutableSequence[int], I64, WARPS]  # groups of each warp
    covered: Annotated[MutableSequence[int], I64, WARPS]  # products that waits of each warp have covered
    warps: Annotated[MutableSequence[int], I64, WARPS]  # addresses of their records
    ring: Annotated[MutableSequence[ProductRecord], ProductRecord, RING]


def warpgroups_of(warps: Sequence[WarpRecord]) -> Sequence[WarpgroupRecord]:
    """Records of the warpgroups of a CTA's warps, side by side; the last one may lack warps."""
    found: Any = (WarpgroupRecord * -(-len(warps) // WARPS))()
    for number, warp in enumerate(warps):
        found[number // WARPS].warps[number % WARPS] = warp.address
    return cast("Sequence[WarpgroupRecord]", found)


@body
def arrive(
    cta: CtaRecord, group: WarpgroupRecord, warp: WarpRecord, site: I32, line: I32, keep: I32, a: U64, b: U64
) -> I32:
    """A warp comes to a product, which the last of the four starts."""
    number = warp.index // WARPS
    if (number + 1) * WARPS * LANES > whole(cta.threads):
        return NO_WARPGROUP
    product = group.ring[group.issued % RING]
    if group.come == 0:
        product.site = site
        product.line = line
        product.keep = keep
        product.a = a
        product.b = b
    elif product.site != site or product.keep != keep or product.a != a or product.b != b:
        return OTHER_PRODUCT
    place = warp.index % WARPS
    product.group[place] = group.committed[place]
    group.come |= 1 << place
    if group.come != ALL_HERE:
        return WAITS
    group.come = 0
    group.issued += 1
    cta.barriers[BARRIERS + number].phase += 1
    for place in range(WARPS):
        group.covered[place] = max(group.covered[place], forgotten(group))
    return STARTED


def covered(group: WarpgroupRecord) -> int:
    """How many products the wait of some warp has covered."""
    most = 0
    for place in range(WARPS):
        most = max(most, group.covered[place])
    return most


def forgotten(group: WarpgroupRecord) -> int:
    """How many products must be over, since the next one takes the record of the last of them."""
    return group.issued + 1 - RING


@body
def commit(group: WarpgroupRecord, warp: WarpRecord) -> None:
    """What a warp has in no group becomes one, which may be empty."""
    group.committed[warp.index % WARPS] += 1


@body
def wait(group: WarpgroupRecord, warp: WarpRecord, pending: I64) -> I64:
    """A warp waits for all of its groups but the last `pending`: how many products must be over.

    NOT_COMMITTED, with nothing changed, if it has products but none of them is in a group.
    """
    place = warp.index % WARPS
    number, groups = group.covered[place], group.committed[place]
    if number < group.issued and group.ring[number % RING].group[place] == groups:
        return NOT_COMMITTED
    while number < group.issued and group.ring[number % RING].group[place] < groups - pending:
        number += 1
    group.covered[place] = number
    return number


def set_due(group: WarpgroupRecord, due: int) -> None:
    """When the product that has started completes without a wait: not before the one before it."""
    before, product = group.ring[(group.issued - 2) % RING], group.ring[(group.issued - 1) % RING]
    product.due = max(due, before.due) if group.issued - 1 > group.completed else due


@body
def due(group: WarpgroupRecord, now: I64) -> I64:
    """How many products must be over at a turn, whose moments come in the order of their start."""
    number = group.completed
    while number < group.issued and group.ring[number % RING].due <= now:
        number += 1
    return number


def describe(group: WarpgroupRecord) -> str:
    """Who has come to the next product, for a deadlock report."""
    line = group.ring[group.issued % RING].line
    return f"{group.come.bit_count()} of {WARPS} warps have come to the product of line {line}"
