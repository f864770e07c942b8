"""Where the addresses of lanes point: the allocations of global memory, looked up when an instruction's cache does not have them."""

from __future__ import annotations

import numpy as np

from ptxsim.engine.compiled.runtime.abi import KINDS, UNKNOWN, Context, Numbers
from ptxsim.jit.body import body
from ptxsim.jit.export import extern, view
from ptxsim.jit.record import I32, I64, U32
from ptxsim.lanes import LANES
from ptxsim.machine.event import Space

NONE = -1
LARGEST_SPAN = 0x7FFF_FFBF  # offsets from an instruction's cache are taken in 32 bits
_CONST, _PARAM = KINDS["const"], KINDS["param"]


@extern
def bail(context: Context, site: U32) -> None:
    """Leave native code: an instruction takes the slow path. Does not return."""
    raise NotImplementedError


@body
def look_up(context: Context, addresses: Numbers, mask: U32, total: I64, allowed: U32, refused: U32, site: U32) -> None:
    """Leave native code unless every lane of the mask points to `total` bytes in an allocation of an allowed kind.

    Fills the instruction's cache with the allocation of the first lane.
    """
    starts, sizes = view(context.starts, np.int64, UNKNOWN), view(context.sizes, np.int64, UNKNOWN)
    kinds = view(context.kinds, np.int32, UNKNOWN)
    first = NONE
    for lane in range(LANES):
        if mask >> lane & 1 != 0:
            address = addresses[lane]
            i = allocation_of(context, address)
            if i == NONE:
                bail(context, site)
            offset = address - starts[i]
            if total > sizes[i] or offset > sizes[i] - total or address & total - 1 != 0:
                bail(context, site)
            if kinds[i] & allowed == 0 or kinds[i] & refused != 0:
                bail(context, site)
            if first == NONE:
                first = i
    if first != NONE:
        cache = view(context.caches + 16 * site, np.int64, 2)
        cache[0] = starts[first]
        cache[1] = min(sizes[first] - total, LARGEST_SPAN)


@body
def space_of(context: Context, address: I64) -> I32:
    """The state space (machine.event.Space) of an address in the arena."""
    i = allocation_of(context, address)
    kind = 0 if i == NONE else view(context.kinds, np.int32, UNKNOWN)[i]
    if kind & _PARAM != 0:
        return Space.PARAM
    return Space.CONST if kind & _CONST != 0 else Space.GLOBAL


@body
def in_space(context: Context, addresses: Numbers, space: I32) -> U32:
    """The lanes whose addresses are in a state space of the arena. One that belongs to no allocation is global."""
    starts, sizes = view(context.starts, np.int64, UNKNOWN), view(context.sizes, np.int64, UNKNOWN)
    found = 0
    for lane in range(LANES):
        i = allocation_of(context, addresses[lane])
        is_there = i != NONE and addresses[lane] - starts[i] < sizes[i]
        if (space_of(context, addresses[lane]) if is_there else int(Space.GLOBAL)) == space:
            found |= 1 << lane
    return found


def allocation_of(context: Context, address: int) -> int:
    """The last allocation that begins at or before an address, or NONE."""
    starts = view(context.starts, np.int64, UNKNOWN)
    i = context.allocations - 1
    while i >= 0 and address < starts[i]:
        i -= 1
    return i
