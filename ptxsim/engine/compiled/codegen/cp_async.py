"""cp.async and its groups, on each warp's queue of copies (engine.compiled.runtime.cp_async_state)."""

from __future__ import annotations

from typing import Any

from ptxsim.engine.compiled.codegen.function import FunctionWriter, Typed
from ptxsim.engine.compiled.codegen.port import EmitPort
from ptxsim.engine.compiled.codegen.registry import lowers
from ptxsim.engine.compiled.ir.value import CannotEmit, Value
from ptxsim.engine.program.operation import Op
from ptxsim.machine.event import Event, Space
from ptxsim.types import TYPES


@lowers("cp_async")
def copy(w: FunctionWriter, op: Op) -> None:
    """Remember a copy. Both sides are checked first: nothing may have begun where the slow path is taken."""
    if not w.options.full:
        raise CannotEmit("a partial warp")
    to, source, size, count, ignore = w.sources(op)
    guard = w.guard(op)
    w.save_before_bail()
    mask = "-1" if guard is None else w.word(guard)
    reading = _reading(w, mask, size, count, ignore)
    to = to & 0xFFFFFFFF
    EmitPort(w, mask, silent=True).load("shared", to, TYPES["u32"], size // 4)
    EmitPort(w, reading, silent=True).load("global", source, TYPES["u32"], size // 4)
    _call(
        w, "copy_issue", ("i32", str(op.site)), ("<32 x i64>", to.text), ("<32 x i64>", source.text), ("i32", mask),
        ("i32", reading), ("i32", str(size)),
    )  # fmt: skip
    if w.options.events:
        w.event_at(Event.LOAD, Space.GLOBAL, size, reading, source)
        w.event_at(Event.ASYNC_ISSUE, Space.SHARED, size, mask, to)


@lowers("cp_async_commit")
def commit(w: FunctionWriter, op: Op) -> None:
    w.need_whole_warp(op)
    w.save_before_bail()
    _call(w, "copy_commit")


@lowers("cp_async_wait")
def wait(w: FunctionWriter, op: Op) -> None:
    """wait_group N leaves the N newest groups in flight; wait_all waits for copies of no group, too."""
    w.need_whole_warp(op)
    sources = w.sources(op)
    w.save_before_bail()
    newest = max(sources[0], 0) if sources else 0
    _call(w, "copy_wait", ("i64", str(newest)), ("i1", "false" if sources else "true"))


def _call(w: FunctionWriter, name: str, *arguments: Typed) -> None:
    """Call a helper, whose i1 says whether it has done anything."""
    symbol = w.helper(name, ("lane copies",))
    w.bail_unless(w.call("i1", symbol, ("ptr", "%context"), ("ptr", "%warp"), *arguments))


def _reading(w: FunctionWriter, mask: str, size: int, count: Any, ignore: Value | None) -> str:
    """The lanes of a mask that copy all of their bytes; the others write zeros."""
    e = w.emitter
    whole = None
    if isinstance(count, Value):
        count = e.convert(count, "u32")
        odd = e.let(f"and i32 {w.word((count != 0) & (count < size))}, {mask}")
        w.bail_unless(e.let(f"icmp eq i32 {odd}, 0"))
        whole = count != 0
    elif count is not None and count < size:
        if count:
            raise CannotEmit("a part of each element")
        whole = e.splat(False, "pred")
    if ignore is not None:
        whole = ~ignore if whole is None else whole & ~ignore
    return mask if whole is None else e.let(f"and i32 {w.word(whole)}, {mask}")
