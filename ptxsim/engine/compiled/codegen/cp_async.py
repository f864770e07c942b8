"""cp.async and its groups, on the records of each warp's copies (machine.copies.lane_copies); groups of bulk copies."""

from __future__ import annotations

from typing import Any

from ptxsim.engine.compiled.codegen.function import FunctionWriter, Typed
from ptxsim.engine.compiled.codegen.port import EmitPort
from ptxsim.engine.compiled.codegen.registry import lowers
from ptxsim.engine.compiled.ir.value import CannotEmit, Value
from ptxsim.engine.compiled.runtime.abi import WARP
from ptxsim.engine.program.operation import Op
from ptxsim.isa.facts import Mechanism
from ptxsim.machine.event import Event, Space
from ptxsim.machine.records import BulkGroups, LaneCopies
from ptxsim.types import TYPES

COPIES, BULK = LaneCopies.offsets(), BulkGroups.offsets()
GROUPS = {
    Mechanism.CP_ASYNC_GROUP: WARP["copies"] + COPIES["groups"],
    Mechanism.BULK_GROUP: WARP["bulk"] + BULK["groups"],
}


@lowers("cp_async")
def copy(w: FunctionWriter, op: Op) -> None:
    """A copy begins. Both sides are checked first: nothing may have been done where the slow path is taken."""
    to, source, size, count, ignore = w.sources(op)
    e, lanes = w.emitter, w.lanes_before_bail(op)
    reading = _reading(w, lanes, size, count, ignore)
    to = to & 0xFFFFFFFF
    EmitPort(w, lanes, silent=True).load("shared", to, TYPES["u32"], size // 4)
    EmitPort(w, reading, silent=True).load("global", source, TYPES["u32"], size // 4)
    reads = Value(e, e.let(f"bitcast i32 {reading} to <32 x i1>"), "pred")
    counts = e.where(reads, e.splat(size, "u32"), e.splat(0, "u32"))
    shared, to = e.field("%warp", WARP["shared"], "i64"), w.shared_name(to)
    begun = _call(
        w, "i1", "issue_copy", ("ptr", "%warp"), ("i32", str(op.site)), ("i32", str(size)), ("i32", lanes), ("i64", shared),
        w.row("copy.counts", counts), w.row("copy.to", to), w.row("copy.source", source),
    )  # fmt: skip
    w.bail_unless(begun)
    _call(w, "void", "draw_landing", ("ptr", "%context"), ("ptr", "%warp"), ("i32", lanes))
    w.event_at(Event.LOAD, Space.GLOBAL, size, reading, source)
    w.event_at(Event.ASYNC_ISSUE, Space.SHARED, size, lanes, to)


@lowers("cp_async_commit", "bulk_commit")
def commit(w: FunctionWriter, op: Op) -> None:
    lanes = w.lanes_before_bail(op)
    live = w.emitter.field("%warp", WARP["live"], "i32")
    assert op.synchronises is not None
    groups = w.emitter.at("%warp", GROUPS[op.synchronises.mechanism])
    _call(w, "void", "commit_group", ("ptr", groups), ("i32", live), ("i32", lanes))


@lowers("cp_async_wait")
def wait(w: FunctionWriter, op: Op) -> None:
    """wait_group N leaves the N newest groups in flight, and takes the slow path where there is something to say."""
    e, lanes, sources = w.emitter, w.lanes_before_bail(op), w.sources(op)
    if sources:
        loose = _call(w, "i32", "uncommitted", ("ptr", "%warp"), ("i32", lanes))
        w.bail_unless(e.let(f"icmp eq i32 {loose}, 0"))
        name, last = "wait_for_groups", ("i32", str(max(sources[0], 0)))
    else:
        name = "wait_for_copies"
        last = ("i64", e.field("%warp", WARP["copies"] + COPIES["issued"], "i64"))
    _call(w, "void", name, ("ptr", "%context"), ("ptr", "%warp"), ("i32", lanes), last)


@lowers("cp_async_mbarrier")
def arrive(w: FunctionWriter, op: Op) -> None:
    """Lanes arrive at mbarriers of their CTA when their copies have landed (engine.compiled.runtime.work_lanes)."""
    (at,), lanes = w.sources(op), w.lanes_before_bail(op)
    space = None if op.words["space"] is None else str(op.words["space"])
    places = EmitPort(w, lanes).places(space, at, 8)
    begun = w.call(
        "i1", w.helper("issue_arrivals", ("lane work",)), ("ptr", "%context"), ("ptr", "%warp"), ("i32", str(op.site)), ("i32", lanes),
        ("i1", str(int(not op.words["noinc"]))), w.row("copy.barriers", places),
    )  # fmt: skip
    w.bail_unless(begun)


def _call(w: FunctionWriter, result: str, name: str, *arguments: Typed) -> str:
    return w.call(result, w.helper(name, ("lane copies",)), *arguments)


def _reading(w: FunctionWriter, lanes: str, size: int, count: Any, ignore: Value | None) -> str:
    """Those of the lanes that copy all of their bytes; the others write zeros."""
    e = w.emitter
    whole = None
    if isinstance(count, Value):
        count = e.convert(count, "u32")
        odd = e.let(f"and i32 {w.word((count != 0) & (count < size))}, {lanes}")
        w.bail_unless(e.let(f"icmp eq i32 {odd}, 0"))
        whole = count != 0
    elif count is not None and count < size:
        if count:
            raise CannotEmit("a part of each element")
        whole = e.splat(False, "pred")
    if ignore is not None:  # which no form takes besides a count
        whole = ~ignore
    return lanes if whole is None else e.let(f"and i32 {w.word(whole)}, {lanes}")
