"""The emitter: the operators of lane values and every operation of ptxsim.lanes, printed as LLVM IR.

Nothing here may give poison where numpy gives a value: shifts are clamped, conversions saturate, divisors are made safe, and
no nsw, nuw or fast-math flag is ever written. Equal expressions are printed once.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from ptxsim.engine.compiled.ir.module import Module
from ptxsim.engine.compiled.ir.value import (
    Value,
    element_type,
    is_float,
    is_integer,
    kind_of,
    kind_of_dtype,
    literal,
    mangled,
    width,
)
from ptxsim.lanes import type_of
from ptxsim.types import ScalarType

_FLOAT_OPERATORS = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
_ROUNDINGS = {"rn": "rint", "rz": "trunc", "rm": "floor", "rp": "ceil"}


class Checkpoint(NamedTuple):
    """How many lines were printed, and how many values known."""

    lines: int
    known: int


class Emitter:
    """Prints the instructions of one function. `lanes` is the number of lanes of its values (1 inside atomics)."""

    def __init__(self, module: Module, lanes: int = 32, prefix: str = "v"):
        self.module, self.lanes, self.prefix = module, lanes, prefix
        self.lines: list[str] = []
        self.here = "entry"  # the block that is being printed
        self.stack_slots: list[str] = []  # to be printed at the function's entry
        self._count = 0
        self._known: dict[tuple[str, str], Value] = {}

    # ---- printing ----

    def name(self) -> str:
        self._count += 1
        return f"%{self.prefix}{self._count}"

    def line(self, text: str) -> None:
        self.lines.append(text)

    def let(self, expression: str) -> str:
        """A new name for an expression that must be evaluated here."""
        name = self.name()
        self.lines.append(f"  {name} = {expression}")
        return name

    def at(self, base: str, number: int | str, t: str = "i8") -> str:
        """The address of an element of an array, of bytes by default."""
        return self.let(f"getelementptr {t}, ptr {base}, i64 {number}")

    def field(self, base: str, offset: int | str, t: str) -> str:
        """What a record holds at an offset."""
        return self.let(f"load {t}, ptr {self.at(base, offset)}")

    def entry(self, table: str, number: int | str) -> str:
        """An entry of a table of i32, as i64."""
        at = self.at(table, number, "i32")
        return self.let(f"sext i32 {self.let(f'load i32, ptr {at}, align 4')} to i64")

    def function(self, head: str) -> str:
        """The text of the function that has been printed."""
        return "\n".join([f"define {head} #0 {{", "entry:", *self.stack_slots, *self.lines, "}\n"])

    def stack_slot(self, t: str) -> str:
        """A place on the stack for a value of a type."""
        name = self.name()
        self.stack_slots.append(f"  {name} = alloca {t}, align 64")
        return name

    def checkpoint(self) -> Checkpoint:
        """What `undo` goes back to, before the next label."""
        return Checkpoint(len(self.lines), len(self._known))

    def undo(self, checkpoint: Checkpoint) -> None:
        """Remove what has been printed since a checkpoint."""
        del self.lines[checkpoint.lines :]
        while len(self._known) > checkpoint.known:
            self._known.popitem()

    def pure(self, expression: str, kind: str) -> Value:
        """A value that depends on its text only."""
        found = self._known.get((expression, kind))
        if found is None:
            found = self._known[expression, kind] = Value(self, self.let(expression), kind)
        return found

    def label(self, name: str) -> None:
        """Begin a block; what was computed before may not dominate it."""
        self.lines.append(f"{name}:")
        self.here = name
        self._known.clear()

    def vector(self, kind: str) -> str:
        return f"<{self.lanes} x {element_type(kind)}>"

    def call(self, name: str, result: str, *arguments: tuple[str, str]) -> str:
        """A call of llvm.<name> with arguments of these types."""
        types = ", ".join(t for t, _ in arguments)
        self.module.declarations.setdefault(f"@llvm.{name}", f"declare {result} @llvm.{name}({types})")
        return f"call {result} @llvm.{name}({', '.join(f'{t} {text}' for t, text in arguments)})"

    def intrinsic(self, name: str, kind: str, *arguments: str) -> str:
        """A call of llvm.<name> on whole vectors of one type, which its result has too."""
        t = self.vector(kind)
        return self.call(f"{name}.{mangled(t)}", t, *((t, text) for text in arguments))

    # ---- constants ----

    def splat(self, number: Any, kind: str) -> Value:
        """A Python number in every lane."""
        return Value(self, f"splat ({element_type(kind)} {literal(number, kind)})", kind)

    def lift(self, x: Any, like: Value) -> Value:
        """An operand as a value: Python numbers take the kind of their partner."""
        if isinstance(x, Value):
            return x
        if isinstance(x, int | float | np.integer | np.floating | np.bool_):
            if is_integer(like.kind):
                low = -(1 << width(like.kind) - 1) if like.kind[0] == "s" else 0
                if not (low <= x < 1 << width(like.kind) - (like.kind[0] == "s")) and x != -1:
                    raise OverflowError(f"{x} does not fit {like.kind}")
            return self.splat(x, like.kind)
        raise TypeError(f"an operand that is a {type(x).__name__}")

    def pair(self, a: Any, b: Any) -> tuple[Value, Value]:
        like = a if isinstance(a, Value) else b
        a, b = self.lift(a, like), self.lift(b, like)
        if a.kind != b.kind:
            raise TypeError(f"operands of kinds {a.kind} and {b.kind}")
        return a, b

    # ---- operators ----

    def arithmetic(self, operator: str, a: Any, b: Any) -> Value:
        a, b = self.pair(a, b)
        kind = a.kind
        if kind in ("f16", "bf16"):
            return self._narrow(self.arithmetic(operator, self._single(a), self._single(b)), kind)
        if is_float(kind):
            operator = _FLOAT_OPERATORS[operator]
        elif kind == "pred" or operator == "div":
            raise TypeError(f"{operator} of {kind}")
        return self.pure(f"{operator} {a.type} {a.text}, {b.text}", kind)

    def negative(self, x: Value) -> Value:
        if is_float(x.kind):
            return self.pure(f"fneg {x.type} {x.text}", x.kind)
        return self.arithmetic("sub", 0, x)

    def bitwise(self, operator: str, a: Any, b: Any) -> Value:
        a, b = self.pair(a, b)
        if is_float(a.kind):
            raise TypeError(f"{operator} of {a.kind}")
        return self.pure(f"{operator} {a.type} {a.text}, {b.text}", a.kind)

    def compare(self, relation: str, a: Any, b: Any) -> Value:
        a, b = self.pair(a, b)
        if a.kind in ("f16", "bf16"):
            a, b = self._single(a), self._single(b)
        if is_float(a.kind):
            condition = "une" if relation == "ne" else f"o{relation}"
            return self.pure(f"fcmp {condition} {a.type} {a.text}, {b.text}", "pred")
        condition = relation if relation in ("eq", "ne") else ("s" if a.kind[0] == "s" else "u") + relation
        return self.pure(f"icmp {condition} {a.type} {a.text}, {b.text}", "pred")

    # ---- f16 and bf16 as f32 ----

    def _single(self, x: Value) -> Value:
        """f16 or bf16 as f32, exactly."""
        if x.kind == "bf16":
            word = self.cast(self.bits(x, "u16"), "u32")
            return self.bits(word << 16, "f32")
        if self.module.cpu.half_conversion:
            half = self.pure(f"bitcast {x.type} {x.text} to <{self.lanes} x half>", "half")
            return self.pure(f"fpext <{self.lanes} x half> {half.text} to {self.vector('f32')}", "f32")
        word = self.cast(self.bits(x, "u16"), "u32")
        magnitude = (word & 0x7FFF) << 13
        scaled = self.bits(self.bits(magnitude, "f32") * 2.0**112, "u32")
        special = magnitude | 0x7F800000
        result = self.where(magnitude >= 0x7C00 << 13, special, scaled)
        return self.bits(result | (word & 0x8000) << 16, "f32")

    def _narrow(self, x: Value, kind: str) -> Value:
        """f32 to f16 or bf16, to nearest even."""
        word = self.bits(x, "u32")
        if kind == "bf16":
            rounded = (word + 0x7FFF + (word >> 16 & 1)) >> 16
            result = self.cast(self.where((word & 0x7FFFFFFF) > 0x7F800000, 0x7FC0, rounded), "u16")
        elif self.module.cpu.half_conversion:
            half = self.pure(f"fptrunc {x.type} {x.text} to <{self.lanes} x half>", "half")
            result = self.pure(f"bitcast <{self.lanes} x half> {half.text} to {self.vector('u16')}", "u16")
        else:
            magnitude = word & 0x7FFFFFFF
            normal = ((magnitude + 0xFFF + (magnitude >> 13 & 1)) >> 13) - (112 << 10)
            # Adding 0.5 leaves a subnormal f16's last bit as the last bit of the sum, whose exponent is above the 16 bits that count.
            tiny = self.bits(self.bits(magnitude, "f32") + 0.5, "u32")
            result = self.where(magnitude < 0x38800000, tiny, normal)
            result = self.where(magnitude >= 0x477FF000, 0x7C00, result)
            result = self.where(magnitude > 0x7F800000, 0x7E00, result)
            result = self.cast(result | word >> 16 & 0x8000, "u16")
        return Value(self, result.text, kind)

    def singles_toward_zero(self, x: Value) -> Value:
        """s32 as f32, toward zero: for CPUs that round so in one instruction."""
        parts = []
        for first in range(0, self.lanes, 16):
            order = ", ".join(f"i32 {lane}" for lane in range(first, first + 16))
            part = self.let(f"shufflevector {x.type} {x.text}, {x.type} poison, <16 x i32> <{order}>")
            call = self.call(
                "x86.avx512.sitofp.round.v16f32.v16i32", "<16 x float>", ("<16 x i32>", part), ("i32", "11")
            )
            parts.append(f"<16 x float> {self.let(call)}")
        order = ", ".join(f"i32 {lane}" for lane in range(self.lanes))
        return self.pure(f"shufflevector {', '.join(parts)}, <{self.lanes} x i32> <{order}>", "f32")

    # ---- operations of ptxsim.lanes ----

    def bits(self, x: Value, t: ScalarType | str) -> Value:
        kind = kind_of(type_of(t))
        if width(kind) != width(x.kind) or (kind == "pred") != (x.kind == "pred"):
            raise TypeError(f"the bits of {x.kind} as {kind}")
        if element_type(kind) == element_type(x.kind):
            return Value(self, x.text, kind)
        name = self.pure(f"bitcast {x.type} {x.text} to {self.vector(kind)}", kind)
        # The way back is no instruction.
        self._known.setdefault((f"bitcast {name.type} {name.text} to {x.type}", x.kind), x)
        return name

    def cast(self, x: Value, t: ScalarType | str) -> Value:
        return self.convert(x, kind_of(type_of(t)))

    def convert(self, x: Value, kind: str) -> Value:
        source = x.kind
        if source == kind:
            return x
        if source in ("f16", "bf16"):
            return self.convert(self._single(x), kind)
        if kind in ("f16", "bf16"):
            if source == "f64":
                raise TypeError("f64 to a half, which would be rounded twice")
            return self._narrow(self.convert(x, "f32"), kind)
        if is_float(source):
            if is_float(kind):
                operator = "fpext" if kind == "f64" else "fptrunc"
                return self.pure(f"{operator} {x.type} {x.text} to {self.vector(kind)}", kind)
            name, back = ("fptosi.sat" if kind[0] == "s" else "fptoui.sat"), self.vector(kind)
            return self.pure(self.call(f"{name}.{mangled(back)}.{mangled(x.type)}", back, (x.type, x.text)), kind)
        if is_float(kind):
            operator = "sitofp" if source[0] == "s" else "uitofp"
            return self.pure(f"{operator} {x.type} {x.text} to {self.vector(kind)}", kind)
        if width(kind) == width(source):
            return Value(self, x.text, kind)
        operator = "trunc" if width(kind) < width(source) else "sext" if source[0] == "s" else "zext"
        return self.pure(f"{operator} {x.type} {x.text} to {self.vector(kind)}", kind)

    def where(self, condition: Value, a: Any, b: Any) -> Value:
        if not isinstance(a, Value) and not isinstance(b, Value):
            kind = "f64" if isinstance(a, float) or isinstance(b, float) else "s64"
            a, b = self.splat(a, kind), self.splat(b, kind)
        a, b = self.pair(a, b)
        if condition.kind != "pred":
            raise TypeError(f"where on {condition.kind}")
        return self.pure(f"select {condition.type} {condition.text}, {a.type} {a.text}, {b.type} {b.text}", a.kind)

    def shift_left(self, x: Any, n: Any) -> Value:
        return self._shift("shl", x, n)

    def shift_right(self, x: Any, n: Any) -> Value:
        return self._shift("ashr" if isinstance(x, Value) and x.kind[0] == "s" else "lshr", x, n)

    def _shift(self, operator: str, x: Any, n: Any) -> Value:
        x = self.lift(x, n)
        if not is_integer(x.kind):
            raise TypeError(f"shift of {x.kind}")
        size = width(x.kind)
        if not isinstance(n, Value):
            if n >= size and operator != "ashr":
                return self.splat(0, x.kind)
            return self.pure(f"{operator} {x.type} {x.text}, splat (i{size} {min(int(n), size - 1)})", x.kind)
        count = Value(self, n.text, f"u{width(n.kind)}")
        beyond, safe = count >= size, self.convert(self.minimum(count, size - 1), f"u{size}")
        shifted = self.pure(f"{operator} {x.type} {x.text}, {safe.text}", x.kind)
        return shifted if operator == "ashr" else self.where(beyond, 0, shifted)

    def _extremum(self, name: str, a: Any, b: Any) -> Value:
        a, b = self.pair(a, b)
        if not is_integer(a.kind):
            raise TypeError(f"{name} of {a.kind}")
        sign = "s" if a.kind[0] == "s" else "u"
        return self.pure(self.intrinsic(f"{sign}{name}", a.kind, a.text, b.text), a.kind)

    def minimum(self, a: Any, b: Any) -> Value:
        return self._extremum("min", a, b)

    def maximum(self, a: Any, b: Any) -> Value:
        return self._extremum("max", a, b)

    def multiply_high(self, a: Any, b: Any) -> Value:
        a, b = self.pair(a, b)
        size, signed = width(a.kind), a.kind[0] == "s"
        if size <= 32:
            return self.convert(self.convert(a, "u64") * self.convert(b, "u64") >> size, a.kind)
        x, y = Value(self, a.text, "u64"), Value(self, b.text, "u64")
        low_x, high_x, low_y, high_y = x & 0xFFFFFFFF, x >> 32, y & 0xFFFFFFFF, y >> 32
        middle = high_x * low_y + (low_x * low_y >> 32)
        other = low_x * high_y + (middle & 0xFFFFFFFF)
        high = high_x * high_y + (middle >> 32) + (other >> 32)
        if signed:  # a negative factor counts 2^64 too much
            high = high - (Value(self, (a >> 63).text, "u64") & y) - (Value(self, (b >> 63).text, "u64") & x)
        return Value(self, high.text, a.kind)

    def divide(self, a: Any, b: Any) -> Value:
        a, b = self.pair(a, b)
        zero, unsigned = b == 0, f"u{width(a.kind)}"
        x, y = Value(self, a.text, unsigned), Value(self, b.text, unsigned)
        if a.kind[0] == "s":
            x, y = (Value(self, self.absolute(v).text, unsigned) for v in (a, b))
        y = self.where(zero, 1, y)
        quotient = Value(self, self.pure(f"udiv {x.type} {x.text}, {y.text}", unsigned).text, a.kind)
        if a.kind[0] == "s":
            quotient = self.where((a < 0) ^ (b < 0), -quotient, quotient)
        return self.where(zero, -1, quotient)

    def count_leading_zeros(self, x: Value) -> Value:
        return self.pure(self.call(f"ctlz.{mangled(x.type)}", x.type, (x.type, x.text), ("i1", "false")), x.kind)

    def population_count(self, x: Value) -> Value:
        return self.pure(self.intrinsic("ctpop", x.kind, x.text), x.kind)

    def reverse_bits(self, x: Value) -> Value:
        return self.pure(self.intrinsic("bitreverse", x.kind, x.text), x.kind)

    def fma(self, a: Any, b: Any, c: Any) -> Value:
        like = next(v for v in (a, b, c) if isinstance(v, Value))
        a, b, c = (self.lift(v, like) for v in (a, b, c))
        if a.kind not in ("f32", "f64") or {a.kind, b.kind, c.kind} != {a.kind}:
            raise TypeError(f"fma of {a.kind}, {b.kind}, {c.kind}")
        return self.pure(self.intrinsic("fma", a.kind, a.text, b.text, c.text), a.kind)

    def square_root(self, x: Value) -> Value:
        return self.pure(self.intrinsic("sqrt", x.kind, x.text), x.kind)

    def absolute(self, x: Value) -> Value:
        if is_float(x.kind):
            return self.pure(self.intrinsic("fabs", x.kind, x.text), x.kind)
        return self.where(x < 0, -x, x)

    def round_to_integral(self, x: Value, mode: str) -> Value:
        return self.pure(self.intrinsic(_ROUNDINGS[mode], x.kind, x.text), x.kind)

    def float_to_int(self, x: Value, t: ScalarType | str) -> Value:
        return self.cast(x, t)

    def constant(self, values: Any, like: object) -> Value:
        array = np.asarray(values)
        kind = kind_of_dtype(array.dtype)
        if self.lanes != len(array):
            raise TypeError(f"a constant of {len(array)} lanes")
        t = element_type(kind)
        return Value(self, "<" + ", ".join(f"{t} {literal(v.item(), kind)}" for v in array) + ">", kind)

    def permute(self, x: Value, lanes: Iterable[Any]) -> Value:
        chosen = ", ".join(f"i32 {int(lane)}" for lane in lanes)
        return self.pure(f"shufflevector {x.type} {x.text}, {x.type} poison, <{self.lanes} x i32> <{chosen}>", x.kind)

    def lookup(self, table: Any, index: Value) -> Value:
        array = np.ascontiguousarray(table)
        kind = kind_of_dtype(array.dtype)
        t = element_type(kind)
        name = "@" + self.module.table(array, t)
        wide = self.convert(Value(self, index.text, f"u{width(index.kind)}"), "u64")
        wide = self.minimum(wide, len(array) - 1)  # lanes that do not count may hold anything
        first = f"getelementptr [{len(array)} x {t}], ptr {name}, {self.vector('u64')} zeroinitializer"
        pointers = self.pure(f"{first}, {wide.type} {wide.text}", "ptr")
        return self.pure(self.gather(pointers.text, kind), kind)

    def gather(self, pointers: str, kind: str) -> str:
        """A call that loads every lane through its own pointer."""
        v, at = self.vector(kind), (f"<{self.lanes} x ptr>", f"align {max(1, width(kind) // 8)} {pointers}")
        every = self.vector("pred"), "splat (i1 true)"
        return self.call(f"masked.gather.{mangled(v)}.v{self.lanes}p0", v, at, every, (v, "poison"))
