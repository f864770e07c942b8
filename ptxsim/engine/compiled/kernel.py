"""A program as one LLVM function: a switch on the block to run, and straight-line code for every block.

Registers are SSA values inside a block. They are written back to the warp's memory before anything that may leave the
instruction to the interpreter, and at the end of the block, so that memory is exact whenever Python looks; only those somebody
still wants are written. The function returns what to do next (layout.NEXT and so on).
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

from ptxsim import lanes
from ptxsim.engine.compiled import layout, matrix
from ptxsim.engine.compiled.emitter import Emitter, Module
from ptxsim.engine.compiled.jit import ATTRIBUTES
from ptxsim.engine.compiled.layout import CONTEXT, WARP, WarpLayout
from ptxsim.engine.compiled.liveness import live_before, live_out, seen_by_others
from ptxsim.engine.compiled.port import EmitPort
from ptxsim.engine.compiled.value import CannotEmit, Value, element_type, is_float, kind_of, width
from ptxsim.engine.operand import Address, Constant, Literal, Operand, Register, Special, StackAddress, Vector
from ptxsim.engine.program import Op, Program
from ptxsim.machine.event import Event
from ptxsim.types import ScalarType

# Families whose machine effects have native forms; all others are services of the interpreter.
NATIVE = ("load", "store", "atomic", "shuffle", "vote", "match", "redux", "elect")
NATIVE_EFFECTS = ("synchronize_warp",)
CLOCKS = {"clock": ("u32", 0), "clock_hi": ("u32", 32), "clock64": ("u64", 0), "globaltimer": ("u64", 0),
          "globaltimer_lo": ("u32", 0), "globaltimer_hi": ("u32", 32)}  # fmt: skip
OUTLINE = 48  # lines of IR from which on an effect becomes a function of its own


@dataclass(frozen=True, slots=True)
class Options:
    """Which code is wanted: `full` assumes that all 32 lanes run; `events` records accesses; `keep` writes back every
    register, wanted or not."""

    full: bool = True
    events: bool = False
    keep: bool = False
    target: str = ""  # the machine, on which the arithmetic of matrix products depends
    numerics: str = "target"


class KernelWriter:
    """Writes the function of one program. `services` collects the operations left to the interpreter, with the reason."""

    def __init__(
        self, program: Program, places: WarpLayout, prefix: str, options: Options, half_conversion: bool = True
    ):
        self.program, self.places, self.prefix, self.options = program, places, prefix, options
        self.module = Module(half_conversion)
        self.emitter = Emitter(self.module)
        self.helpers: dict[str, tuple] = {}
        self.services: dict[int, str] = {}
        self.calls = any(op.control == "call" for op in program.ops)
        self.matrix = matrix.MatrixWriter(self)
        self._scratch: dict[str, str] = {}
        self._edges = 0

    # ---- the whole ----

    def text(self, name: str) -> str:
        """The IR of the program as function `name`."""
        e, blocks = self.emitter, self.program.blocks
        keep = None if self.options.keep else live_out(self.program)
        always = seen_by_others(self.program)
        everything = set(range(len(self.program.slots)))
        for number, block in enumerate(blocks):
            out = everything if keep is None else keep[number]
            self.live = [everything] * len(block) if keep is None else live_before(block, out, always)
            self._block(number, block, out)
        body, rooms = e.lines, e.rooms
        head = [
            f"define i32 @{name}(ptr %context, ptr %warp) #0 {{",
            "entry:",
            *rooms,
            f"  %count.at = getelementptr i8, ptr %context, i64 {CONTEXT['count']}",
            f"  %left.at = getelementptr i8, ptr %warp, i64 {WARP['left']}",
            f"  %block.at = getelementptr i8, ptr %warp, i64 {WARP['block']}",
            f"  %op.at = getelementptr i8, ptr %warp, i64 {WARP['op']}",
            f"  %taken.at = getelementptr i8, ptr %warp, i64 {WARP['taken']}",
            f"  %target.at = getelementptr i8, ptr %warp, i64 {WARP['target']}",
            f"  %site.at = getelementptr i8, ptr %context, i64 {CONTEXT['site']}",
            f"  %own.site.at = getelementptr i8, ptr %warp, i64 {WARP['own_site']}",
            f"  %mask.at = getelementptr i8, ptr %warp, i64 {WARP['mask']}",
            "  %mask = load i32, ptr %mask.at",
            "  %lanes = bitcast i32 %mask to <32 x i1>",
            "  %block = load i32, ptr %block.at",
            "  switch i32 %block, label %nowhere [",
            *(f"    i32 {n}, label %b{n}" for n in range(len(blocks))),
            "  ]",
            "nowhere:",
            "  unreachable",
        ]
        self.module.functions.append("\n".join([*head, *body, "}"]))
        return self.module.text() + f"attributes #0 = {ATTRIBUTES}\n"

    def _block(self, number: int, block: list[Op], out: set[int]) -> None:
        e = self.emitter
        e.label(f"b{number}")
        self.number, self.block, self.ended = number, block, False
        self.values: dict[int, object] = {}
        self.dirty: set[int] = set()
        self._changed = []
        if self.options.events and block:
            self.op = block[0]
            self.event(Event.EXECUTE, 0, 0, 0, self.mask)
        for index, op in enumerate(block):
            self.op, self.index = op, index
            if op.control is not None:
                self._control(op, out)
                return
            mark, dirty = len(e.lines), set(self.dirty)
            self._changed: list[tuple[int, object]] = []
            try:
                self._operation(op)
            except Exception as reason:  # whatever an effect does that cannot be traced
                del e.lines[mark:]
                e._known.clear()
                self.dirty = dirty
                for slot, before in reversed(self._changed):
                    self._keep(slot, before)
                self._leave(op, f"{type(reason).__name__}: {reason}")
                return
            if self.ended:
                return
        self._flush(out)
        self._go(number + 1)

    @property
    def mask(self) -> str:
        return "-1" if self.options.full else "%mask"

    def _leave(self, op: Op, reason: str) -> None:
        """The interpreter goes on at this operation."""
        self.services[op.site] = reason
        self._flush(self.live[self.index])
        self.emitter.line(f"  store i32 {op.site}, ptr %site.at")
        self.emitter.line(f"  ret i32 {layout.BAIL}")

    # ---- one operation ----

    def _operation(self, op: Op) -> None:
        effect = op.definition.effect
        if effect is None:
            raise CannotEmit("not modeled")
        number = whole_barrier(op)
        if number is not None:
            self._barrier(op, number)
            return
        if matrix.family(op) is not None:
            result = self.matrix.write(op, [self.read(source) for source in op.sources])
            if op.destinations:
                self.write(op.destinations[0], result, None)
            return
        native = effect.__module__.rpartition(".")[2] in NATIVE or effect.__name__ in NATIVE_EFFECTS
        if op.definition.uses_machine and not native:
            raise CannotEmit("a service")
        if op.aligned and not (self.options.full and op.guard is None):
            raise CannotEmit("aligned in a partial warp")
        guard = self._guard(op)
        sources = [self.read(source) for source in op.sources]
        if op.definition.uses_machine:
            word = self.mask
            if guard is not None:
                word = self.emitter.pure(f"bitcast <32 x i1> {guard.text} to i32", "word").text
            port = EmitPort(self, word, word == "-1")
            result = effect(port, *sources, **op.wants)
        else:
            result = self._compute(effect, sources, op.wants)
        if op.destinations:
            results = [result] if len(op.destinations) == 1 else result
            lanes_on = (
                guard if guard is not None else None if self.options.full else Value(self.emitter, "%lanes", "pred")
            )
            for destination, value in zip(op.destinations, results, strict=True):
                self.write(destination, value, lanes_on)

    def _compute(self, effect, sources, wants):
        """An arithmetic effect; long ones become functions that all their uses share."""
        e = self.emitter
        if not all(isinstance(s, Value) for s in sources):
            return effect(*sources, **wants)
        key = (
            effect,
            tuple(wants.items()),
            tuple(s.kind for s in sources),
            tuple(s.text if s.text[0] != "%" else "" for s in sources),
        )
        known = self.module.outlined.get(key)
        if known is None:
            mark, globals_before = len(e.lines), dict(e._known)
            result = effect(*sources, **wants)
            if len(e.lines) - mark < OUTLINE or not _plain(result):
                self.module.outlined[key] = False
                return result
            del e.lines[mark:]
            e._known = globals_before
            known = self.module.outlined[key] = self._outline(effect, sources, wants)
        if known is False:
            return effect(*sources, **wants)
        name, kinds, single = known
        arguments = ", ".join(f"{s.type} {s.text}" for s in sources if s.text[0] == "%")
        types = [e.vector(k) for k in kinds]
        t = types[0] if single else "{" + ", ".join(types) + "}"
        found = e.let(f"call {t} @{name}({arguments})")
        if single:
            return Value(e, found, kinds[0])
        return tuple(Value(e, e.let(f"extractvalue {t} {found}, {i}"), k) for i, k in enumerate(kinds))

    def _outline(self, effect, sources, wants):
        inner = Emitter(self.module)
        arguments = [Value(inner, f"%a{i}" if s.text[0] == "%" else s.text, s.kind) for i, s in enumerate(sources)]
        result = effect(*arguments, **wants)
        single = isinstance(result, Value)
        results = [result] if single else list(result)
        name = f"effect{len(self.module.functions)}"
        t = results[0].type if single else "{" + ", ".join(r.type for r in results) + "}"
        back = results[0].text
        if not single:
            back = "poison"
            for i, r in enumerate(results):
                back = inner.let(f"insertvalue {t} {back}, {r.type} {r.text}, {i}")
        header = ", ".join(f"{a.type} {a.text}" for a in arguments if a.text[0] == "%")
        self.module.functions.append(
            "\n".join(
                [
                    f"define internal {t} @{name}({header}) noinline #0 {{",
                    *inner.rooms,
                    *inner.lines,
                    f"  ret {t} {back}",
                    "}",
                ]
            )
        )
        return name, [r.kind for r in results], single

    def _barrier(self, op: Op, number: int) -> None:
        """A barrier of all threads ends the block: the scheduler counts the warp in, or leaves it to the interpreter."""
        e = self.emitter
        self._flush(self.live[self.index])
        e.line(f"  store i32 {number}, ptr %target.at")
        e.line(f"  store i32 {self.number}, ptr %block.at")
        e.line(f"  store i32 {self.index + 1}, ptr %op.at")
        e.line(f"  store i32 {op.site}, ptr %site.at")
        e.line(f"  store i32 {op.site}, ptr %own.site.at")
        e.line(f"  ret i32 {layout.BARRIER}")
        self.ended = True

    # ---- operands ----

    def _guard(self, op: Op) -> Value | None:
        """The executing lanes under a guard, or None."""
        if op.guard is None:
            return None
        slot, negated = op.guard
        predicate = self._slot(slot)
        if negated:
            predicate = ~predicate
        return predicate if self.options.full else predicate & Value(self.emitter, "%lanes", "pred")

    def read(self, operand: Operand | None):
        e = self.emitter
        match operand:
            case None:
                return None
            case Register():
                return self._register(operand)
            case Constant():
                t = operand.type
                if t.bits == 128:
                    return [e.splat(operand.value & (2**64 - 1), "u64"), e.splat(operand.value >> 64, "u64")]
                kind = kind_of(t)
                if is_float(kind):
                    return (
                        e.bits(self._word(operand.value, width(kind)), t)
                        if kind in ("f32", "f64")
                        else Value(e, self._word(operand.value, 16).text, kind)
                    )
                return e.splat(_signed(operand.value, kind), kind)
            case Address():
                if operand.extra:
                    return [self._address(operand), *(self.read(part) for part in operand.extra)]
                return self._address(operand)
            case Vector():
                return [self.read(element) for element in operand.elements]
            case Special():
                return self._special(operand.name, operand.type)
            case StackAddress():
                return e.convert(
                    self._stack() + operand.offset if operand.offset else self._stack(), kind_of(operand.type)
                )
            case Literal():
                return operand.value
        raise CannotEmit(f"operand {operand}")

    def _word(self, value: int, bits: int) -> Value:
        return self.emitter.splat(value & (1 << bits) - 1, f"u{bits}")

    def _slot(self, slot: int):
        """A register's raw value: unsigned, a mask, or a list of two for 128 bits."""
        found = self.values.get(slot)
        if found is None:
            self._changed.append((slot, None))
            found = self.values[slot] = self._load(self.places.registers[slot], self.program.slots[slot])
        return found

    def _keep(self, slot: int, value) -> None:
        """What a register holds from here on in this block; None: what memory says."""
        if value is None:
            self.values.pop(slot, None)
        else:
            self.values[slot] = value

    def _load(self, offset: int, t: ScalarType):
        e = self.emitter
        if t.bits == 128:
            return [self._load(offset + 256 * i, lanes.type_of("u64")) for i in (0, 1)]
        at = self._at(offset)
        if t.kind == "predicate":
            word = e.let(f"load i32, ptr {at}, align 8")
            return Value(e, e.let(f"bitcast i32 {word} to <32 x i1>"), "pred")
        kind = f"u{8 * t.bytes}"
        return Value(e, e.let(f"load {e.vector(kind)}, ptr {at}, align {min(64, 32 * t.bytes)}"), kind)

    def _at(self, offset: int) -> str:
        return self.emitter.let(f"getelementptr i8, ptr %warp, i64 {offset}")

    def _register(self, operand: Register):
        e, raw, t = self.emitter, self._slot(operand.slot), operand.type
        if isinstance(raw, list):
            return raw
        kind = kind_of(t)
        if kind == "pred":
            return ~raw if operand.negated else raw
        if width(kind) != width(raw.kind):
            raw = e.convert(raw, f"u{width(kind)}")
        value = (
            raw
            if raw.kind == kind
            else Value(e, raw.text, kind)
            if element_type(kind) == element_type(raw.kind)
            else e.bits(raw, t)
        )
        return ~value if operand.negated else value

    def _address(self, operand: Address) -> Value:
        e, base = self.emitter, operand.base
        if base is None:
            return e.splat(operand.offset & (2**64 - 1), "u64")
        if isinstance(base, StackAddress):
            address = self._stack() + base.offset
        else:
            address = self._slot(base.slot)
            if width(address.kind) < 64:
                if width(address.kind) < 32:
                    raise CannotEmit("an address in a narrow register")
                return e.convert(address + (operand.offset & 0xFFFFFFFF) if operand.offset else address, "u64")
        return address + (operand.offset & (2**64 - 1)) if operand.offset else address

    def _stack(self) -> Value:
        return Value(self.emitter, self.emitter.let(f"load <32 x i64>, ptr {self._at(WARP['stack'])}, align 8"), "u64")

    def _special(self, name: str, t: ScalarType) -> Value:
        e, kind = self.emitter, kind_of(t)
        clock = CLOCKS.get(name.lstrip("%"))
        if clock is not None:
            count = e.let(f"add i64 {e.let('load i64, ptr %count.at')}, {self.index + 1}")
            if clock[1]:
                count = e.let(f"lshr i64 {count}, {clock[1]}")
            return e.convert(Value(e, self.spread(count, "u64").text, "u64"), kind)
        offset = self.places.specials.get(name)
        if offset is None:
            raise CannotEmit(f"{name} has no place")
        if kind == "pred":
            return self._load(offset, t)
        return Value(e, e.let(f"load {e.vector(kind)}, ptr {self._at(offset)}, align 64"), kind)

    def spread(self, scalar: str, kind: str) -> Value:
        """A scalar in every lane."""
        e, t = self.emitter, element_type(kind)
        first = e.pure(f"insertelement <32 x {t}> poison, {t} {scalar}, i64 0", kind).text
        return e.pure(f"shufflevector <32 x {t}> {first}, <32 x {t}> poison, <32 x i32> zeroinitializer", kind)

    def raw(self, value: Value) -> Value:
        """A value as the unsigned word of its width."""
        e = self.emitter
        if value.kind == "pred":
            raise CannotEmit("a predicate as a word")
        if value.kind in ("f32", "f64"):
            return e.bits(value, lanes.type_of(f"u{width(value.kind)}"))
        return Value(e, value.text, f"u{width(value.kind)}")

    def write(self, operand: Operand | None, value, mask: Value | None) -> None:
        """Put a result into a destination; wider registers are extended, lanes outside of `mask` keep what they had."""
        e = self.emitter
        if operand is None:
            return
        if isinstance(operand, Vector):
            for element, part in zip(operand.elements, value, strict=True):
                self.write(element, part, mask)
            return
        if operand.sink:
            return
        slot, declared = operand.slot, operand.declared
        if declared.bits == 128:
            parts = [self.raw(v) for v in value]
            if mask is not None:
                parts = [e.where(mask, new, old) for new, old in zip(parts, self._slot(slot), strict=True)]
            self._changed.append((slot, self.values.get(slot)))
            self.values[slot] = parts
            self.dirty.add(slot)
            return
        if not isinstance(value, Value):
            raise CannotEmit(f"a result that is a {type(value).__name__}")
        if declared.kind == "predicate":
            if value.kind != "pred":
                raise CannotEmit(f"a predicate from {value.kind}")
        else:
            bits = 8 * declared.bytes
            raw = self.raw(value)
            if width(raw.kind) != bits:
                signed = value.kind[0] == "s"
                raw = Value(
                    e,
                    e.convert(Value(e, raw.text, f"{'s' if signed else 'u'}{width(raw.kind)}"), f"u{bits}").text,
                    f"u{bits}",
                )
            value = raw
        if mask is not None:
            value = e.where(mask, value, self._slot(slot))
        self._changed.append((slot, self.values.get(slot)))
        self.values[slot] = value
        self.dirty.add(slot)

    def _flush(self, wanted: set[int]) -> None:
        """Write back the changed registers that somebody wants."""
        e = self.emitter
        for slot in sorted(self.dirty & wanted):
            value, offset = self.values[slot], self.places.registers[slot]
            for i, part in enumerate(value if isinstance(value, list) else [value]):
                if part.kind == "pred":
                    word = e.let(f"bitcast <32 x i1> {part.text} to i32")
                    e.line(f"  store i32 {word}, ptr {self._at(offset)}, align 8")
                else:
                    e.line(
                        f"  store {part.type} {part.text}, ptr {self._at(offset + 256 * i)}, align {min(64, 4 * width(part.kind))}"
                    )
        self.dirty -= wanted

    def save_before_bail(self) -> None:
        """Make memory exact before something that may leave the operation to the interpreter."""
        self._flush(self.live[self.index])

    # ---- helpers ----

    def helper(self, what: str, space: str, size: int, count: int) -> str:
        """The name of a memory helper, which the engine will provide."""
        name = f"{self.prefix}{what}_{space}_{size}x{count}" + ("_events" if self.options.events else "")
        self.helpers[name] = (what, space, size, count)
        return name

    def helper_named(self, what: str) -> str:
        name = f"{self.prefix}{what}"
        self.helpers[name] = (what,)
        return name

    def helper_described(self, what: str, description: tuple) -> str:
        """The name of a helper that this description, with `what`, makes."""
        digest = hashlib.blake2b(json.dumps(description).encode(), digest_size=8).hexdigest()
        name = f"{self.prefix}{what.split('_')[0]}_{digest}"
        self.helpers[name] = description
        return name

    def declare(self, name: str, text: str) -> None:
        self.module.declarations.setdefault(f"@{name}" if name.startswith("llvm") else name, text)

    def atomic_function(self, t: ScalarType, update, operands: int, count: int) -> str:
        """The name of a function that updates memory lane by lane and returns what was there."""
        inner = Emitter(self.module, 1, "u")
        word, kind = f"u{8 * t.bytes}", kind_of(t)
        outer = f"<32 x i{8 * t.bytes}>"
        struct = "{" + ", ".join([outer] * count) + "}"
        name = f"atomic{len(self.module.functions)}"
        values = [(o, i) for o in range(operands) for i in range(count)]
        lines = [
            f"define internal {struct} @{name}(<32 x i64> %places, i32 %mask{''.join(f', {outer} %o{o}.{i}' for o, i in values)}) noinline #0 {{",
            "entry:", "  %rooms = alloca <32 x i64>, align 64", "  store <32 x i64> %places, ptr %rooms, align 64",
        ]  # fmt: skip
        for o, i in values:
            lines += [f"  %r{o}.{i} = alloca {outer}, align 64", f"  store {outer} %o{o}.{i}, ptr %r{o}.{i}, align 64"]
        for i in range(count):
            lines += [
                f"  %old{i} = alloca {outer}, align 64",
                f"  store {outer} zeroinitializer, ptr %old{i}, align 64",
            ]
        lines += [
            "  br label %next", "next:", "  %rest = phi i32 [ %mask, %entry ], [ %later, %lane ]", "  %none = icmp eq i32 %rest, 0",
            "  br i1 %none, label %done, label %lane", "lane:", "  %number = call i32 @llvm.cttz.i32(i32 %rest, i1 false)",
            "  %less = sub i32 %rest, 1", "  %later = and i32 %rest, %less", "  %pp = getelementptr i64, ptr %rooms, i32 %number",
            "  %place = load i64, ptr %pp", "  %at = inttoptr i64 %place to ptr",
        ]  # fmt: skip
        self.declare("llvm.cttz.i32", "declare i32 @llvm.cttz.i32(i32, i1)")
        element = f"i{8 * t.bytes}"

        def typed(text: str) -> Value:
            value = Value(inner, text, word)
            return value if kind == word else inner.bits(value, t)

        for i in range(count):
            cell = inner.let(f"getelementptr i8, ptr %at, i64 {i * t.bytes}")
            before = inner.let(f"load <1 x {element}>, ptr {cell}, align {t.bytes}")
            inner.line(
                f"  store <1 x {element}> {before}, ptr {inner.let(f'getelementptr {element}, ptr %old{i}, i32 %number')}, align {t.bytes}"
            )
            given = [
                typed(inner.let(f"load <1 x {element}>, ptr {inner.let(f'getelementptr {element}, ptr %r{o}.{i}, i32 %number')}, align {t.bytes}"))
                for o in range(operands)
            ]  # fmt: skip
            after = update(typed(before), *given)
            if width(after.kind) != 8 * t.bytes:
                raise CannotEmit("an update to another width")
            raw = inner.bits(after, lanes.type_of(word)) if after.kind in ("f32", "f64") else after
            inner.line(f"  store <1 x {element}> {raw.text}, ptr {cell}, align {t.bytes}")
        lines += [*inner.lines, "  br label %next", "done:"]
        result = "poison"
        for i in range(count):
            lines.append(f"  %w{i} = load {outer}, ptr %old{i}, align 64")
            lines.append(f"  %s{i} = insertvalue {struct} {result}, {outer} %w{i}, {i}")
            result = f"%s{i}"
        self.module.functions.append("\n".join([*lines, f"  ret {struct} {result}", "}"]))
        return name

    def scratch(self, t: str) -> str:
        """Room on the stack for one value of a type, used and forgotten at once."""
        return self.room(t, t)

    def room(self, name: str, t: str) -> str:
        """Room on the stack that all who give this name share."""
        if name not in self._scratch:
            self._scratch[name] = self.emitter.room(t)
        return self._scratch[name]

    def bail_unless(self, condition: str) -> None:
        """Leave the operation to the interpreter unless an i1 holds. Memory must be exact already."""
        e = self.emitter
        self._edges += 1
        n = self._edges
        e.line(f"  br i1 {condition}, label %good{n}, label %bad{n}")
        e.line(f"bad{n}:")
        e.line(f"  store i32 {self.op.site}, ptr %site.at")
        e.line(f"  ret i32 {layout.BAIL}")
        e.line(f"good{n}:")

    def event(self, event: Event, space: int, size: int, flags: int, mask: str) -> None:
        name = f"{self.prefix}event"
        self.declare(name, f"declare void @{name}(ptr, ptr, i32, i32, i32, i32, i32, i32, ptr)")
        self.emitter.line(
            f"  call void @{name}(ptr %context, ptr %warp, i32 {self.op.site}, i32 {int(event)}, i32 {int(space)}, "
            f"i32 {size}, i32 {flags}, i32 {mask}, ptr null)"
        )

    # ---- the end of a block ----

    def _done(self) -> str:
        """Count the block; returns the turns left."""
        e = self.emitter
        count = e.let("load i64, ptr %count.at")
        e.line(f"  store i64 {e.let(f'add i64 {count}, {len(self.block)}')}, ptr %count.at")
        left = e.let(f"sub i32 {e.let('load i32, ptr %left.at')}, 1")
        e.line(f"  store i32 {left}, ptr %left.at")
        return left

    def _go(self, target: int, left: str | None = None) -> None:
        """To another block, unless the turns are used up."""
        e = self.emitter
        left = left or self._done()
        self._edges += 1
        stop = f"stop{self._edges}"
        if target == len(self.program.blocks):  # behind the last block, where nobody comes
            e.line("  unreachable")
            return
        e.line(f"  br i1 {e.let(f'icmp eq i32 {left}, 0')}, label %{stop}, label %b{target}")
        e.label(stop)
        e.line(f"  store i32 {target}, ptr %block.at")
        e.line(f"  ret i32 {layout.NEXT}")

    def _control(self, op: Op, out: set[int]) -> None:
        e = self.emitter
        leaves = op.control == "exit" or (op.control == "ret" and not self.calls)
        if op.control != "bra" and not leaves:
            self._leave(op, "control")
            return
        guard = self._guard(op)
        self._flush(out)
        left = self._done()
        if guard is None:
            if leaves:
                self._exit(self.mask)
            else:
                self._go(op.targets[0], left)
            return
        taken = e.let(f"bitcast <32 x i1> {guard.text} to i32")
        self._edges += 1
        n = self._edges
        e.line(f"  br i1 {e.let(f'icmp eq i32 {taken}, {self.mask}')}, label %all{n}, label %some{n}")
        e.label(f"all{n}")
        if leaves:
            self._exit(taken)
        else:
            self._go(op.targets[0], left)
        e.label(f"some{n}")
        e.line(f"  br i1 {e.let(f'icmp eq i32 {taken}, 0')}, label %none{n}, label %split{n}")
        e.label(f"none{n}")
        self._go(self.number + 1, left)
        e.label(f"split{n}")
        e.line(f"  store i32 {taken}, ptr %taken.at")
        e.line(f"  store i32 {self.number}, ptr %block.at")
        if leaves:
            e.line(f"  store i32 {op.site}, ptr %site.at")
            e.line(f"  ret i32 {layout.EXIT}")
        else:
            e.line(f"  store i32 {op.targets[0]}, ptr %target.at")
            e.line(f"  ret i32 {layout.DIVERGE}")

    def _exit(self, taken: str) -> None:
        e = self.emitter
        e.line(f"  store i32 {taken}, ptr %taken.at")
        e.line(f"  store i32 {self.number}, ptr %block.at")
        e.line(f"  store i32 {self.op.site}, ptr %site.at")
        e.line(f"  ret i32 {layout.EXIT}")


def whole_barrier(op: Op) -> int | None:
    """The number of a barrier that all threads of the CTA wait at (bar.sync N), or None."""
    effect = op.definition.effect
    if effect is None or effect.__name__ != "synchronize" or op.definition.unit != "barrier" or op.guard is not None:
        return None
    number, count = op.sources
    value = number.value if isinstance(number, Literal | Constant) else None
    return value if count is None and isinstance(value, int) and value < 16 else None


def _plain(result) -> bool:
    return isinstance(result, Value) or (isinstance(result, tuple) and all(isinstance(r, Value) for r in result))


def _signed(value: int, kind: str) -> int:
    bits = width(kind)
    return value - (1 << bits) if kind[0] == "s" and value >> bits - 1 else value
