"""mbarriers on the records of the CTA (engine.compiled.runtime.mbarrier_lanes). Same names and signatures as
machine.barriers.mbarrier.MBarriers; objects of other CTAs, and what is wrong, are left to it."""

from __future__ import annotations

from typing import Any

from ptxsim.engine.compiled.codegen.function import Typed
from ptxsim.engine.compiled.codegen.port import UNITS, EmitPort
from ptxsim.engine.compiled.ir.value import CannotEmit, Value
from ptxsim.engine.compiled.runtime import abi
from ptxsim.engine.compiled.runtime.abi import WARP
from ptxsim.engine.compiled.runtime.mbarrier_lanes import ARRIVES, BLOCKS, COMPLETES, EXPECTS, PARITY, WAITS
from ptxsim.machine.barriers.mbarrier import MBarriers
from ptxsim.machine.barriers.mbarrier_state import TOKEN_PHASE
from ptxsim.machine.event import ODD_PHASE, Event, Space


class EmitMBarriers:
    """Prints what one instruction does to mbarriers."""

    def __init__(self, port: EmitPort):
        self.port, self.w, self.e = port, port.writer, port.writer.emitter

    def init(self, space: str | None, a: Value, n: Any, layout: int = 0) -> None:
        places = self._places(space, a)
        self._do("mbarrier_init", ("ptr", "%warp"), self._site(), self._lanes(), self.w.row("mbarrier.places", places), self.w.row("mbarrier.called", a),
                 self.w.row("mbarrier.counts", self._wide(n)), ("i32", str(layout)))  # fmt: skip
        self._tell(Event.STORE, places)

    def has_layout(self, space: str | None, a: Value, layout: int) -> Value:
        raise CannotEmit("a question for the layout of an mbarrier")

    def inval(self, space: str | None, a: Value) -> None:
        places = self._places(space, a)
        self._do("mbarrier_inval", self._lanes(), self.w.row("mbarrier.places", places))
        self._tell(Event.STORE, places)

    def arrive(self, space: str | None, a: Value, n: Any, kind: int = 0) -> Value:
        return self._count(space, a, n, ARRIVES, kind)

    def arrive_expecting(self, space: str | None, a: Value, n: Any, kind: int = 0) -> Value:
        return self._count(space, a, n, EXPECTS | ARRIVES, kind)

    def expect(self, space: str | None, a: Value, n: Any) -> None:
        self._count(space, a, n, EXPECTS)

    def complete(self, space: str | None, a: Value, n: Any) -> None:
        self._count(space, a, n, COMPLETES)

    def test(self, space: str | None, a: Value, wanted: Any, parity: bool) -> Value:
        return self._wait(space, a, wanted, PARITY * parity)

    def try_wait(self, space: str | None, a: Value, wanted: Any, parity: bool) -> Value:
        return self._wait(space, a, wanted, BLOCKS | PARITY * parity)

    def _count(self, space: str | None, a: Value, n: Any, what: int, kind: int = 0) -> Value:
        places, e = self._places(space, a), self.e
        tokens = self.w.stack_slot("mbarrier.tokens", "<32 x i64>")
        self._do(
            "mbarrier_count", ("ptr", "%warp"), self._site(), self._lanes(), self.w.row("mbarrier.places", places),
            self.w.row("mbarrier.counts", self._wide(n)), ("i32", str(what)), ("i32", str(kind)), ("ptr", tokens),
        )  # fmt: skip
        if what != EXPECTS:
            self._tell(
                Event.MBARRIER_ARRIVE,
                places,
                Value(e, e.let(f"load <32 x i64>, ptr {tokens}, align 64"), "u64") >> TOKEN_PHASE,
            )
        return Value(e, e.let(f"load <32 x i64>, ptr {tokens}, align 64"), "u64")

    def _wait(self, space: str | None, a: Value, wanted: Any, kind: int) -> Value:
        if len(self.w.op.destinations) > 1:
            raise CannotEmit("a wait that asks for a report")
        places, e, w = self._places(space, a), self.e, self.w
        found = w.call(
            "i64", w.helper("mbarrier_wait", ("mbarriers",)), ("ptr", "%context"), ("ptr", "%warp"), self._site(), self._lanes(),
            self.w.row("mbarrier.places", places), self.w.row("mbarrier.wanted", self._wide(wanted)), ("i32", str(kind)),
        )  # fmt: skip
        w.bail_unless(e.let(f"icmp sge i64 {found}, 0"))
        w.wait_unless(e.let(f"icmp ult i64 {found}, {WAITS}"), abi.WAITS)
        passed = e.let(f"trunc i64 {found} to i32")
        phase = self._wide(wanted)
        self._tell(Event.MBARRIER_WAIT, places, phase if kind & PARITY else phase >> TOKEN_PHASE, passed)
        return Value(e, e.let(f"bitcast i32 {passed} to <32 x i1>"), "pred")

    # ---- operands, calls, events ----

    def _places(self, space: str | None, a: Value) -> Value:
        """Where the lanes' objects are in the memory of this process; the slow path where that is none of the CTA's."""
        return self.port.places(space, a, 8)

    def _wide(self, n: Any) -> Value:
        if not isinstance(n, Value):
            return self.e.splat(int(n), "u64")
        if n.kind not in ("u32", "u64"):
            raise CannotEmit(f"counts of {n.kind}")
        return self.e.convert(n, "u64")

    def _lanes(self) -> Typed:
        return "i32", self.port.guard

    def _site(self) -> Typed:
        return "i32", str(self.w.op.site)

    def _do(self, name: str, *arguments: Typed) -> None:
        """Call a helper, whose i1 says whether it has done anything."""
        self.w.bail_unless(self.w.call("i1", self.w.helper(name, ("mbarriers",)), ("ptr", "%context"), *arguments))

    def _tell(self, event: Event, places: Value, phase: Value | None = None, lanes: str | None = None) -> None:
        if self.w.options.wanted.has(event, Space.SHARED):
            e = self.e
            named = places - self.w.spread(e.field("%warp", WARP["cluster"], "i64"), "u64")
            if phase is not None:
                named = named + ((phase & 1) << ODD_PHASE)
            self.w.event_at(event, Space.SHARED, 8, self.port.guard if lanes is None else lanes, named)


UNITS[MBarriers] = EmitMBarriers
