"""Bulk and tensor copies and their groups (engine.compiled.runtime.bulk_lanes)."""

from __future__ import annotations

from typing import Any

from ptxsim.engine.compiled.codegen.function import FunctionWriter, Typed
from ptxsim.engine.compiled.codegen.port import EmitPort
from ptxsim.engine.compiled.codegen.registry import lowers
from ptxsim.engine.compiled.ir.value import CannotEmit, Value
from ptxsim.engine.compiled.runtime.bulk_lanes import ALONE, LOAD, LOOK, PAIRS, SHARE, STORE
from ptxsim.engine.program.operation import Op
from ptxsim.isa.facts import PAIR, Mechanism
from ptxsim.lanes import LANES
from ptxsim.machine.copies.reduction import ALLOWED, OPERATIONS, first_number, number_of
from ptxsim.machine.copies.tensor_tile import RANKS, SPATIAL, mode_of


class Begin:
    """Prints the beginning of the copies of one instruction."""

    def __init__(self, w: FunctionWriter, op: Op):
        self.w, self.e, self.op = w, w.emitter, op
        self.given = dict(zip(op.definition.sources, w.sources(op), strict=True))
        self.lanes = w.lanes_before_bail(op)
        if self.given.get("bytes") is not None:
            raise CannotEmit("a mask of bytes")
        if self.given.get("left") is not None:
            raise CannotEmit("bytes that are not read")

    @property
    def what(self) -> int:
        by, spaces = self.op.completes_by, [access.space for access in self.op.accesses]
        if spaces == ["shared", "shared"]:
            return SHARE
        return LOOK if by is None else LOAD if by is Mechanism.MBARRIER else STORE

    def places(self, name: str | None, size: int = 16, space: str = "") -> Typed:
        """Where shared memory that an operand names is in this process; zeros where there is none."""
        if name is None or self.given.get(name) is None:
            return self.row("no places", self.e.splat(0, "u64"))
        space = space or (str(self.op.words["dst"]) if self.what in (LOAD, SHARE) else "shared::cta")
        return self.row(f"{name} places", EmitPort(self.w, self.lanes).places(space, self.given[name], size))

    def ctas(self) -> Typed:
        """The masks of a multicast."""
        given = self.given.get("ctas")
        if given is None:
            return self.row("ctas", ALONE)
        return self.row("ctas", self.wide(given) | (PAIRS if self.op.words.get("cta_group") == PAIR else 0))

    def row(self, name: str, value: Any) -> Typed:
        """Where numbers of the lanes are kept for the call."""
        return self.w.row(f"bulk {name}", self.wide(value))

    def wide(self, value: Any) -> Value:
        return (
            self.e.convert(value, "u64")
            if isinstance(value, Value)
            else self.e.splat(int(value) & (1 << 64) - 1, "u64")
        )

    def call(self, name: str, *arguments: Typed) -> None:
        """Call what begins the copies, or take the slow path."""
        w = self.w
        fixed = (
            ("ptr", "%context"),
            ("ptr", "%warp"),
            ("i32", str(self.op.site)),
            ("i32", self.lanes),
            ("i32", str(self.what)),
        )
        w.bail_unless(w.call("i1", w.helper(name, ("bulk copies",)), *fixed, *arguments))


@lowers("bulk_copy", "bulk_prefetch")
def run(w: FunctionWriter, op: Op) -> None:
    """A copy of a run of bytes."""
    begin, words = Begin(w, op), op.words
    shared, other = ("b", "a") if begin.what in (STORE, LOOK) else ("a", "b")
    reduction = number_of(str(words["op"]), words["type"].name) if words.get("op") else 0
    begin.call(
        "issue_run", begin.places(None if begin.what == LOOK else shared),
        begin.places(other, space="shared::cta") if begin.what == SHARE else begin.row("others", begin.given[other]),
        begin.row("sizes", begin.given["n"]), begin.places("c", 8), begin.ctas(), ("i64", str(reduction)),
    )  # fmt: skip


@lowers("tensor_copy", "tensor_prefetch")
def tensor(w: FunctionWriter, op: Op) -> None:
    """A copy of a tile."""
    begin, words, e = Begin(w, op), op.words, w.emitter
    address, coordinates = begin.given["t"]
    slot = w.stack_slot("bulk at", f"[{RANKS + SPATIAL} x <32 x i64>]")
    numbers = [*coordinates, *[0] * (RANKS - len(coordinates)), *(begin.given.get("offsets") or [])]
    for i, value in enumerate([*numbers, *[0] * (RANKS + SPATIAL - len(numbers))]):
        at = e.at(slot, 8 * LANES * i)
        e.line(f"  store <32 x i64> {begin.wide(value).text}, ptr {at}, align 64")
    op_name = str(words["op"]) if words.get("op") else None
    allowed = 0 if op_name is None else ALLOWED[list(OPERATIONS).index(op_name)]
    begin.call(
        "issue_tensor", ("i32", str(mode_of(words.get("mode")))), ("i32", str(words["dim"])[0]),
        begin.places({LOAD: "a", STORE: "b", LOOK: None}[begin.what]), begin.row("maps", address), ("ptr", slot),
        begin.places("c", 8), begin.ctas(), ("i32", str(allowed)), ("i64", str(first_number(op_name) if op_name else 0)),
    )  # fmt: skip


@lowers("bulk_wait")
def wait(w: FunctionWriter, op: Op) -> None:
    """All but the newest groups complete. The slow path says where copies are in no group."""
    lanes, (newest,) = w.lanes_before_bail(op), w.sources(op)
    done = w.call(
        "i1", w.helper("wait_for_bulk", ("bulk copies",)), ("ptr", "%context"), ("ptr", "%warp"), ("i32", lanes),
        ("i64", str(max(newest, 0))), ("i1", str(int(bool(op.words["read"])))),
    )  # fmt: skip
    w.bail_unless(done)
