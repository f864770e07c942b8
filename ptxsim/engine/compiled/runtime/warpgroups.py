"""The products of a CTA's warpgroups in native code: machine.warpgroup with the records of the context.

A program gets here only if it keeps the rules (engine.analysis.product_hazards), and while no Python object holds the CTA:
`warpgroups` of its record is 0 otherwise, and everything is left to the interpreter.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import numpy as np

from ptxsim.engine.compiled.runtime.abi import Context
from ptxsim.engine.compiled.runtime.draws import delay
from ptxsim.engine.compiled.runtime.events import event
from ptxsim.jit.body import body
from ptxsim.jit.export import indirect, view
from ptxsim.jit.record import FLAG, I32, I64, U64, Pointer, Record, record
from ptxsim.lanes import LANES
from ptxsim.machine import warpgroup
from ptxsim.machine.barriers.mbarrier_state import NEVER
from ptxsim.machine.copies.bulk_bytes import LONGS
from ptxsim.machine.copies.bulk_records import BulkCopies
from ptxsim.machine.copies.bulk_state import UNKNOWN_SWIZZLE, swizzle_at
from ptxsim.machine.event import FLAG_ASYNC_PROXY, FLAG_READ, Event, Space
from ptxsim.machine.records import CtaRecord, WarpRecord
from ptxsim.machine.warpgroup import RING, WARPS, ProductRecord, WarpgroupRecord

GROUP_BYTES = WarpgroupRecord.dtype.itemsize
TILES = 1024  # that have been looked at and are remembered
LEFT = -1  # in place of what machine.warpgroup.arrive returns: nothing has changed, Python has to go on
Words = Annotated[Sequence[int], Pointer(np.dtype(np.uint32), LANES)]


@record
class KnownTile(Record):
    """A tile of an instruction's operand, B for odd ones, and where its pieces are (engine.compiled.tensor.tiles)."""

    descriptor: U64
    pieces: I64  # an address; 0: unknown, or the interpreter reports what is wrong
    site: I32
    # For observers: the blocks that are read (address, count, bytes of each); for checks: the lowest address, the swizzle.
    blocks: I64
    count: I64
    width: I64
    low: I64
    swizzle: I64
    doubtful: I64  # whether its start is right only for what a tensor copy has brought


@indirect
def compute(
    address: I64, context: Context, group: WarpgroupRecord, product: ProductRecord, pieces_a: I64, pieces_b: I64
) -> None:
    raise NotImplementedError


@indirect
def find_tile(address: I64, place: I32, site: I32, descriptor: U64) -> I64:
    raise NotImplementedError


def group_of(warp: WarpRecord) -> int:
    """The address of the warpgroup of a warp, 0 where Python holds the CTA."""
    first = view(warp.owner, CtaRecord, 1)[0].warpgroups
    return first + warp.index // WARPS * GROUP_BYTES if first != 0 else 0


def group_ending_at(context: Context, number: int) -> int:
    """The address of the warpgroup whose last warp is that of a number in the context, or 0."""
    warp = view(context.warps + number * context.stride, WarpRecord, 1)[0]
    return group_of(warp) if warp.index % WARPS == WARPS - 1 else 0


@body
def tile(context: Context, warp: WarpRecord, site: I32, is_b: I32, descriptor: U64) -> I64:
    """The address of the pieces of a tile, or 0 where the slow path has to report something."""
    known: KnownTile = view(context.tiles, KnownTile, TILES)[look(context, site, is_b, descriptor)]
    written = UNKNOWN_SWIZZLE
    if context.bulk != 0 and known.pieces != 0:
        fine = UNKNOWN_SWIZZLE if known.doubtful != 0 else known.swizzle
        written = swizzle_at(view(context.bulk, BulkCopies, 1)[0], warp.shared + known.low, fine)
    if written != known.swizzle and (written != UNKNOWN_SWIZZLE or known.doubtful != 0):
        return 0
    return known.pieces


def look(context: Context, site: int, is_b: int, descriptor: int) -> int:
    """The place of a tile among those that are known."""
    number = int(descriptor)
    mixed = number ^ number >> 9 ^ number >> 16 ^ number >> 32 ^ site * 37
    place = mixed * 2 % TILES + is_b
    known: KnownTile = view(context.tiles, KnownTile, TILES)[place]
    if known.pieces == 0 or known.descriptor != descriptor or known.site != site:
        known.pieces = find_tile(context.find_tile, place, site, descriptor)
        known.descriptor = descriptor
        known.site = site
    return place


@body
def keep_metadata(context: Context, warp: WarpRecord, words: Words) -> FLAG:
    """Remember the metadata that a warp gives the next product; false where Python has to go on."""
    place = group_of(warp)
    if place == 0:
        return False
    group = view(place, WarpgroupRecord, 1)[0]
    product = group.ring[group.issued % RING]
    for lane in range(LANES):
        product.metadata[warp.index % WARPS * LANES + lane] = words[lane]
    return True


