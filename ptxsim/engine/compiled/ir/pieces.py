"""Pieces of IR that several functions are written with: loops, a scalar in every lane."""

from __future__ import annotations

from ptxsim.engine.compiled.ir.emitter import Emitter
from ptxsim.engine.compiled.ir.value import Value, element_type


def spread(e: Emitter, scalar: str, kind: str) -> Value:
    """A scalar in every lane."""
    t = element_type(kind)
    first = e.let(f"insertelement <32 x {t}> poison, {t} {scalar}, i64 0")
    return Value(e, e.let(f"shufflevector <32 x {t}> {first}, <32 x {t}> poison, <32 x i32> zeroinitializer"), kind)


class Loop:
    """A loop that is being written: `number` of the turn (i64), `values` that go from turn to turn. LLVM's time grows faster than
    a text does, so what is alike is a loop."""

    def __init__(self, e: Emitter, count: int | str, *first: Value):
        self.e, self.count, self.before, self.first = e, count, e.here, first
        self.number, self.values = e.name(), [Value(e, e.name(), value.kind) for value in first]
        self.label = f"turn.{self.number[1:]}"
        e.line(f"  br label %{self.label}")
        e.label(self.label)
        self._head = len(e.lines)

    def end(self, *later: Value) -> None:
        """The turn is written; `later` are the values after it, also those after the loop."""
        e = self.e
        following = e.let(f"add i64 {self.number}, 1")
        e.lines[self._head : self._head] = [
            f"  {name} = phi {t} [ {first}, %{self.before} ], [ {after}, %{e.here} ]"
            for name, t, first, after in (
                (self.number, "i64", "0", following),
                *((v.text, v.type, a.text, b.text) for v, a, b in zip(self.values, self.first, later, strict=True)),
            )
        ]
        more = e.let(f"icmp ult i64 {following}, {self.count}")
        e.line(f"  br i1 {more}, label %{self.label}, label %{self.label}.done")
        e.label(f"{self.label}.done")
