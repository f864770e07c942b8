"""What the lowerings of all families print with: helper calls, stack slots, side exits, waits, events."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from ptxsim.engine.compiled.codegen.operands import OperandWriter, Options
from ptxsim.engine.compiled.ir.value import CannotEmit, Value
from ptxsim.engine.compiled.runtime import abi
from ptxsim.engine.compiled.runtime.abi import CONTEXT, WarpLayout
from ptxsim.engine.program.operation import Op, Program
from ptxsim.jit.compiler import Abilities
from ptxsim.machine.event import Event

Typed = tuple[str, str]  # an LLVM type and the text of a value


class FunctionWriter(OperandWriter):
    """Prints into the function of one program.

    `prefix` begins the symbols of helpers; `helpers` are those that the code calls, each with the description from which
    the library makes it. `number` is the block that is printed, `ended` whether its last operation has left it.
    """

    def __init__(self, program: Program, places: WarpLayout, prefix: str, options: Options, cpu: Abilities):
        super().__init__(program, places, options, cpu)
        self.prefix = prefix
        self.helpers: dict[str, tuple[Any, ...]] = {}
        self.number = 0
        self.ended = False
        self._slots: dict[str, str] = {}
        self._labels = 0

    # ---- operands and lanes ----

    @property
    def mask(self) -> str:
        """The lanes that run, as an i32."""
        return "-1" if self.options.full else "%mask"

    def word(self, predicate: Value) -> str:
        """A predicate of 32 lanes as an i32."""
        return self.emitter.let(f"bitcast <32 x i1> {predicate.text} to i32")

    def none_of(self, predicate: Value) -> str:
        """An i1: whether a predicate holds in no lane."""
        return self.emitter.let(f"icmp eq i32 {self.word(predicate)}, 0")

    def all_of(self, predicate: Value) -> str:
        """An i1: whether a predicate holds in all 32 lanes."""
        return self.emitter.let(f"icmp eq i32 {self.word(predicate)}, -1")

    def sources(self, op: Op) -> list[Any]:
        """The sources of an operation, as its effect takes them."""
        return [self.read(source) for source in op.sources]

    def deliver(self, op: Op, result: Any, guard: Value | None = None) -> None:
        """Write what an effect returned into the destinations, in the lanes that execute."""
        if not op.destinations:
            return
        if guard is None and not self.options.full:
            guard = Value(self.emitter, "%lanes", "pred")
        results = [result] if len(op.destinations) == 1 else result
        for destination, value in zip(op.destinations, results, strict=True):
            self.write(destination, value, guard)

    def need_whole_warp(self, op: Op) -> None:
        """Raise CannotEmit unless all 32 lanes execute the operation."""
        if not self.options.full or op.guard is not None:
            raise CannotEmit("a partial warp")

    def same(self, value: Value, lanes: str) -> tuple[str, str]:
        """The value of the first of some lanes, of which there is one; and an i1, whether all of them have it."""
        e = self.emitter
        self.declare("llvm.cttz.i32", "i32", "i32", "i1")
        first = e.let(f"call i32 @llvm.cttz.i32(i32 {lanes}, i1 true)")
        found = e.let(f"extractelement {value.type} {value.text}, i32 {first}")
        others = e.let(f"and i32 {self.word(value != self.spread(found, value.kind))}, {lanes}")
        return found, e.let(f"icmp eq i32 {others}, 0")

    # ---- calls and memory ----

    def lanes_before_bail(self, op: Op) -> str:
        """The lanes that execute an operation which may take the slow path at run time, as an i32."""
        guard = self.guard(op)
        self.save_before_bail()
        return self.mask if guard is None else self.word(guard)

    def row(self, name: str, value: Value) -> Typed:
        """Where numbers of the lanes are kept for a call."""
        slot = self.stack_slot(name, value.type)
        self.emitter.line(f"  store {value.type} {value.text}, ptr {slot}, align 64")
        return "ptr", slot

    def helper(self, name: str, description: tuple[Any, ...]) -> str:
        """The symbol of a helper that the library makes from a description."""
        symbol = self.prefix + name
        self.helpers[symbol] = description
        return symbol

    def product_helper(self, name: str, description: tuple[Any, ...]) -> str:
        """The symbol of a helper whose name stands for its description."""
        symbol = described(self.prefix, name, description)
        self.helpers[symbol] = description
        return symbol

    def declare(self, symbol: str, result: str, *types: str) -> None:
        """Declare a function that the module calls or passes on."""
        self.module.declarations.setdefault(f"@{symbol}", f"declare {result} @{symbol}({', '.join(types)})")

    def call(self, result: str, symbol: str, *arguments: Typed) -> str:
        """Declare a function and call it; returns the name of the result ("" for void)."""
        self.declare(symbol, result, *(t for t, _ in arguments))
        call = f"call {result} @{symbol}({', '.join(f'{t} {value}' for t, value in arguments)})"
        if result != "void":
            return self.emitter.let(call)
        self.emitter.line(f"  {call}")
        return ""

    def stack_slot(self, name: str, t: str) -> str:
        """A place on the stack for a value of type `t`. Those who give the same name share it."""
        if name not in self._slots:
            self._slots[name] = self.emitter.stack_slot(t)
        return self._slots[name]

    # ---- ways out ----

    def label_number(self) -> int:
        """A number for new labels."""
        self._labels += 1
        return self._labels

    def bail_unless(self, condition: str) -> None:
        """Take the slow path for this operation unless an i1 holds. Memory must be exact already."""
        e, n = self.emitter, self.label_number()
        e.line(f"  br i1 {condition}, label %good{n}, label %bad{n}")
        e.line(f"bad{n}:")
        self.leave(abi.BAIL, site=self.op.site)
        e.line(f"good{n}:")

    def leave_to_python(self, guard: Value | None) -> None:
        """The interpreter executes this operation, in the lanes of a guard, if there are any. Memory must be exact, and says what
        registers are afterwards."""
        e, n = self.emitter, self.label_number()
        if guard is not None:
            e.line(f"  br i1 {self.none_of(guard)}, label %good{n}, label %slow{n}")
            e.line(f"slow{n}:")
        goes_on = e.let(f"call i32 {e.field('%context', CONTEXT['python'], 'ptr')}(ptr %warp, i32 {self.op.site})")
        e.line(f"  br i1 {e.let(f'icmp eq i32 {goes_on}, 1')}, label %good{n}, label %bad{n}")
        e.line(f"bad{n}:")
        e.line(f"  ret i32 {abi.BAIL}")
        e.line(f"good{n}:")

    def wait_unless(self, condition: str, status: int) -> None:
        """Let the warp wait after this operation, the last of its block, unless an i1 holds."""
        e, n = self.emitter, self.label_number()
        e.line(f"  br i1 {condition}, label %good{n}, label %wait{n}")
        e.line(f"wait{n}:")
        self.leave(status, block=self.number, op=self.index + 1, own_site=self.op.site)
        e.line(f"good{n}:")

    def leave_if(self, condition: str, status: int, **fields: int | str) -> None:
        """Return a status where an i1 holds, as `leave` does."""
        e, n = self.emitter, self.label_number()
        e.line(f"  br i1 {condition}, label %away{n}, label %here{n}")
        e.line(f"away{n}:")
        self.leave(status, **fields)
        e.line(f"here{n}:")

    def leave(self, status: int, **fields: int | str) -> None:
        """Set fields of the warp (`site`: of the context) and return a status."""
        for name, value in fields.items():
            self.emitter.line(f"  store i32 {value}, ptr %{name.replace('_', '.')}.at")
        self.emitter.line(f"  ret i32 {status}")

    # ---- events ----

    def event(
        self, event: Event, space: int | str, size: int, flags: int | str, mask: str, addresses: str | None = None
    ) -> None:
        """Record an event, if it is wanted; `addresses` is where those of the lanes are, if it has any, `space` a number or an
        i32."""
        if not self.options.wanted.has(event, None if isinstance(space, str) else space):
            return
        number = space if isinstance(space, str) else int(space)
        numbers = (self.op.site, int(event), number, size, flags, mask)
        arguments = [("ptr", "%context"), ("ptr", "%warp"), *(("i32", str(number)) for number in numbers)]
        if addresses is None:
            self.call("void", f"{self.prefix}mark", *arguments)
        else:
            self.call("void", f"{self.prefix}event", *arguments, ("ptr", addresses))

    def shared_name(self, address: Value) -> Value:
        """Addresses of shared memory as events have them: by the CTA of the cluster whose memory it is."""
        return address & 0xFFFFFFFF

    def event_at(
        self, event: Event, space: int | str, size: int, mask: str, addresses: Value, flags: int | str = 0
    ) -> None:  # fmt: skip
        """Record an event with the addresses of its lanes, if it is wanted."""
        if not self.options.wanted.has(event, None if isinstance(space, str) else space):
            return
        slot = self.stack_slot("event.addresses", "<32 x i64>")
        self.emitter.line(f"  store <32 x i64> {addresses.text}, ptr {slot}, align 64")
        self.event(event, space, size, flags, mask, slot)


def described(prefix: str, name: str, description: tuple[Any, ...]) -> str:
    """The symbol of the helper that a description makes."""
    digest = hashlib.blake2b(json.dumps(description).encode(), digest_size=8).hexdigest()
    return f"{prefix}{name.partition('_')[0]}_{digest}"