@body
def arrive_at_product(
    context: Context, warp: WarpRecord, site: I32, line: I32, keep: I32, a: U64, b: U64, run: I64, table: I64, steps: I64, tells: I32
) -> I32:  # fmt: skip
    """machine.warpgroup.arrive, or LEFT. The native code of a product is `run`, which works on `table` in `steps`; `tells`: what
    it reads is recorded."""
    place = group_of(warp)
    if place == 0:
        return LEFT
    group = view(place, WarpgroupRecord, 1)[0]
    before = warpgroup.covered(group)
    outcome = warpgroup.arrive(view(warp.owner, CtaRecord, 1)[0], group, warp, site, line, keep, a, b)
    if outcome == warpgroup.STARTED:
        product = group.ring[(group.issued - 1) % RING]
        warpgroup.set_due(group, context.steps + delay(context))
        product.run = run
        product.table = table
        product.steps = steps
        context.flying += 1
        numbers = [0] * LANES
        numbers[0] = a
        numbers[1] = b
        event(context, warp, site, Event.MMA, 0, 0, 0, 0xFFFFFFFF, numbers)
        complete(context, group, warpgroup.forgotten(group))
        if tells != 0:
            tell_waits(context, warp, site, group, before)
            tell_reads(context, warp, site, product, Event.ASYNC_READ, 0)
    return outcome


@body
def commit_products(context: Context, warp: WarpRecord) -> FLAG:
    """machine.warpgroup.commit; false, with nothing done, where Python has to go on."""
    place = group_of(warp)
    if place == 0:
        return False
    warpgroup.commit(view(place, WarpgroupRecord, 1)[0], warp)
    return True


@body
def wait_for_products(context: Context, warp: WarpRecord, site: I32, pending: I64, tells: I32) -> FLAG:
    """All of a warp's groups but the last `pending` complete; false, with nothing done, where Python has to go on."""
    place = group_of(warp)
    if place == 0:
        return False
    group = view(place, WarpgroupRecord, 1)[0]
    before = warpgroup.covered(group)
    count = warpgroup.wait(group, warp, pending)
    if count == warpgroup.NOT_COMMITTED:
        return False
    complete(context, group, count)
    if tells != 0:
        tell_waits(context, warp, site, group, before)
        numbers = [0] * LANES
        numbers[0] = count
        event(context, warp, site, Event.WGMMA_WAIT, 0, 0, 0, 0xFFFFFFFF, numbers)
    return True


def tell_waits(context: Context, warp: WarpRecord, site: int, group: WarpgroupRecord, before: int) -> None:
    """Record that the products from number `before` on that are covered now read no longer."""
    for number in range(before, warpgroup.covered(group)):
        tell_reads(context, warp, site, group.ring[number % RING], Event.ASYNC_WAIT, FLAG_READ)


def tell_reads(context: Context, warp: WarpRecord, site: int, product: ProductRecord, kind: int, flags: int) -> None:
    """Record the blocks of shared memory that a product reads."""
    numbers = [0] * LANES
    for which in range(2):
        descriptor = product.b if which == 1 else product.a
        if descriptor != 0:
            known: KnownTile = view(context.tiles, KnownTile, TILES)[look(context, product.site, which, descriptor)]
            blocks, count = view(known.blocks, LONGS, known.count), 0
            for i in range(known.count):
                numbers[count] = blocks[i] + warp.named
                count += 1
                if count == LANES or i == known.count - 1:
                    event(
                        context, warp, site, kind, Space.SHARED, known.width, flags | FLAG_ASYNC_PROXY, (1 << count) - 1,
                        numbers,
                    )  # fmt: skip
                    count = 0


def complete_due(context: Context) -> None:
    """Compute the products of all warpgroups that are due."""
    for number in range(context.warp_count):
        place = group_ending_at(context, number)
        if place != 0:
            group = view(place, WarpgroupRecord, 1)[0]
            complete(context, group, warpgroup.due(group, context.steps))


def next_product(context: Context) -> int:
    """The turn at which the next product is due, or NEVER."""
    found = NEVER
    if context.flying != 0:
        for number in range(context.warp_count):
            place = group_ending_at(context, number)
            if place != 0:
                group = view(place, WarpgroupRecord, 1)[0]
                if group.completed < group.issued:
                    found = min(found, group.ring[group.completed % RING].due)
    return found


def complete(context: Context, group: WarpgroupRecord, count: int) -> None:
    """Compute the products before number `count` that are not."""
    while group.completed < count:
        product = group.ring[group.completed % RING]
        group.completed += 1
        context.flying -= 1
        from_registers = product.a == 0
        tiles = view(context.tiles, KnownTile, TILES)
        a = 0 if from_registers else tiles[look(context, product.site, 0, product.a)].pieces
        b = tiles[look(context, product.site, 1, product.b)].pieces
        if b != 0 and (from_registers or a != 0):  # else something like Ctrl-C is on its way out of a callback
            compute(product.run, context, group, product, a, b)


EXPORTS = (tile, keep_metadata, arrive_at_product, commit_products, wait_for_products)
