"""Calls of functions in native code, of programs whose chains of calls have numbers (engine.program.call_paths).

A call copies its arguments to the parameters of the function, and on the way back what it returns. Each such move is a row of numbers.
"""

from __future__ import annotations

from collections.abc import MutableSequence
from typing import Annotated

import numpy as np

from ptxsim.engine.compiled.runtime.abi import UNKNOWN, Context
from ptxsim.engine.splits import change_call
from ptxsim.jit.body import body
from ptxsim.jit.export import address_of, move_bytes, view
from ptxsim.jit.record import I32, I64, U32, Record, record
from ptxsim.lanes import LANES
from ptxsim.machine.records import WarpRecord

# Where a value lies: in the row itself, in a frame in local memory, in a register.
CONSTANT, FRAME, REGISTER = range(3)
ENDS = 2  # of a move: from, to


@record
class End(Record):
    """One end of a move. `place`: the constant; of a frame, what to add to the caller's; of a register, where a warp's memory has it."""

    kind: I64
    place: I64
    width: I64  # bytes from one lane's register to the next


PLACE = End.offsets()["place"]


@record
class Move(Record):
    """A value that a call passes or gives back."""

    end: Annotated[MutableSequence[End], End, ENDS]
    size: I64  # bytes


@record
class Edge(Record):
    """A call of a function at one place. Its moves lie side by side, first those that pass arguments."""

    entry: I64  # the function's first block
    frame: I64  # bytes of the caller's frame
    moves: I64  # address
    arguments: I64  # moves
    results: I64


@record
class Path(Record):
    """A chain of calls."""

    caller: I64  # its number without the last call
    edge: I64  # that call
    return_block: I64


@record
class Calls(Record):
    """All calls of a program. Fields are addresses, but for the number of edges."""

    edges: I64
    count: I64
    paths: I64  # from that of the kernel on
    entered: I64  # for each path, which one each edge makes of it; i64


@body
def enter(context: Context, warp: WarpRecord, s: I32, taken: U32, number: I32, otherwise: I32) -> None:
    """Lanes of split s call a function, by the edge of a number; the rest of it goes to block `otherwise`."""
    calls, split = view(context.calls, Calls, 1)[0], warp.split[s]
    edge = view(calls.edges, Edge, UNKNOWN)[number]
    for at in range(edge.arguments):
        move_value(warp, taken, view(edge.moves, Move, UNKNOWN)[at])
    for lane in range(LANES):
        if taken >> lane & 1 != 0:
            warp.stack[lane] = int(warp.stack[lane]) + edge.frame
    path = view(calls.entered, np.int64, UNKNOWN)[split.call * calls.count + number]
    change_call(warp, s, taken, path, split.depth + 1, edge.entry, otherwise)


@body
def give_back(context: Context, warp: WarpRecord, s: I32, taken: U32, otherwise: I32) -> None:
    """Lanes of split s go back to their caller; the rest of it goes to block `otherwise`."""
    calls, split = view(context.calls, Calls, 1)[0], warp.split[s]
    path = view(calls.paths, Path, UNKNOWN)[split.call]
    edge = view(calls.edges, Edge, UNKNOWN)[path.edge]
    for lane in range(LANES):
        if taken >> lane & 1 != 0:
            warp.stack[lane] = int(warp.stack[lane]) - edge.frame
    for at in range(edge.results):
        move_value(warp, taken, view(edge.moves, Move, UNKNOWN)[edge.arguments + at])
    change_call(warp, s, taken, path.caller, split.depth - 1, path.return_block, otherwise)


@body
def move_value(warp: WarpRecord, lanes: U32, move: Move) -> None:
    """Copy a value in each lane; the warp's stack is the caller's."""
    for lane in range(LANES):
        if lanes >> lane & 1 != 0:
            source, target = place_of(warp, lane, move.end[0]), place_of(warp, lane, move.end[1])
            move_bytes(target, source, move.size)


def place_of(warp: WarpRecord, lane: int, end: End) -> int:
    """The address of a value in a lane."""
    if end.kind == CONSTANT:
        return address_of(end) + PLACE
    if end.kind == FRAME:
        return warp.local + lane * warp.local_bytes + int(warp.stack[lane]) + end.place
    return address_of(warp) + end.place + lane * end.width
