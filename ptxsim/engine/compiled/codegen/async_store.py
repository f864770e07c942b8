"""st.async and red.async: stores of lanes that land later (engine.compiled.runtime.work_lanes)."""

from __future__ import annotations

from typing import Any

from ptxsim.engine.compiled.codegen.function import FunctionWriter
from ptxsim.engine.compiled.codegen.port import EmitPort
from ptxsim.engine.compiled.codegen.registry import lowers
from ptxsim.engine.compiled.ir.value import CannotEmit, Value
from ptxsim.engine.program.operation import Op
from ptxsim.machine.copies.lane_work import STORE, number_of
from ptxsim.types import TYPES


@lowers("async_store")
def store(w: FunctionWriter, op: Op) -> None:
    """The places are checked first: nothing may have been done where the slow path is taken."""
    given = dict(zip(op.definition.sources, w.sources(op), strict=True))
    lanes = w.lanes_before_bail(op)
    t = op.words.get("type") or TYPES["u64"]  # a b128 is two of them
    words = _words(w, given["b"], 8 * t.bytes)
    width, space = t.bytes * len(words), str(op.words["space"] or "shared::cluster")
    port = EmitPort(w, lanes)
    targets, barriers = port.places(space, given["a"], width), port.places(space, given["mbar"], 8)
    operation = number_of(str(op.words["op"]), t) if op.words.get("op") else STORE
    begun = w.call(
        "i1", w.helper("issue_stores", ("lane work",)), ("ptr", "%context"), ("ptr", "%warp"), ("i32", str(op.site)), ("i32", lanes),
        ("i32", str(width)), ("i32", str(operation)), w.row("async.targets", targets), w.row("async.barriers", barriers),
        *(w.row(f"async.{name}", value) for name, value in zip(("low", "high"), _longs(w, words, t.bytes))),
    )  # fmt: skip
    w.bail_unless(begun)


def _words(w: FunctionWriter, given: Any, bits: int) -> list[Value]:
    """The elements of the data, of so many bits, as u64."""
    e, found = w.emitter, []
    for element in given if isinstance(given, list) else [given]:
        word = w.raw(e.lift(element, e.splat(0, f"u{bits}")))
        if word.kind != f"u{bits}":
            raise CannotEmit("data of another width")
        found.append(e.convert(word, "u64"))
    return found


def _longs(w: FunctionWriter, words: list[Value], size: int) -> tuple[Value, Value]:
    """Elements of so many bytes side by side, as the first 8 bytes and the second."""
    nothing = w.emitter.splat(0, "u64")
    if size == 4:
        words = [*words, *[nothing] * (4 - len(words))]
        return words[0] | words[1] << 32, words[2] | words[3] << 32
    return words[0], words[1] if len(words) > 1 else nothing
