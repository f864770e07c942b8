"""The machine port that effects see while they are traced: native forms of load, store, shuffle, ballot and the like.

Same names and signatures as machine.port.Port. What is missing here has no native form: an instruction that asks for it
takes the slow path.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from ptxsim import lanes
from ptxsim.engine.compiled.codegen.function import FunctionWriter, Typed
from ptxsim.engine.compiled.ir import outline
from ptxsim.engine.compiled.ir.outline import Update
from ptxsim.engine.compiled.ir.value import CannotEmit, Value, element_type, kind_of, width
from ptxsim.engine.compiled.runtime.abi import CONTEXT
from ptxsim.lanes import LANES
from ptxsim.machine.event import Event, Space
from ptxsim.machine.memory import SHARED_WINDOW, WINDOW_SIZE
from ptxsim.types import ScalarType

_SPACES = {"global": "global", "local": "local", "const": "const", "param": "param", None: "generic"}


def space_name(space: str | None) -> str:
    """The helper's name of a state space: `cluster` is the shared memory of any CTA of the cluster."""
    if space is not None and space.startswith("shared"):
        return "cluster" if space == "shared::cluster" else "shared"
    return _SPACES[space.partition("::")[0] if space else None]


# The native forms of units: same names and signatures as the classes that they stand for.
UNITS: dict[type, Callable[[EmitPort], Any]] = {}


class EmitPort:
    """Prints what one instruction does to the machine. `guard` is the mask of executing lanes as an i32; a `silent` port
    records no accesses."""

    def __init__(self, writer: FunctionWriter, guard: str = "-1", silent: bool = False):
        self.writer, self.guard, self._silent = writer, guard, silent
        self._emitter = writer.emitter
        self._done = False

    @property
    def mask(self) -> NoReturn:
        raise CannotEmit("which lanes execute, as numbers")

    def unit(self, kind: type) -> Any:
        """The operations of a unit beside the lanes."""
        if kind not in UNITS:
            raise CannotEmit("no native lowering")
        return UNITS[kind](self)

    # ---- memory ----

    def _access(self, address: Value) -> None:
        """An instruction that may take the slow path must not have done anything before."""
        if self._done:
            raise CannotEmit("two memory accesses in one instruction")
        if not isinstance(address, Value) or address.kind != "u64":
            raise CannotEmit("an address that is no u64")
        self.writer.save_before_bail()

    def _helper(self, what: str, space: str, size: int, count: int, event: Event) -> str:
        number = None if space == "generic" else Space.SHARED if space == "cluster" else Space[space.upper()]
        records = self.writer.options.wanted.has(event, number) and not self._silent
        cluster = self.writer.options.cluster and space in ("shared", "cluster", "generic")
        name = f"{what}_{space}_{size}x{count}" + ("_cluster" if cluster else "") + ("_events" if records else "")
        return self.writer.helper(name, (what, space, size, count, cluster))

    def _arguments(self, address: Value, flags: int) -> list[Typed]:
        return [
            ("ptr", "%context"), ("ptr", "%warp"), ("<32 x i64>", address.text), ("i32", self.guard),
            ("i32", str(self.writer.op.site)), ("i32", str(int(flags))),
        ]  # fmt: skip

    def load(self, space: str | None, address: Any, t: ScalarType, count: int = 1, flags: int = 0) -> list[Value]:
        self._access(address)
        e, kind = self._emitter, kind_of(t)
        word = f"u{8 * t.bytes}"
        vector = e.vector(word)
        result = vector if count == 1 else "{" + ", ".join([vector] * count) + "}"
        name = self._helper("load", space_name(space), t.bytes, count, Event.LOAD)
        call = self.writer.call(result, name, *self._arguments(address, flags))
        values = [call] if count == 1 else [e.let(f"extractvalue {result} {call}, {i}") for i in range(count)]
        return [e.bits(Value(e, v, word), t) if kind != word else Value(e, v, word) for v in values]

    def store(self, space: str | None, address: Any, values: list[Any], t: ScalarType, flags: int = 0) -> None:
        self._access(address)
        e, word = self._emitter, f"u{8 * t.bytes}"
        data = []
        for value in values:
            if not isinstance(value, Value):
                raise TypeError(f"a store of a {type(value).__name__}")
            raw = self.writer.raw(value)
            data.append((e.vector(word), (raw if width(raw.kind) == 8 * t.bytes else e.convert(raw, word)).text))
        name = self._helper("store", space_name(space), t.bytes, len(values), Event.STORE)
        self.writer.call("void", name, *self._arguments(address, flags), *data)
        self._done = True

    def places(self, space: str | None, address: Value, size: int) -> Value:
        """Where the lanes' memory is in this process, checked as for a write."""
        self._access(address)
        silent = EmitPort(self.writer, self.guard, silent=True)
        helper = silent._helper("place", space_name(space), size, 1, Event.STORE)
        return Value(self._emitter, self.writer.call("<32 x i64>", helper, *self._arguments(address, 0)), "u64")

    def atomic(
        self, space: str | None, address: Any, t: ScalarType, update: Update, operands: list[Any], count: int = 1,
        event: Event = Event.ATOMIC, flags: int = 0, shared_update: Update | None = None,
    ) -> list[Value]:  # fmt: skip
        self._access(address)
        name, e, word = space_name(space), self._emitter, f"u{8 * t.bytes}"
        columns = [operand if isinstance(operand, list) else [operand] for operand in operands]
        if name == "generic" and shared_update not in (None, update):
            in_shared = (address - SHARED_WINDOW) < WINDOW_SIZE
            columns.append([e.where(in_shared, e.splat(1, word), 0)] * count)
            update = _by_place(update, shared_update, t)
        if name in ("shared", "cluster") and shared_update is not None:
            update = shared_update
        raw = [[self.writer.raw(e.lift(v, e.splat(0, word))) for v in column] for column in columns]
        if any(v.kind != word for column in raw for v in column):
            raise CannotEmit("an atomic operand of another width")
        change = outline.atomic(self.writer.module, t, update, len(raw), count)
        helper = self._helper("place", name, t.bytes, count, event)
        places = self.writer.call("<32 x i64>", helper, *self._arguments(address, int(flags) | int(event) << 16))
        vector = e.vector(word)
        struct = "{" + ", ".join([vector] * count) + "}"
        values = "".join(f", {vector} {v.text}" for column in raw for v in column)
        found = e.let(f"call {struct} @{change}(<32 x i64> {places}, i32 {self.guard}{values})")
        self._done = True
        old = [Value(e, e.let(f"extractvalue {struct} {found}, {i}"), word) for i in range(count)]
        return [v if kind_of(t) == word else e.bits(v, t) for v in old]

    # ---- the other lanes ----

    def shuffle(self, value: Value, source: Any, members: Any = None) -> Value:
        e = self._emitter
        if value.kind == "pred":
            raise CannotEmit("a shuffle of predicates")
        source = e.lift(source, value)
        found = self._permuted(value, source)
        if members is None or (self.guard == "-1" and _is_everyone(members)):
            return found
        return self._strays(found, e.convert(source, "u32") & 31, members)

    def _strays(self, found: Value, index: Value, members: Any) -> Value:
        """What lanes have read; where the source is no member or does not execute, the slow path reports it, but not again."""
        e, w = self._emitter, self.writer
        here = w.spread(self.guard, "u32")
        members = e.lift(members, here)
        if isinstance(members, np.ndarray):
            raise CannotEmit("a member mask of booleans")
        stray = ((members & here) >> index & 1) == 0
        if self.guard != "-1":
            stray = stray & self.active()
        at, flips = (e.at("%context", CONTEXT[name]) for name in ("strayed", "garbage"))
        known = e.let(f"getelementptr i8, ptr {e.let(f'load ptr, ptr {at}')}, i64 {w.op.site}")
        is_known = e.let(f"icmp ne i8 {e.let(f'load i8, ptr {known}')}, 0")
        w.save_before_bail()
        w.bail_unless(e.let(f"or i1 {is_known}, {w.none_of(stray)}"))
        garbage = e.let(f"load i32, ptr {flips}")
        return e.where(stray, found ^ w.spread(garbage, "u32"), found)

    def _permuted(self, value: Value, source: Value) -> Value:
        e = self._emitter
        if source.text[0] == "<":  # the same for every warp
            return e.permute(value, re.findall(r"i\d+ (\d+)", source.text))
        slot = self.writer.stack_slot(value.type, value.type)
        e.line(f"  store {value.type} {value.text}, ptr {slot}, align 64")
        index = e.convert(Value(e, source.text, f"u{width(source.kind)}"), "u32") & 31
        pointers = e.let(f"getelementptr {element_type(value.kind)}, ptr {slot}, {index.type} {index.text}")
        return Value(e, e.let(e.gather(pointers, value.kind)), value.kind)

    def ballot(self, condition: Any) -> Value:
        e = self._emitter
        if condition is True or (isinstance(condition, Value) and condition.text == "splat (i1 true)"):
            word = self.guard
        else:
            word = e.pure(f"bitcast <32 x i1> {condition.text} to i32", "pred").text
            if self.guard != "-1":
                word = e.pure(f"and i32 {word}, {self.guard}", "pred").text
        return self.writer.spread(word, "u32")

    def active(self) -> Value:
        e = self._emitter
        if self.guard == "-1":
            return e.splat(True, "pred")
        return e.pure(f"bitcast i32 {self.guard} to <32 x i1>", "pred")

    # ---- convergence and events ----

    def converge(self, members: Any) -> None:
        """None: where the members are not all here, the slow path waits for them."""
        e = self._emitter
        if isinstance(members, np.ndarray):
            raise CannotEmit("a member mask of booleans")
        if self.guard == "-1" and _is_everyone(members):
            return
        members = e.lift(members, e.splat(0, "u32"))
        if self._done:
            raise CannotEmit("convergence after an access")
        self.writer.save_before_bail()
        self.writer.call(
            "void", self.writer.helper("converge", ("converge",)), ("ptr", "%context"), ("ptr", "%warp"),
            ("<32 x i32>", members.text), ("i32", self.guard), ("i32", str(self.writer.op.site)),
        )  # fmt: skip

    def emit(
        self, event: Event, space: int = 0, width: int = 0, flags: int = 0, mask: Any = None, addresses: Any = None
    ) -> None:
        if not self.writer.options.wanted.has(event, space):
            return
        if mask is not None or flags:
            raise CannotEmit("an event of other lanes")
        if addresses is None:
            self.writer.event(event, space, width, flags, self.guard)
        else:
            self.writer.event_at(event, space, width, self.guard, self._numbers(addresses))
        self._done = True

    def _numbers(self, addresses: Any) -> Value:
        """What an event carries: a lane value, or up to 32 numbers."""
        e = self._emitter
        if isinstance(addresses, Value):
            return e.convert(addresses, "u64")
        numbers = [int(number) for number in addresses] + [0] * (LANES - len(addresses))
        return Value(e, "<" + ", ".join(f"i64 {number}" for number in numbers) + ">", "u64")


def _is_everyone(members: Any) -> bool:
    """Whether a member mask names all lanes, whatever runs."""
    return isinstance(members, Value) and members.text in ("splat (i32 4294967295)", "splat (i32 -1)")


def _by_place(update: Update, shared_update: Update | None, t: ScalarType) -> Update:
    """An update that takes one operand more: bits that say whether its lane's word is in shared memory."""
    assert shared_update is not None

    def chosen(old: Any, *operands: Any) -> Any:
        *given, in_shared = operands
        return lanes.where(
            lanes.bits(in_shared, lanes.bits_type(t)) != 0, shared_update(old, *given), update(old, *given)
        )

    return chosen
